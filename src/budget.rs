//! How much one call may do.

/// The most that one advance does: *work*, which the wheel needs tens of nanoseconds a unit for, and
/// *fires*, each of which costs whatever the caller does with it.
///
/// A unit of work is a bucket opened or a timer visited: moved to a finer level, sorted into the
/// timers that fire next, or fired. So a fire takes a unit of work as well. A plain number is a budget
/// of work.
///
/// ```
/// use timer_wheel::{Budget, Wheel};
///
/// let mut wheel = Wheel::new(0);
/// (0..100).for_each(|value| _ = wheel.schedule(10, value));
/// // A cache evicts ten entries at a time, however cheap it is to find them.
/// let budget = Budget::UNLIMITED.with_fires(10);
/// assert_eq!(wheel.advance_with_budget(10, budget).count(), 10);
/// assert!(wheel.has_backlog());
/// assert_eq!(wheel.advance_with_budget(10, 1_000).count(), 90);
/// ```
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// Timers visited and buckets opened.
    pub work: usize,
    /// Timers fired.
    pub fires: usize,
}

impl Budget {
    /// No bounds.
    ///
    /// ```
    /// use timer_wheel::Budget;
    ///
    /// assert_eq!(Budget::UNLIMITED.work, usize::MAX);
    /// ```
    pub const UNLIMITED: Self = Self { work: usize::MAX, fires: usize::MAX };

    /// At most `work` units of work, and any number of fires.
    ///
    /// ```
    /// use timer_wheel::Budget;
    ///
    /// assert_eq!(Budget::of_work(256), Budget::from(256));
    /// ```
    pub const fn of_work(work: usize) -> Self {
        Self { work, ..Self::UNLIMITED }
    }

    /// The same with at most `fires` fires.
    ///
    /// ```
    /// use timer_wheel::Budget;
    ///
    /// let budget = Budget::of_work(256).with_fires(10);
    /// assert_eq!((budget.work, budget.fires), (256, 10));
    /// ```
    pub const fn with_fires(self, fires: usize) -> Self {
        Self { fires, ..self }
    }

    /// Whether nothing more may be done.
    #[inline]
    pub(crate) const fn is_used_up(self) -> bool {
        self.work == 0 || self.fires == 0
    }

    /// Takes note of a timer that was fired.
    #[inline]
    pub(crate) fn pay_for_fire(&mut self) {
        self.work -= 1;
        self.fires -= 1;
    }
}

impl From<usize> for Budget {
    fn from(work: usize) -> Self {
        Self::of_work(work)
    }
}
