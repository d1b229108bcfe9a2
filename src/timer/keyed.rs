//! A timer whose jobs have keys, at most one live job per key.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::queue::{Occupant, Once, Work};
use super::trace::swallow_panic;
use super::{Job, Reason, Refused, Shutdown, Timer, TimerHandle};
use crate::sync::{Mutex, lock};

/// A [`Timer`] whose jobs have keys: sessions, connections, cache entries.
///
/// At most one job per key is live: setting a key again replaces its job. A job's key is free again as soon as the job
/// starts. The methods take a lock on a hash map, which is never held while a job runs or its closure is dropped. There
/// is a map for each [shard](super::Builder::shards) of the timer, and a key has its job in one of them, whichever
/// thread sets it.
///
/// Clones share the jobs; other users of the timer share its thread. Dropping the last
/// clone cancels nothing, unless it holds the last clone of the timer, which then ends and discards its jobs.
///
/// Keys are hashed, compared and cloned under that lock. A caller that sets a key waits while the map doubles: 40
/// ms with a million keys in it. A key that panics there may leave a job without a key, or a key that is counted
/// but has no job, until it is set again or cleared. No job is lost by that. The map keeps room for the largest
/// number of keys that it has held, until [`clear`](KeyedTimer::clear) gives it back.
///
/// ```
/// use std::time::Duration;
/// use timer_wheel::{KeyedTimer, Timer};
///
/// let sessions = KeyedTimer::new(Timer::new()?);
/// assert!(!sessions.set_after("ann", Duration::from_secs(60), || unreachable!())?);
/// assert!(sessions.reschedule_after("ann", Duration::from_secs(120)));
/// assert!(sessions.set_after("ann", Duration::from_secs(60), || unreachable!())?, "replaced");
/// assert_eq!((sessions.contains("ann"), sessions.len()), (true, 1));
/// assert!(sessions.remove("ann"));
/// assert!(!sessions.contains("ann"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A job that sets its own key again, to renew or retry, holds the keyed timer by a `Weak`. With a clone it would keep
/// its own timer alive:
///
/// ```
/// use std::sync::{Arc, Weak};
/// use std::time::Duration;
/// use timer_wheel::{KeyedTimer, Timer};
///
/// fn renew(leases: &Arc<KeyedTimer<u32>>, id: u32) {
///     let leases_later: Weak<_> = Arc::downgrade(leases);
///     // Refused after a shutdown; then there is nothing to renew.
///     _ = leases.set_after(id, Duration::from_secs(10), move || {
///         let Some(leases) = leases_later.upgrade() else { return };
///         println!("lease {id} goes on"); // the work
///         renew(&leases, id);
///     });
/// }
///
/// let leases = Arc::new(KeyedTimer::new(Timer::new()?));
/// renew(&leases, 7);
/// assert!(leases.contains(&7));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct KeyedTimer<K> {
    timer: Timer,
    /// Chooses the map of a key. The maps have hashers of their own.
    hasher: RandomState,
    /// One for each shard of the timer.
    maps: Arc<[Arc<KeyMap<K>>]>,
}

/// The jobs by key, on cache lines of their own. A job that has not started and was not cancelled is in the map, unless
/// it is about to leave under the lock. Any other job may still be in it for a moment.
#[repr(align(128))]
struct KeyMap<K>(Mutex<HashMap<K, TimerHandle>>);

impl<K: Eq + Hash + Clone + Send + 'static> KeyedTimer<K> {
    /// A keyed timer without jobs that runs them on `timer`. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// sessions.set_after("ann", Duration::from_secs(60), || println!("ann has left"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(timer: Timer) -> Self {
        let shards = timer.shards().all.iter();
        let maps = shards.map(|_| Arc::new(KeyMap(Mutex::default()))).collect();
        Self { timer, hasher: RandomState::new(), maps }
    }

    /// Runs `job` once, `delay` from now, in place of the key's live job if there is one. Returns
    /// whether there was one, which then does not run. O(1).
    ///
    /// # Errors
    ///
    /// [`Refused`] after a shutdown, and over the [limit](super::Builder::limit) unless it replaces a live job. It
    /// hands the job back, and the key keeps the one it had. To pass the error on with `?`, drop the job:
    /// `set_after(..).map_err(Reason::from)?`, as at [`Timer::schedule_after`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// assert!(!sessions.set_after("ann", Duration::from_secs(60), || unreachable!())?);
    /// assert!(sessions.set_after("ann", Duration::from_secs(90), || ())?, "replaced");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_after<F>(&self, key: K, delay: Duration, job: F) -> Result<bool, Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.admit(key, self.timer.shared().time_after(delay), job, |_| false)
    }

    /// Runs `job` once, at `instant`, in place of the key's live job if there is one. O(1).
    ///
    /// See [`set_after`](KeyedTimer::set_after).
    ///
    /// # Errors
    ///
    /// [`Refused`] after a shutdown, and over the [limit](super::Builder::limit) unless it replaces a live job. It
    /// hands the job back, and the key keeps the one it had.
    pub fn set_at<F>(&self, key: K, instant: Instant, job: F) -> Result<bool, Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.admit(key, self.timer.shared().clock.deadline_at(instant), job, |_| false)
    }

    /// Reschedules the job of a key to `delay` from now, or runs `job` then if the key has none. Returns whether the
    /// key had a live job. O(1). Rescheduling allocates nothing, and drops `job`.
    ///
    /// A job that was handed to an executor and has not started cannot be rescheduled any more. `job` replaces it, as
    /// with [`set_after`](KeyedTimer::set_after).
    ///
    /// For a deadline that each message renews: a heartbeat, a session, a lease.
    ///
    /// # Errors
    ///
    /// As [`set_after`](KeyedTimer::set_after).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, ManualClock, Timer};
    ///
    /// const IDLE: Duration = Duration::from_secs(60);
    /// let clock = ManualClock::new();
    /// let timer = Timer::builder().clock(clock.clone()).start()?;
    /// let nodes = KeyedTimer::new(timer.clone());
    /// for beat in 0..5 {
    ///     let is_known = nodes.reschedule_or_set_after("node 7", IDLE, || println!("node 7 is silent"))?;
    ///     assert_eq!(is_known, beat > 0);
    ///     clock.advance(IDLE / 2);
    ///     timer.settle()?;
    /// }
    /// assert!(nodes.contains("node 7"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reschedule_or_set_after<F>(&self, key: K, delay: Duration, job: F) -> Result<bool, Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.reschedule_or_set(key, self.timer.shared().time_after(delay), job)
    }

    /// Reschedules the job of a key to `instant`, or runs `job` then if the key has none. O(1).
    ///
    /// See [`reschedule_or_set_after`](KeyedTimer::reschedule_or_set_after).
    ///
    /// # Errors
    ///
    /// As [`set_after`](KeyedTimer::set_after).
    pub fn reschedule_or_set_at<F>(&self, key: K, instant: Instant, job: F) -> Result<bool, Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.reschedule_or_set(key, self.timer.shared().clock.deadline_at(instant), job)
    }

    fn reschedule_or_set<F>(&self, key: K, deadline: u64, job: F) -> Result<bool, Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        // First without the box and the copy of the key that a new job needs.
        if self.of(&key, |handle| handle.reschedule(deadline)) == Some(true) {
            return Ok(true);
        }
        // Again, because another thread may have set the key since.
        self.admit(key, deadline, job, |handle| handle.reschedule(deadline))
    }

    /// Schedules a job in place of the key's job, unless `keeps` accepts that one. Returns whether there was a live
    /// job.
    fn admit<F>(
        &self,
        key: K,
        deadline: u64,
        job: F,
        keeps: impl FnOnce(&TimerHandle) -> bool,
    ) -> Result<bool, Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        let number = self.number(&key);
        let map = &self.maps[number];
        let registration = Some(Registration { map: Arc::clone(map), key: key.clone() });
        let (work, shard) = (Box::new(Keyed { registration, job: Once(Some(job)) }), &self.timer.shards().all[number]);
        // User values are dropped after the lock is released, even if a key panics.
        let (scheduled, _removed);
        let mut jobs = lock(&map.0);
        let old = jobs.get(&key);
        if old.is_some_and(keeps) {
            drop(jobs);
            return Ok(true);
        }
        let old = old.map(|handle| handle.key);
        scheduled = shard.change(|queue| queue.admit(old, deadline, work, |work| Occupant::job(work, deadline)));
        if let Ok((timer_key, _)) = &scheduled {
            _removed = jobs.remove_entry(&key);
            jobs.insert(key, TimerHandle { shard: Arc::clone(shard), key: *timer_key });
        }
        drop(jobs);
        let is_replaced = scheduled.map(|(_, replaced)| replaced.is_some());
        is_replaced.map_err(|refused| refused.map(|keyed| keyed.into_closure()))
    }

    /// Reschedules the waiting job of a key to `delay` from now. Returns whether it did. O(1).
    ///
    /// See [`TimerHandle::reschedule_after`].
    pub fn reschedule_after<Q: Eq + Hash + ?Sized>(&self, key: &Q, delay: Duration) -> bool
    where
        K: Borrow<Q>,
    {
        let deadline = self.timer.shared().time_after(delay);
        self.of(key, |handle| handle.reschedule(deadline)) == Some(true)
    }

    /// Reschedules the waiting job of a key to `instant`. Returns whether it did. O(1).
    ///
    /// See [`TimerHandle::reschedule_after`].
    pub fn reschedule_at<Q: Eq + Hash + ?Sized>(&self, key: &Q, instant: Instant) -> bool
    where
        K: Borrow<Q>,
    {
        let deadline = self.timer.shared().clock.deadline_at(instant);
        self.of(key, |handle| handle.reschedule(deadline)) == Some(true)
    }

    /// Cancels the job of a key. Returns whether that prevented its run. O(1).
    ///
    /// It returns `false` while the job runs, and a job that then sets its key again undoes the removal. To prevent
    /// that, let the job set the key, and the caller remove it, under a lock of your own around a flag that says
    /// whether the key has ended.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// sessions.set_after("ann", Duration::from_secs(60), || unreachable!())?;
    /// assert!(sessions.remove("ann"));
    /// assert!(!sessions.remove("ann"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "cancel")]
    pub fn remove<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        let mut jobs = lock(&self.maps[self.number(key)].0);
        let removed = jobs.remove_entry(key);
        let cancelled = removed.as_ref().and_then(|(_, handle)| handle.take());
        drop(jobs);
        cancelled.is_some()
    }

    /// Whether the key has a live job. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// sessions.set_after("ann", Duration::from_secs(60), || ())?;
    /// assert!(sessions.contains("ann") && !sessions.contains("bob"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.of(key, TimerHandle::is_live) == Some(true)
    }

    /// When the job of a key is due; `None` if the key has none, or it is never due. O(1).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// let instant = Instant::now() + Duration::from_secs(60);
    /// sessions.set_at("ann", instant, || ())?;
    /// assert_eq!((sessions.deadline("ann"), sessions.deadline("bob")), (Some(instant), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn deadline<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<Instant>
    where
        K: Borrow<Q>,
    {
        self.of(key, TimerHandle::clone)?.deadline()
    }

    /// Calls `f` with the handle of a key's job, under the lock: it must not run user code.
    fn of<Q: Eq + Hash + ?Sized, A>(&self, key: &Q, f: impl FnOnce(&TimerHandle) -> A) -> Option<A>
    where
        K: Borrow<Q>,
    {
        lock(&self.maps[self.number(key)].0).get(key).map(f)
    }

    /// The number of the map and of the shard where a key has its job.
    fn number<Q: Hash + ?Sized>(&self, key: &Q) -> usize {
        self.hasher.hash_one(key) as usize % self.maps.len()
    }

    /// The timer that runs the jobs. O(1).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::<u64>::new(Timer::new()?);
    /// sessions.timer().schedule_after(Duration::from_secs(1), || ())?; // without a key
    /// assert_eq!((sessions.len(), sessions.timer().len()), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timer(&self) -> &Timer {
        &self.timer
    }

    /// The number of keys that have a job. O(shards).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// sessions.set_after("ann", Duration::from_secs(60), || ())?;
    /// sessions.set_after("bob", Duration::from_secs(60), || ())?;
    /// assert_eq!(sessions.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.maps.iter().map(|map| lock(&map.0).len()).sum()
    }

    /// Whether no key has a job. O(shards).
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// assert!(sessions.is_empty());
    /// sessions.set_after("ann", Duration::from_secs(60), || ())?;
    /// assert!(!sessions.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cancels the jobs of all keys, and returns how many runs that prevented. O(n), where n is the largest number of
    /// keys since the last call. The maps are locked one after the other, each until its jobs are cancelled. Calls
    /// and jobs of its keys wait for that.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// sessions.set_after("ann", Duration::from_secs(60), || unreachable!())?;
    /// sessions.set_after("bob", Duration::from_secs(60), || unreachable!())?;
    /// assert_eq!(sessions.clear(), 2);
    /// assert!(sessions.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&self) -> usize {
        let (mut removed, mut cancelled) = (Vec::new(), Vec::new());
        for map in self.maps.iter() {
            let mut jobs = lock(&map.0);
            cancelled.extend(jobs.values().filter_map(TimerHandle::take));
            removed.push(mem::take(&mut *jobs));
        }
        cancelled.len()
    }

    /// Ends the timer, even for its other users, and returns the jobs that have not started, in order of
    /// their deadlines. See [`Timer::shutdown`].
    ///
    /// # Errors
    ///
    /// [`Reason::InsideJob`] when it is called from within a job of this timer.
    pub fn shutdown(&self, how: Shutdown) -> Result<Vec<Job>, Reason> {
        self.timer.shutdown(how)
    }
}

impl<K> fmt::Debug for KeyedTimer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedTimer").field("timer", &self.timer).finish_non_exhaustive()
    }
}

/// A job's place in the map. Dropping the job's closure gives it up.
struct Registration<K: Eq + Hash> {
    map: Arc<KeyMap<K>>,
    key: K,
}

impl<K: Eq + Hash> Drop for Registration<K> {
    fn drop(&mut self) {
        let give_up = || {
            let mut jobs = lock(&self.map.0);
            // This job is no longer live: a live one has replaced it.
            let is_over = jobs.get(&self.key).is_some_and(|handle| !handle.is_live());
            let removed = is_over.then(|| jobs.remove_entry(&self.key));
            drop(jobs);
            drop(removed);
        };
        // A panic of a key may be unwinding here. If the key panicked again, the process would abort.
        match thread::panicking() {
            true => swallow_panic(give_up),
            false => give_up(),
        }
    }
}

/// Work that gives up its key before it runs.
struct Keyed<K: Eq + Hash, F> {
    registration: Option<Registration<K>>,
    job: Once<F>,
}

impl<K: Eq + Hash, F> Keyed<K, F> {
    /// The closure of a job that was refused. The key has another job, or none.
    fn into_closure(self) -> F {
        // A key that panics must not take the closure with it.
        swallow_panic(|| drop(self.registration));
        self.job.into_closure()
    }
}

impl<K: Eq + Hash + Send + 'static, F: FnOnce() + Send + 'static> Work for Keyed<K, F> {
    fn run(&mut self) {
        // A key may panic; its job still runs.
        let given_up = catch_unwind(AssertUnwindSafe(|| drop(self.registration.take())));
        self.job.run();
        given_up.unwrap_or_else(|payload| resume_unwind(payload));
    }
}
