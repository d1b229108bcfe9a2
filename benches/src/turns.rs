//! Subjects that take turns.

use std::collections::BTreeMap;

use crate::Spread;
use crate::figure::Figure;
use crate::results::Measured;
use crate::workload::XorShift64Star;

/// Measures every subject once a round: `measure` gets the number of one and gives figures by name. Each round has an
/// order of its own, so that no subject always runs in the wake of the same other. O(rounds x subjects) measurements.
pub fn take_turns<N: AsRef<str>>(
    rounds: u32,
    n: u64,
    figures: &[Figure],
    subjects: &[&str],
    mut measure: impl FnMut(usize) -> Result<Vec<(N, f64)>, String>,
) -> Result<Vec<Measured>, String> {
    let mut samples: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    let mut random = XorShift64Star::new();
    for _ in 0..rounds {
        for turn in random.permutation(subjects.len() as u32) {
            let turn = turn as usize;
            for (name, value) in measure(turn)? {
                let figure = figures.iter().position(|figure| figure.name == name.as_ref());
                let figure = figure.ok_or_else(|| format!("an unknown figure: {}", name.as_ref()))?;
                samples.entry((figure, turn)).or_default().push(value);
            }
        }
    }
    let measured = samples.into_iter().map(|((figure, turn), samples)| {
        let spread = Spread::of(samples);
        figures[figure].measured(n, subjects[turn], spread)
    });
    Ok(measured.collect())
}
