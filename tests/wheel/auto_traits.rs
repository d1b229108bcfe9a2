//! What types promise the compiler: `Send`, `Sync`, unwind safety, sizes.

use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use timer_wheel::inspect::Stats;
use timer_wheel::{Advance, Budget, Compact, Expired, Geometry, Millis, TimerKey, TimerRef, Wheel};

/// A geometry of the kind that no thread could share: it must not matter, none is ever made.
struct Unshared(#[expect(dead_code, reason = "only its type counts")] Rc<()>);

impl Geometry for Unshared {
    const TICK_BITS: u32 = 5;
    const LEVEL_BITS: [u32; 4] = [3, 3, 3, 3];
}

fn is_send<T: Send>() {}

fn is_sync<T: Sync>() {}

/// Fails to compile for a type that is both `Send` and `Sync`, or the one asked for.
macro_rules! assert_not {
    ($type:ty: $bound:ident) => {
        const _: fn() = || {
            trait AmbiguousIf<A> {
                fn some_item() {}
            }
            impl<T: ?Sized> AmbiguousIf<()> for T {}
            impl<T: ?Sized + $bound> AmbiguousIf<u8> for T {}
            <$type as AmbiguousIf<_>>::some_item();
        };
    };
}

assert_not!(Wheel<Rc<()>>: Send);
assert_not!(Wheel<Rc<()>>: Sync);
assert_not!(Wheel<Cell<u64>>: Sync);

#[test]
fn wheel_send_and_sync_follow_its_values() {
    is_send::<Wheel<u64>>();
    is_sync::<Wheel<u64>>();
    is_send::<Wheel<Cell<u64>, Compact>>();
    is_send::<Wheel<u64, Unshared>>();
    is_sync::<Wheel<u64, Unshared>>();
    is_send::<Advance<'_, u64, Millis>>();
    is_send::<TimerKey>();
    is_sync::<TimerKey>();
}

#[test]
fn timer_key_takes_eight_bytes_also_when_optional() {
    assert_eq!(size_of::<TimerKey>(), 8);
    assert_eq!(size_of::<Option<TimerKey>>(), 8);
}

fn survives_a_panic<T: UnwindSafe>() {}

fn may_be_seen_after_a_panic<T: RefUnwindSafe>() {}

/// Nothing in a wheel changes behind a shared reference, and no panic leaves one broken.
#[test]
fn wheel_is_unwind_safe_if_its_values_are() {
    survives_a_panic::<Wheel<u64>>();
    survives_a_panic::<Wheel<Box<u64>, crate::geometries::Tiny>>();
    may_be_seen_after_a_panic::<Wheel<u64>>();
    let wheel: Wheel<u64> = Wheel::new(0);
    let is_safe = |_: &dyn UnwindSafe| ();
    is_safe(&wheel.iter());
    is_safe(&wheel.ascending());
    is_safe(&wheel.descending());
    survives_a_panic::<TimerRef<'_, u64>>();
    survives_a_panic::<(TimerKey, Expired<u64>, Budget, Stats)>();
}
