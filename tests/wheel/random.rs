//! Random scripts, biased towards the nasty, over all geometries.

use std::fmt;
use std::marker::PhantomData;

use quickcheck::{Arbitrary, Gen, QuickCheck};
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis};

use crate::geometries::{FAR_TIMERS, Lopsided, Narrow, Tiny, TinyTick, Wide, Widest};
use crate::pair::{Pair, Reload};
use crate::script::{Decoder, Op, Pick, Script, When, spans};

/// Scripts for each geometry.
const SCRIPTS: u64 = 700;

/// The longest of them.
const OPS: usize = 200;

/// How many scripts to draw: so many, unless the environment says otherwise, as for mutants.
pub(crate) fn tests(usual: u64) -> u64 {
    let asked = std::env::var("QUICKCHECK_TESTS").ok();
    asked.map_or(usual, |tests| tests.parse().expect("a number of tests"))
}

/// A script made for the spans of one geometry.
struct ScriptFor<G> {
    script: Script,
    geometry: PhantomData<fn() -> G>,
}

impl<G> ScriptFor<G> {
    fn new(script: Script) -> Self {
        Self {
            script,
            geometry: PhantomData,
        }
    }
}

impl<G> Clone for ScriptFor<G> {
    fn clone(&self) -> Self {
        Self::new(self.script.clone())
    }
}

impl<G> fmt::Debug for ScriptFor<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.script.fmt(f)
    }
}

impl<G: Geometry + 'static> Arbitrary for ScriptFor<G> {
    fn arbitrary(g: &mut Gen) -> Self {
        let length = usize::arbitrary(g) % (g.size() + 1);
        let mut script = Script {
            start: with_decoder(g, |decoder| decoder.clock(&spans::<G>())),
            ops: Vec::new(),
        };
        if bool::arbitrary(g) {
            // In a large geometry a short script makes no lists without it.
            script.ops.push(Op::Bunch {
                at: When::At(u64::MAX),
                count: FAR_TIMERS as u8,
            });
        }
        for _ in 0..length {
            let op = with_decoder(g, |decoder| Op::decode(decoder, &spans::<G>()));
            script.ops.push(op);
        }
        Self::new(script)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let start = self.script.start;
        let ops = self.script.ops.clone();
        let fewer = ops.shrink().map(move |ops| Script { start, ops });
        let ops = self.script.ops.clone();
        let earlier = start.shrink().map(move |start| Script {
            start,
            ops: ops.clone(),
        });
        Box::new(fewer.chain(earlier).map(Self::new))
    }
}

impl Arbitrary for Op {
    /// Not for a geometry: [`ScriptFor`] draws operations itself.
    fn arbitrary(g: &mut Gen) -> Self {
        with_decoder(g, |decoder| Op::decode(decoder, &spans::<Millis>()))
    }

    /// The same operation at a simpler moment.
    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let simpler: Vec<Op> = match *self {
            Self::Schedule(at) => at.simpler().map(Self::Schedule).collect(),
            Self::Bunch { at, .. } => vec![Self::Schedule(at)],
            Self::Storm { from, step, count } => vec![
                Self::Schedule(from),
                Self::Storm {
                    from,
                    step,
                    count: count / 2,
                },
            ],
            Self::CancelTail { count } => {
                let shorter = |count| Self::CancelTail { count };
                count.shrink().map(shorter).collect()
            }
            Self::CancelMany { .. } => vec![Self::Cancel(Pick::Live(0))],
            Self::Reschedule(pick, to) => {
                let reschedule = |to| Self::Reschedule(pick, to);
                to.simpler().map(reschedule).collect()
            }
            Self::RescheduleMany { to, .. } => vec![Self::Reschedule(Pick::Live(0), to)],
            Self::Advance(to) => to.simpler().map(Self::Advance).collect(),
            Self::AdvanceDropped { to, .. }
            | Self::AdvanceToEnd { to, .. }
            | Self::AdvanceFires { to, .. }
            | Self::AdvanceWithFires { to, .. }
            | Self::AdvanceWith { to, .. } => vec![Self::Advance(to)],
            Self::Evict { at, .. } => vec![Self::PopFirst, Self::Schedule(at)],
            Self::AdvanceBudgeted { to, budget, calls } => {
                let fewer = |calls| Self::AdvanceBudgeted { to, budget, calls };
                let fewer = calls.shrink().map(fewer);
                [Self::Advance(to)].into_iter().chain(fewer).collect()
            }
            Self::PopAndSchedule { to, .. } => vec![Self::Pop(to)],
            Self::Drive { wake_ups, within } => wake_ups
                .shrink()
                .map(|wake_ups| Self::Drive { wake_ups, within })
                .collect(),
            _ => Vec::new(),
        };
        Box::new(simpler.into_iter().filter({
            let this = self.clone();
            move |op| *op != this
        }))
    }
}

impl When {
    fn simpler(self) -> impl Iterator<Item = Self> {
        let shorter = match self {
            Self::At(moment) => moment.shrink().map(Self::At).collect(),
            Self::In(delay) => delay.shrink().map(Self::In).collect(),
            Self::Ago(delay) => delay.shrink().map(Self::Ago).collect(),
            Self::Edge { .. } | Self::Like { .. } => vec![Self::In(0)],
        };
        shorter.into_iter()
    }
}

/// Enough random bytes for any one choice, all bytes alike (`u8::arbitrary` prefers 0 and 255).
fn with_decoder<T>(g: &mut Gen, read: impl FnOnce(&mut Decoder<'_>) -> T) -> T {
    let any: [u8; 256] = std::array::from_fn(|byte| byte as u8);
    let bytes: [u8; 40] = std::array::from_fn(|_| g.choose(&any).copied().unwrap_or(0));
    read(&mut Decoder::new(&bytes))
}

fn check<G: Geometry + 'static>() {
    fn follow<G: Geometry>(script: ScriptFor<G>) {
        let Script { start, ops } = script.script;
        Pair::<G>::with_reload(start, reload()).run(&ops);
    }
    QuickCheck::new()
        .rng(Gen::new(OPS))
        .tests(tests(SCRIPTS))
        .quickcheck(follow as fn(ScriptFor<G>));
}

#[cfg(feature = "serde")]
fn reload<G: Geometry>() -> Reload<G> {
    crate::reload::reload
}

#[cfg(not(feature = "serde"))]
fn reload<G: Geometry>() -> Reload<G> {
    |wheel, _| wheel
}

/// Whatever the bytes, there is a script in them, and it ends with them.
#[test]
fn scripts_decoded_from_bytes_agree_with_model() {
    for byte in 0..=u8::MAX {
        let same = vec![byte; 300];
        let rising: Vec<u8> = (0..300).map(|n| byte.wrapping_add(n as u8)).collect();
        let mixed: Vec<u8> = (0..600_u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8 ^ byte)
            .collect();
        for bytes in [&same, &rising, &mixed] {
            let Script { start, ops } = Script::decode(bytes, &spans::<Compact>(), 100);
            Pair::<Compact>::new(start).run(&ops);
            Pair::<Narrow>::new(start).run(&ops);
        }
    }
    assert!(Script::decode(&[], &spans::<Millis>(), 100).ops.is_empty());
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
fn tiny_random_scripts_agree_with_model() {
    check::<Tiny>();
}

#[test]
fn tiny_tick_random_scripts_agree_with_model() {
    check::<TinyTick>();
}

#[test]
fn lopsided_random_scripts_agree_with_model() {
    check::<Lopsided>();
}

#[test]
fn narrow_random_scripts_agree_with_model() {
    check::<Narrow>();
}

#[test]
fn wide_random_scripts_agree_with_model() {
    check::<Wide>();
}

#[test]
fn widest_random_scripts_agree_with_model() {
    check::<Widest>();
}
