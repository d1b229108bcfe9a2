//! A timer whose jobs have keys, at most one live job a key.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Timer;
use super::handle::TimerHandle;
use super::refused::Refused;
use super::work::Work;
use crate::sync::{Mutex, lock};

/// A [`Timer`] whose jobs have keys: sessions, connections, cache entries.
///
/// At most one job a key is live: to set a key again replaces its job. A job's key is free again
/// as soon as the job starts. The methods take a lock on a hash map, which is never held while
/// a job runs or its closure is dropped.
///
/// Clones share the jobs, and so do the timer's other users share its thread. Dropping the last
/// clone cancels nothing.
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
pub struct KeyedTimer<K> {
    timer: Timer,
    jobs: Arc<Jobs<K>>,
}

/// The jobs by key.
struct Jobs<K> {
    map: Mutex<Map<K>>,
}

/// Invariant: a job that has not started, and was not cancelled, is the entry of its key, unless
/// it is about to leave under the map's lock.
struct Map<K> {
    entries: HashMap<K, Entry>,
    next_id: u64,
}

struct Entry {
    /// Tells a job from others that had its key.
    id: u64,
    handle: TimerHandle,
}

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
        Self {
            timer,
            jobs: Arc::new(Jobs {
                map: Mutex::new(Map {
                    entries: HashMap::new(),
                    next_id: 0,
                }),
            }),
        }
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

    /// Runs `job` once, `delay` from now, in place of the key's live job if there is one: whether
    /// there was, and so does not run. O(1).
    ///
    /// # Errors
    ///
    /// [`Refused`] after a shutdown. It hands the job back.
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
        self.set(key, self.timer.shared().time_after(delay), job)
    }

    /// Runs `job` once, at `instant`, in place of the key's live job if there is one. O(1).
    ///
    /// See [`set_after`](KeyedTimer::set_after).
    ///
    /// # Errors
    ///
    /// [`Refused`] after a shutdown. It hands the job back.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// let instant = Instant::now() + Duration::from_secs(60);
    /// assert!(!sessions.set_at("ann", instant, || ())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_at<F>(&self, key: K, instant: Instant, job: F) -> Result<bool, Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        self.set(key, self.timer.shared().deadline_at(instant), job)
    }

    fn set<F>(&self, key: K, deadline: u64, job: F) -> Result<bool, Refused<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        // What is dropped of the user's is dropped after the lock.
        let replaced;
        let cancelled;
        {
            let mut map = lock(&self.jobs.map);
            let id = map.next_id;
            map.next_id += 1;
            let registration = Registration {
                jobs: Arc::clone(&self.jobs),
                key: key.clone(),
                id,
            };
            let work = Keyed {
                registration: Some(registration),
                job: Some(job),
            };
            let handle = match self.timer.schedule(deadline, work) {
                Ok(handle) => handle,
                Err(refused) => {
                    drop(map);
                    return Err(refused.map(Keyed::into_job));
                }
            };
            replaced = map.entries.insert(key, Entry { id, handle });
            cancelled = replaced.as_ref().and_then(|entry| entry.handle.take());
        }
        Ok(cancelled.is_some())
    }

    /// Cancels the job of a key, and says whether that prevented its run. O(1).
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
    pub fn remove<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let removed;
        let cancelled;
        {
            let mut map = lock(&self.jobs.map);
            removed = map.entries.remove_entry(key);
            cancelled = removed.as_ref().and_then(|(_, entry)| entry.handle.take());
        }
        cancelled.is_some()
    }

    /// Cancels the jobs of all keys, and says of how many that prevented the run. O(n), and as long is
    /// the map locked.
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
        let removed;
        let cancelled: Vec<_>;
        {
            let mut map = lock(&self.jobs.map);
            removed = mem::take(&mut map.entries);
            let handles = removed.values().map(|entry| &entry.handle);
            cancelled = handles.filter_map(TimerHandle::take).collect();
        }
        cancelled.len()
    }

    /// Lets the waiting job of a key run `delay` from now instead, and says whether it could. O(1).
    ///
    /// See [`TimerHandle::reschedule_after`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// sessions.set_after("ann", Duration::from_secs(60), || unreachable!())?;
    /// assert!(sessions.reschedule_after("ann", Duration::from_secs(120)));
    /// assert!(!sessions.reschedule_after("bob", Duration::from_secs(120)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reschedule_after<Q>(&self, key: &Q, delay: Duration) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let deadline = self.timer.shared().time_after(delay);
        self.of(key, |handle| handle.reschedule(deadline))
            .unwrap_or(false)
    }

    /// Lets the waiting job of a key run at `instant` instead, and says whether it could. O(1).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// sessions.set_after("ann", Duration::from_secs(60), || unreachable!())?;
    /// assert!(sessions.reschedule_at("ann", Instant::now() + Duration::from_secs(120)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reschedule_at<Q>(&self, key: &Q, instant: Instant) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let deadline = self.timer.shared().deadline_at(instant);
        self.of(key, |handle| handle.reschedule(deadline))
            .unwrap_or(false)
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
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.of(key, TimerHandle::is_live).unwrap_or(false)
    }

    /// When the job of a key is due; `None` when it has none, and for never. O(1).
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
    pub fn deadline<Q>(&self, key: &Q) -> Option<Instant>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let deadline = self.of(key, TimerHandle::deadline_ns)??;
        self.timer.shared().instant_at(deadline)
    }

    /// The keys that have a job, in no order. O(n), and as long is the map locked.
    ///
    /// ```
    /// use std::time::Duration;
    /// use timer_wheel::{KeyedTimer, Timer};
    ///
    /// let sessions = KeyedTimer::new(Timer::new()?);
    /// sessions.set_after("ann", Duration::from_secs(60), || ())?;
    /// assert_eq!(sessions.keys(), ["ann"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys(&self) -> Vec<K> {
        lock(&self.jobs.map).entries.keys().cloned().collect()
    }

    /// Asks the job of a key, under the lock: nothing of the user's may be called.
    fn of<Q, A>(&self, key: &Q, ask: impl FnOnce(&TimerHandle) -> A) -> Option<A>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let map = lock(&self.jobs.map);
        map.entries.get(key).map(|entry| ask(&entry.handle))
    }

    /// The number of keys that have a job. O(1).
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
        lock(&self.jobs.map).entries.len()
    }

    /// Whether no key has a job. O(1).
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
}

impl<K> Clone for KeyedTimer<K> {
    fn clone(&self) -> Self {
        Self {
            timer: self.timer.clone(),
            jobs: Arc::clone(&self.jobs),
        }
    }
}

impl<K> fmt::Debug for KeyedTimer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedTimer")
            .field("len", &lock(&self.jobs.map).entries.len())
            .field("timer", &self.timer)
            .finish()
    }
}

/// A job's place in the map. Whoever drops the job's closure, for whatever reason, gives it up.
struct Registration<K: Eq + Hash> {
    jobs: Arc<Jobs<K>>,
    key: K,
    id: u64,
}

impl<K: Eq + Hash> Drop for Registration<K> {
    fn drop(&mut self) {
        let mut map = lock(&self.jobs.map);
        let is_mine = |entry: &Entry| entry.id == self.id;
        let removed = if map.entries.get(&self.key).is_some_and(is_mine) {
            map.entries.remove_entry(&self.key)
        } else {
            None
        };
        drop(map);
        drop(removed);
    }
}

/// Work that gives its key up before it is done.
struct Keyed<K: Eq + Hash, F> {
    registration: Option<Registration<K>>,
    job: Option<F>,
}

impl<K: Eq + Hash, F> Keyed<K, F> {
    /// The closure of a job that was refused.
    fn into_job(self) -> F {
        self.job.expect("a job that was refused has not run")
    }
}

impl<K, F> Work for Keyed<K, F>
where
    K: Eq + Hash + Send + 'static,
    F: FnOnce() + Send + 'static,
{
    fn run(&mut self) {
        drop(self.registration.take());
        if let Some(job) = self.job.take() {
            job();
        }
    }
}
