//! A worker: a window for each partition that it looks after, one wheel over their wake-ups, and claims by moving.
//!
//! One thread has the windows and waits for the next wake-up or `Event`. What takes time (scans, claims, deliveries) is a
//! task, which ends with an event.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use timer_wheel::index::IndexWheel;
use timer_wheel::window::{Load, Window};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::store::{Claim, End, News, Row, Shards};
use crate::tenure::{self, Floors, Tenure};

/// How many rows are claimed in one transaction.
const BATCH: usize = 100;

/// How many events are handled before the clock is looked at again.
const EVENTS: usize = 1_024;

/// How long a worker sleeps at most before it looks at the wall clock again, which may have been set.
const GLANCE: Duration = Duration::from_secs(1);

/// How long to wait before a store that has failed is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// The first pause before jobs are settled again. It doubles with each, up to [`PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(2);

/// The longest time from when a writer chooses a deadline to its commit. Jobs of writers that took longer and did not
/// tell wait for a sweep.
const GRACE: Duration = Duration::from_secs(60);

/// The delay before the second attempt. It doubles with each, up to [`LONGEST_BACKOFF`].
const FIRST_BACKOFF: Duration = Duration::from_secs(1);

const LONGEST_BACKOFF: Duration = Duration::from_secs(3_600);

#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of this worker, which no other has.
    pub owner: u64,
    pub clock: Clock,
    /// How long a claim lasts. A delivery is given up before it ends.
    pub lease: Duration,
    /// How long a worker that has died keeps its partitions.
    pub tenure: Duration,
    /// How often the store is looked at again from the floor, for the sake of writers that do not tell.
    pub reload: Duration,
    /// How often it is looked at again from the first row, past all that was deleted.
    pub sweep: Duration,
    /// How many rows the window of a partition holds.
    pub capacity: usize,
    /// How many jobs are under way at a time.
    pub at_once: usize,
    /// After how many attempts a job is not done again.
    pub attempts: u32,
}

/// A job to be done. It may be done again, if the worker dies before it can say that it was done.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub id: u64,
    pub attempt: u32,
    pub payload: Vec<u8>,
    /// The time at which the claim ends.
    pub until: u64,
}

/// Does a job. If it fails it is done again later; the error is a line.
pub type Deliver = Arc<dyn Fn(Delivery) -> BoxFuture<'static, std::result::Result<(), String>> + Send + Sync>;

/// If a worker has had no slot for a tenth of its tenure: the partitions whose jobs have waited for as long.
type Busy = Option<Vec<u32>>;

enum Event {
    News(News),
    /// News of a store may have been lost.
    Lost(usize),
    /// A recheck is due, of all rows of a store or of those after the floor.
    Recheck(usize, From),
    /// The partitions of a store that this worker looks after from now on.
    Holds(usize, Vec<u32>),
    /// `None` if it has failed, and an empty answer that is not the end counts as that.
    Loaded(u32, Load<u64>, Option<Vec<Row>>),
    /// The claim has ended, the deliveries go on.
    Claimed(u32),
    /// Rows are done with, and their jobs may be at other positions.
    Ended(u32, Vec<Row>, Vec<Row>),
    Stop,
}

/// Where a recheck begins.
#[derive(Clone, Copy, PartialEq)]
enum From {
    Floor,
    Start,
}

/// Works until it is told to stop. Jobs under way are ended first.
pub async fn run(shards: &Shards, settings: Settings, deliver: Deliver, stop: impl Future<Output = ()>) -> Result<()> {
    let (events, inbox) = mpsc::channel();
    let floors = (0..shards.partitions()).map(|_| AtomicU64::new(0)).collect();
    let context = Context { shards: shards.clone(), settings, deliver, events, said: Arc::default(), floors };
    let (mut tasks, mut holding, (goes_on, stopped)) = (JoinSet::new(), JoinSet::new(), watch::channel(()));
    let (busy, full) = watch::channel(None);
    // News first: a row that is inserted from now on is told, and another one is found by the first scan.
    for (shard, (_, store)) in shards.stores.iter().enumerate() {
        // Without an answer they begin later, and what was lost is looked for then.
        let news = store.news().await.unwrap_or_else(|error| {
            context.say(&error);
            stream::empty().boxed()
        });
        tasks.spawn(follow(context.clone(), shard, news));
        holding.spawn(hold(context.clone(), shard, stopped.clone(), full.clone()));
    }
    let (handle, worker_context, (tell, mut told)) = (Handle::current(), context.clone(), oneshot::channel());
    thread::spawn(move || {
        Worker::new(worker_context, handle, busy).run(&inbox);
        let _ = tell.send(());
    });
    tokio::select! {
        () = stop => {
            let _ = context.events.send(Event::Stop);
        }
        _ = &mut told => return Err(Error::Broken("the worker has panicked".to_owned())),
    }
    drop(goes_on);
    // Others get the partitions while the jobs under way end. If a store is gone, its leases end by themselves.
    let _ = tokio::join!(timeout(context.settings.tenure, holding.join_all()), told);
    Ok(())
}

/// What the tasks have in common.
#[derive(Clone)]
struct Context {
    shards: Shards,
    settings: Settings,
    deliver: Deliver,
    events: mpsc::Sender<Event>,
    /// The second in which an error was last said.
    said: Arc<AtomicU64>,
    floors: Floors,
}

impl Context {
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Says an error on standard error, one a second.
    fn say(&self, error: &Error) {
        let second = self.settings.clock.now_ms() / 1_000;
        if self.said.swap(second, Ordering::Relaxed) != second {
            eprintln!("durable-jobs: {error}");
        }
    }
}

/// Keeps the leases on the partitions of one store, and gives them back in the end.
async fn hold(context: Context, shard: usize, mut stopped: watch::Receiver<()>, mut full: watch::Receiver<Busy>) {
    let (layout, store) = &context.shards.stores[shard];
    let Settings { owner, tenure, ref clock, .. } = context.settings;
    let mut leases = Tenure::new(*layout, owner, tenure, Arc::clone(&context.floors));
    loop {
        let waiting = full.borrow_and_update().clone();
        // Without an answer the worker goes on with what it has.
        match leases.balance(&**store, clock.now_ms(), waiting.as_deref()).await {
            Ok(parts) => context.tell(Event::Holds(shard, parts)),
            Err(error) => context.say(&error),
        }
        tokio::select! {
            _ = stopped.changed() => break,
            Ok(()) = full.changed() => {}
            () = sleep(tenure / 6) => {}
        }
    }
    let _ = tenure::release(&**store, owner).await;
}

/// Hands on the news of a store. When they end they begin anew, and what was lost is looked for, which is done every so
/// often as well.
async fn follow(context: Context, shard: usize, mut news: BoxStream<'static, News>) {
    let [mut reload, mut sweep] = [context.settings.reload, context.settings.sweep].map(|every| {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
        ticks
    });
    loop {
        tokio::select! {
            told = news.next() => match told {
                Some(it) => context.tell(Event::News(it)),
                None => match context.shards.stores[shard].1.news().await {
                    Ok(begun) => {
                        news = begun;
                        context.tell(Event::Lost(shard));
                    }
                    Err(error) => {
                        news = stream::empty().boxed();
                        context.say(&error);
                        sleep(PAUSE).await;
                    }
                },
            },
            _ = reload.tick() => context.tell(Event::Recheck(shard, From::Floor)),
            _ = sweep.tick() => context.tell(Event::Recheck(shard, From::Start)),
        }
    }
}

async fn scan(context: Context, part: u32, load: Load<u64>) {
    let scanned = context.shards.store_of(part).scan(part, load.after, load.limit).await;
    if let Err(error) = &scanned {
        context.say(error);
        sleep(PAUSE).await;
    }
    context.tell(Event::Loaded(part, load, scanned.ok()));
}

/// Claims rows that are due, delivers their jobs, and settles them.
async fn work(context: Context, part: u32, rows: Vec<Row>) {
    let clock = &context.settings.clock;
    let lease = context.settings.lease;
    // If the clock was set back since they were polled, they move to a later deadline nevertheless. Whoever has a row in a
    // window then learns at its deadline, at the latest, where it has gone.
    let now = rows.last().map_or(0, |row| row.0).max(clock.now_ms());
    let until = now.saturating_add(lease.as_millis() as u64);
    // Counted from before the request: the answer may come late, and the wall clock may be set back meanwhile.
    let end = Instant::now() + lease;
    let claims = match context.shards.store_of(part).claim(part, &rows, until).await {
        Ok(claims) => claims,
        Err(error) => {
            context.say(&error);
            sleep(PAUSE).await;
            context.tell(Event::Claimed(part));
            // If they were moved nevertheless, the next claim is told so.
            return context.tell(Event::Ended(part, rows.clone(), rows));
        }
    };
    context.tell(Event::Claimed(part));
    let (mut missed, mut told, mut deliveries) = (Vec::new(), Vec::new(), Vec::new());
    for (row, claim) in rows.into_iter().zip(claims) {
        match claim {
            Claim::Taken { attempt, payload } => {
                deliveries.push((row, Delivery { id: row.1, attempt, payload, until }));
                continue;
            }
            Claim::Moved(there) => told.push(there),
            Claim::Gone => {}
        }
        missed.push(row);
    }
    if !missed.is_empty() {
        context.tell(Event::Ended(part, missed, told));
    }
    let at_once = deliveries.len().max(1);
    let ends =
        stream::iter(deliveries).map(|(row, delivery)| end_of(&context, row, delivery, end)).buffer_unordered(at_once);
    let mut ends = ends.ready_chunks(BATCH);
    while let Some(chunk) = ends.next().await {
        settle(&context, part, (until, end), chunk).await;
    }
}

/// Does a job. `None` if its lease has ended, or will before long: it is due again then.
async fn end_of(context: &Context, row: Row, delivery: Delivery, end: Instant) -> (Row, Option<End>) {
    let (clock, lease) = (&context.settings.clock, context.settings.lease);
    let (until, attempt, most) = (delivery.until, delivery.attempt, context.settings.attempts);
    // A process that was stopped for a while, or got its answer late, has lost its claims.
    let left = Duration::from_millis(until.saturating_sub(clock.now_ms()));
    let left = left.min(end.saturating_duration_since(Instant::now())).saturating_sub(lease / 10);
    if left.is_zero() {
        return (row, None);
    }
    if attempt > most {
        return (row, Some(End::Failed("no attempt came to its end".to_owned())));
    }
    let delivered = std::panic::AssertUnwindSafe((context.deliver)(delivery)).catch_unwind();
    match timeout(left, delivered).await {
        Ok(Ok(Ok(()))) => (row, Some(End::Done)),
        Ok(failed) => {
            let why = failed.unwrap_or_else(|_| Err("it panicked".to_owned())).err().unwrap_or_default();
            eprintln!("durable-jobs: job {}, attempt {attempt}: {why}", row.1);
            if attempt >= most {
                return (row, Some(End::Failed(why)));
            }
            let backoff = FIRST_BACKOFF.saturating_mul(1 << attempt.saturating_sub(1).min(20)).min(LONGEST_BACKOFF);
            (row, Some(End::Later(clock.now_ms().saturating_add(backoff.as_millis() as u64))))
        }
        Err(_) => (row, None),
    }
}

/// Settles rows whose claims last until a time of the wall clock and of ours. An engine may give up a transaction, or a
/// connection be cut; what was done would be done again, so this is tried until the claims end.
async fn settle(context: &Context, part: u32, (until, end): (u64, Instant), chunk: Vec<(Row, Option<End>)>) {
    let (mut rows, mut ends, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for (row, end) in chunk {
        rows.push(row);
        let claimed = (until, row.1);
        match end {
            Some(end) => {
                told.extend(if let End::Later(later) = end { Some((later, row.1)) } else { None });
                ends.push((claimed, end));
            }
            None => told.push(claimed),
        }
    }
    let mut pause = FIRST_PAUSE;
    while let Err(error) = context.shards.store_of(part).settle(part, &ends).await {
        context.say(&error);
        if Instant::now() + pause >= end {
            told.extend(ends.iter().map(|(claimed, _)| *claimed));
            break;
        }
        sleep(rand::random_range(pause / 2..pause)).await;
        pause = PAUSE.min(pause * 2);
    }
    context.tell(Event::Ended(part, rows, told));
}

struct Part {
    /// One for as long as the process lives, so that the answer to a load can never be taken for that to another one.
    window: Window<u64>,
    is_held: bool,
    /// There is one claim at a time. What comes due meanwhile goes into the next.
    is_claiming: bool,
    /// How many scans are under way. The window may have forgotten some.
    scans: u32,
    /// The recheck that begins once the window is at rest.
    recheck: Option<From>,
}

impl Part {
    fn want(&mut self, from: From) {
        self.recheck = if self.recheck == Some(From::Start) { self.recheck } else { Some(from) };
    }

    /// Begins a recheck if one is wanted, and moves the floor. No scan is under way, and the window asks for none.
    fn begin_recheck(&mut self, floor: &AtomicU64, now: u64) {
        match self.recheck.take() {
            None => return,
            Some(From::Start) => return self.window.recheck(None),
            Some(From::Floor) => self.window.recheck(row_of(floor)),
        }
        // For the next recheck: what is committed until then is after it.
        let pending = self.window.pending().next().map(|row| row.0);
        let least = [self.window.wake_at(), pending].into_iter().flatten().fold(now, u64::min);
        floor.store(least.saturating_sub(GRACE.as_millis() as u64), Ordering::Relaxed);
    }
}

/// The position from which to scan. 0 is no floor.
fn row_of(floor: &AtomicU64) -> Option<Row> {
    Some((floor.load(Ordering::Relaxed), 0)).filter(|floor| floor.0 > 0)
}

/// The state of the thread that has the windows.
struct Worker {
    context: Context,
    handle: Handle,
    parts: Vec<Part>,
    /// When to look at which partition, in nanoseconds since `origin`. The wall clock may be set back, a wheel's may not.
    wheel: IndexWheel,
    origin: Instant,
    /// How many more jobs may be under way.
    slots: usize,
    /// The partitions with rows that are due, while there is no slot, and since when.
    starved: VecDeque<(u32, Instant)>,
    full_since: Option<Instant>,
    busy: watch::Sender<Busy>,
}

impl Worker {
    fn new(context: Context, handle: Handle, busy: watch::Sender<Busy>) -> Self {
        let part = |_| {
            let window = Window::new(context.settings.capacity);
            Part { window, is_held: false, is_claiming: false, scans: 0, recheck: None }
        };
        Self {
            handle,
            parts: (0..context.shards.partitions()).map(part).collect(),
            wheel: IndexWheel::new(0),
            origin: Instant::now(),
            slots: context.settings.at_once,
            starved: VecDeque::new(),
            full_since: None,
            busy,
            context,
        }
    }

    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn run(mut self, inbox: &mpsc::Receiver<Event>) {
        let mut is_stopping = false;
        while !is_stopping || self.slots < self.context.settings.at_once {
            let now = self.now_ns();
            let mut touched: BTreeSet<u32> = self.wheel.advance(now).map(|due| due.index).collect();
            let wait = self.wheel.wake_at().map_or(GLANCE, |wake| Duration::from_nanos(wake.saturating_sub(now)));
            let wait = if self.slots > 0 { wait } else { wait.min(self.context.settings.tenure / 10) };
            let first = if touched.is_empty() { inbox.recv_timeout(wait).ok() } else { None };
            for event in first.into_iter().chain(inbox.try_iter()).take(EVENTS) {
                is_stopping |= matches!(event, Event::Stop);
                self.handle(event, &mut touched);
            }
            if is_stopping {
                continue;
            }
            touched.into_iter().for_each(|part| self.look_at(part));
            while self.slots > 0 {
                let Some((part, _)) = self.starved.pop_front() else { break };
                self.look_at(part);
            }
            self.tell_if_busy();
        }
    }

    fn tell_if_busy(&mut self) {
        self.full_since = if self.slots > 0 { None } else { self.full_since.or_else(|| Some(Instant::now())) };
        let is_long = |since: &Instant| since.elapsed() > self.context.settings.tenure / 10;
        let waiting = || {
            let waiting =
                self.starved.iter().filter(|(part, since)| is_long(since) && self.parts[*part as usize].is_held);
            waiting.map(|(part, _)| *part).collect()
        };
        let busy: Busy = self.full_since.filter(is_long).map(|_| waiting());
        self.busy.send_if_modified(|last| std::mem::replace(last, busy.clone()) != busy);
    }

    fn handle(&mut self, event: Event, touched: &mut BTreeSet<u32>) {
        match event {
            Event::Stop => {}
            Event::News(News::Inserted(number, row)) => {
                let Some(part) = self.parts.get_mut(number as usize).filter(|part| part.is_held) else { return };
                part.window.inserted(row);
                touched.insert(number);
            }
            Event::News(News::Removed(part, row)) => {
                if let Some(part) = self.parts.get_mut(part as usize) {
                    part.window.removed(&row);
                }
            }
            Event::Lost(shard) => {
                for (part, state) in
                    parts_of(&mut self.parts, &self.context.shards, shard).filter(|part| part.1.is_held)
                {
                    state.window.recheck(row_of(&self.context.floors[part as usize]));
                    state.want(From::Start);
                    touched.insert(part);
                }
            }
            Event::Recheck(shard, from) => {
                for (part, state) in
                    parts_of(&mut self.parts, &self.context.shards, shard).filter(|part| part.1.is_held)
                {
                    state.want(from);
                    touched.insert(part);
                }
            }
            Event::Holds(shard, held) => {
                for (part, state) in parts_of(&mut self.parts, &self.context.shards, shard) {
                    if held.contains(&part) != state.is_held {
                        // Nobody told this worker what happened while it did not have the partition.
                        let floor = row_of(&self.context.floors[part as usize]);
                        state.window.reset(floor);
                        state.recheck = floor.map(|_| From::Start);
                        state.is_held = !state.is_held;
                        touched.insert(part);
                    }
                }
            }
            Event::Loaded(part, load, rows) => {
                let is_end = rows.as_ref().is_some_and(|rows| rows.len() < load.limit);
                let state = &mut self.parts[part as usize];
                state.scans -= 1;
                state.window.loaded(load, rows.unwrap_or_default(), is_end);
                touched.insert(part);
            }
            Event::Claimed(part) => {
                self.parts[part as usize].is_claiming = false;
                touched.insert(part);
            }
            Event::Ended(part, rows, told) => {
                self.slots += rows.len();
                let window = &mut self.parts[part as usize].window;
                rows.iter().for_each(|row| window.done(row));
                told.into_iter().for_each(|row| window.inserted(row));
                touched.insert(part);
            }
        }
    }

    /// Begins what is to be done for a partition, and sets when to look at it again.
    fn look_at(&mut self, number: u32) {
        let part = &mut self.parts[number as usize];
        if !part.is_held {
            self.wheel.cancel(number);
            return;
        }
        let mut load = part.window.load();
        if load.is_none() && part.scans == 0 {
            part.begin_recheck(&self.context.floors[number as usize], self.context.settings.clock.now_ms());
            load = part.window.load();
        }
        if let Some(load) = load {
            part.scans += 1;
            self.handle.spawn(scan(self.context.clone(), number, load));
        }
        if part.is_claiming {
            return; // Its end is an event.
        }
        let now_us = self.context.settings.clock.now_us();
        let due = std::iter::from_fn(|| part.window.poll(now_us / 1_000));
        let rows: Vec<Row> = due.take(self.slots.min(BATCH)).collect();
        if !rows.is_empty() {
            self.slots -= rows.len();
            part.is_claiming = true;
            self.handle.spawn(work(self.context.clone(), number, rows));
            return;
        }
        let Some(wake) = part.window.wake_at() else { return };
        let wait_us = wake.saturating_mul(1_000).saturating_sub(now_us).min(GLANCE.as_micros() as u64);
        if wait_us == 0 {
            if !self.starved.iter().any(|(part, _)| *part == number) {
                self.starved.push_back((number, Instant::now()));
            }
        } else {
            self.wheel.set(number, self.now_ns() + wait_us * 1_000);
        }
    }
}

fn parts_of<'a>(parts: &'a mut [Part], shards: &Shards, shard: usize) -> impl Iterator<Item = (u32, &'a mut Part)> {
    let layout = shards.stores[shard].0;
    (0..).zip(parts).skip(shard).step_by(layout.shards as usize)
}
