//! The wheel of the pair: `Wheel`. That of the tests of `IndexWheel` is in `index/mirror.rs`.

pub(crate) use crate::serialized::reload;

pub(crate) type Subject<G> = timer_wheel::Wheel<u64, G>;

pub(crate) type DueTimer<'a, G> = timer_wheel::DueTimer<'a, u64, G>;

/// Whether timers can be held, and the wheel be stored.
pub(crate) const IS_WHEEL: bool = true;
