//! Queues that are right agree, whatever their geometry and budget; queues that are wrong are found out.

use std::num::NonZeroUsize;

use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis};

use super::*;
use crate::cache::Expire;
use crate::figure::NS_PER_S;
use crate::observer::Observer;
use crate::queue::{BTree, Backlog, BudgetedWheel, Index, PlainWheel, Queue, Textbook};
use crate::replay::script::Scribe;
use crate::trace::{self, KeyId, profile};

const POLICY: Policy = Policy {
    expire: Expire::AfterWrite,
    ttl_ns: Some(NS_PER_S / 2),
    capacity: None,
};

/// Five seconds of traffic, in which entries live for half a second.
fn some_trace() -> Trace {
    let profile = profile::named("cluster14").unwrap();
    trace::generate(profile, 30_000, 7, Progress::Hidden).unwrap()
}

fn compare_on(trace: &Trace, policy: Policy, contenders: Vec<Box<dyn Contender>>) -> Comparison {
    compare(trace, policy, &contenders, 1, Progress::Hidden).unwrap()
}

/// Who compares alone, or with the ordered set.
fn judged(fault: Fault, company: &[&str]) -> Comparison {
    let mut contenders: Vec<Box<dyn Contender>> =
        vec![Box::new(Named::new("faulty", move |now_ns| {
            Faulty::new(now_ns, fault)
        }))];
    for name in company {
        contenders.push(Box::new(Named::new(*name, BTree::new)));
    }
    compare_on(&some_trace(), POLICY, contenders)
}

/// What is wrong with a queue.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// One timer in ten is never set.
    Loses,
    /// Timers fire a little after their time.
    Delays,
    /// Timers fire a little before their time.
    Hurries,
    /// What is due at once comes in the wrong order.
    Reverses,
    /// Cancelled timers fire.
    IgnoresCancel,
    /// Moved timers stay where they were.
    IgnoresReschedule,
    /// Timers claim another deadline than theirs.
    Misreports,
}

struct Faulty {
    queue: BTree,
    fault: Fault,
    scheduled: u64,
}

impl Faulty {
    fn new(now_ns: u64, fault: Fault) -> Self {
        Self {
            queue: BTree::new(now_ns),
            fault,
            scheduled: 0,
        }
    }
}

const A_LITTLE_NS: u64 = NS_PER_S / 100;

impl Queue for Faulty {
    type Key = Option<<BTree as Queue>::Key>;

    fn schedule(&mut self, deadline_ns: u64, key: KeyId) -> Self::Key {
        self.scheduled += 1;
        match self.fault {
            Fault::Loses if self.scheduled.is_multiple_of(10) => None,
            Fault::Delays => Some(self.queue.schedule(deadline_ns + A_LITTLE_NS, key)),
            Fault::Hurries => Some(self.queue.schedule(deadline_ns - A_LITTLE_NS, key)),
            _ => Some(self.queue.schedule(deadline_ns, key)),
        }
    }

    fn cancel(&mut self, timer: Self::Key) {
        if let Some(timer) = timer.filter(|_| self.fault != Fault::IgnoresCancel) {
            self.queue.cancel(timer);
        }
    }

    fn reschedule(&mut self, timer: Self::Key, deadline_ns: u64) {
        if let Some(timer) = timer.filter(|_| self.fault != Fault::IgnoresReschedule) {
            self.queue.reschedule(timer, deadline_ns);
        }
    }

    fn advance(&mut self, now_ns: u64, mut expire: impl FnMut(KeyId, u64)) -> Backlog {
        let mut due = Vec::new();
        self.queue
            .advance(now_ns, |key, deadline_ns| due.push((key, deadline_ns)));
        if self.fault == Fault::Reverses {
            due.reverse();
        }
        for (key, deadline_ns) in due {
            let claimed_ns = match self.fault {
                Fault::Delays => deadline_ns - A_LITTLE_NS,
                Fault::Hurries => deadline_ns + A_LITTLE_NS,
                Fault::Misreports => deadline_ns + 1,
                _ => deadline_ns,
            };
            expire(key, claimed_ns);
        }
        Backlog::Done
    }

    fn len(&self) -> usize {
        self.queue.len()
    }
}

#[test]
fn queue_without_a_fault_is_clean_alone_and_in_company() {
    for company in [&[][..], &["btree"]] {
        let comparison = judged(Fault::None, company);
        assert!(comparison.is_clean());
        assert_eq!(comparison.exit_status(), 0);
        assert!(comparison.outcomes[0].counts.expired > 1_000);
        assert!(comparison.outcomes[0].counts.deleted > 1_000);
    }
}

#[test]
fn queue_that_loses_timers_is_late_and_miscounts() {
    let comparison = judged(Fault::Loses, &[]);
    assert!(comparison.late() > 0 && comparison.early() == 0);
    assert!(comparison.miscounted() > 0);
    assert_eq!(comparison.exit_status(), 1);
}

#[test]
fn queue_that_delays_timers_is_late() {
    let comparison = judged(Fault::Delays, &[]);
    assert!(comparison.late() > 1_000 && comparison.early() == 0);
    assert_eq!(comparison.exit_status(), 1);
}

#[test]
fn queue_that_hurries_timers_is_early() {
    let comparison = judged(Fault::Hurries, &[]);
    assert!(comparison.early() > 1_000 && comparison.late() == 0);
    assert_eq!(comparison.exit_status(), 1);
}

#[test]
fn queue_that_ignores_cancels_is_early() {
    let comparison = judged(Fault::IgnoresCancel, &[]);
    assert!(comparison.early() > 0);
    assert_eq!(comparison.exit_status(), 1);
}

#[test]
fn queue_that_ignores_reschedules_is_early() {
    let comparison = judged(Fault::IgnoresReschedule, &[]);
    assert!(comparison.early() > 0);
    assert_eq!(comparison.exit_status(), 1);
}

#[test]
fn queue_that_misreports_deadlines_has_another_digest() {
    let comparison = judged(Fault::Misreports, &["btree"]);
    assert!(!comparison.digests_equal());
    assert_eq!((comparison.early(), comparison.late()), (0, 0));
    assert_eq!(comparison.exit_status(), 1);
}

#[test]
fn queue_that_reverses_what_is_due_at_once_has_another_digest() {
    // At steps of a second, many entries are due at once.
    let mut trace = some_trace();
    let coarse = |ns: u64| ns / NS_PER_S * NS_PER_S;
    for request in &mut trace.requests {
        request.at_ns = coarse(request.at_ns);
    }
    let comparison = compare_on(
        &trace,
        POLICY,
        vec![
            Box::new(Named::new("btree", BTree::new)),
            Box::new(Named::new("faulty", |now_ns| {
                Faulty::new(now_ns, Fault::Reverses)
            })),
        ],
    );
    assert!(!comparison.digests_equal());
    assert_eq!((comparison.early(), comparison.late()), (0, 0));
    assert_eq!(comparison.exit_status(), 1);
}

/// A geometry's wheel without a budget, with the least and with some, and its textbook wheel.
fn all_of<G: Geometry + 'static>() -> Vec<Box<dyn Contender>> {
    let budgeted = |budget: usize| -> Box<dyn Contender> {
        let budget = NonZeroUsize::new(budget).unwrap();
        let make = move |now_ns| BudgetedWheel::<G>::new(now_ns, budget);
        Box::new(Named::new(format!("wheel {budget}"), make))
    };
    let index = |budget: Option<usize>| -> Box<dyn Contender> {
        let budget = budget.map(|budget| NonZeroUsize::new(budget).unwrap());
        let make = move |now_ns| Index::<G>::new(now_ns, budget);
        Box::new(Named::new(format!("index {budget:?}"), make))
    };
    vec![
        Box::new(Named::new("wheel", PlainWheel::<G>::new)),
        index(None),
        index(Some(64)),
        budgeted(1),
        budgeted(64),
        Box::new(Named::new("textbook", Textbook::<G>::new)),
    ]
}

#[test]
fn queues_of_all_geometries_and_budgets_agree_under_every_policy() {
    let trace = some_trace();
    for expire in [Expire::AfterWrite, Expire::AfterAccess] {
        for capacity in [None, NonZeroUsize::new(300)] {
            let mut contenders: Vec<Box<dyn Contender>> =
                vec![Box::new(Named::new("btree", BTree::new))];
            contenders.extend(all_of::<Millis>());
            contenders.extend(all_of::<Caffeine>());
            contenders.extend(all_of::<Micros>());
            contenders.extend(all_of::<Compact>());
            let policy = Policy {
                expire,
                capacity,
                ..POLICY
            };
            let comparison = compare_on(&trace, policy, contenders);
            assert!(comparison.is_clean());
            let counts = comparison.outcomes[0].counts;
            assert!(counts.expired > 1_000 || capacity.is_some());
            assert_eq!(counts.evicted > 0, capacity.is_some());
        }
    }
}

#[test]
fn budget_splits_an_advance_into_more_calls() {
    let trace = some_trace();
    let comparison = compare_on(&trace, POLICY, all_of::<Millis>());
    let calls = |name| comparison.named(name).unwrap().pauses.len();
    assert_eq!(calls("wheel"), trace.requests.len() as u64);
    assert!(calls("wheel 1") > calls("wheel 64"));
    assert!(calls("wheel 64") >= calls("wheel"));
}

#[test]
fn script_fires_as_much_on_a_bare_queue_as_the_cache_saw_expire() {
    let trace = some_trace();
    let mut cache = crate::cache::Cache::new(BTree::new(0), POLICY, trace.keys);
    let mut watchers = (Scribe::new(&trace), Most::default());
    for &request in &trace.requests {
        cache.serve(request, &mut watchers);
    }
    let script = watchers.0.finish();
    let expired = cache.counts().expired;
    assert_eq!(script.run(BTree::new(0)).unwrap().1, expired);
    assert_eq!(script.run(PlainWheel::<Millis>::new(0)).unwrap().1, expired);
    assert_eq!(script.run(Textbook::<Caffeine>::new(0)).unwrap().1, expired);
    assert_eq!(u64::from(script.places()), watchers.1.most);
}

/// The most timers at once.
#[derive(Default)]
struct Most {
    live: u64,
    most: u64,
}

impl Observer for Most {
    fn scheduled(&mut self, _: KeyId, _: u64) {
        self.live += 1;
        self.most = self.most.max(self.live);
    }

    fn cancelled(&mut self, _: KeyId) {
        self.live -= 1;
    }

    fn expired(&mut self, _: u64, _: KeyId, _: u64) {
        self.live -= 1;
    }
}

#[test]
fn spread_is_the_median_between_least_and_most() {
    let rounds = [30, 10, 20].map(Duration::from_nanos);
    let spread = Spread::of(&rounds, 10);
    assert_eq!((spread.least, spread.median, spread.most), (1.0, 2.0, 3.0));
}
