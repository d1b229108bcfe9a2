//! Choices out of bytes.

/// Reads choices from bytes. Zeros follow their end.
pub(crate) struct Decoder<'a>(pub(crate) &'a [u8]);

impl Decoder<'_> {
    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
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
}
