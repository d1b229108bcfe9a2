//! A store, a window in front of it, and a host between them that does everything late and in any order.

#[cfg(test)]
#[path = "small_worlds.rs"]
mod small_worlds;

use std::collections::{BTreeMap, BTreeSet};

use timer_wheel::window::{Load, Position, Window};

use super::script::{End, Ids, Op, Script};

type Row = Position<u32>;

/// A rule that a host may break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The host announces no inserts while a scan is under way.
    TellDuringScans,
    /// The host announces an insert when its transaction begins.
    TellAfterTheCommit,
    /// The host goes on after lost news.
    RecheckAfterLostNews,
    /// The host rechecks before news arrive again.
    SubscribeFirst,
    /// The host rechecks from the floor, and never from the first row.
    RecheckAll,
    /// The host's floor is its first row, although rows before that are pending.
    FloorBelowPending,
    /// The host takes a floor while a scan is under way.
    FloorAtRest,
    /// The host announces removals in any order, although positions are used again.
    TellRemovalsInOrder,
    /// The host scans a replica, which is as far as the primary was at the load before.
    ScanThePrimary,
    /// The host skips a row that another transaction has locked.
    LeaveNoGap,
    /// The host takes every short answer for the end.
    EndAtTheEnd,
    /// The host does not look whether the row is still there.
    LookAtTheRow,
    /// The host looks for the row by its id alone.
    LookAtThePosition,
    /// The host calls `done`, and then its transaction fails.
    DoneAfterTheCommit,
}

/// What is on its way to the window.
#[derive(Debug)]
enum News {
    Inserted(Row, u64),
    Removed(Row),
    Done(Row),
    Stays { row: Row, told_first: bool },
}

#[derive(Debug)]
struct Scan {
    /// How many scans there were up to this one.
    number: u64,
    load: Load<u32>,
    /// The store as the scan saw it first.
    seen: Option<BTreeSet<Row>>,
    /// Whether the window knows of the scan, as far as the host can tell: there was neither a crash nor a reset since.
    is_known: bool,
}

/// How often something happened that few histories reach.
pub(crate) type Counts = BTreeMap<&'static str, u64>;

/// Invariant: nothing is announced to the window but by the methods `apply` calls.
pub(crate) struct World {
    broken: Option<Rule>,
    ids: Ids,
    capacity: usize,
    window: Window<u32>,
    /// The clock of the host.
    now: u64,
    /// The rows, each with a number of its own.
    store: BTreeMap<Row, u64>,
    open: Vec<(Row, u64)>,
    inserts: u64,
    /// The positions that were in the store ever.
    used: BTreeSet<Row>,
    /// The numbers of the rows that the window must know of.
    told: BTreeSet<u64>,
    /// The numbers of the rows that a recheck has to find. They count as announced once it is over.
    owed: BTreeSet<u64>,
    /// The numbers of the rows whose news were lost, or are up to the floor of a reset: they wait for a recheck.
    silent: BTreeSet<u64>,
    is_rechecking: bool,
    /// Rows are after it, but for those that are inserted up to it later.
    floor: Option<Row>,
    /// Whether news do not arrive, which only a host does not know that breaks a rule.
    is_deaf: bool,
    news: Vec<News>,
    scans: Vec<Scan>,
    asked: u64,
    /// The store at the load before.
    replica: BTreeSet<Row>,
    /// The rows that were yielded and found in the store.
    work: BTreeMap<Row, u64>,
    pending: BTreeSet<Row>,
    /// The numbers of the rows whose work was done.
    finished: BTreeSet<u64>,
    counts: Counts,
}

/// Runs a history of a host that breaks a rule, or none, and then lets every row come to its end.
pub(crate) fn run(script: &Script, broken: Option<Rule>) -> Counts {
    let mut world = World::new(script.capacity, script.ids, script.start, broken);
    for op in &script.ops {
        _ = world.apply(*op);
        world.check();
    }
    world.drain();
    world.counts
}

impl World {
    pub(crate) fn new(capacity: usize, ids: Ids, now: u64, broken: Option<Rule>) -> Self {
        let capacity = capacity.max(1);
        Self {
            broken,
            ids,
            capacity,
            window: Window::new(capacity),
            now,
            store: BTreeMap::new(),
            open: Vec::new(),
            inserts: 0,
            used: BTreeSet::new(),
            told: BTreeSet::new(),
            owed: BTreeSet::new(),
            silent: BTreeSet::new(),
            is_rechecking: false,
            floor: None,
            is_deaf: false,
            news: Vec::new(),
            scans: Vec::new(),
            asked: 0,
            replica: BTreeSet::new(),
            work: BTreeMap::new(),
            pending: BTreeSet::new(),
            finished: BTreeSet::new(),
            counts: Counts::new(),
        }
    }

    /// Nothing happens if the operation names what is not there.
    pub(crate) fn apply(&mut self, op: Op) -> Option<()> {
        match op {
            Op::Insert { id, at, open } => self.insert((self.after(at), self.id(id)), open),
            Op::Commit(n) => {
                let (row, number) = self.open.swap_remove(place(n, self.open.len())?);
                self.commit(row, number);
            }
            Op::Remove(n) => self.remove(self.row(n)?),
            Op::Move { row, at } => self.move_to(self.row(row)?, self.after(at)),
            Op::Tell(n) => self.tell(place(n, self.news.len())?),
            Op::Ask => self.ask(),
            Op::See(n) => {
                let (n, rows) = (place(n, self.scans.len())?, self.rows());
                self.scans[n].seen.get_or_insert(rows);
            }
            Op::Answer { scan, rows, odd, end } => self.answer(place(scan, self.scans.len())?, rows, odd, end),
            Op::Fail(n) => {
                let scan = self.scans.swap_remove(place(n, self.scans.len())?);
                self.window.load_failed(scan.load);
                self.count("a load that failed");
            }
            Op::Drop(n) => {
                drop(self.scans.swap_remove(place(n, self.scans.len())?));
                self.count("a load that was dropped");
            }
            Op::Poll => _ = self.poll(),
            Op::PollAll => while self.poll() {},
            Op::Finish { work, end } => self.finish(work, end),
            Op::Pass(span) => self.now = self.now.saturating_add(span.into()),
            Op::Sleep => self.now = self.now.max(self.window.wake_at().unwrap_or(0)),
            Op::Back(span) => self.now = self.now.saturating_sub(span.into()),
            Op::Crash { late } => {
                self.window = Window::new(self.capacity);
                self.news.clear();
                self.work.clear();
                self.pending.clear();
                self.scans.retain(|_| late);
                self.begin();
            }
            Op::Reset => {
                self.cut();
                self.begin();
            }
            Op::Floor => self.take_floor(),
            Op::Lose(n) => {
                // News that come in order do not lose one among others.
                let n = place(n, self.news.len()).filter(|_| self.ids != Ids::InOrder)?;
                let News::Inserted(_, number) = self.news[n] else { return None };
                self.news.remove(n);
                self.silent.insert(number);
                self.count("an insert that is never told");
            }
            Op::Recheck { all, cut } => {
                if cut {
                    self.cut();
                }
                if self.broken == Some(Rule::RecheckAfterLostNews) {
                    self.told.append(&mut self.silent);
                } else {
                    self.is_deaf = self.broken == Some(Rule::SubscribeFirst);
                    self.recheck(if all { None } else { self.floor });
                }
            }
        }
        Some(())
    }

    /// The news that are under way are lost.
    fn cut(&mut self) {
        for news in &self.news {
            if let News::Inserted(_, number) = news {
                self.silent.insert(*number);
            }
        }
        self.news.retain(|news| matches!(news, News::Done(_) | News::Stays { .. }));
    }

    /// The host takes the partition over: the window forgets all rows, and knows of no scan.
    fn begin(&mut self) {
        self.window.reset(self.floor);
        self.scans.iter_mut().for_each(|scan| scan.is_known = false);
        self.is_rechecking = false;
        self.owed.clear();
        let (told, silent) = self.store.iter().partition::<BTreeMap<_, _>, _>(|(row, _)| Some(**row) > self.floor);
        (self.told, self.silent) = (told.into_values().collect(), silent.into_values().collect());
        if self.floor.is_some() && self.broken != Some(Rule::RecheckAll) {
            self.recheck(None);
        }
    }

    /// What was lost after `from` comes with a page, or with a load that begins later.
    fn recheck(&mut self, from: Option<Row>) {
        if self.is_rechecking {
            self.count("a recheck during another");
        }
        let wake = self.window.wake_at();
        self.window.recheck(from);
        assert_eq!(self.window.wake_at(), wake, "a recheck forgets nothing");
        self.is_rechecking = true;
        let is_owed =
            |(row, number): (&Row, &u64)| (Some(*row) > from && self.silent.contains(number)).then_some(*number);
        self.owed.extend(self.store.iter().filter_map(is_owed));
        self.silent.retain(|number| !self.owed.contains(number));
    }

    /// The least of the clock, the first row and the pending rows. Rows at that deadline are after it.
    fn take_floor(&mut self) {
        self.ask();
        if !self.scans.is_empty() && self.broken != Some(Rule::FloorAtRest) {
            return;
        }
        let pending = self.window.pending().next().map(|row| row.0);
        let pending = pending.filter(|_| self.broken != Some(Rule::FloorBelowPending));
        let least = [Some(self.now), self.window.wake_at(), pending].into_iter().flatten().min();
        self.floor = least.and_then(|least| Some((least.checked_sub(1)?, u32::MAX)));
        let is_told = |(_, number): &(&Row, &u64)| self.told.contains(number);
        let first = self.store.iter().find(is_told).map(|(row, _)| *row);
        assert!(first.is_none_or(|first| Some(first) > self.floor), "{first:?} is up to the floor {:?}", self.floor);
    }

    fn after(&self, at: i8) -> u64 {
        self.now.saturating_add_signed(at.into())
    }

    fn id(&self, id: u8) -> u32 {
        match self.ids {
            Ids::Once => self.inserts as u32,
            Ids::Again | Ids::InOrder => u32::from(id % 3),
        }
    }

    fn rows(&self) -> BTreeSet<Row> {
        self.store.keys().copied().collect()
    }

    fn row(&self, n: u8) -> Option<Row> {
        self.store.keys().nth(place(n, self.store.len())?).copied()
    }

    fn is_free(&self, row: Row) -> bool {
        let is_taken = self.store.contains_key(&row) || self.open.iter().any(|open| open.0 == row);
        !is_taken && (self.ids != Ids::Once || !self.used.contains(&row))
    }

    fn insert(&mut self, row: Row, open: bool) {
        if !self.is_free(row) {
            return;
        }
        self.used.insert(row);
        self.inserts += 1;
        if open {
            self.open.push((row, self.inserts));
            if self.broken == Some(Rule::TellAfterTheCommit) {
                self.window.inserted(row);
                self.told.insert(self.inserts);
            }
        } else {
            self.commit(row, self.inserts);
        }
    }

    fn commit(&mut self, row: Row, number: u64) {
        self.store.insert(row, number);
        if self.is_deaf {
            self.told.insert(number);
        } else if !self.told.contains(&number) {
            self.news.push(News::Inserted(row, number));
        }
    }

    fn remove(&mut self, row: Row) {
        self.store.remove(&row);
        if self.ids != Ids::Again || self.broken == Some(Rule::TellRemovalsInOrder) {
            self.news.push(News::Removed(row));
        }
    }

    fn move_to(&mut self, row: Row, deadline: u64) {
        if self.is_free((deadline, row.1)) {
            self.remove(row);
            self.insert((deadline, row.1), false);
        }
    }

    fn tell(&mut self, n: usize) {
        let is_change = |news: &News| matches!(news, News::Inserted(..) | News::Removed(_));
        let first = self.news.iter().position(is_change);
        let n = if self.ids == Ids::InOrder && is_change(&self.news[n]) { first.unwrap_or(n) } else { n };
        match self.news.remove(n) {
            News::Inserted(row, number) => {
                self.told.insert(number);
                if !self.scans.is_empty() {
                    self.count("an insert that is told during a scan");
                    if self.broken == Some(Rule::TellDuringScans) {
                        return;
                    }
                }
                if self.store.get(&row) != Some(&number) {
                    self.count("an insert that is told after the row is gone");
                }
                if self.is_loading() && self.window.len() == self.capacity {
                    self.count("an insert into a full window during a scan");
                }
                self.window.inserted(row);
            }
            News::Removed(row) => {
                if self.window.removed(&row) {
                    self.count("a removal that is told in time");
                }
            }
            News::Done(row) => {
                self.pending.remove(&row);
                self.window.done(&row);
            }
            News::Stays { row, told_first } => {
                self.pending.remove(&row);
                if told_first {
                    self.window.inserted(row);
                }
                self.window.done(&row);
                if !told_first {
                    self.window.inserted(row);
                }
            }
        }
    }

    fn is_loading(&self) -> bool {
        self.scans.iter().any(|scan| scan.is_known)
    }

    fn ask(&mut self) {
        let room = self.capacity - self.window.len();
        let is_loading = self.is_loading();
        let Some(load) = self.window.load() else {
            if !is_loading {
                self.is_rechecking = false;
                self.told.append(&mut self.owed);
            }
            if !is_loading && room >= self.capacity.div_ceil(4) {
                let expected = self.expected().count();
                assert!(self.window.len() >= expected, "no load, although {expected} rows are told: {:?}", self.window);
            }
            return;
        };
        // Less is held once a load was dropped: the rows that were announced during it are left to the next.
        assert!(load.limit >= room || self.is_rechecking, "{load:?} with room for {room}");
        assert!(load.limit <= self.capacity && load.limit >= self.capacity.div_ceil(4));
        if is_loading {
            self.count("a load in place of one that came to nothing");
        }
        let rows = self.rows();
        let replica = std::mem::replace(&mut self.replica, rows);
        let seen = (self.broken == Some(Rule::ScanThePrimary)).then_some(replica);
        self.asked += 1;
        self.scans.push(Scan { number: self.asked, load, seen, is_known: true });
    }

    fn answer(&mut self, n: usize, rows: u8, odd: u8, end: bool) {
        let Scan { load, seen, is_known, .. } = self.scans.swap_remove(n);
        if !is_known {
            self.count("an answer after a crash or a reset");
        }
        let now = self.rows();
        let mut found = match seen {
            // The scan passed the rows in its own time, and did not see all that came or went meanwhile.
            Some(then) if self.broken != Some(Rule::ScanThePrimary) => {
                if then != now {
                    self.count("a scan while rows come and go");
                }
                let in_both = |row: &Row| then.contains(row) && now.contains(row);
                then.union(&now).filter(|row| in_both(row) || odd >> (row.1 % 8) & 1 == 1).copied().collect()
            }
            Some(then) => then,
            None => now,
        };
        found.retain(|row| Some(*row) > load.after);
        if self.broken == Some(Rule::LeaveNoGap) && found.len() > 1 && odd & 1 == 1 {
            found.pop_first();
        }
        let limit = usize::from(rows) % (load.limit + 1);
        let limit = if limit == 0 { load.limit } else { limit };
        let is_end = end && (found.len() <= limit || self.broken == Some(Rule::EndAtTheEnd));
        if found.len() > limit && limit < load.limit {
            self.count("an answer in part");
        }
        let found: Vec<Row> = found.into_iter().take(limit).collect();
        if found.iter().any(|row| self.pending.contains(row)) {
            self.count("a pending row in an answer");
        }
        if found.iter().any(|row| self.owed.contains(&self.store.get(row).copied().unwrap_or_default())) {
            self.count("a lost row in an answer");
        }
        self.window.loaded(load, found, is_end);
        self.is_deaf = false;
    }

    /// The rows that the window must know of, and those that are pending left out.
    fn expected(&self) -> impl Iterator<Item = Row> + '_ {
        let rows = self.store.iter().filter(|(row, number)| self.told.contains(number) && !self.pending.contains(row));
        rows.map(|(row, _)| *row)
    }

    fn poll(&mut self) -> bool {
        let (expected, wake) = (self.expected().next(), self.window.wake_at());
        let Some(row) = self.window.poll(self.now) else {
            assert!(wake.is_none_or(|wake| wake > self.now), "woken at {wake:?} for nothing");
            if expected.is_some_and(|row| row.0 <= self.now) {
                self.count("a row that is late for a load");
                self.ask();
                assert!(self.is_loading(), "{expected:?} is due, and no load is under way");
            }
            return false;
        };
        assert!(wake == Some(row.0) && row.0 <= self.now, "{row:?} is early");
        assert!(expected.is_none_or(|expected| row <= expected), "{row:?} before {expected:?}");
        assert!(self.pending.insert(row), "{row:?} is pending twice");
        match self.store.get(&row) {
            Some(number) => {
                assert!(!self.finished.contains(number), "{row:?} is done twice");
                self.work.insert(row, *number);
            }
            None => {
                self.count("a row that is no longer there");
                assert!(self.broken != Some(Rule::LookAtTheRow), "{row:?} was removed, and runs");
                if self.broken == Some(Rule::LookAtThePosition) {
                    let found = self.store.keys().find(|other| other.1 == row.1);
                    assert!(found.is_none_or(|found| found.0 <= self.now), "{found:?} is early");
                }
                self.news.push(News::Done(row));
            }
        }
        true
    }

    fn finish(&mut self, n: u8, end: End) {
        let Some(n) = place(n, self.work.len()) else { return };
        let (&row, &number) = self.work.iter().nth(n).expect("there are more");
        self.work.remove(&row);
        // It may have been removed since, and another row may be in its place.
        let is_there = self.store.get(&row) == Some(&number);
        let fails = end == End::Gone && self.broken == Some(Rule::DoneAfterTheCommit);
        match end {
            End::Gone if is_there && !fails => {
                assert!(self.finished.insert(number), "{row:?} is done twice");
                self.remove(row);
            }
            End::Later(at) if is_there => self.move_to(row, self.after(at)),
            _ => {}
        }
        let stays = self.store.get(&row) == Some(&number) && !fails;
        let told_first = end == End::Stays { told_first: true };
        self.news.push(if stays { News::Stays { row, told_first } } else { News::Done(row) });
    }

    pub(crate) fn check(&mut self) {
        let len = self.window.len();
        assert!(len <= self.capacity, "{len} rows");
        assert_eq!(self.window.is_empty(), len == 0);
        assert!(self.window.pending().eq(&self.pending));
        let Some(first) = self.expected().next() else { return };
        match self.window.wake_at() {
            Some(wake) => assert!(wake <= first.0, "to wake at {wake} is late for {first:?}"),
            None => {
                if !self.is_loading() {
                    self.ask();
                    assert!(self.is_loading(), "{first:?} waits for nothing");
                }
            }
        }
    }

    /// Everything ends well: all rows but those that wait for a recheck of all rows, and then those.
    pub(crate) fn drain(&mut self) {
        while let Some((row, number)) = self.open.pop() {
            self.commit(row, number);
        }
        self.now = u64::MAX;
        self.work_off();
        if self.broken != Some(Rule::RecheckAll) {
            self.recheck(None);
            self.work_off();
        }
        assert!(self.store.is_empty(), "left over: {:?}, {:?}", self.store, self.window);
    }

    fn work_off(&mut self) {
        for _ in 0..4 * self.store.len() + 10 {
            while !self.news.is_empty() {
                self.tell(0);
            }
            while self.poll() {}
            self.ask();
            while !self.scans.is_empty() {
                self.answer(0, 0, 0, true);
            }
            while !self.work.is_empty() {
                self.finish(0, End::Gone);
            }
            self.check();
            let is_silent = |number| self.silent.contains(number);
            if self.store.values().all(is_silent) && self.pending.is_empty() && self.news.is_empty() {
                return;
            }
        }
        panic!("left over: {:?}, {:?}", self.store, self.window);
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

/// Which of so many a byte means.
fn place(n: u8, of: usize) -> Option<usize> {
    usize::from(n).checked_rem(of)
}
