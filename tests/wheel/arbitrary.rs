//! Scripts as quickcheck draws and shrinks them.

use std::any::type_name;
use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::{array, env, iter};

use quickcheck::{Arbitrary, Gen, QuickCheck};

use crate::bytes::{Decoder, Draw};

/// A script, as the bytes that each of its operations was read from, and those of what comes before them.
///
/// So it shrinks as vectors do: operations are left out, halves of them first, and those that stay get fewer and lower
/// bytes, which stand for lower numbers and plainer choices.
pub(crate) struct Drawn<D>((Vec<Vec<u8>>, Vec<u8>), PhantomData<D>);

impl<D: Draw> Drawn<D> {
    pub(crate) fn script(&self) -> D::Script {
        let (ops, head) = &self.0;
        let mut script = D::begin(&mut Decoder(&mut head.iter().copied()));
        ops.iter().for_each(|op| D::extend(&mut script, &mut Decoder(&mut op.iter().copied())));
        script
    }
}

impl<D: Draw + 'static> Arbitrary for Drawn<D> {
    fn arbitrary(g: &mut Gen) -> Self {
        let length = Vec::<()>::arbitrary(g).len();
        let (mut script, head) = recorded(g, D::begin);
        let ops = (0..length).map(|_| recorded(g, |decoder| D::extend(&mut script, decoder)).1);
        Self((ops.collect(), head), PhantomData)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(self.0.shrink().map(|bytes| Self(bytes, PhantomData)))
    }
}

impl<D> Clone for Drawn<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<D: Draw> Debug for Drawn<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", type_name::<D>(), self.script())
    }
}

/// What is read out of random bytes, and those that were read.
fn recorded<T>(g: &mut Gen, read: impl FnOnce(&mut Decoder<'_>) -> T) -> (T, Vec<u8>) {
    // Each as often as another: numbers of quickcheck's own are the least or the greatest more often.
    let all: [u8; 256] = array::from_fn(|n| n as u8);
    let mut bytes = Vec::new();
    let mut random = iter::repeat_with(|| *g.choose(&all).expect("there are 256")).inspect(|&byte| bytes.push(byte));
    (read(&mut Decoder(&mut random)), bytes)
}

/// Checks a property with so many values up to such a size, unless the environment asks quickcheck for others.
#[track_caller]
pub(crate) fn check<A: Arbitrary + Debug>(tests: u64, size: usize, property: fn(A)) {
    let asked = |name| env::var(name).ok()?.parse().ok();
    let tests = asked("QUICKCHECK_TESTS").unwrap_or(tests);
    let size = asked("QUICKCHECK_GENERATOR_SIZE").map_or(size, |size| size as usize);
    QuickCheck::new().tests(tests).rng(Gen::new(size)).quickcheck(property);
}
