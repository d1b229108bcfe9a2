//! What the TTL layer costs, beside the two ordered sets that it replaces.

use criterion::Criterion;
use timer_wheel::ttl::{Context, Role, TtlConfig, TtlQueue};
use timer_wheel_bench::TwoSets;
use timer_wheel_bench::workload::{SECOND, XorShift64Star};

use crate::harness::{Case, Group, anew, each_size, measure, onward};

/// Keys with a TTL: what both can do.
trait Expiring {
    const NAME: &'static str;

    fn new(config: TtlConfig) -> Self;

    fn len(&self) -> usize;

    /// A log entry sets a key's TTL, or changes it.
    fn init(&mut self, index: u64, key: u64, ttl_ms: u64);

    fn role_change(&mut self, is_leader: bool, now: u64);

    /// Polls once, and says how many expiries are proposed and whether there are more.
    fn poll(&mut self, now: u64) -> (usize, bool);
}

impl Expiring for TtlQueue<u64> {
    const NAME: &'static str = "ttl_queue";

    fn new(config: TtlConfig) -> Self {
        Self::new(0, config)
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn init(&mut self, index: u64, key: u64, ttl_ms: u64) {
        self.init(key, index, ttl_ms, Context::default())
            .expect("the TTL is not too long");
    }

    fn role_change(&mut self, is_leader: bool, now: u64) {
        let role = if is_leader {
            Role::Leader
        } else {
            Role::Follower
        };
        self.role_change(role, now);
    }

    fn poll(&mut self, now: u64) -> (usize, bool) {
        let mut due = self.poll(now);
        let proposed = due.by_ref().count();
        (proposed, due.next_wake() == Some(0))
    }
}

impl Expiring for TwoSets<u64> {
    const NAME: &'static str = "two_sets";

    fn new(config: TtlConfig) -> Self {
        Self::new(&config)
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn init(&mut self, index: u64, key: u64, ttl_ms: u64) {
        self.init(key, index, ttl_ms, Context::default());
    }

    fn role_change(&mut self, is_leader: bool, now: u64) {
        self.role_change(is_leader, now);
    }

    fn poll(&mut self, now: u64) -> (usize, bool) {
        let mut proposed = 0;
        let wait = self.poll(now, |_| proposed += 1);
        (proposed, wait == Some(0))
    }
}

pub(crate) fn bench(criterion: &mut Criterion) {
    for (name, bench) in [
        ("ttl_init", Input::init as fn(&Input, &mut Group<'_>)),
        ("ttl_update", Input::update),
        ("ttl_poll", Input::poll),
        ("ttl_role_change", Input::role_change),
    ] {
        each_size(criterion, name, |group, n| bench(&Input::new(n), group));
    }
}

/// Keys, each with a TTL of up to a minute, and again in the order in which they are updated.
struct Input {
    keys: Vec<(u64, u64)>,
    shuffled: Vec<(u64, u64)>,
}

/// When every key is due.
const END: u64 = 60 * SECOND;

impl Input {
    fn new(n: usize) -> Self {
        let mut random = XorShift64Star::new();
        let mut ttls_ms = || random.uniform(n, 1, 60_000);
        let (first, second) = (ttls_ms(), ttls_ms());
        let keys: Vec<u64> = (0..n).map(|_| random.next_u64()).collect();
        let order = random.permutation(n as u32);
        let shuffled = order.iter().map(|&nth| keys[nth as usize]).zip(second);
        Self {
            shuffled: shuffled.collect(),
            keys: keys.into_iter().zip(first).collect(),
        }
    }

    fn case<E: Expiring>(&self) -> Case {
        Case {
            subject: E::NAME,
            n: self.keys.len(),
            operations: self.keys.len(),
        }
    }

    /// A leader that holds every key, and may have so many in flight.
    fn filled<E: Expiring>(&self, max_pending: usize) -> E {
        let config = TtlConfig::builder().max_pending(max_pending).build();
        let mut queue = E::new(config.expect("it makes sense"));
        queue.role_change(true, 0);
        apply(&mut queue, 1, &self.keys);
        queue
    }

    fn init(&self, group: &mut Group<'_>) {
        self.init_one::<TtlQueue<u64>>(group);
        self.init_one::<TwoSets<u64>>(group);
    }

    fn init_one<E: Expiring>(&self, group: &mut Group<'_>) {
        let timed = |queue: &mut E| apply(queue, 1, &self.keys);
        let check = |queue: &E, ()| assert_eq!(queue.len(), self.keys.len());
        measure(
            group,
            &self.case::<E>(),
            anew(|| E::new(TtlConfig::default())),
            timed,
            check,
        );
    }

    fn update(&self, group: &mut Group<'_>) {
        self.update_one::<TtlQueue<u64>>(group);
        self.update_one::<TwoSets<u64>>(group);
    }

    fn update_one<E: Expiring>(&self, group: &mut Group<'_>) {
        self.update_with(group, &self.case::<E>(), |queue: &mut E, index| {
            apply(queue, index, &self.shuffled);
        });
    }

    fn update_with<E: Expiring>(
        &self,
        group: &mut Group<'_>,
        case: &Case,
        update: impl Fn(&mut E, u64),
    ) {
        // Each iteration is of a newer index than the one before, or it would change nothing.
        let prepare = onward(|| (self.filled::<E>(1), 1));
        let timed = |(queue, index): &mut (E, u64)| {
            *index += 1;
            update(queue, *index);
        };
        let check = |(queue, _): &(E, u64), ()| assert_eq!(queue.len(), self.keys.len());
        measure(group, case, prepare, timed, check);
    }

    fn poll(&self, group: &mut Group<'_>) {
        self.poll_one::<TtlQueue<u64>>(group);
        self.poll_one::<TwoSets<u64>>(group);
    }

    fn poll_one<E: Expiring>(&self, group: &mut Group<'_>) {
        let check = |_: &E, proposed| assert_eq!(proposed, self.keys.len());
        measure(
            group,
            &self.case::<E>(),
            anew(|| self.filled::<E>(usize::MAX)),
            poll_all,
            check,
        );
    }

    /// With as many keys pending as may be.
    fn role_change(&self, group: &mut Group<'_>) {
        self.role_change_one::<TtlQueue<u64>>(group);
        self.role_change_one::<TwoSets<u64>>(group);
    }

    fn role_change_one<E: Expiring>(&self, group: &mut Group<'_>) {
        let case = Case {
            operations: 1,
            ..self.case::<E>()
        };
        let prepare = anew(|| {
            let mut queue = self.filled::<E>(TtlConfig::default().max_pending());
            poll_all(&mut queue);
            queue
        });
        let timed = |queue: &mut E| queue.role_change(true, END);
        let check = |queue: &E, ()| assert_eq!(queue.len(), self.keys.len());
        measure(group, &case, prepare, timed, check);
    }
}

/// A log entry for each of some keys.
fn apply<E: Expiring>(queue: &mut E, index: u64, entries: &[(u64, u64)]) {
    for &(key, ttl_ms) in entries {
        queue.init(index, key, ttl_ms);
    }
}

/// Proposes every key, as far as may be, a batch a call, and says how many.
fn poll_all<E: Expiring>(queue: &mut E) -> usize {
    let mut all = 0;
    loop {
        let (proposed, has_more) = queue.poll(END);
        all += proposed;
        if !has_more {
            return all;
        }
    }
}
