//! What the program holds `Timer` to.

use timer_wheel_bench::{Spread, results};

/// Goals, and which of them were missed.
#[derive(Default)]
pub(crate) struct Goals {
    all: usize,
    missed: Vec<String>,
}

impl Goals {
    pub(crate) fn hold(&mut self, is_met: bool, wanted: String) {
        self.all += 1;
        if !is_met {
            self.missed.push(wanted);
        }
    }

    pub(crate) fn verdict(&self) -> String {
        results::verdict(self.all - self.missed.len(), self.all, &self.missed)
    }
}

/// The median of what one subject has over another, round by round; `None` if either was not measured.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    let rounds = ours.iter().zip(theirs);
    let ratios: Vec<f64> = rounds.map(|(ours, theirs)| ours / theirs).collect();
    (!ratios.is_empty()).then(|| Spread::of(ratios).median)
}
