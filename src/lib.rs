//! A hierarchical timer wheel that behaves exactly like a `BTreeSet<(deadline, sequence)>`, and schedules, cancels and
//! postpones 6 to 70 times faster ([figures](guide::performance#results)).
//!
//! A [`Wheel`] holds values, each with a deadline, and hands them back when they are due: in
//! exact order of deadline, first in first out among equals, to the nanosecond. Scheduling,
//! cancelling and postponing are O(1). A wheel that is advanced regularly has no long pauses. After a gap of many ticks
//! the first advance is one long call, unless a budget bounds it. The wheel is made for caches, servers, simulators and
//! replicated stores that hold thousands to millions of deadlines and cancel or postpone most of them.
//!
//! Drivers on top of the wheel serve threads, tokio and replicated stores: [which type do I want?](guide::choosing)
//!
//! ```
//! use timer_wheel::Wheel;
//!
//! let mut wheel = Wheel::new(0);
//! wheel.schedule(2_000_000, "second");
//! wheel.schedule(1_000_000, "first");
//! let cancelled = wheel.schedule(1_500_000, "never");
//! assert_eq!(wheel.cancel(cancelled), Some("never"));
//!
//! let fired: Vec<&str> = wheel.advance(3_000_000).map(|timer| timer.value).collect();
//! assert_eq!(fired, ["first", "second"]);
//! ```
//!
//! # The idea
//!
//! Time is divided into ticks, and each near tick has its own bucket. On each coarser level, a bucket spans 256 buckets
//! of the level below (in [`Millis`]). A timer is put into the bucket of its deadline, without
//! being compared with any other. When time reaches a coarse bucket, its timers move down to finer
//! ones; most were cancelled or postponed long before.
//!
//! Most wheels pay for that with exactness and with pauses: a bucket fires as a whole in any order, and a coarse bucket
//! is moved in one call. This wheel sorts the timers of a tick when the tick begins, so no timer is early, late or out
//! of order, and the tick affects costs only. It also moves a crowded bucket down before the bucket begins, a few
//! timers with each advance.
//!
//! # The contract
//!
//! *If you know what a `BTreeSet` of `(deadline, sequence)` would do, you know what a wheel does.* The sequence counts
//! every `schedule` and `reschedule`. In particular:
//!
//! - [`advance(now)`](Wheel::advance) yields all live timers with `deadline <= now` and no others.
//! - Neither the geometry nor how you split an advance changes what fires, or in which order.
//! - Every `u64` is a valid deadline. Overdue ones fire next, and `u64::MAX` never wraps.
//! - A cancelled timer is gone at once: the value is handed back and the slot is free.
//! - If it is called each tick, an advance moves only a share of the timers that lie ahead.
//! - The same calls give the same results on every machine. There is no clock and no randomness
//!   inside.
//!
//! [The contract](guide::semantics) lists all eighteen promises with their limits.
//!
//! # Time, and choosing a geometry
//!
//! Time is a `u64` of nanoseconds since an origin that you pick; 584 years fit. The [`clock`] module
//! converts `Duration` to it, and with feature `std` `Instant`.
//!
//! The geometry is the second type parameter: how long a tick is, and how many buckets each of the
//! four levels has. It affects costs only. [`Wheel::new`] uses the default, [`Wheel::with_geometry`] any other.
//!
//! | preset | tick | horizon | all buckets | for |
//! |---|---|---|---|---|
//! | [`Millis`], the default | 1.05 ms | 52 days | 74 KB | timeouts, sessions, general use |
//! | [`Caffeine`] | 1.07 s | 6.5 days | 12 KB | caches whose entries live for minutes |
//! | [`Micros`] | 1.02 us | 73 min | 74 KB | simulators, pacing |
//! | [`Compact`] | 1.05 ms | 4.9 h | 19 KB | many small wheels, one per shard or connection |
//!
//! If in doubt, use the default. Otherwise choose a tick that few timers share (they are sorted when it begins), but
//! that leaves few ticks empty. Choose a horizon that covers most timers. Timers beyond the horizon lie on a fifth
//! level, whose buckets double in span, and are moved up to 12 more times (in [`Millis`]). Up to 32 timers need no
//! buckets, if the finest level has 32 or more. Any type that implements [`Geometry`] will do; an invalid one does not compile.
//!
//! # Driving it
//!
//! The wheel starts no thread and never blocks. Ask when there is something to do, sleep until then, advance, repeat:
//!
//! ```
//! use std::thread::sleep;
//! use std::time::Duration;
//! use timer_wheel::{Clock, SystemClock, Wheel};
//!
//! let clock = SystemClock::new();
//! let mut wheel = Wheel::<&str>::new(clock.now());
//! wheel.schedule(clock.after(Duration::from_millis(2)), "after 2 ms");
//! wheel.schedule(clock.after(Duration::from_millis(1)), "after 1 ms");
//!
//! let mut fired = Vec::new();
//! while let Some(at) = wheel.wake_at() {
//!     sleep(clock.until(at));
//!     fired.extend(wheel.advance(clock.now()).map(|timer| timer.value));
//! }
//! assert_eq!(fired, ["after 1 ms", "after 2 ms"]);
//! ```
//!
//! Instead of sleeping, wait for messages until then: `recv_timeout`, `select`, `epoll`. Deadlines are absolute: take
//! them from your clock. The wheel's own clock, [`now`](Wheel::now), stands where the last advance left it.
//! [`expiration_delay`](Wheel::expiration_delay) counts from there. Right after an advance, sleep for that delay;
//! later, sleep until [`wake_at`](Wheel::wake_at).
//!
//! The wake-up is never late, but may be early. The advance then fires nothing: it opens a bucket, moves a timer
//! that was postponed, or moves at least 256 timers of a crowded bucket ahead (in [`Millis`]). A timer costs at most
//! one such wake-up for each time it is moved, and one for each time it was postponed; a cancelled timer costs none.
//! `wake_at` reads a field. A driver compares it before and after a `schedule` to learn whether it must wake
//! up sooner. [`next_deadline`](Wheel::next_deadline) is exact, but has to search.
//!
//! A timer that may be late need not cause a wake-up of its own. [`align`]`(earliest, latest)` is the roundest time in
//! that window, and timers at round times share wake-ups.
//!
//! The iterator that [`advance`](Wheel::advance) returns *does the work as it is pulled*. If
//! it is not pulled, nothing fires. It borrows the wheel, so a loop that schedules and cancels in
//! between takes one timer from each advance:
//!
//! ```
//! use timer_wheel::Wheel;
//!
//! let mut wheel = Wheel::<(&str, u64)>::new(0);
//! wheel.schedule(100, ("every 100 ns", 100));
//! let mut runs = 0;
//! while let Some(timer) = wheel.advance(350).next() {
//!     runs += 1;
//!     wheel.schedule(timer.deadline + timer.value.1, timer.value);
//! }
//! assert_eq!((runs, wheel.next_deadline()), (3, Some(400)));
//! ```
//!
//! [`peek_expired`](Wheel::peek_expired) shows the first due timer in place. The loop can remove it, keep it under the
//! same key with a new deadline, or stop and leave it due.
//! [`peek_expired_with_budget`](Wheel::peek_expired_with_budget) does that within a budget.
//! [`pop_first`](Wheel::pop_first) takes
//! the earliest timer whether it is due or not, for caches that evict and simulators that jump.
//!
//! Or let a driver do all that: see [which type you want](guide::choosing).
//!
//! # Handles
//!
//! [`schedule`](Wheel::schedule) returns a [`TimerKey`]: eight bytes, `Copy`, and weak. Once its
//! timer has fired or been cancelled, a key is *stale* for ever, even after the slot has been reused.
//! [`cancel`](Wheel::cancel) and [`get`](Wheel::get) return `None` for it, and [`reschedule`](Wheel::reschedule)
//! returns `false`. So keys may be kept anywhere, even after the timer is gone. A key is valid for the wheel that
//! issued it, and for clones of that wheel.
//!
//! [`schedule_with`](Wheel::schedule_with) schedules a value that must know its own key.
//! [`reschedule_or_insert`](Wheel::reschedule_or_insert) is for a stored key whose timer may have fired: it reschedules
//! the timer, or schedules a new one and stores its key. [`TimerKey::to_bits`] turns a key into a number, for places
//! where nothing else fits.
//!
//! A cache keeps the timer's key in the entry and the entry's key in the timer. [Embedding the wheel in a
//! cache](guide::embedding) says what to do on replace, remove and evict, with threads and with budgets.
//!
//! # Budgets and pauses
//!
//! An advance costs O(timers touched), never O(time passed). Called each tick, it touches few: those that
//! fire, those of its tick, and a share of the crowds ahead. An advance after a long sleep, or over a single crowded
//! tick, touches many at once. [`advance_with_budget`](Wheel::advance_with_budget) stops when its [`Budget`] is used
//! up: a number of units of work, a number of timers fired, or both. Afterwards the budget holds what is left,
//! for the next wheel. [`has_backlog`](Wheel::has_backlog) says whether work is left; the next call goes on from there.
//! With any budget of at least one unit and one timer, repeated calls yield the same timers in the same order.
//!
//! ```
//! use timer_wheel::{Budget, Wheel};
//!
//! let mut wheel = Wheel::<u32>::new(0);
//! (0..1_000).for_each(|value| _ = wheel.schedule(9_000_000_000, value));
//! let mut fired = 0;
//! loop {
//!     let mut budget = Budget::of_work(256);
//!     fired += wheel.advance_with_budget(9_000_000_000, &mut budget).count();
//!     if !wheel.has_backlog() {
//!         break;
//!     } // else serve requests, let go of locks
//! }
//! assert_eq!(fired, 1_000);
//! ```
//!
//! # Order
//!
//! Timers fire by deadline, and among equals by when they were last scheduled or rescheduled. You can
//! read the same order without firing anything: [`ascending`](Wheel::ascending)`().take(n)` are the n that
//! fire next, read lazily. [`descending`](Wheel::descending) goes backwards, and reads all timers first.
//! [`iter`](Wheel::iter) is in no particular order.
//!
//! # Memory
//!
//! Memory is proportional to the number of live timers. A timer takes a node of 24 bytes and a slot. The slot has
//! 4 bytes for the generation of the key, and the value. Rounded up to their alignments, the two take 32 bytes with no
//! value or a `u32`, 40 with a `u64`, and 64 with a `u128`. Pages add about one byte per timer. A level takes 36 bytes
//! for each of its buckets once it is used.
//!
//! Beyond 128 timers, memory grows in pages of 256, and no timer is copied. After a peak, advances release memory a
//! page at a time, and [`shrink_to_fit`](Wheel::shrink_to_fit) releases spare memory at once. [`stats`](Wheel::stats)
//! reports the bytes in use. A wheel holds at most 1,610,612,736 timers; to enforce a lower limit, check
//! [`len`](Wheel::len). Box values larger than about 200 bytes: they are moved in and out, and a page holds 256 of
//! them.
//!
//! # Panics
//!
//! No deadline or key causes a panic. [`schedule`](Wheel::schedule), [`reserve`](Wheel::reserve) and
//! [`with_capacity`](Wheel::with_capacity) panic beyond the most timers that a wheel can hold. A panic in *your* code,
//! in a loop over an advance or in the drop of a value, leaves the wheel consistent. Timers that had not fired fire
//! next.
//!
//! # What it is not
//!
//! - Not a clock or a scheduler: a timer fires when the wheel is advanced, not before.
//! - Not shared: it is `Send` and `Sync` if its values are, and has no lock inside. Give each shard of a
//!   cache its own wheel, or use a driver.
//! - Not the fastest for few timers that are never cancelled or postponed: up to about a thousand, a `BinaryHeap` is
//!   faster. [Performance](guide::performance) says where the wheel is ahead and where it is not.
//!
//! # Documents
//!
//! - [The first hour](guide::tutorial), a tutorial, and [which type do I want?](guide::choosing)
//! - [What the wheel promises](guide::semantics): eighteen promises, each with its limits.
//! - [Embedding the wheel in a cache](guide::embedding): who owns the key, replace, remove and evict, threads, budgets.
//! - [Replacing another wheel](guide::replacing): what to watch for when this wheel replaces a crate's own timers.
//! - [Drivers](guide::drivers) and [the TTL layer](guide::ttl): jobs on threads, and keys of a replicated store.
//! - [Across a restart](guide::restart), [timers beyond memory](guide::durable), and [testing with a clock of your
//!   own](guide::own_clock).
//! - [How the wheel works](guide::design), [what it costs](guide::performance), and [the terms](guide::terms).
//! - [Programs](guide::programs): complete, to read and to copy.
//!
//! The package also contains `docs/delay-queue.md` and `docs/testing.md`.
//!
//! # Features
//!
//! | feature | adds | needs | Rust |
//! |---|---|---|---|
//! | none | the wheel: `no_std` with `alloc`, all that a cache needs | | 1.71 |
//! | `std`, the default | `Instant`, and the clocks of [`clock`] | | 1.71 |
//! | `timer` | [`timer`]: jobs on a thread, and timeouts, sleeps and intervals of tasks on any executor | `std`; `hdrhistogram`, `pin-project-lite` | 1.85 |
//! | `local` | [`local`]: sleeps, timeouts and intervals of tasks on one thread, driven by your own loop, with or without `std` | `pin-project-lite` | 1.85 |
//! | `tokio` | `DelayQueue`: a stream that yields items when they are due, in place of tokio-util's | `std`; `tokio`, `futures-core` | 1.85 |
//! | `ttl` | [`ttl`]: expiry in a replicated store | `hashbrown`, `foldhash` | 1.85 |
//! | `retry` | [`retry`]: deliveries that are repeated until they are acknowledged | | 1.85 |
//! | `window` | [`window`]: a look-ahead in front of an ordered store that holds the timers | | 1.85 |
//! | `serde` | stores and loads a wheel of serializable values with its keys, a [`retry::RetryQueue`], and snapshots of a [`ttl::TtlSet`] | `serde` | 1.85 |
//! | `tracing` | events of `timer` and `ttl`: starts and ends, late and panicking jobs, proposals and their failures | `tracing` | 1.85 |
//!
//! Features combine freely: `cargo add timer-wheel --path ../timer-wheel --features retry,serde` stores retry queues.
//! For `no_std`, turn the default off: `cargo add timer-wheel --path ../timer-wheel --no-default-features --features
//! ttl`. No feature changes what another one does, and none contains `unsafe`.
//!
// Links to items whose features are off.
#![cfg_attr(not(feature = "local"), doc = "[`local`]: #features")]
#![cfg_attr(not(feature = "retry"), doc = "[`retry`]: #features")]
#![cfg_attr(not(feature = "retry"), doc = "[`retry::RetryQueue`]: #features")]
#![cfg_attr(not(feature = "timer"), doc = "[`timer`]: #features")]
#![cfg_attr(not(feature = "timer"), doc = "[`Timer`]: #features")]
#![cfg_attr(not(feature = "ttl"), doc = "[`ttl`]: #features")]
#![cfg_attr(not(feature = "ttl"), doc = "[`ttl::TtlSet`]: #features")]
#![cfg_attr(not(feature = "window"), doc = "[`window`]: #features")]
#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(any(doc, doctest))]
pub mod guide;

pub mod clock;
#[cfg(feature = "tokio")]
pub mod delay_queue;
pub mod index;
#[cfg(feature = "local")]
pub mod local;
#[cfg(feature = "retry")]
pub mod retry;
#[cfg(feature = "timer")]
pub mod timer;
#[cfg(feature = "ttl")]
pub mod ttl;
#[cfg(feature = "window")]
pub mod window;

mod align;
#[cfg(any(feature = "retry", feature = "ttl"))]
mod backoff;
mod engine;
#[cfg(feature = "std")]
mod sync;
mod wheel;

// Declared after the wheels, because rustdoc shows the methods of a type in the order of their modules.
pub mod inspect;

pub use align::align;
#[cfg(any(feature = "retry", feature = "ttl"))]
pub use backoff::Backoff;

pub use clock::TimeSource;
#[cfg(feature = "std")]
pub use clock::{Clock, ManualClock, SystemClock};
#[cfg(feature = "tokio")]
pub use delay_queue::DelayQueue;
pub use engine::budget::Budget;
pub use engine::geometry::{Caffeine, Compact, Geometry, Micros, Millis};
pub use engine::near::lane::Lane;
#[cfg(feature = "timer")]
pub use timer::{Executor, Job, KeyedTimer, Shutdown, Timer, TimerHandle};
pub use wheel::Wheel;
pub use wheel::advance::Advance;
pub use wheel::due::DueTimer;
pub use wheel::key::TimerKey;
pub use wheel::timer::{Expired, TimerRef};
