//! A look at the levels of a wheel: how many timers each bucket holds.

use core::array;
use core::fmt;

use crate::geometry::{FAR, Geometry, Layout};
use crate::lists::Sentinels;
use crate::wheel::Wheel;
use crate::wheel::iter::counted;

impl<T, G: Geometry> Wheel<T, G> {
    /// The five levels of the wheel as they stand, the finest first and what lies beyond the others
    /// last. O(far rotations).
    ///
    /// For pictures and for choosing a geometry: [`Level`] tells how its timers are spread over its
    /// buckets. Timers that are [ready](crate::inspect::Stats::ready) are on no level. A timer that was postponed
    /// counts where it was until its old time comes.
    ///
    /// ```
    /// use timer_wheel::{Caffeine, Wheel};
    ///
    /// let mut wheel = Wheel::<&str, Caffeine>::with_geometry(0);
    /// (0..32).for_each(|_| _ = wheel.schedule(0, "the first few need no bucket"));
    /// for second in 2..30 {
    ///     wheel.schedule(second * 1_000_000_000, "within a minute or so");
    /// }
    /// wheel.schedule(3_600_000_000_000, "in an hour");
    ///
    /// let timers = wheel.levels().map(|level| level.timers());
    /// assert_eq!(timers, [28, 1, 0, 0, 0]);
    ///
    /// // A row of the picture: `#` where there are timers.
    /// let [finest, ..] = wheel.levels();
    /// let row: String = finest.buckets().map(|timers| if timers > 0 { '#' } else { '.' }).collect();
    /// assert_eq!(row[..40], *".###########################............");
    /// ```
    pub fn levels(&self) -> [Level<'_>; 5] {
        array::from_fn(|number| Level {
            number,
            lists: self.hierarchy.lists().buckets_of(number),
            far: match number {
                FAR => self.hierarchy.lists().far_timers(),
                _ => 0,
            },
            buckets: Layout::<G>::room(number),
            cursor: self.hierarchy.cursor_on(number),
            span_ns: (number != FAR).then(|| 1 << (G::TICK_BITS + Layout::<G>::bits(number))),
        })
    }
}

/// One level of a wheel at one moment, from [`Wheel::levels`].
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::new(0);
/// (0..32).for_each(|_| _ = wheel.schedule(0, "the first few need no bucket"));
/// wheel.schedule(3 << 20, "one");
/// wheel.schedule(3 << 20, "another");
/// assert_eq!(format!("{:?}", wheel.levels()[0]), "2 timers in 1 of 512 buckets");
/// ```
#[derive(Copy, Clone)]
pub struct Level<'a> {
    number: usize,
    /// By their indexes on the level; none if that was never used.
    lists: &'a [Sentinels],
    /// Timers that are in no such bucket.
    far: usize,
    /// Two rotations of them; one far.
    buckets: usize,
    /// The index of the bucket that the cursor is in.
    cursor: usize,
    /// Nanoseconds that a bucket spans.
    span_ns: Option<u64>,
}

impl<'a> Level<'a> {
    /// The number of the level: 0 is the finest, 4 what lies beyond the others. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// (0..=32).for_each(|_| _ = wheel.schedule(60_000_000_000, ()));
    /// let levels = wheel.levels();
    /// let holds = levels.iter().find(|level| level.timers() != 0).unwrap();
    /// assert_eq!(holds.number(), 1);
    /// ```
    pub fn number(&self) -> usize {
        self.number
    }

    /// The nanoseconds that each of the level's buckets spans; `None` for the last level, which
    /// takes whatever lies beyond the others. O(1).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let spans = Wheel::<()>::new(0).levels().map(|level| level.bucket_span());
    /// assert_eq!(spans, [Some(1 << 20), Some(1 << 28), Some(1 << 36), Some(1 << 44), None]);
    /// ```
    pub fn bucket_span(&self) -> Option<u64> {
        self.span_ns
    }

    /// The timers of each of the level's buckets, in the order of time: those of the rotation that time
    /// is in and then as many of the next. O(1), and O(1) for each.
    ///
    /// Those up to the [cursor](Level::cursor) have been opened and are empty, unless an advance
    /// has stopped in the middle of one. Those of the next rotation hold timers only once the bucket
    /// above has been opened ahead of its time. What lies beyond the levels counts as one bucket.
    ///
    /// ```
    /// use timer_wheel::{Compact, Wheel};
    ///
    /// let mut wheel = Wheel::<u32, Compact>::with_geometry(0);
    /// (0..32).for_each(|_| _ = wheel.schedule(0, 0)); // the first few need no bucket
    /// wheel.schedule(3 << 20, 1);
    /// wheel.schedule(3 << 20, 2);
    /// wheel.schedule(5 << 20, 3);
    /// let buckets: Vec<usize> = wheel.levels()[0].buckets().take(6).collect();
    /// assert_eq!(buckets, [0, 0, 0, 2, 0, 1]);
    /// ```
    pub fn buckets(&self) -> Buckets<'a> {
        Buckets { level: *self, next: 0 }
    }

    /// The bucket that the wheel has come to on this level, as an index into
    /// [`buckets`](Level::buckets). O(1).
    ///
    /// That is the bucket of [`now`](Wheel::now). It is one behind while there is a backlog and at the
    /// very end of time, and one ahead where the earliest timer was looked for before its time.
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::<()>::new(0);
    /// let _ = wheel.advance(2 * (1 << 28) + 9 * (1 << 20)).count();
    /// assert_eq!(wheel.levels().map(|level| level.cursor()), [9, 2, 0, 0, 0]);
    /// ```
    pub fn cursor(&self) -> usize {
        self.cursor % ((self.buckets + 1) / 2)
    }

    /// The number of timers on the level. O(buckets).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// (0..32).for_each(|_| _ = wheel.schedule(0, ())); // the first few need no bucket
    /// wheel.schedule(3 << 20, ());
    /// wheel.schedule(3 << 20, ());
    /// assert_eq!(wheel.levels()[0].timers(), 2);
    /// ```
    pub fn timers(&self) -> usize {
        self.buckets().sum()
    }

    /// The number of buckets that hold timers. O(buckets).
    ///
    /// ```
    /// use timer_wheel::Wheel;
    ///
    /// let mut wheel = Wheel::new(0);
    /// (0..32).for_each(|_| _ = wheel.schedule(0, ())); // the first few need no bucket
    /// wheel.schedule(3 << 20, ());
    /// wheel.schedule(3 << 20, ());
    /// wheel.schedule(4 << 20, ());
    /// assert_eq!(wheel.levels()[0].occupied(), 2);
    /// ```
    pub fn occupied(&self) -> usize {
        self.buckets().filter(|&timers| timers != 0).count()
    }
}

impl fmt::Debug for Level<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timers = self.timers();
        let s = if timers == 1 { "" } else { "s" };
        if self.number == FAR {
            return write!(f, "{timers} timer{s}");
        }
        let (occupied, buckets) = (self.occupied(), self.buckets);
        write!(f, "{timers} timer{s} in {occupied} of {buckets} buckets")
    }
}

/// How many timers each bucket of a level holds, in the order of time, from [`Level::buckets`].
///
/// ```
/// use timer_wheel::Wheel;
///
/// let mut wheel = Wheel::new(0);
/// (0..32).for_each(|_| _ = wheel.schedule(0, ())); // the first few need no bucket
/// wheel.schedule(3 << 20, ());
/// let buckets = wheel.levels()[0].buckets();
/// assert_eq!(buckets.len(), 512);
/// assert_eq!(buckets.sum::<usize>(), 1);
/// ```
#[derive(Clone)]
#[must_use = "iterators do nothing unless they are iterated over"]
pub struct Buckets<'a> {
    level: Level<'a>,
    next: usize,
}

impl Iterator for Buckets<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.next == self.level.buckets {
            return None;
        }
        // The next rotation comes first in the array every other time.
        let rotation = self.level.cursor - self.level.cursor();
        let index = (rotation + self.next) % self.level.buckets;
        self.next += 1;
        let list = self.level.lists.get(index);
        Some(list.map_or(self.level.far, |list| list.len()))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.level.buckets - self.next;
        (left, Some(left))
    }
}

counted!("Buckets", Buckets<'_>,);
