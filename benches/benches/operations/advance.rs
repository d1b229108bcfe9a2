//! Advancing: to fire timers, to move them down a level, and with nothing to do.

mod expire;
mod idle;

use criterion::Criterion;
use timer_wheel::Wheel;
use timer_wheel_bench::TextbookWheel;

use self::expire::{Cascade, Expire};
use self::idle::{Empty, IdleJump};
use crate::harness::{Operation, each_size, every_subject};

pub(crate) fn bench(criterion: &mut Criterion) {
    every_subject(criterion, "advance/expire", Expire::new);
    // An ordered set has no levels to move a timer down.
    each_size(criterion, "advance/cascade", |group, n| {
        let cascade = Cascade::new(n);
        cascade.bench::<Wheel<u32>>(group);
        cascade.bench::<TextbookWheel<u32>>(group);
    });
    every_subject(criterion, "advance/empty", |n| Empty(idle::Far::new(n)));
    every_subject(criterion, "advance/idle jump", |n| {
        IdleJump(idle::Far::new(n))
    });
}
