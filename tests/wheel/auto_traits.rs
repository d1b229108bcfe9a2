//! What types promise the compiler: `Send`, `Sync`, unwind safety, sizes.

use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

use timer_wheel::inspect::Stats;
use timer_wheel::{Advance, Budget, Expired, Geometry, Millis, TimerKey, TimerRef, Wheel};

/// A geometry of the kind that no thread could share: it must not matter, none is ever made.
struct Unshared(#[expect(dead_code, reason = "only its type counts")] Rc<()>);

impl Geometry for Unshared {
    const TICK_BITS: u32 = 5;
    const LEVEL_BITS: [u32; 4] = [3, 3, 3, 3];
}

/// A wheel of values that are not is not either: the library has no `unsafe` to say otherwise.
#[test]
fn wheel_is_send_sync_and_unwind_safe_if_its_values_are_and_keys_are_small() {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    is_send::<Wheel<Cell<u64>>>();
    is_send::<Advance<'_, u64, Millis>>();
    is_shared::<Wheel<Box<u64>, Unshared>>();
    is_shared::<TimerRef<'_, u64>>();
    is_shared::<(TimerKey, Expired<u64>, Budget, Stats)>();
    let wheel: Wheel<u64> = Wheel::new(0);
    let is_safe = |_: &dyn UnwindSafe| ();
    is_safe(&wheel.iter());
    is_safe(&wheel.ascending());
    is_safe(&wheel.descending());
    assert_eq!((size_of::<TimerKey>(), size_of::<Option<TimerKey>>()), (8, 8));
}
