//! Queues without faults agree, whatever their geometry; faulty queues are found out.

use std::num::NonZeroUsize;

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, Wheel};
use timer_wheel_bench::queue::{InLane, Indexed, Order, Queue};
use timer_wheel_bench::{BTreeQueue, TextbookWheel};

use super::script::Recorder;
use super::*;
use crate::cache::{Cache, Expire};
use crate::figure::NS_PER_S;
use crate::trace::{self, KeyId, profile::PROFILES};

const POLICY: Policy = Policy { expire: Expire::AfterWrite, ttl_ns: Some(NS_PER_S / 2), capacity: None };

type BTree = BTreeQueue<KeyId>;

/// Five seconds of traffic, in which entries live for half a second.
fn some_trace() -> Trace {
    trace::generate(&PROFILES[2], 30_000, 7, Progress::Hidden).unwrap()
}

fn compare_on(trace: &Trace, policy: Policy, contenders: Vec<Contender>) -> Comparison {
    compare(trace, policy, &contenders, 1, Progress::Hidden).unwrap()
}

fn contender<Q: Queue<KeyId> + 'static>() -> Contender {
    Contender::new(Q::NAME, Q::new)
}

#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Fault {
    /// One timer in ten is never scheduled.
    loses: bool,
    /// How much later timers fire.
    delay_ns: i64,
    /// By how much the deadline that a timer reports is wrong.
    lie_ns: i64,
    /// What is due at once comes in the reverse order.
    reverses: bool,
    ignores_cancel: bool,
    ignores_reschedule: bool,
}

struct Faulty(BTree, Fault);

const A_LITTLE_NS: i64 = NS_PER_S as i64 / 100;

impl Faulty {
    fn contender(fault: Fault) -> Contender {
        Contender::new("faulty", move |now_ns| Self(BTree::new(now_ns), fault))
    }
}

impl Queue<KeyId> for Faulty {
    const NAME: &'static str = "faulty";
    const ORDER: Order = Order::FirstComeFirstServed;
    type Key = Option<<BTree as Queue<KeyId>>::Key>;

    fn new(_: u64) -> Self {
        unreachable!("it is made with a fault")
    }

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> Self::Key {
        let is_lost = self.1.loses && key.0.is_multiple_of(10);
        let late_ns = deadline_ns.saturating_add_signed(self.1.delay_ns);
        (!is_lost).then(|| self.0.schedule(late_ns, key))
    }

    fn cancel(&mut self, timer: Self::Key) -> Option<KeyId> {
        timer.filter(|_| !self.1.ignores_cancel).and_then(|timer| self.0.cancel(timer))
    }

    fn reschedule(&mut self, timer: &mut Self::Key, deadline_ns: u64) -> bool {
        let timer = timer.as_mut().filter(|_| !self.1.ignores_reschedule);
        timer.is_some_and(|timer| self.0.reschedule(timer, deadline_ns))
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(u64, KeyId)) {
        let mut due = Vec::new();
        self.0.advance(now_ns, |deadline_ns, key| due.push((deadline_ns, key)));
        if self.1.reverses {
            due.reverse();
        }
        for (deadline_ns, key) in due {
            expire(deadline_ns.saturating_add_signed(self.1.lie_ns), key);
        }
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

#[test]
fn queue_with_a_fault_is_found_out_and_one_without_is_clean() {
    let mut trace = some_trace();
    let step_ns = A_LITTLE_NS as u64;
    for request in &mut trace.requests {
        // In steps in which several entries are due at once.
        request.at_ns = request.at_ns / step_ns * step_ns;
    }
    let none = Fault::default();
    // Whether expiries are early, late, and the count of timers is wrong.
    for (fault, faults) in [
        (none, [false, false, false]),
        (Fault { loses: true, ..none }, [false, true, true]),
        (Fault { delay_ns: A_LITTLE_NS, lie_ns: -A_LITTLE_NS, ..none }, [false, true, false]),
        (Fault { delay_ns: -A_LITTLE_NS, lie_ns: A_LITTLE_NS, ..none }, [true, false, false]),
        (Fault { ignores_cancel: true, ..none }, [true, false, true]),
        (Fault { ignores_reschedule: true, ..none }, [true, false, false]),
        (Fault { reverses: true, ..none }, [false, false, false]),
        (Fault { lie_ns: 1, ..none }, [false, false, false]),
    ] {
        let comparison = compare_on(&trace, POLICY, vec![Faulty::contender(fault), contender::<BTree>()]);
        let found = comparison.faults().map(|count| count > 0);
        assert_eq!(found, faults, "{fault:?}");
        assert_eq!(comparison.digests_equal(), fault == none, "{fault:?}");
        assert_eq!(comparison.is_clean(), fault == none, "{fault:?}");
        assert_eq!(crate::summary::verdict(&comparison).contains(" faulty: "), fault != none);
        let alone = compare_on(&trace, POLICY, vec![Faulty::contender(fault)]);
        assert_eq!(alone.is_clean(), faults == [false; 3], "{fault:?}");
    }
}

fn all_of<G: Geometry + 'static>() -> [Contender; 4] {
    [
        contender::<Wheel<KeyId, G>>(),
        contender::<Indexed<G>>(),
        contender::<InLane<KeyId, G>>(),
        contender::<TextbookWheel<KeyId, G>>(),
    ]
}

#[test]
fn queues_of_all_geometries_agree_under_every_policy() {
    let trace = some_trace();
    for expire in [Expire::AfterWrite, Expire::AfterAccess] {
        for capacity in [None, NonZeroUsize::new(300)] {
            let mut contenders = vec![contender::<BTree>()];
            contenders.extend(all_of::<Millis>());
            contenders.extend(all_of::<Caffeine>());
            contenders.extend(all_of::<Micros>());
            contenders.extend(all_of::<Compact>());
            let policy = Policy { expire, capacity, ..POLICY };
            let comparison = compare_on(&trace, policy, contenders);
            assert!(comparison.is_clean());
            assert!(comparison.outcomes.iter().all(|outcome| outcome.advances == trace.requests.len()));
            let counts = comparison.outcomes[0].counts;
            assert!(counts.expired > 1_000 || capacity.is_some());
            assert!(counts.deleted > 1_000 && (counts.evicted > 0) == capacity.is_some());
        }
    }
}

#[test]
fn script_fires_as_much_on_a_bare_queue_as_the_cache_saw_expire() {
    let trace = some_trace();
    let mut cache = Cache::new(BTree::new(0), POLICY, trace.keys);
    let mut recorder = Recorder::new(&trace);
    let mut most_live = 0;
    for &request in &trace.requests {
        cache.serve(request, &mut recorder);
        most_live = most_live.max(cache.queue().len());
    }
    let script = recorder.script;
    let expired = cache.counts().expired;
    assert_eq!(script.play(BTree::new(0)).unwrap().1, expired);
    assert_eq!(script.play(Wheel::<KeyId, Millis>::with_geometry(0)).unwrap().1, expired);
    assert_eq!(script.play(TextbookWheel::<KeyId, Caffeine>::new(0)).unwrap().1, expired);
    assert_eq!(script.places as usize, most_live);
}
