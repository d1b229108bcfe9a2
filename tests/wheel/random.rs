//! Random scripts of every kind, biased towards the nasty, over all geometries: other ones in each run.
//!
//! As the pair compares everything after every operation, these find the mistakes of other wheels that need no special
//! moment or number of timers:
//!
//! - Caffeine, fixed in 2026, and tokio#8334: the level is chosen by duration and the bucket by absolute time, so that a
//!   far timer wraps onto a near bucket, and the wake-up comes after the earliest.
//! - Caffeine, VPP, glommio#44: coarser levels are ignored when the finest has something.
//! - tokio#8402: a peek shows another timer than the one that fires next, or a postponed one where it was.

use std::panic::{AssertUnwindSafe, catch_unwind};

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, TimerKey};

use crate::arbitrary::{Drawn, check};
use crate::bytes::decode;
use crate::decoding::{Backlog, Bursts, Edges, Kind, Mixed};
use crate::geometries::{Lopsided, Narrow, Tiny, TinyTick, Wide, Widest};
use crate::pair::Pair;
use crate::rng::Rng;
use crate::script::{Op, Script, When};

/// Runs a script.
fn run<G: Geometry>(script: &Script) -> Pair<G> {
    let mut pair = Pair::new(script.start);
    pair.run(&script.ops);
    pair
}

fn agree<K: Kind, G: Geometry + 'static>(script: Drawn<(K, G)>) {
    _ = run::<G>(&script.script());
}

/// Whatever the bytes, a script is in them, and it ends with them. No random script is one operation again and again.
#[test]
fn scripts_of_one_byte_agree_with_model() {
    for byte in 0..=u8::MAX {
        let script = decode::<(Mixed, Compact)>(&[byte; 300], 100);
        run::<Compact>(&script);
        run::<Narrow>(&script);
    }
    assert!(decode::<(Mixed, Millis)>(&[], 100).ops.is_empty());
}

/// A test for each geometry, so that they run at the same time.
macro_rules! random_scripts {
    ($($name:ident: $geometry:ty;)*) => {$(
        #[test]
        fn $name() {
            check(450, 200, agree::<Mixed, $geometry>);
            check(25, 200, agree::<Edges, $geometry>);
            check(12, 120, agree::<Backlog, $geometry>);
            // What a script of a hundred single operations never reaches.
            check(15, 60, agree::<Bursts, $geometry>);
        }
    )*};
}

random_scripts! {
    random_scripts_of_millis_agree_with_model: Millis;
    random_scripts_of_caffeine_agree_with_model: Caffeine;
    random_scripts_of_micros_agree_with_model: Micros;
    random_scripts_of_compact_agree_with_model: Compact;
    random_scripts_of_tiny_agree_with_model: Tiny;
    random_scripts_of_tiny_tick_agree_with_model: TinyTick;
    random_scripts_of_lopsided_agree_with_model: Lopsided;
    random_scripts_of_narrow_agree_with_model: Narrow;
    random_scripts_of_wide_agree_with_model: Wide;
    random_scripts_of_widest_agree_with_model: Widest;
}

/// Panics unless so many bursts come to something five times. The same ones in every run, so that they reach it each time.
fn reach<G: Geometry>(scripts: u64, what: fn(&Pair<G>) -> usize) {
    let scripts = (1..=scripts).map(|number| script::<Bursts, G>(number, 60));
    let times: usize = scripts.map(|script| what(&run(&script))).sum();
    assert!(times >= 5, "seen {times} times in {}", std::any::type_name::<G>());
}

#[test]
fn bursts_reach_crowds_that_are_moved_ahead_far_buckets_lanes_and_timers_that_overtake_the_earliest() {
    // Where 512 timers are few, there is hardly a crowd.
    reach::<Tiny>(15, |pair| pair.moved_ahead);
    reach::<TinyTick>(15, |pair| pair.moved_ahead);
    reach::<Lopsided>(15, |pair| pair.moved_ahead);
    reach::<Narrow>(15, |pair| pair.moved_ahead.min(pair.in_lanes));
    reach::<Tiny>(15, |pair| pair.far.into_iter().min().unwrap_or(0));
    reach::<Millis>(15, |pair| pair.in_lanes);
    // Elsewhere 64 timers are no longer few, and stay in the near heap.
    reach::<Millis>(30, |pair| pair.sent_back);
    reach::<Caffeine>(30, |pair| pair.sent_back);
    reach::<Micros>(30, |pair| pair.sent_back);
    reach::<Compact>(30, |pair| pair.sent_back);
}

/// Caffeine's fuzzer held an assertion that its own condition kept from ever failing. Here a wheel
/// and a model that differ in one thing, any one, must be told apart.
#[test]
fn comparison_of_a_pair_that_differs_fails() {
    type Spoil = fn(&mut Pair<Millis>, TimerKey);
    let spoils: [(&str, Spoil); 7] = [
        ("a timer more", |pair, _| _ = pair.wheel.schedule(1 << 60, 99)),
        ("a timer less", |pair, first| _ = pair.wheel.cancel(first)),
        ("a deadline one later", |pair, first| assert!(pair.wheel.reschedule(first, 1_006))),
        ("another order among equals", |pair, first| assert!(pair.wheel.reschedule(first, 1_005))),
        ("another value", |pair, first| *pair.wheel.get_mut(first).expect("it lives") = 99),
        ("another clock", |pair, _| drop(pair.wheel.advance(1_001))),
        ("a timer fired twice", |pair, _| {
            let item = pair.wheel.advance(1_005).next().expect("one is due");
            pair.model.set_clock(1_005);
            pair.wheel.schedule(item.deadline, item.value);
        }),
    ];
    for (what, spoil) in spoils {
        let mut pair = Pair::<Millis>::new(1_000);
        [5, 5, 1 << 21, 1 << 30, 1 << 50].into_iter().for_each(|delay| pair.apply(&Op::Schedule(When::In(delay))));
        let first = pair.model.nth(0).expect("timers were scheduled");
        spoil(&mut pair, first);
        let compared = catch_unwind(AssertUnwindSafe(|| pair.compare()));
        assert!(compared.is_err(), "not noticed: {what}");
    }
}

/// The script of that number: of a kind and of up to `length` operations, the same one in every run.
pub(crate) fn script<K: Kind, G: Geometry>(number: u64, length: usize) -> Script {
    let mut numbers = Rng(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let length = 1 + numbers.below(length as u64) as usize;
    decode::<(K, G)>(&numbers.bytes(16 * length), length)
}

fn trace<K: Kind, G: Geometry>(length: usize) -> u64 {
    (1..=6).map(|number| script::<K, G>(number, length)).fold(0, |trace: u64, script| {
        let mut pair = Pair::<G>::new(script.start);
        pair.run(&script.ops);
        trace.rotate_left(9) ^ pair.trace
    })
}

fn traces<G: Geometry>() -> [u64; 4] {
    [trace::<Mixed, G>(100), trace::<Edges, G>(100), trace::<Backlog, G>(100), trace::<Bursts, G>(50)]
}

/// What a wheel has answered to some scripts, on record: a change of what the wheel does, on any platform, changes a number
/// here. A trace is one number for all wake-ups, keys, buckets, slots and units of work that a [`Pair`] has seen. After a
/// change that is meant, write down what the test found.
#[test]
fn same_scripts_leave_the_traces_that_are_on_record() {
    let found = [traces::<Millis>(), traces::<Narrow>()];
    let recorded: [[u64; 4]; 2] = [
        [0x5693_303f_a75e_c852, 0x8717_1703_ce8e_9963, 0xd9c4_096a_816f_233d, 0x0d35_f390_b35d_53bf],
        [0x44b6_8dcf_6fd9_2b84, 0xc493_2d86_0c2e_2a3f, 0x6e98_b877_4b06_5531, 0x6e41_a4c7_6462_c0cc],
    ];
    assert_eq!(found, recorded, "{found:#x?}");
}
