//! A hierarchical timer wheel that behaves exactly like a `BTreeSet<(deadline, sequence)>`, and schedules, cancels and
//! postpones 4 to 50 times faster ([figures](guide::performance#results)).
//!
//! A [`Wheel`] holds values, each with a deadline, and hands them back when they are due: in
//! exact order of deadline, first in first out among equals, to the nanosecond. Scheduling,
//! cancelling and postponing are O(1). There are no long pauses when it is advanced regularly. After a gap of many ticks
//! the first advance is one long call, unless a budget bounds it. It is made for caches, servers, simulators and
//! replicated stores that hold thousands to millions of deadlines and cancel or postpone most of them.
//!
//! For threads, for tokio and for replicated stores there are drivers above it:
//! [which type do I want?](guide::choosing)
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
//! Time is cut into ticks, and each near tick has its own bucket; farther ahead a bucket spans as
//! many ticks as all of the level below. A timer is dropped into the bucket of its deadline, without
//! being compared with any other. When time reaches a coarse bucket, its timers move down to finer
//! ones; most were cancelled or postponed long before.
//!
//! Wheels usually pay for that with exactness, as a bucket fires as a whole and in any order, and with
//! pauses, as a coarse bucket is moved in one call. This wheel sorts the timers of a tick when the tick begins,
//! so no timer is early, late or out of order, and the tick affects costs only. And it moves a crowded
//! bucket down before the bucket begins, a few timers with each advance.
//!
//! # The contract
//!
//! *If you know what a `BTreeSet` of `(deadline, sequence)` would do, you know what a wheel does*,
//! where the sequence counts every `schedule` and `reschedule`. In particular:
//!
//! - [`advance(now)`](Wheel::advance) yields all live timers with `deadline <= now` and no others.
//! - Neither the geometry nor how you split an advance changes what fires, or in which order.
//! - Every `u64` is a deadline. Overdue ones fire next, and `u64::MAX` never wraps.
//! - A cancelled timer is gone at once: its value and its slot.
//! - An advance that is called each tick moves no more than a share of the timers that lie ahead.
//! - The same calls give the same results on every machine. There is no clock and no randomness
//!   inside.
//!
//! [All eighteen promises](guide::semantics) say where their limits are.
//!
//! # Time, and choosing a geometry
//!
//! Time is a `u64` of nanoseconds since an origin that you pick; 584 years fit. The [`clock`] module
//! converts `Duration` to it, and with feature `std` `Instant`.
//!
//! The geometry is the second type parameter: how long a tick is, and how many buckets each of the
//! four levels has. It sets costs, and nothing else. [`Wheel::new`] takes the default,
//! [`Wheel::with_geometry`] any.
//!
//! | preset | tick | horizon | all buckets | for |
//! |---|---|---|---|---|
//! | [`Millis`], the default | 1.05 ms | 52 days | 74 KB | timeouts, sessions, general use |
//! | [`Caffeine`] | 1.07 s | 6.5 days | 12 KB | caches whose entries live for minutes |
//! | [`Micros`] | 1.02 us | 73 min | 74 KB | simulators, pacing |
//! | [`Compact`] | 1.05 ms | 4.9 h | 19 KB | many small wheels, one a shard or a connection |
//!
//! If in doubt, take the default. Otherwise choose ticks so that few timers share one (they are sorted when it begins) and
//! few ticks are empty, and a horizon that covers most timers. Timers beyond the horizon lie on a fifth level, in buckets
//! that double, and are moved a few times more. Up to 32 timers need no buckets, if the finest level has 32 or more. Any
//! type that implements [`Geometry`] will do, and one that cannot work does not compile.
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
//! [`expiration_delay`](Wheel::expiration_delay) counts from there: right after an advance it is how long to sleep, and
//! later [`wake_at`](Wheel::wake_at) is what to sleep until.
//!
//! The wake-up is never late, but may be early. The advance then fires nothing: it opens a bucket, moves a timer
//! that was postponed, or moves at least 256 timers of a crowded bucket ahead (in [`Millis`]). A timer costs at most
//! one such wake-up for each time it is moved, and one for each time it was postponed; a cancelled timer costs none.
//! `wake_at` reads a field. A driver compares it before and after a `schedule` to learn whether it must wake
//! up sooner. [`next_deadline`](Wheel::next_deadline) is exact, and searches.
//!
//! A timer that may be late need not cost a wake-up of its own. [`align`]`(earliest, latest)` is the roundest time in its
//! window, and timers that are scheduled at round times share them.
//!
//! The iterator that [`advance`](Wheel::advance) returns *does the work as it is pulled*. If
//! it is not pulled, nothing fires. While it lives the wheel is borrowed; a loop that schedules and cancels in
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
//! [`peek_expired`](Wheel::peek_expired) shows the first due timer in place: the loop removes
//! it, keeps it under the same key until another deadline, or stops and leaves it due.
//! [`peek_expired_with_budget`](Wheel::peek_expired_with_budget) does that within a budget.
//! [`pop_first`](Wheel::pop_first) takes
//! the earliest timer whether it is due or not, for caches that evict and simulators that jump.
//!
//! Or let a driver do all that: see [which type you want](guide::choosing).
//!
//! # Handles
//!
//! [`schedule`](Wheel::schedule) returns a [`TimerKey`]: eight bytes, `Copy`, and weak. Once its
//! timer has fired or was cancelled it is *stale*, for ever: [`cancel`](Wheel::cancel) and
//! [`get`](Wheel::get) answer `None` to it, [`reschedule`](Wheel::reschedule) `false`, even after the
//! slot has been used again. So keys may be kept anywhere, also after the timer is gone. A key is valid for the wheel
//! that gave it, and for clones of that.
//!
//! [`schedule_with`](Wheel::schedule_with) schedules a value that must know its own key.
//! [`reschedule_or_insert`](Wheel::reschedule_or_insert) is for a key that is kept where its timer may have
//! fired: it moves the timer, or schedules another and writes its key down.
//! [`TimerKey::to_bits`] turns a key into a number, for places where nothing else fits.
//!
//! A cache keeps the timer's key in the entry and the entry's key in the timer;
//! [embedding the wheel in a cache](guide::embedding) says what to do on replace, remove and evict, with
//! threads and with budgets.
//!
//! # Budgets and pauses
//!
//! An advance costs O(timers touched), never O(time passed). Called each tick, it touches few: those that
//! fire, those of its tick, and a share of the crowds ahead. An advance after a long sleep, or to a crowd in a single tick,
//! touches many at once.
//! [`advance_with_budget`](Wheel::advance_with_budget) stops when its [`Budget`] is used up: a number of units of
//! work, a number of timers fired, or both. The budget holds afterwards what is left of it, for the next wheel.
//! [`has_backlog`](Wheel::has_backlog) says whether something is left to do; the next call goes on from there, and
//! with any budget repeated calls yield the same timers in the same order.
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
//! fire next, read lazily; [`descending`](Wheel::descending) goes backwards, and reads all timers first.
//! [`iter`](Wheel::iter) is in no order.
//!
//! # Memory
//!
//! Memory is proportional to the number of live timers. A timer takes a node: 24 bytes, 4 for the generation of its key,
//! and the value, rounded up to its alignment. That is 32 bytes with no value or a `u32`, 40 with a `u64`, and 64 with a
//! `u128`. Pages add about one byte a timer. A level takes 36 bytes for each of its buckets once it is used.
//!
//! Memory is allocated in pages of 256 timers, and no timer is copied. After a peak it comes back by itself, a page with each
//! advance, or all at once in [`shrink_to_fit`](Wheel::shrink_to_fit). [`stats`](Wheel::stats) says how much there is. A
//! wheel holds at most 1,610,612,736 timers; a caller that wants a lower bound compares [`len`](Wheel::len) with it. Box
//! values above some 200 bytes: they are moved in and out, and a page holds 256 of them.
//!
//! # Panics
//!
//! No deadline and no key makes anything panic. [`schedule`](Wheel::schedule),
//! [`reserve`](Wheel::reserve) and [`with_capacity`](Wheel::with_capacity) panic past the most
//! timers that a wheel can hold. A panic of *yours*, in the body of a loop over an advance or when a value is
//! dropped, leaves the wheel in order. Timers that had not fired fire next.
//!
//! # What it is not
//!
//! - Not a clock or a scheduler: a timer fires when the wheel is advanced, not before.
//! - Not shared: it is `Send` and `Sync` if its values are, and has no lock inside. Give each shard of a
//!   cache its own wheel, or use a driver.
//! - Not the fastest if few timers wait and none is cancelled or postponed: up to a thousand or so, a
//!   `BinaryHeap` is. [Performance](guide::performance) says where the wheel is ahead and where it is not.
//!
//! # Documents
//!
//! - [The first hour](guide::tutorial), a tutorial, and [which type do I want?](guide::choosing)
//! - [What the wheel promises](guide::semantics): eighteen promises, each with its limits.
//! - [Embedding the wheel in a cache](guide::embedding): who owns the key, replace, remove and evict, threads, budgets.
//! - [Replacing another wheel](guide::replacing): what to watch when this wheel takes the place of a crate's own timers.
//! - [Drivers](guide::drivers) and [the TTL layer](guide::ttl): jobs on threads, and keys of a replicated store.
//! - [Across a restart](guide::restart), [timers beyond memory](guide::durable), and [testing with a clock of your own](guide::own_clock).
//! - [How the wheel works](guide::design), [what it costs](guide::performance), and [the words](guide::terms).
//! - [Programs](guide::programs): whole ones, to read and to copy.
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
//! | `local` | [`local`]: sleeps, timeouts and intervals of tasks on one thread, driven by a loop of your own, also without `std` | `pin-project-lite` | 1.85 |
//! | `tokio` | `DelayQueue`: a stream of items that come when they are due, in place of tokio-util's | `std`; `tokio`, `futures-core` | 1.85 |
//! | `ttl` | [`ttl`]: expiry in a replicated store | `hashbrown`, `foldhash` | 1.85 |
//! | `retry` | [`retry`]: deliveries that are made again until they are acknowledged | | 1.85 |
//! | `window` | [`window`]: a look-ahead in front of an ordered store that holds the timers | | 1.85 |
//! | `serde` | stores and loads a wheel of serializable values with its keys, a [`retry::RetryQueue`], and snapshots of a [`ttl::TtlSet`] | `serde` | 1.85 |
//! | `tracing` | events of `timer` and `ttl`: starts and ends, late and panicking jobs, proposals and their failures | `tracing` | 1.85 |
//!
//! Features combine freely: `cargo add timer-wheel --features retry,serde` stores retry queues. For `no_std`, turn the default
//! off: `cargo add timer-wheel --no-default-features --features ttl`. No feature changes what another one does, and none
//! contains `unsafe`.
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

// After the wheels, as rustdoc shows the methods of a type in the order of the modules that have them.
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
