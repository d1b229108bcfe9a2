//! Sorting the timers of a bucket.

use alloc::vec::Vec;
use core::mem;

use crate::engine::node::Ordered;

/// The timers of a bucket on their way to the near heap, linked nowhere. Between two calls there are none: only their
/// memory is kept.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    pub(crate) collected: Vec<Ordered>,
    /// Scratch memory of [`sort`].
    pub(crate) order: Vec<u64>,
}

impl Sorter {
    /// The heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        mem::size_of::<Self>()
            + self.collected.capacity() * mem::size_of::<Ordered>()
            + self.order.capacity() * mem::size_of::<u64>()
    }
}

/// Fewer timers are sorted by insertion.
const FEWEST: usize = 8;

/// Parts of fewer words are left to insertion.
const SMALL_PART: usize = 12;

/// Writes the indexes of timers, at least one, in the order in which they fire. It may move the timers within the slice
/// first. O(n log n).
///
/// Each timer becomes a word: its deadline and its sequence number, as offsets from the least of all, and its
/// index. The timers of a bucket have nearly the same deadline, or the same one where the clock is coarse, so
/// both offsets usually fit. Otherwise the lower bits are sorted first and then the upper bits, in as many passes as
/// needed: the index keeps the order of the pass before. Sorting words moves a third of the bytes that timers have.
///
/// The standard library's sort is a hundred lines shorter. Ticks of 10,000 to 100,000 timers take 1.1 to 1.25 times as
/// long with it, to arm and to expire.
pub(crate) fn sort(timers: &mut [Ordered], order: &mut Vec<u64>) {
    let room = 2 * timers.len() + parts_of(timers.len());
    if order.capacity() < room {
        // Allocate afresh: to reserve would copy stale contents.
        *order = Vec::with_capacity(room);
    }
    order.clear();
    if timers.len() < FEWEST {
        insert_each(timers, Ordered::precedes);
        return order.extend(0..timers.len() as u64);
    }
    let of_index = bits(timers.len() as u64);
    let (mut low, mut high) = (timers[0], timers[0]);
    for it in &*timers {
        (low.deadline, high.deadline) = (low.deadline.min(it.deadline), high.deadline.max(it.deadline));
        (low.sequence, high.sequence) = (low.sequence.min(it.sequence), high.sequence.max(it.sequence));
    }
    let (of_deadline, of_sequence) = (bits(high.deadline - low.deadline), bits(high.sequence - low.sequence));
    let of_word = of_deadline + of_sequence + of_index;
    if of_word <= u64::BITS {
        order.extend(timers.iter().zip(0..).map(|(it, index)| {
            let rank = (it.deadline - low.deadline) << of_sequence | (it.sequence - low.sequence);
            rank << of_index | index
        }));
        return sort_words(order, of_word, of_index);
    }
    let mut shift = 0;
    while shift < of_deadline + of_sequence {
        if shift != 0 {
            let before = timers.to_vec();
            timers.iter_mut().zip(&*order).for_each(|(timer, &index)| *timer = before[index as usize]);
        }
        order.clear();
        order.extend(timers.iter().zip(0..).map(|(it, index)| {
            let rank = u128::from(it.deadline - low.deadline) << of_sequence | u128::from(it.sequence - low.sequence);
            ((rank >> shift) as u64) << of_index | index
        }));
        sort_words(order, (of_word - shift).min(u64::BITS), of_index);
        shift += u64::BITS - of_index;
    }
}

/// Sorts words below `2^bits`, and leaves the lowest `of_index` bits of each.
#[inline(never)]
fn sort_words(words: &mut Vec<u64>, bits: u32, of_index: u32) {
    if !sort_few(words, bits) {
        sort_many(words, bits);
    }
    words.iter_mut().for_each(|word| *word &= (1 << of_index) - 1);
}

/// Sorts by insertion. O(n) if no item has far to move.
fn insert_each<T: Copy>(items: &mut [T], precedes: impl Fn(&T, &T) -> bool) {
    for next in 1..items.len() {
        let item = items[next];
        let mut at = next;
        while at != 0 && precedes(&item, &items[at - 1]) {
            items[at] = items[at - 1];
            at -= 1;
        }
        items[at] = item;
    }
}

/// Sorts a few words below `2^bits` by counting how many of the others come before each. Returns `false` and changes
/// nothing if there are too many words, or two of them have the same upper bits.
///
/// A tick rarely holds more than a few dozen timers. At that size the fastest sort has no branch that
/// depends on the data. It compares each with every other, which the compiler turns into vector
/// instructions. (The oldest vector instructions compare signed numbers only, and more at a time if they are short.)
fn sort_few(words: &mut [u64], bits: u32) -> bool {
    const MOST: usize = 64;
    if words.len() > MOST {
        return false;
    }
    let shift = bits.saturating_sub(u16::BITS);
    // Padding is the maximum, so it never ranks before a key.
    let mut keys = [i16::MAX; MOST];
    for (key, word) in keys.iter_mut().zip(&*words) {
        *key = (word >> shift) as i16 ^ i16::MIN;
    }
    let mut sorted = [0; MOST];
    let mut ranks = 0_u64;
    for (&word, &own) in words.iter().zip(&keys) {
        let rank: u16 = keys.iter().map(|&other| u16::from(other < own)).sum();
        ranks |= 1_u64.wrapping_shl(rank.into());
        sorted[usize::from(rank) % MOST] = word;
    }
    // Two equal keys share a rank, so another rank is missing.
    let are_all = ranks.count_ones() as usize == words.len();
    if are_all {
        words.copy_from_slice(&sorted[..words.len()]);
    }
    are_all
}

/// Sorts words below `2^bits` by their upper bits into at least as many parts as there are words, and each part in
/// turn; words of small parts are inserted. O(n) where the words are spread evenly, O(n bits) at worst.
fn sort_many(words: &mut Vec<u64>, bits: u32) {
    let len = words.len();
    words.resize(2 * len + parts_of(len), 0);
    let (words_now, spare) = words.split_at_mut(len);
    let (spare, ends) = spare.split_at_mut(len);
    sort_parts(words_now, spare, ends, bits);
    insert_each(words_now, |one, other| one < other);
    words.truncate(len);
}

/// Sorts words that differ only in the lowest `bits`, and leaves parts of a few words unsorted. `spare` has room for as
/// many, and `ends` for the ends of the parts.
fn sort_parts(words: &mut [u64], spare: &mut [u64], ends: &mut [u64], bits: u32) {
    if words.len() < SMALL_PART || bits == 0 {
        return;
    }
    let parts = parts_of(words.len());
    let shift = bits.saturating_sub(parts.ilog2());
    if distribute(words, spare, shift, &mut ends[..parts]) < SMALL_PART {
        return;
    }
    let mut rest = words;
    while let Some(&first) = rest.first() {
        let len = rest.iter().take_while(|&word| word >> shift == first >> shift).count();
        let (part, others) = mem::take(&mut rest).split_at_mut(len);
        sort_parts(part, spare, ends, shift);
        rest = others;
    }
}

/// The number of parts that `words` words are sorted into: at least as many, up to 2,048.
fn parts_of(words: usize) -> usize {
    2 << words.ilog2().min(10)
}

/// Distributes words over `ends.len()` parts, by their bits from `shift` on. Returns the size of the largest part.
fn distribute(words: &mut [u64], spare: &mut [u64], shift: u32, ends: &mut [u64]) -> usize {
    let mask = ends.len() - 1;
    let part = |word: u64| (word >> shift) as usize & mask;
    ends.fill(0);
    words.iter().for_each(|&word| ends[part(word)] += 1);
    let (mut before, mut most) = (0, 0);
    for end in &mut *ends {
        most = most.max(*end);
        before += mem::replace(end, before);
    }
    for &word in &*words {
        let at = &mut ends[part(word)];
        spare[*at as usize] = word;
        *at += 1;
    }
    words.copy_from_slice(&spare[..words.len()]);
    most as usize
}

/// The number of bits that a number needs.
#[inline]
fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_words_that_differ_above_are_sorted_and_others_are_left_alone() {
        for (len, first, step, is_few) in [
            (1, 0, 1 << 46, true),
            (64, 0, 1 << 46, true),
            (65, 0, 1 << 46, false),
            // All of the same upper 16 bits.
            (31, 1 << 60, 1 << 20, false),
        ] {
            let mut words: Vec<u64> = (0..len).rev().map(|nth| first + nth * step).collect();
            let before = words.clone();
            assert_eq!(sort_few(&mut words, 61), is_few, "{len} words, {step} apart");
            assert_eq!(words.is_sorted(), is_few);
            assert!(is_few || words == before);
        }
    }

    /// The deeper its parts, the more often the sort calls itself.
    #[test]
    fn words_that_agree_in_many_bits_are_sorted_on_a_small_stack() {
        let sort_all = || {
            for step in [1, 3, 8] {
                let skewed = (0..1_024_u64).map(|nth| ((1 << (nth * step % 50)) << 14) | nth);
                let mut words: Vec<u64> = skewed.rev().collect();
                let mut expected = words.clone();
                expected.sort_unstable();
                let (mut parts, mut spare) = (words.clone(), words.clone());
                sort_parts(&mut parts, &mut spare, &mut [0; 2048], u64::BITS);
                let places = parts.iter().map(|word| expected.binary_search(word).unwrap());
                assert!(
                    places.enumerate().all(|(nth, place)| nth.abs_diff(place) < 12),
                    "too much is left to insertion"
                );
                sort_many(&mut words, u64::BITS);
                assert_eq!(words, expected);
            }
        };
        let thread = std::thread::Builder::new().stack_size(32 << 10).spawn(sort_all);
        thread.unwrap().join().unwrap();
    }
}
