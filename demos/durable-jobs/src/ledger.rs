//! What was put and what was run: how late, how often, and whether anything is missing.

use std::collections::HashMap;

use hdrhistogram::Histogram;

use crate::error::{Error, Result};

/// The jobs of one trial.
pub struct Ledger {
    jobs: HashMap<u64, Entry>,
    lateness_us: Histogram<u64>,
    run: u64,
    runs: u64,
    early: u64,
}

struct Entry {
    deadline: u64,
    runs: u32,
}

impl Default for Ledger {
    fn default() -> Self {
        // Up to a day, to three digits.
        let lateness_us = Histogram::new_with_bounds(1, 86_400_000_000, 3).expect("these bounds are allowed");
        Self { jobs: HashMap::new(), lateness_us, run: 0, runs: 0, early: 0 }
    }
}

impl Ledger {
    /// A job is put, or about to be.
    pub fn put(&mut self, id: u64, deadline: u64) {
        self.jobs.insert(id, Entry { deadline, runs: 0 });
    }

    /// A job was run, at a time in microseconds. Lateness counts for the first time only. One that nobody put is not ours.
    pub fn ran(&mut self, id: u64, at_us: u64) {
        let Some(entry) = self.jobs.get_mut(&id) else { return };
        entry.runs += 1;
        self.runs += 1;
        let deadline_us = entry.deadline * 1_000;
        self.early += u64::from(at_us < deadline_us);
        if entry.runs == 1 {
            self.run += 1;
            self.lateness_us.saturating_record(at_us.saturating_sub(deadline_us));
        }
    }

    /// As a worker prints it.
    pub fn ran_line(&mut self, line: &str) {
        let mut numbers = line.split(' ').map(str::parse);
        if let (Some(Ok(id)), Some(Ok(_)), Some(Ok(at_us))) = (numbers.next(), numbers.next(), numbers.next()) {
            self.ran(id, at_us);
        }
    }

    /// How many jobs were run, each counted once.
    pub fn run(&self) -> u64 {
        self.run
    }

    pub fn lost(&self) -> u64 {
        self.jobs.len() as u64 - self.run
    }

    pub fn early(&self) -> u64 {
        self.early
    }

    pub fn twice(&self) -> u64 {
        self.runs - self.run
    }

    pub fn lateness(&self) -> [u64; 3] {
        let at = |quantile| self.lateness_us.value_at_quantile(quantile);
        [at(0.5), at(0.99), self.lateness_us.max()]
    }

    /// The figures, in two lines; an error if a job was lost or early.
    pub fn verdict(&self) -> Result<String> {
        let text = format!(
            "put {}, run {}, lost {}, early {}, run twice {}\nlateness p50 {}, p99 {}, max {}",
            self.jobs.len(),
            self.run,
            self.lost(),
            self.early,
            self.twice(),
            milliseconds(self.lateness()[0]),
            milliseconds(self.lateness()[1]),
            milliseconds(self.lateness()[2]),
        );
        if self.lost() + self.early > 0 { Err(Error::Broken(text)) } else { Ok(text) }
    }
}

pub fn milliseconds(us: u64) -> String {
    format!("{:.2} ms", us as f64 / 1e3)
}
