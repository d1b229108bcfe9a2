//! The pseudo-random inputs of the measurements: one generator, one seed, a few shapes.
//!
//! A figure means something only beside another figure for the same input, so nothing here depends
//! on the machine, the clock or the program that asks.

/// Where every stream starts, unless a caller says otherwise.
pub const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

pub const MILLISECOND: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MILLISECOND;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;

/// The step by which the measurements advance a queue: one tick of the `Millis` geometry.
pub const STEP: u64 = 1 << 20;

/// Marsaglia's xorshift64 with Vigna's multiplicative scrambler ("xorshift64*").
///
/// Not for secrets. Chosen because it is three shifts in any language.
#[derive(Clone, Debug)]
pub struct XorShift64Star {
    state: u64,
}

impl XorShift64Star {
    /// A generator that starts at [`SEED`]. O(1).
    #[expect(clippy::new_without_default, reason = "nobody asks")]
    pub fn new() -> Self {
        Self { state: SEED }
    }

    /// A generator that starts at `seed`; zero, on which xorshift is stuck, stands for [`SEED`].
    /// O(1).
    pub fn with_seed(seed: u64) -> Self {
        Self { state: if seed == 0 { SEED } else { seed } }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`, by multiplication rather than by remainder: the high bits of
    /// xorshift64* are its good ones. O(1).
    #[track_caller]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below zero");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// `count` numbers, uniform in `[low, high)`. O(`count`).
    #[track_caller]
    pub fn uniform(&mut self, count: usize, low: u64, high: u64) -> Vec<u64> {
        assert!(low < high, "the range is empty");
        (0..count).map(|_| low + self.below(high - low)).collect()
    }

    /// The numbers below `count` in a random order (Fisher and Yates' shuffle). O(`count`).
    pub fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count).collect();
        for unplaced in (1..order.len()).rev() {
            let chosen = self.below(unplaced as u64 + 1) as usize;
            order.swap(unplaced, chosen);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_stays_within_its_range_and_permutation_holds_every_number_once() {
        let drawn = XorShift64Star::new().uniform(10_000, 5, 9);
        assert!((0..20).all(|number| (5..9).contains(&number) == drawn.contains(&number)));
        let mut order = XorShift64Star::new().permutation(1_000);
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1_000));
    }
}
