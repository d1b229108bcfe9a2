//! The samples of one figure, as they are quoted: the middle one, and the extremes.

/// The least, the middle and the greatest of some samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub min: f64,
    /// The middle one, or the mean of the middle two.
    pub median: f64,
    pub max: f64,
}

impl Spread {
    /// That of some samples. O(n log n).
    ///
    /// ```
    /// use timer_wheel_bench::Spread;
    ///
    /// let odd = Spread::of([4.0, 1.0, 2.0]);
    /// assert_eq!((odd.min, odd.median, odd.max), (1.0, 2.0, 4.0));
    /// assert_eq!(Spread::of([3.0, 1.0]).median, 2.0);
    /// ```
    #[track_caller]
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        assert!(!sorted.is_empty(), "a figure has a sample");
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len() - 1;
        Self { min: sorted[0], median: f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]), max: sorted[last] }
    }
}
