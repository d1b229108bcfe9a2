//! Sorting a few items by how many of the others come before each.
//!
//! A tick rarely holds more than a few dozen timers. At that size the fastest sort has no branch
//! that depends on the data: compare every key with every other, which the compiler turns into
//! vector instructions, and put each item where its count says. A general sort starts with an
//! insertion sort here, which mispredicts about once an item.

/// The most items that are sorted this way: the number of comparisons is the square of it.
pub(crate) const MOST: usize = 64;

/// Brings up to [`MOST`] items into ascending order of their keys. `false`, with the items
/// untouched, if there are more of them or two keys are equal.
///
/// The keys are signed and short because that is what the oldest vector instructions compare, and
/// most of.
pub(crate) fn sort_by_rank<T: Copy>(items: &mut [T], key: impl Fn(&T) -> i16) -> bool {
    if items.len() <= MOST / 2 {
        sort_few_by_rank::<T, { MOST / 2 }>(items, key)
    } else {
        sort_few_by_rank::<T, MOST>(items, key)
    }
}

#[inline(always)]
fn sort_few_by_rank<T: Copy, const N: usize>(items: &mut [T], key: impl Fn(&T) -> i16) -> bool {
    let len = items.len();
    let Some(&first) = items.first() else {
        return true;
    };
    if len > N {
        return false;
    }
    // What pads the keys is counted by none of them.
    let mut keys = [i16::MAX; N];
    for (key_of, item) in keys.iter_mut().zip(&*items) {
        *key_of = key(item);
    }
    let mut sorted = [first; N];
    let mut ranks_taken = 0_u64;
    for (item, &own) in items.iter().zip(&keys) {
        let rank: u16 = keys.iter().map(|&other| u16::from(other < own)).sum();
        ranks_taken |= 1_u64.wrapping_shl(rank.into());
        sorted[usize::from(rank) % N] = *item;
    }
    // Two equal keys share a rank, and leave another one out.
    if ranks_taken.count_ones() as usize != len {
        return false;
    }
    items.copy_from_slice(&sorted[..len]);
    true
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn sort_by_rank_agrees_with_the_standard_sort_up_to_its_most() {
        let mut state = 1_u32;
        for len in 0..=MOST {
            let mut items: Vec<(i16, usize)> = (0..len)
                .map(|index| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    // No two alike.
                    ((state >> 16) as i16 / 64 * 64 + index as i16, index)
                })
                .collect();
            if let Some(item) = items.get_mut(len / 2) {
                item.0 = i16::MAX;
            }
            let mut expected = items.clone();
            expected.sort_unstable();
            assert!(sort_by_rank(&mut items, |item| item.0), "{len} items");
            assert_eq!(items, expected);
        }
    }

    #[test]
    fn sort_by_rank_leaves_equal_keys_and_too_many_items_alone() {
        let mut items = [(2, 'a'), (1, 'b'), (2, 'c')];
        assert!(!sort_by_rank(&mut items, |item| item.0));
        assert_eq!(items, [(2, 'a'), (1, 'b'), (2, 'c')]);
        let mut items: Vec<i16> = (0..=MOST as i16).rev().collect();
        assert!(!sort_by_rank(&mut items, |&item| item));
        assert_eq!(items[0], MOST as i16);
    }
}
