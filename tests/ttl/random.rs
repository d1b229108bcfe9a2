//! Random scripts for one queue, and random histories of three replicas.

use quickcheck::{Arbitrary, Gen, QuickCheck};
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis};

use crate::cluster::{Cluster, Event};
use crate::script::{Decoder, Op, Script};

/// The longest script and the longest history.
const MOST: usize = 150;

impl Arbitrary for Script {
    fn arbitrary(g: &mut Gen) -> Self {
        let length = usize::arbitrary(g) % (g.size() + 1);
        with_decoder(g, |decoder| Script {
            batches: (decoder.below(4), decoder.below(4)),
            max_pending: decoder.max_pending(),
            start: decoder.start(),
            ops: Vec::new(),
        })
        .with_ops((0..length).map(|_| with_decoder(g, Op::decode)).collect())
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let this = self.clone();
        let earlier = self.start.shrink().map({
            let this = self.clone();
            move |start| Script { start, ..this.clone() }
        });
        let fewer = self.ops.shrink().map(move |ops| this.clone().with_ops(ops));
        Box::new(fewer.chain(earlier))
    }
}

impl Script {
    fn with_ops(self, ops: Vec<Op>) -> Self {
        Self { ops, ..self }
    }
}

impl Arbitrary for Op {
    fn arbitrary(g: &mut Gen) -> Self {
        with_decoder(g, Op::decode)
    }
}

impl Arbitrary for Event {
    fn arbitrary(g: &mut Gen) -> Self {
        with_decoder(g, Event::decode)
    }
}

/// Enough random bytes for any one choice, all bytes alike (`u8::arbitrary` prefers 0 and 255).
fn with_decoder<T>(g: &mut Gen, read: impl FnOnce(&mut Decoder<'_>) -> T) -> T {
    let any: [u8; 256] = std::array::from_fn(|byte| byte as u8);
    let bytes: [u8; 48] = std::array::from_fn(|_| g.choose(&any).copied().unwrap_or(0));
    read(&mut Decoder::new(&bytes))
}

/// How many to draw: so many, unless the environment says otherwise, as for mutants.
fn tests(usual: u64) -> u64 {
    let asked = std::env::var("QUICKCHECK_TESTS").ok();
    asked.map_or(usual, |tests| tests.parse().expect("a number of tests"))
}

fn check<G: Geometry + 'static>() {
    fn follow<G: Geometry>(script: Script) {
        script.run::<G>();
    }
    QuickCheck::new().rng(Gen::new(MOST)).tests(tests(400)).quickcheck(follow::<G> as fn(Script));
}

#[test]
fn millis_random_scripts_agree_with_model() {
    check::<Millis>();
}

#[test]
fn caffeine_random_scripts_agree_with_model() {
    check::<Caffeine>();
}

#[test]
fn micros_random_scripts_agree_with_model() {
    check::<Micros>();
}

#[test]
fn compact_random_scripts_agree_with_model() {
    check::<Compact>();
}

#[test]
fn replicas_agree_whatever_happens_to_proposals_roles_and_snapshots() {
    fn follow(events: Vec<Event>) {
        Cluster::new().run(&events);
    }
    QuickCheck::new().rng(Gen::new(MOST)).tests(tests(800)).quickcheck(follow as fn(Vec<Event>));
}

/// Whatever the bytes, there is a script in them, and it ends with them.
#[test]
fn scripts_decoded_from_bytes_agree_with_model() {
    for byte in (0..=u8::MAX).step_by(3) {
        let same = vec![byte; 200];
        let mixed: Vec<u8> = (0..500_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 ^ byte).collect();
        for bytes in [&same, &mixed] {
            Script::decode(bytes, 80).run::<Millis>();
        }
    }
    assert!(Script::decode(&[], 100).ops.is_empty());
}
