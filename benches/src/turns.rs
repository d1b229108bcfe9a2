//! Two subjects that take turns at the same work: what counts is the ratio of their medians, as a
//! machine that is busy is so for both.

use crate::Spread;

/// The samples of one subject: a row for each round, a column for each figure.
pub type Samples = Vec<Vec<f64>>;

/// Both subjects in turns; each begins every other round. O(rounds).
///
/// ```
/// use timer_wheel_bench::turns::{column, take_turns};
///
/// let mut figures = [4.0, 1.0, 2.0].into_iter();
/// let (ours, theirs) = take_turns(3, || vec![figures.next().unwrap()], || vec![9.0]);
/// assert_eq!((column(&ours, 0).median, column(&theirs, 0).median), (2.0, 9.0));
/// ```
pub fn take_turns(
    rounds: u32,
    mut ours: impl FnMut() -> Vec<f64>,
    mut theirs: impl FnMut() -> Vec<f64>,
) -> (Samples, Samples) {
    let (mut samples, mut their_samples) = (Samples::new(), Samples::new());
    for round in 0..rounds {
        if round % 2 == 0 {
            samples.push(ours());
            their_samples.push(theirs());
        } else {
            their_samples.push(theirs());
            samples.push(ours());
        }
    }
    (samples, their_samples)
}

/// A column of the samples. O(n log n).
///
/// # Panics
///
/// If there are no samples, or too few columns.
#[track_caller]
pub fn column(samples: &Samples, column: usize) -> Spread {
    Spread::of(samples.iter().map(|row| row[column]))
}
