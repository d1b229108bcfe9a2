//! Workers in this process on a real store, and a store that fails now and then: what was put, what was run, and whether any
//! promise was broken.

use std::collections::HashMap;
use std::fmt::Display;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use durable_jobs::clock::Clock;
use durable_jobs::error::{Error, Result};
use durable_jobs::store::{Claim, End, Failed, Job, Layout, Lease, MAX_NUMBER, News, Row, Shards, Store};
use durable_jobs::worker::{self, Deliver, Delivery, Settings};
use futures_util::future::{FutureExt, ready};
use futures_util::stream::{BoxStream, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// How long everything may take, at the very most.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How long a claim lasts here.
const LEASE: Duration = Duration::from_millis(800);

/// Asks again until the answer is good.
pub(crate) async fn insist<T, E: Display>(mut ask: impl AsyncFnMut() -> std::result::Result<T, E>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// What the workers of a trial did.
#[derive(Clone, Default)]
pub(crate) struct Trial(Arc<Mutex<Seen>>, CancellationToken);

#[derive(Default)]
struct Seen {
    jobs: HashMap<u64, Tracked>,
    /// The promises that were broken. A worker takes a panic for a job that has failed, so they are told at the end.
    broken: Vec<String>,
}

struct Tracked {
    deadline: u64,
    attempts: Vec<Attempt>,
    /// Nobody knew whether it was there. It had perhaps been done, and begins anew, once or more.
    is_put_again: bool,
}

struct Attempt {
    number: u32,
    until: u64,
    /// It has failed, and ended its lease by that.
    has_failed: bool,
}

/// A worker of this process, and its clock.
pub(crate) struct Running {
    pub(crate) clock: Clock,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<()>>,
}

impl Running {
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap().unwrap();
    }
}

impl Trial {
    /// Puts jobs that are due within `over_ms`, until the store says so.
    pub(crate) async fn put(&self, shards: &Shards, ids: Range<u64>, over_ms: u64) {
        let now = Clock::default().now_ms();
        let jobs: Vec<_> = ids.map(|id| (id, now + rand::random_range(0..=over_ms), b"payload".to_vec())).collect();
        jobs.iter().for_each(|job| self.track(job.0, job.1, Vec::new()));
        for jobs in jobs.chunks(20) {
            insist(async || {
                let put = shards.put(jobs.to_vec()).await;
                let seen = &mut self.0.lock().unwrap().jobs;
                jobs.iter().for_each(|job| seen.get_mut(&job.0).unwrap().is_put_again |= put.is_err());
                put
            })
            .await;
        }
    }

    /// The numbers of the attempts of each job, in the order in which they began.
    pub(crate) fn attempts(&self) -> Vec<Vec<u32>> {
        let numbers = |job: &Tracked| job.attempts.iter().map(|attempt| attempt.number).collect();
        self.0.lock().unwrap().jobs.values().map(numbers).collect()
    }

    /// Puts jobs that are due now and under way until [`release`](Self::release), and waits until they are.
    async fn put_slow(&self, shards: &Shards, ids: Range<u64>) {
        let now = Clock::default().now_ms();
        ids.clone().for_each(|id| self.track(id, now, Vec::new()));
        shards.put(ids.clone().map(|id| (id, now, b"slow".to_vec())).collect()).await.unwrap();
        self.have_begun(ids).await;
    }

    fn release(&self) {
        self.1.cancel();
    }

    async fn have_begun(&self, mut ids: Range<u64>) {
        insist(async || {
            let jobs = &self.0.lock().unwrap().jobs;
            let waiting = ids.find(|id| jobs[id].attempts.is_empty());
            waiting.map_or(Ok(()), |id| {
                ids.start = id;
                Err(format!("job {id} waits"))
            })
        })
        .await;
    }

    fn track(&self, id: u64, deadline: u64, attempts: Vec<Attempt>) {
        self.0.lock().unwrap().jobs.insert(id, Tracked { deadline, attempts, is_put_again: false });
    }

    /// Starts a worker, whose jobs fail now and then if they are `weak`.
    pub(crate) fn work(&self, shards: &Shards, settings: Settings, weak: bool) -> Running {
        let (stop, stopped) = oneshot::channel();
        let (trial, shards) = (self.clone(), shards.clone());
        let deliver: Deliver = Arc::new(move |job| trial.clone().deliver(job, weak).boxed());
        let clock = settings.clock.clone();
        let task =
            tokio::spawn(async move { worker::run(&shards, settings, deliver, async { _ = stopped.await }).await });
        Running { clock, stop, task }
    }

    async fn deliver(self, job: Delivery, weak: bool) -> std::result::Result<(), String> {
        let fate = if weak { rand::random_range(0..100) } else { 50 };
        let (fails, panics) = (fate < 5, fate >= 98);
        {
            let Seen { jobs, broken } = &mut *self.0.lock().unwrap();
            let Tracked { deadline, attempts, is_put_again } = jobs.get_mut(&job.id).unwrap();
            // The clocks of these workers are never ahead.
            if Clock::default().now_ms() < *deadline {
                broken.push(format!("{job:?} is early"));
            }
            if job.attempt == 1 && *is_put_again {
                attempts.clear();
            }
            // Attempts are compared in the order of their claims: on a busy machine the older may be seen last.
            let this = Attempt { number: job.attempt, until: job.until, has_failed: fails || panics };
            for other in attempts.iter() {
                let (older, newer) = if other.number < this.number { (other, &this) } else { (&this, other) };
                if older.number == newer.number {
                    broken.push(format!("{job:?} was given out before"));
                } else if !older.has_failed && older.until > newer.until - LEASE.as_millis() as u64 {
                    broken.push(format!("{job:?} has two leases that live"));
                }
            }
            attempts.push(this);
        }
        assert!(!panics, "a job panics, as it should now and then");
        if job.payload == b"slow" {
            self.1.cancelled().await;
        }
        sleep(Duration::from_millis(rand::random_range(0..5))).await;
        if fails { Err("it fails".to_owned()) } else { Ok(()) }
    }

    /// Waits until all jobs were done and the store is empty.
    pub(crate) async fn end(&self, shards: &Shards) {
        insist(async || {
            let left = left(shards).await;
            let Seen { jobs, broken } = &*self.0.lock().unwrap();
            assert_eq!(*broken, Vec::<String>::new());
            let is_lost = |job: &Tracked| job.attempts.iter().all(|attempt| attempt.has_failed);
            let lost: Vec<u64> = jobs.iter().filter(|job| is_lost(job.1)).map(|job| *job.0).collect();
            let all = format!("{left} are left, and {} were never done: {lost:?}", lost.len());
            if left == 0 && lost.is_empty() { Ok(()) } else { Err(all) }
        })
        .await;
    }
}

/// How many jobs there are. If a store does not answer there may be some.
pub(crate) async fn left(shards: &Shards) -> u64 {
    let mut left = 0;
    for part in 0..shards.partitions() {
        left += shards.store_of(part).count(part).await.map_or(1, |(waiting, failed)| waiting + failed);
    }
    left
}

/// Short times, a small window, and a number of its own.
pub(crate) fn settings() -> Settings {
    Settings {
        owner: rand::random_range(0..=MAX_NUMBER),
        clock: Clock::default(),
        lease: LEASE,
        tenure: Duration::from_millis(600),
        reload: Duration::from_secs(1),
        sweep: Duration::from_secs(3_600),
        capacity: 16,
        at_once: 30,
        attempts: 25,
    }
}

/// What a store does wrong.
#[derive(Clone, Copy, Default)]
struct Faults {
    /// How many of a hundred requests fail, before or after they are carried out, and how many news are lost.
    percent: u32,
    /// How long the answers to claims are on their way.
    late: Duration,
    /// Whether the news end at the first, which is lost.
    is_cut: bool,
    /// Whether leases hold, or any worker gets any lease on a partition that it wants. If they do, the paused time of the
    /// runtime stands while they are read or written.
    holds: bool,
}

impl Faults {
    /// These stores, each with these faults.
    fn of(self, shards: &Shards) -> Shards {
        let faulty = |(layout, store): &(Layout, Arc<dyn Store>)| {
            (*layout, Arc::new(Faulty { inner: Arc::clone(store), faults: self }) as Arc<dyn Store>)
        };
        Shards { stores: shards.stores.iter().map(faulty).collect() }
    }
}

struct Faulty {
    inner: Arc<dyn Store>,
    faults: Faults,
}

/// Paused time leaps while all tasks wait, but not while one is blocked.
async fn blocked<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || runtime.block_on(work)).await.unwrap()
}

impl Faulty {
    fn fails(&self) -> bool {
        rand::random_range(0..100) < self.faults.percent
    }

    async fn through<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let fault = || Err(Error::Store("a fault that was made".to_owned()));
        if self.fails() {
            return fault();
        }
        let answer = work.await;
        if self.fails() { fault() } else { answer }
    }
}

#[async_trait]
impl Store for Faulty {
    async fn put(&self, jobs: &[Job]) -> Result<u64> {
        self.through(self.inner.put(jobs)).await
    }

    async fn cancel(&self, part: u32, id: u64) -> Result<bool> {
        self.through(self.inner.cancel(part, id)).await
    }

    async fn scan(&self, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>> {
        self.through(self.inner.scan(part, after, limit)).await
    }

    async fn claim(&self, part: u32, rows: &[Row], until: u64) -> Result<Vec<Claim>> {
        let claims = self.through(self.inner.claim(part, rows, until)).await;
        sleep(self.faults.late).await;
        claims
    }

    async fn settle(&self, part: u32, ends: &[(Row, End)]) -> Result<()> {
        self.through(self.inner.settle(part, ends)).await
    }

    async fn failed(&self, part: u32, limit: usize) -> Result<Vec<Failed>> {
        self.through(self.inner.failed(part, limit)).await
    }

    async fn retry(&self, part: u32, ids: &[u64], deadline: u64) -> Result<u64> {
        self.through(self.inner.retry(part, ids, deadline)).await
    }

    async fn leases(&self) -> Result<Vec<Lease>> {
        let inner = Arc::clone(&self.inner);
        if self.faults.holds { blocked(async move { inner.leases().await }).await } else { Ok(Vec::new()) }
    }

    async fn lease(&self, wanted: &[Lease]) -> Result<Vec<bool>> {
        let (inner, wanted) = (Arc::clone(&self.inner), wanted.to_vec());
        let all = vec![true; wanted.len()];
        if self.faults.holds { blocked(async move { inner.lease(&wanted).await }).await } else { Ok(all) }
    }

    async fn news(&self) -> Result<BoxStream<'static, News>> {
        let Faults { percent, is_cut, .. } = self.faults;
        let holds = move |_: &News| ready(rand::random_range(0..100) >= percent);
        // Some are lost without a word, and some end the stream.
        let news = self.through(self.inner.news()).await?;
        Ok(news.filter(holds).take_while(holds).take_while(move |_| ready(!is_cut)).boxed())
    }

    async fn count(&self, part: u32) -> Result<(u64, u64)> {
        self.inner.count(part).await
    }
}

/// Two workers that both believe to have every partition of a store that fails: jobs fail, panic and are retried, and one
/// clock is set back and forth.
pub(crate) async fn two_owners_of_faulty_stores(shards: &Shards) {
    let (trial, faulty) = (Trial::default(), Faults { percent: 5, ..Faults::default() }.of(shards));
    let workers = [trial.work(&faulty, settings(), true), trial.work(&faulty, settings(), true)];
    for step in 0..6 {
        trial.put(&faulty, step * 60..step * 60 + 60, 600).await;
        // Set back only: who is ahead is early by definition.
        workers[1].clock.set_ahead([-3_000, 0, -600_000, -50, -1_000, 0][step as usize]);
        sleep(Duration::from_millis(200)).await;
    }
    trial.end(shards).await;
    for worker in workers {
        worker.stop().await;
    }
}

/// Workers that come and go, with leases that hold, lose nothing. Those that stop leave their partitions at once.
pub(crate) async fn workers_that_come_and_go(shards: &Shards) {
    let trial = Trial::default();
    for step in 0..4_u64 {
        let workers = [trial.work(shards, settings(), false), trial.work(shards, settings(), false)];
        trial.put(shards, step * 60..step * 60 + 60, 800).await;
        sleep(Duration::from_millis(300)).await;
        for worker in workers {
            worker.stop().await;
        }
    }
    let last = trial.work(shards, settings(), false);
    trial.end(shards).await;
    last.stop().await;
    for (_, store) in &shards.stores {
        let held: Vec<Lease> = store.leases().await.unwrap();
        assert!(held.iter().all(|lease| lease.until == 0), "{held:?}");
    }
}

/// Waits until the partitions of one store are held in such shares, in order.
async fn have_shares(store: &dyn Store, partitions: u64, is_wanted: impl Fn(&[usize]) -> bool) {
    insist(async || {
        let mut owners = HashMap::<u64, usize>::new();
        let leases = store.leases().await.unwrap();
        let held = leases.iter().filter(|lease| lease.until > 0 && lease.key < partitions);
        held.for_each(|lease| *owners.entry(lease.owner).or_default() += 1);
        let mut shares: Vec<usize> = owners.into_values().collect();
        shares.sort_unstable();
        if is_wanted(&shares) { Ok(()) } else { Err(format!("the shares are {shares:?}")) }
    })
    .await;
}

/// Eight workers that start one by one have two partitions each within two tenures. Each that stops hands over within a
/// second, although its jobs go on: half of a tenure would be too long. The time is that of the runtime, which stands while
/// a lease is read or written and leaps while all wait: so it is the same on a busy machine. The clock of one worker is
/// behind, that of another ahead.
pub(crate) async fn shares_are_even_in_time(shards: &Shards) {
    let tenure = Duration::from_secs(3);
    let settings = || Settings { lease: Duration::from_secs(600), tenure, ..settings() };
    let timed = Faults { holds: true, ..Faults::default() }.of(shards);
    let (trial, all, store) = (Trial::default(), shards.partitions(), timed.store_of(0));
    let mut workers = vec![trial.work(&timed, settings(), false)];
    trial.put_slow(shards, 0..4).await;
    tokio::time::pause();
    for ahead in [0, -600_000, 0, 3_600_000, 0, 0, 0] {
        sleep(tenure / 5).await;
        workers.push(trial.work(&timed, settings(), false));
        workers.last().unwrap().clock.set_ahead(ahead);
    }
    let last = Instant::now();
    have_shares(store, all.into(), |shares| *shares == [all as usize / 8; 8]).await;
    assert!(last.elapsed() <= tenure * 2, "even after {:?}", last.elapsed());
    let mut stopping = Vec::new();
    while workers.len() > 1 {
        sleep(tenure).await;
        stopping.push(tokio::spawn(workers.remove(0).stop()));
        let told = Instant::now();
        let is_taken = |shares: &[usize]| shares.len() == workers.len() && shares.iter().sum::<usize>() == all as usize;
        have_shares(store, all.into(), is_taken).await;
        assert!(told.elapsed() <= Duration::from_secs(1), "handed over after {:?}", told.elapsed());
    }
    tokio::time::resume();
    trial.release();
    trial.end(shards).await;
    workers.remove(0).stop().await;
    for worker in stopping {
        worker.await.unwrap();
    }
}

/// A worker whose clock was an hour ahead has died. Its leases are not believed for an hour.
pub(crate) async fn leases_of_a_wrong_clock_end(shards: &Shards) {
    for (layout, store) in &shards.stores {
        let epochs: HashMap<u64, u64> =
            store.leases().await.unwrap().iter().map(|lease| (lease.key, lease.epoch)).collect();
        let lease = |part: u32| {
            let (key, until) = (u64::from(part), Clock::default().now_ms() + 3_600_000);
            Lease { key, owner: 999, epoch: epochs.get(&key).map_or(1, |epoch| epoch + 1), until, floor: until }
        };
        assert!(store.lease(&layout.parts().map(lease).collect::<Vec<_>>()).await.unwrap().iter().all(|got| *got));
    }
    let trial = Trial::default();
    let worker = trial.work(shards, settings(), false);
    trial.put(shards, 0..40, 0).await;
    trial.end(shards).await;
    worker.stop().await;
}

/// Jobs that are under way keep neither a worker that stops from giving its partitions to others, nor jobs of a worker that
/// has no room from being run by others.
pub(crate) async fn slow_jobs_hold_no_others(shards: &Shards) {
    for stops in [true, false] {
        let trial = Trial::default();
        let settings = || Settings { lease: Duration::from_secs(600), at_once: 4, ..settings() };
        let slow = trial.work(shards, settings(), false);
        trial.put_slow(shards, 0..4).await;
        let other = trial.work(shards, settings(), false);
        let stop = CancellationToken::new();
        let stopping = tokio::spawn(stop.clone().cancelled_owned().then(async |()| slow.stop().await));
        if stops {
            stop.cancel();
        }
        trial.put(shards, 10..100, 1_000).await;
        trial.have_begun(10..100).await;
        trial.release();
        trial.end(shards).await;
        other.stop().await;
        stop.cancel();
        stopping.await.unwrap();
    }
}

/// A job is given up that was claimed as often as it may be, although no attempt came to its end: its workers died.
pub(crate) async fn a_job_that_kills_its_workers_is_given_up(shards: &Shards) {
    let (trial, part) = (Trial::default(), shards.part_of(0));
    let store = shards.store_of(part);
    assert_eq!(shards.put(vec![(0, 1, Vec::new())]).await.unwrap(), 1);
    for deadline in 1..=2 {
        let claims = store.claim(part, &[(deadline, 0)], deadline + 1).await.unwrap();
        assert!(matches!(claims[..], [Claim::Taken { .. }]), "{claims:?}");
    }
    let worker = trial.work(shards, Settings { attempts: 2, ..settings() }, false);
    insist(async || {
        let failed = store.failed(part, 1).await.unwrap();
        failed.into_iter().next().map_or(Err("not given up"), |job| {
            assert_eq!((job.id, job.attempts, &*job.error), (0, 3, "no attempt came to its end"));
            Ok(())
        })
    })
    .await;
    worker.stop().await;
}

/// A worker learns where a job is that another one has claimed, and runs it if that one dies: without news of the move, and
/// without loading anew.
pub(crate) async fn another_worker_dies_with_its_claim(shards: &Shards) {
    let trial = Trial::default();
    let worker = trial.work(shards, Settings { reload: Duration::from_secs(3_600), ..settings() }, false);
    // When these have run, all windows are loaded.
    trial.put(shards, 1_000_000..1_000_040, 0).await;
    trial.end(shards).await;
    let (deadline, ids) = (Clock::default().now_ms() + 3_000, 2_000_000..2_000_020);
    shards.put(ids.clone().map(|id| (id, deadline, Vec::new())).collect()).await.unwrap();
    for id in ids {
        trial.track(id, deadline, vec![Attempt { number: 1, until: deadline + 500, has_failed: true }]);
        let part = shards.part_of(id);
        let claims = shards.store_of(part).claim(part, &[(deadline, id)], deadline + 500).await.unwrap();
        assert!(matches!(claims[..], [Claim::Taken { attempt: 1, .. }]), "{claims:?}");
    }
    trial.end(shards).await;
    worker.stop().await;
}

/// Each piece of news is lost, and ends the news: what it told is found nevertheless.
pub(crate) async fn lost_news_are_looked_for(shards: &Shards) {
    let (trial, cut) = (Trial::default(), Faults { is_cut: true, ..Faults::default() }.of(shards));
    let worker = trial.work(&cut, Settings { reload: Duration::from_secs(3_600), ..settings() }, false);
    for id in 0..5 {
        trial.put(shards, id..id + 1, 0).await;
        trial.end(shards).await;
    }
    worker.stop().await;
}

/// Jobs of writers that do not tell are found by a recheck from the floor, or by the sweep if they are below it. The leases
/// keep the floors, and a new owner finds what was inserted below them meanwhile.
pub(crate) async fn what_is_never_told_is_found(silent: &Shards) {
    let trial = Trial::default();
    let (short, long) = (Duration::from_millis(100), Duration::from_secs(3_600));
    let times = |reload, sweep| Settings { reload, sweep, ..settings() };
    let put_below_the_floor = async |id: u64| {
        let deadline = Clock::default().now_ms() - 1_800_000;
        trial.track(id, deadline, Vec::new());
        silent.put(vec![(id, deadline, Vec::new())]).await.unwrap();
    };
    let worker = trial.work(silent, times(short, long), false);
    trial.put(silent, 0..40, 300).await;
    trial.end(silent).await;
    let least = Clock::default().now_ms() - 120_000;
    insist(async || {
        let leases = silent.stores[0].1.leases().await.map_err(|error| error.to_string())?;
        let has_floor = |part: u64| leases.iter().any(|lease| lease.key == part && lease.floor > least);
        if (0..4).all(has_floor) { Ok(()) } else { Err(format!("no floors: {leases:?}")) }
    })
    .await;
    worker.stop().await;
    put_below_the_floor(50).await;
    let worker = trial.work(silent, times(long, long), false);
    trial.end(silent).await;
    worker.stop().await;
    let worker = trial.work(silent, times(long, short * 3), false);
    trial.put(silent, 60..100, 0).await; // When these have run, it has the partitions.
    trial.end(silent).await;
    put_below_the_floor(51).await;
    trial.end(silent).await;
    worker.stop().await;
}

/// A worker whose clock is set back while the answer to its claim is on its way counts the lease all the same: it does not
/// begin a job that another worker has meanwhile.
pub(crate) async fn a_clock_is_set_back_during_a_claim(shards: &Shards) {
    let (trial, slow) = (Trial::default(), Faults { late: LEASE * 3, ..Faults::default() }.of(shards));
    let worker = trial.work(&slow, settings(), false);
    trial.put(shards, 0..1, 0).await;
    let (part, deadline) = (shards.part_of(0), trial.0.lock().unwrap().jobs[&0].deadline);
    insist(async || {
        let rows = shards.store_of(part).scan(part, None, 1).await.map_err(|error| error.to_string())?;
        if rows[0].0 > deadline { Ok(()) } else { Err("not claimed yet".to_owned()) }
    })
    .await;
    worker.clock.set_ahead(-600_000);
    let other = trial.work(&Faults::default().of(shards), settings(), false);
    trial.end(shards).await;
    sleep(LEASE * 3).await;
    assert_eq!(trial.attempts(), [vec![2]], "the second attempt began first, and the first too late");
    worker.stop().await;
    other.stop().await;
}

/// An engine that gives up transactions which meet. What was done is not done again, as settling is tried again.
pub(crate) async fn transactions_meet(shards: &Shards) {
    let trial = Trial::default();
    let settings = || Settings { lease: Duration::from_secs(20), capacity: 1_000, at_once: 200, ..settings() };
    let workers = [trial.work(shards, settings(), false), trial.work(shards, settings(), false)];
    trial.put(shards, 0..2_000, 1_000).await;
    trial.end(shards).await;
    let twice = trial.attempts().into_iter().filter(|numbers| numbers.len() > 1).count();
    assert_eq!(twice, 0, "jobs ran twice");
    for worker in workers {
        worker.stop().await;
    }
}

/// Connections fall silent again and again, and everything goes on after the patience: claims, scans, and news.
pub(crate) async fn connections_fall_silent(shards: &Shards, direct: &Shards, silence: impl Fn()) {
    let trial = Trial::default();
    let far = || Settings { reload: Duration::from_secs(3_600), lease: Duration::from_secs(3), ..settings() };
    let worker = trial.work(shards, far(), false);
    let began = Instant::now();
    for step in 0..5 {
        trial.put(direct, step * 50..step * 50 + 50, 300).await;
        silence();
        trial.have_begun(step * 50..step * 50 + 50).await;
    }
    trial.end(direct).await;
    worker.stop().await;
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}
