//! Two subjects that take turns at the same work: what counts is the ratio of their medians, as a
//! machine that is busy is so for both.

/// The samples of one subject: a row for each round, a column for each figure.
pub type Samples = Vec<Vec<f64>>;

/// Both subjects in turns; each begins every other round. O(rounds).
///
/// ```
/// use timer_wheel_bench::turns::{median, take_turns};
///
/// let mut figures = [4.0, 1.0, 2.0].into_iter();
/// let (ours, theirs) = take_turns(3, || vec![figures.next().unwrap()], || vec![9.0]);
/// assert_eq!((median(&ours, 0), median(&theirs, 0)), (2.0, 9.0));
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

/// The median of a column. O(n log n).
///
/// ```
/// use timer_wheel_bench::turns::median;
///
/// assert_eq!(median(&vec![vec![3.0], vec![1.0], vec![2.0]], 0), 2.0);
/// assert_eq!(median(&vec![vec![3.0], vec![1.0]], 0), 2.0);
/// ```
///
/// # Panics
///
/// If there are no samples, or too few columns.
#[track_caller]
pub fn median(samples: &Samples, column: usize) -> f64 {
    let mut column: Vec<f64> = samples.iter().map(|row| row[column]).collect();
    column.sort_by(f64::total_cmp);
    let middle = column.len() / 2;
    if column.len() % 2 == 1 {
        column[middle]
    } else {
        f64::midpoint(column[middle - 1], column[middle])
    }
}
