//! Choices out of bytes, and scripts out of choices: those of a fuzzer, or of a random generator as in `arbitrary`.

#![allow(dead_code, reason = "each suite uses some of it")]

use std::fmt::Debug;

/// Reads choices from bytes. Zeros follow their end.
pub(crate) struct Decoder<'a>(pub(crate) &'a mut dyn Iterator<Item = u8>);

impl Decoder<'_> {
    pub(crate) fn byte(&mut self) -> u8 {
        self.0.next().unwrap_or(0)
    }

    pub(crate) fn below(&mut self, bound: u8) -> u8 {
        self.byte() % bound
    }

    pub(crate) fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    pub(crate) fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }

    pub(crate) fn pick(&mut self) -> Pick {
        match self.below(8) {
            0 => Pick::Any(u16::from(self.byte())),
            1 => Pick::Any(u16::from(self.byte()) << 3),
            _ => Pick::Live(self.byte()),
        }
    }
}

/// A timer to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The live timer at that place in the order of the contract.
    Live(u8),
    /// Any key ever given out, counted back from the latest; most are stale.
    Any(u16),
}

/// What scripts are made of.
pub(crate) trait Draw {
    type Script: Debug + Default;

    /// Reads what comes before the operations, if anything does.
    fn begin(_: &mut Decoder<'_>) -> Self::Script {
        Self::Script::default()
    }

    /// Reads one operation more.
    fn extend(script: &mut Self::Script, decoder: &mut Decoder<'_>);
}

/// Reads a script, and ends with the bytes or after `most` operations.
pub(crate) fn decode<D: Draw>(bytes: &[u8], most: usize) -> D::Script {
    let mut bytes = bytes.iter().copied();
    let mut script = D::begin(&mut Decoder(&mut bytes));
    let mut left = 0..most;
    while bytes.len() > 0 && left.next().is_some() {
        D::extend(&mut script, &mut Decoder(&mut bytes));
    }
    script
}
