//! How much work one or several calls may do.

/// A bound on what one or several advances may do: *work*, tens of nanoseconds per unit, and *fires*, each of which
/// takes as long as the caller takes to handle it.
///
/// A unit of work is a bucket opened or a timer visited: moved to a finer level, sorted into the
/// timers that fire next, or fired. So a fire takes a unit of work as well.
///
/// Every call that takes a budget takes it by `&mut` and subtracts its work. After the call the budget holds
/// what is left, for the next wheel or the next call.
///
/// ```
/// use timer_wheel::{Budget, Wheel};
///
/// let mut wheels = [Wheel::new(0), Wheel::new(0)];
/// for wheel in &mut wheels {
///     (0..30).for_each(|value| _ = wheel.schedule(10, value));
/// }
/// // A cache evicts forty entries at a time, however cheap it is to find them.
/// let mut budget = Budget::of_fires(40);
/// let evicted = wheels.each_mut().map(|wheel| wheel.advance_with_budget(10, &mut budget).count());
/// assert_eq!((evicted, budget.fires), ([30, 10], 0));
/// assert!(wheels[1].has_backlog());
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
    pub(crate) const UNLIMITED: Self = Self { work: usize::MAX, fires: usize::MAX };

    /// No bounds. O(1).
    ///
    /// ```
    /// use timer_wheel::{Budget, Wheel};
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(10, "value");
    /// let due = wheel.peek_expired_with_budget(10, &mut Budget::unlimited());
    /// assert_eq!(due.map(|timer| timer.remove().value), Some("value"));
    /// ```
    pub const fn unlimited() -> Self {
        Self::UNLIMITED
    }

    /// At most `work` units of work, and any number of fires.
    ///
    /// ```
    /// use timer_wheel::{Budget, Wheel};
    ///
    /// let mut wheel = Wheel::new(0);
    /// wheel.schedule(10, "value");
    /// let mut budget = Budget::of_work(256);
    /// assert_eq!(wheel.advance_with_budget(10, &mut budget).count(), 1);
    /// assert_eq!(budget.work, 255);
    /// ```
    pub const fn of_work(work: usize) -> Self {
        Self { work, ..Self::UNLIMITED }
    }

    /// At most `fires` fires, and any amount of work.
    ///
    /// ```
    /// use timer_wheel::Budget;
    ///
    /// assert_eq!(Budget::of_fires(10), Budget::unlimited().with_fires(10));
    /// ```
    pub const fn of_fires(fires: usize) -> Self {
        Self { fires, ..Self::UNLIMITED }
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

    /// Subtracts up to `most` units of work, and returns how many.
    #[inline]
    pub(crate) fn take_work(&mut self, most: usize) -> usize {
        let work = most.min(self.work);
        self.work -= work;
        work
    }

    /// Subtracts a timer that was fired.
    #[inline]
    pub(crate) fn pay_for_fire(&mut self) {
        self.work -= 1;
        self.fires -= 1;
    }
}
