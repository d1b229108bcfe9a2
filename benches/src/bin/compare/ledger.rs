//! The samples of every figure, and what is made of them.

use timer_wheel_bench::Spread;
use timer_wheel_bench::results::Sheet;

use crate::figure::{Figure, Sample};

/// Every sample of one figure for one subject at one size.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) figure: Figure,
    pub(crate) n: usize,
    pub(crate) subject: &'static str,
    samples: Vec<f64>,
}

/// Everything measured so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn record(&mut self, n: usize, subject: &'static str, sample: Sample) {
        let known = self
            .entries
            .iter_mut()
            .find(|entry| entry.is_for(n, subject, sample.figure));
        match known {
            Some(entry) => entry.samples.push(sample.value),
            None => self.entries.push(Entry {
                figure: sample.figure,
                n,
                subject,
                samples: vec![sample.value],
            }),
        }
    }

    /// Puts the subjects in an order, whatever order they ran in.
    pub(crate) fn sort_by_subject(&mut self, rank: impl Fn(&str) -> Option<usize>) {
        self.entries.sort_by_key(|entry| rank(entry.subject));
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The figures measured, each once, in the order in which they first came.
    pub(crate) fn figures(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        for entry in &self.entries {
            if !figures.contains(&entry.figure) {
                figures.push(entry.figure);
            }
        }
        figures
    }

    /// Writes all of it down.
    pub(crate) fn copy_to(&self, sheet: &mut Sheet) {
        for entry in &self.entries {
            let figure = entry.figure;
            let name = format!("{} {}", figure.workload.name(), figure.name);
            let counts = (figure.unit.name(), figure.counts);
            sheet.push(&name, entry.n as u64, entry.subject, counts, entry.spread());
        }
    }

    pub(crate) fn find(&self, n: usize, subject: &str, figure: Figure) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.is_for(n, subject, figure))
    }
}

impl Entry {
    fn is_for(&self, n: usize, subject: &str, figure: Figure) -> bool {
        self.n == n && self.subject == subject && self.figure == figure
    }

    /// How many there are.
    pub(crate) fn samples(&self) -> usize {
        self.samples.len()
    }

    pub(crate) fn spread(&self) -> Spread {
        Spread::of(self.samples.iter().copied())
    }

    /// What stands for them.
    pub(crate) fn value(&self) -> f64 {
        self.figure.counts.of(self.spread())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{CHURN, PAUSE_LONGEST, REFRESH};

    #[test]
    fn single_call_is_worth_its_least_sample() {
        let mut ledger = Ledger::new();
        for value in [5.0, 1.0, 2.0] {
            ledger.record(10, "wheel", CHURN.sample(value));
            ledger.record(10, "wheel", PAUSE_LONGEST.sample(value));
        }
        let value_of = |figure| ledger.find(10, "wheel", figure).unwrap().value();
        assert_eq!((value_of(CHURN), value_of(PAUSE_LONGEST)), (2.0, 1.0));
    }

    #[test]
    fn samples_of_one_figure_are_gathered() {
        let mut ledger = Ledger::new();
        for value in [5.0, 1.0, 2.0] {
            ledger.record(10, "wheel", CHURN.sample(value));
        }
        ledger.record(10, "wheel", REFRESH.sample(9.0));
        let entry = ledger.find(10, "wheel", CHURN).unwrap();
        assert_eq!(entry.spread(), Spread::of([1.0, 2.0, 5.0]));
        assert_eq!(ledger.figures(), [CHURN, REFRESH]);
    }
}
