//! Timers beyond memory: rows in an ordered store, and a look-ahead in front of it.
//!
//! The store holds a row for each timer, at a [`Position`]: its deadline, then its id. It is a PostgreSQL index, a
//! redb or RocksDB table, or an etcd key range. A [`Window`] holds the positions that come next, a bounded number of
//! them. It says which row is due, when to wake up, and what to load. It performs no I/O and reads no clock.
//!
//! ```
//! use std::collections::BTreeSet;
//! use timer_wheel::window::Window;
//!
//! let mut store = BTreeSet::from([(10, "a"), (20, "b"), (30, "c")]);
//! let mut window = Window::new(2);
//!
//! let load = window.load().expect("a new window knows nothing");
//! let rows: Vec<_> = store.iter().filter(|row| Some(**row) > load.after).take(load.limit).copied().collect();
//! window.loaded(load, rows, false);
//! assert_eq!(window.wake_at(), Some(10)); // sleep until then
//!
//! store.insert((5, "d")); // first the store,
//! window.inserted((5, "d")); // then the window
//!
//! let row = window.poll(7).expect("the row is due");
//! assert!(store.contains(&row)); // a row that was removed needs no work
//! store.remove(&row); // after the work, first the store,
//! window.done(&row); // then the window
//! assert_eq!(window.poll(7), None);
//! ```
//!
//! # What it promises
//!
//! A row is *announced* if [`inserted`](Window::inserted) was called for it, or if it was in the store when the window
//! was made. It also counts as announced if it was in the store after `from` at a [`reset(from)`](Window::reset), or at
//! a [`recheck`](Window::recheck) that has passed it since. After a `reset`, rows that were announced before no longer
//! count as announced.
//!
//! - **Never lost.** A row that was announced and not removed is yielded once it is due and the loads up to it are
//!   answered.
//! - **Never early.** [`poll(now)`](Window::poll) yields no row with a deadline after `now`, whatever the times of
//!   earlier polls. The clock may be set back.
//! - **In order.** A yielded row comes before all other rows that were announced and are neither removed nor pending.
//!   While the next row has yet to be loaded, `poll` yields nothing.
//! - **Never twice at a time.** A yielded row is *pending* until [`done`](Window::done), and is not yielded meanwhile.
//! - **Bounded.** The window holds at most its capacity, and the pending rows. When it is full, it drops the last rows.
//! - **Never blind.** A `recheck` forgets nothing, and [`poll`](Window::poll) and [`wake_at`](Window::wake_at) keep
//!   working during it.
//!
//! It may yield a row that is no longer in the store, so the host must look at the store first. The promises hold if
//! the host follows the rules for [announcing](Window::inserted), [scanning](Load) and [finishing](Window::done).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The place of a row in the order of the store: its deadline, in any unit of time, and its id.
///
/// The store orders rows by deadline, then by id, and ids as `K` does: numbers, UUIDs, or text by its bytes.
///
/// ```
/// use timer_wheel::window::Position;
///
/// let (first, second): (Position<&str>, Position<&str>) = ((10, "b"), (20, "a"));
/// assert!(first < second);
/// ```
pub type Position<K> = (u64, K);

/// A scan that a [`Window`] asks for, from [`Window::load`].
///
/// The scan must see every row that was committed before the call to `load`, so it reads the primary, and begins after
/// the call. It need not be one snapshot. Answer with [`loaded`](Window::loaded) or
/// [`load_failed`](Window::load_failed). If the load is dropped instead, the window asks again.
///
/// ```
/// use timer_wheel::window::Window;
///
/// let load = Window::<u32>::new(100).load().unwrap();
/// // SELECT deadline, id FROM timer WHERE (deadline, id) > (after) ORDER BY deadline, id LIMIT limit
/// assert_eq!((load.after, load.limit), (None, 100));
/// ```
#[derive(Debug)]
#[must_use = "the window waits for the answer"]
pub struct Load<K> {
    /// Scan the rows after this position, or from the first row on if it is `None`.
    pub after: Option<Position<K>>,
    /// The most rows to scan. Fewer will do, but at least one unless none is left.
    pub limit: usize,
    ticket: Arc<()>,
}

/// The part of the store whose announced rows are all in the window.
#[derive(Clone, Debug)]
enum Known<K> {
    /// The rows up to this one. If it is `None`, no rows.
    UpTo(Option<Position<K>>),
    All,
}

impl<K: Ord> Known<K> {
    fn covers(&self, row: &Position<K>) -> bool {
        match self {
            Self::UpTo(last) => Some(row) <= last.as_ref(),
            Self::All => true,
        }
    }
}

/// A scan that has no answer yet.
#[derive(Debug)]
struct Loading<K> {
    /// Shared with the [`Load`], to detect that it was dropped.
    ticket: Arc<()>,
    /// Whether the scan is a page of a recheck: its rows are announced, and leave what is known unchanged.
    is_page: bool,
    /// The first of the rows that were announced during a load and did not fit.
    forgotten: Option<Position<K>>,
}

/// A second look at known rows.
#[derive(Debug)]
struct Recheck<K> {
    /// The next page begins after this row, or at the first if it is `None`.
    passed: Option<Position<K>>,
    /// What was known when no earlier scan was under way any more. Loads that begin later see the rows beyond it.
    until: Option<Known<K>>,
    /// Whether a page goes before a load that is needed as well. They take turns, so that neither waits for ever.
    is_next: bool,
}

/// The rows of an ordered store that come next. See the [module](self).
///
/// ```
/// use timer_wheel::window::Window;
///
/// let mut window = Window::new(1_000);
/// let load = window.load().unwrap();
/// window.loaded(load, vec![(10, "a"), (20, "b")], true); // all rows of the store
/// assert_eq!(window.poll(15), Some((10, "a")));
/// assert_eq!((window.poll(15), window.wake_at()), (None, Some(20)));
/// ```
#[derive(Debug)]
pub struct Window<K> {
    /// Invariant: holds every announced row up to `known` that is not pending. It may hold rows that were removed, too.
    ///
    /// Invariant: holds rows beyond `known` only during a load.
    ///
    /// Invariant: holds at most `capacity` rows.
    near: BTreeSet<Position<K>>,
    /// Invariant: does not change during a load.
    known: Known<K>,
    loading: Option<Loading<K>>,
    recheck: Option<Recheck<K>>,
    /// The rows that were yielded and are not done, and whether they were announced again since.
    ///
    /// Invariant: none of them is in `near`.
    pending: BTreeMap<Position<K>, bool>,
    capacity: usize,
}

impl<K: Ord + Clone> Window<K> {
    /// Makes a window for up to `capacity` rows, at least one, that knows nothing of the store. O(1).
    ///
    /// It asks for a load when a quarter of it is free. The other three quarters should last until the answer.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let window = Window::<u64>::new(10_000);
    /// assert_eq!(window.wake_at(), None); // nothing is known yet
    /// ```
    pub fn new(capacity: usize) -> Self {
        Self {
            near: BTreeSet::new(),
            known: Known::UpTo(None),
            loading: None,
            recheck: None,
            pending: BTreeMap::new(),
            capacity: capacity.max(1),
        }
    }

    /// Announces a row that was, or may have been, inserted into the store or moved to this position. O(log n).
    ///
    /// Call it after the end of the transaction. Calls that are late, repeated, not in the order of the commits, or for
    /// a row that is not there are harmless. A row that is never announced may wait for the next
    /// [`recheck`](Self::recheck).
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(100);
    /// let load = window.load().unwrap();
    /// window.inserted((10, "a")); // the scan may have missed it
    /// window.loaded(load, vec![(20, "b")], true);
    /// assert_eq!(window.wake_at(), Some(10));
    /// ```
    pub fn inserted(&mut self, row: Position<K>) {
        match self.pending.get_mut(&row) {
            // A late call, or another row in its place: `done` tells the window that the first is gone.
            Some(announced_again) => *announced_again = true,
            None => self.hold(row),
        }
    }

    /// Tells the window that a row was removed from the store, or moved from this position. Returns whether the window
    /// held it. O(log n).
    ///
    /// This is a hint that saves memory and a look at the store. It is safe only if the store never holds another row
    /// at the same position later, or if all calls are made in the order of the commits. Leave it out if in doubt.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(100);
    /// let load = window.load().unwrap();
    /// window.loaded(load, vec![(10, "a"), (20, "b")], true);
    /// assert!(window.removed(&(10, "a")));
    /// assert!(!window.removed(&(10, "a")));
    /// assert_eq!(window.wake_at(), Some(20));
    /// ```
    pub fn removed(&mut self, row: &Position<K>) -> bool {
        self.near.remove(row)
    }

    /// Yields the next row that is due at `now`, and makes it pending. O(log n).
    ///
    /// Call it until it yields `None`. Look at the row in the store, *at this position*, before the work: it may have
    /// been removed or moved.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(100);
    /// let load = window.load().unwrap();
    /// window.loaded(load, vec![(10, "a"), (20, "b"), (30, "c")], true);
    /// let due: Vec<_> = std::iter::from_fn(|| window.poll(20)).collect();
    /// assert_eq!(due, [(10, "a"), (20, "b")]);
    /// ```
    pub fn poll(&mut self, now: u64) -> Option<Position<K>> {
        if self.wake_at()? > now {
            return None;
        }
        let row = self.near.pop_first()?;
        self.pending.insert(row.clone(), false);
        Some(row)
    }

    /// Says that a pending row is finished: it is no longer in the store at this position. O(log n).
    ///
    /// Call it after the end of the transaction that removed or moved the row, or at once if the row was not there. To
    /// try again later, move the row, and call [`inserted`](Self::inserted) for the new position as well. If the row
    /// was left where it is, call `inserted` for this position, before or after: `poll` yields the row again at once.
    ///
    /// # Panics
    ///
    /// In builds with debug assertions, if the row is not pending. In other builds the call does nothing then.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(100);
    /// let load = window.load().unwrap();
    /// window.loaded(load, vec![(10, "a")], true);
    /// let row = window.poll(10).unwrap();
    /// // The work has failed: UPDATE timer SET deadline = 70 WHERE deadline = 10 AND id = 'a'
    /// window.done(&row);
    /// window.inserted((70, "a"));
    /// assert_eq!(window.wake_at(), Some(70));
    /// ```
    #[track_caller]
    pub fn done(&mut self, row: &Position<K>) {
        let announced_again = self.pending.remove(row);
        debug_assert!(announced_again.is_some(), "only a pending row can be done");
        if announced_again == Some(true) {
            self.hold(row.clone());
        }
    }

    /// The scan that should begin now, if any. O(1). Ask after all other calls, before going to sleep.
    ///
    /// There is one scan at a time. Except for a [`recheck`](Self::recheck), the window asks for none while it is more
    /// than three quarters full, or knows all rows of the store.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(4);
    /// let load = window.load().unwrap();
    /// assert!(window.load().is_none()); // the first has no answer yet
    /// window.loaded(load, vec![(10, "a"), (20, "b"), (30, "c"), (40, "d")], false);
    /// assert!(window.load().is_none()); // the window is full
    /// window.poll(10).unwrap();
    /// let load = window.load().unwrap();
    /// assert_eq!((load.after, load.limit), (Some((40, "d")), 1));
    /// ```
    pub fn load(&mut self) -> Option<Load<K>> {
        if self.loading.as_ref().is_some_and(|loading| Arc::strong_count(&loading.ticket) == 1) {
            self.end_loading(); // The load was dropped.
        }
        if self.loading.is_some() {
            return None;
        }
        let quarter = self.capacity.div_ceil(4);
        let room = self.capacity - self.near.len();
        let load = match &self.known {
            Known::UpTo(last) if room >= quarter => Some(last),
            _ => None,
        };
        self.recheck.take_if(|recheck| {
            let is_passed = |known: &Known<K>| matches!(known, Known::UpTo(last) if *last <= recheck.passed);
            is_passed(recheck.until.get_or_insert_with(|| self.known.clone())) || is_passed(&self.known)
        });
        let (after, limit, is_page) = match &self.recheck {
            // Even if the window is full, else announced rows could keep the recheck from ending.
            Some(recheck) if recheck.is_next || load.is_none() => (recheck.passed.clone(), quarter, true),
            _ => (load?.clone(), room, false),
        };
        if let Some(recheck) = &mut self.recheck {
            recheck.is_next = !is_page;
        }
        let ticket = Arc::new(());
        self.loading = Some(Loading { ticket: Arc::clone(&ticket), is_page, forgotten: None });
        Some(Load { after, limit, ticket })
    }

    /// Answers a load: the first rows after [`Load::after`] in order, without a gap, and whether there are no more.
    /// O(m log n) for m rows.
    ///
    /// There may be fewer rows than [`Load::limit`] allows: the next load goes on from the last. An answer without rows
    /// that is not the end counts as [failed](Self::load_failed). An answer is ignored if it comes too late: after a
    /// [`reset`](Self::reset), or after new rows displaced those that the scan went on from. An answer for a
    /// [`recheck`](Self::recheck) is ignored after another `recheck`.
    ///
    /// # Panics
    ///
    /// If the rows are not in order, or not after [`Load::after`]: rows would be lost. The store probably orders ids
    /// differently from `K`, as PostgreSQL orders text by a collation.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(100);
    /// let load = window.load().unwrap();
    /// window.loaded(load, vec![(10, "a"), (20, "b")], false);
    /// let load = window.load().unwrap();
    /// assert_eq!(load.after, Some((20, "b")));
    /// window.loaded(load, vec![], true);
    /// assert!(window.load().is_none()); // all rows are known
    /// ```
    #[track_caller]
    pub fn loaded(&mut self, load: Load<K>, rows: Vec<Position<K>>, is_end: bool) {
        if !self.loading.as_ref().is_some_and(|loading| Arc::ptr_eq(&loading.ticket, &load.ticket)) {
            return;
        }
        let is_after = rows.first().is_none_or(|first| Some(first) > load.after.as_ref());
        assert!(
            is_after && rows.is_sorted_by(|a, b| a < b),
            "the rows of a load are in order, and after its beginning"
        );
        if self.loading.take_if(|loading| loading.is_page).is_some() {
            return self.page_loaded(rows, is_end);
        }
        let complete = match rows.last() {
            _ if is_end => Known::All,
            Some(last) => Known::UpTo(Some(last.clone())),
            None => return self.end_loading(),
        };
        rows.into_iter().for_each(|row| self.inserted(row));
        let forgotten = self.loading.take().and_then(|loading| loading.forgotten);
        match forgotten.filter(|first| complete.covers(first)) {
            None => self.known = complete,
            Some(first) => {
                self.near.split_off(&first);
                self.know_what_is_left();
            }
        }
        self.drop_unknown();
    }

    /// Gives up a load. The next [`load`](Self::load) asks again at once, so pause before this call. O(1), plus O(log
    /// n) for each row that was announced meanwhile.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::<u64>::new(100);
    /// let load = window.load().unwrap();
    /// window.load_failed(load);
    /// assert!(window.load().is_some());
    /// ```
    pub fn load_failed(&mut self, load: Load<K>) {
        if self.loading.as_ref().is_some_and(|loading| Arc::ptr_eq(&loading.ticket, &load.ticket)) {
            self.end_loading();
        }
    }

    /// Rechecks the known part of the store, and forgets nothing: the rows after `from`, or all of them if it is
    /// `None`. O(1).
    ///
    /// Call it when notifications may have been lost: when they arrive again after a lost connection, and from time to
    /// time if writers can die before they notify. The rows that are in the store at this call are announced one after
    /// another, as if by [`inserted`](Self::inserted). Meanwhile `poll` and `wake_at` work as usual.
    ///
    /// [`load`](Self::load) asks for the scans, of a quarter of the capacity each, even if the window is full. If a
    /// load is needed as well, it goes first, and then they take turns. The recheck is over when `load` returns `None`
    /// although no scan is under way. A call during a recheck merges the two, from the lower of the positions on.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(100);
    /// let load = window.load().unwrap();
    /// window.loaded(load, vec![(20, "b"), (30, "c")], true);
    /// // The connection is lost, and (10, "a") is inserted. The connection is there again.
    /// window.recheck(None);
    /// assert_eq!(window.wake_at(), Some(20)); // nothing was forgotten
    /// let load = window.load().unwrap();
    /// assert_eq!((load.after, load.limit), (None, 25));
    /// window.loaded(load, vec![(10, "a"), (20, "b"), (30, "c")], true);
    /// assert_eq!(window.wake_at(), Some(10));
    /// assert!(window.load().is_none()); // the recheck is over
    /// ```
    pub fn recheck(&mut self, from: Option<Position<K>>) {
        // A page that was scanned before may lack what was committed since.
        self.loading.take_if(|loading| loading.is_page);
        let (passed, is_next) = match self.recheck.take() {
            Some(other) => (other.passed.min(from), other.is_next),
            None => (from, false),
        };
        self.recheck = Some(Recheck { passed, until: None, is_next });
    }

    /// Forgets all rows but the pending ones, and ends a recheck. The first load begins after `from`, or at the first
    /// row if it is `None`. O(n).
    ///
    /// Call it when a partition is taken over. Rows that were announced before no longer count as announced. Rows up to
    /// `from` wait for a call to [`inserted`](Self::inserted), or for a [`recheck`](Self::recheck) of all rows: call
    /// that next, unless there are no such rows.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(100);
    /// let load = window.load().unwrap();
    /// window.loaded(load, vec![(10, "a")], true);
    /// window.reset(Some((5, "")));
    /// assert!(window.is_empty());
    /// assert_eq!(window.load().unwrap().after, Some((5, "")));
    /// ```
    pub fn reset(&mut self, from: Option<Position<K>>) {
        self.near.clear();
        self.known = Known::UpTo(from);
        self.loading = None;
        self.recheck = None;
    }

    /// When to poll next, exactly, or `None` if the next row is not known, or there is none. O(log n).
    ///
    /// Every other call may change it.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(100);
    /// let load = window.load().unwrap();
    /// window.inserted((20, "b"));
    /// assert_eq!(window.wake_at(), None); // an earlier row may be on its way
    /// window.loaded(load, vec![(10, "a"), (20, "b")], true);
    /// assert_eq!(window.wake_at(), Some(10));
    /// ```
    pub fn wake_at(&self) -> Option<u64> {
        self.near.first().filter(|row| self.known.covers(row)).map(|row| row.0)
    }

    /// The number of rows in the window, without the pending ones. O(1).
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// assert_eq!(Window::<u64>::new(100).len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.near.len()
    }

    /// Whether the window holds no rows but pending ones. O(1).
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// assert!(Window::<u64>::new(100).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.near.is_empty()
    }

    /// The pending rows, in order. O(n) for all of them.
    ///
    /// ```
    /// use timer_wheel::window::Window;
    ///
    /// let mut window = Window::new(100);
    /// let load = window.load().unwrap();
    /// window.loaded(load, vec![(10, "a"), (20, "b")], true);
    /// window.poll(20);
    /// window.poll(20);
    /// window.done(&(10, "a"));
    /// assert!(window.pending().eq([&(20, "b")]));
    /// ```
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &Position<K>> {
        self.pending.keys()
    }

    /// Takes a row that is in the store, unless a later load will find it.
    fn hold(&mut self, row: Position<K>) {
        // A load that is under way may have passed the row's place.
        if !self.known.covers(&row) && self.loading.as_ref().is_none_or(|loading| loading.is_page) {
            return;
        }
        self.near.insert(row);
        if self.near.len() <= self.capacity {
            return;
        }
        let Some(row) = self.near.pop_last() else { return };
        if self.known.covers(&row) {
            self.know_what_is_left();
            self.loading.take_if(|loading| !loading.is_page); // Its rows would follow a gap.
        } else if let Some(loading) = &mut self.loading {
            loading.forgotten = loading.forgotten.take().into_iter().chain([row]).min();
        }
    }

    /// Lowers what is known to the last row, because rows after it were dropped.
    fn know_what_is_left(&mut self) {
        if let Some(last) = self.near.last() {
            self.known = Known::UpTo(Some(last.clone()));
        }
    }

    /// Handles the answer to a page of a recheck.
    fn page_loaded(&mut self, rows: Vec<Position<K>>, is_end: bool) {
        if is_end {
            self.recheck = None;
        } else if let (Some(recheck), Some(last)) = (&mut self.recheck, rows.last()) {
            recheck.passed = Some(last.clone());
        }
        rows.into_iter().for_each(|row| self.inserted(row));
    }

    fn end_loading(&mut self) {
        self.loading = None;
        self.drop_unknown();
    }

    /// Drops the rows beyond the known ones, because the next load finds them.
    fn drop_unknown(&mut self) {
        while self.near.last().is_some_and(|last| !self.known.covers(last)) {
            self.near.pop_last();
        }
    }
}
