//! What was put and what was run: how late, how often, and whether anything is missing.

use std::collections::{HashMap, HashSet};

use hdrhistogram::Histogram;

use crate::error::{Error, Result};

pub struct Ledger {
    /// The deadline of each, and how often it was run.
    jobs: HashMap<u64, (u64, u64)>,
    /// Jobs that may be put again after they were done, and then begin anew.
    anew: HashSet<u64>,
    attempts: HashSet<(u64, u32)>,
    lateness_us: Histogram<u64>,
    run: u64,
    runs: u64,
    early: u64,
    claimed_twice: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        // Up to a day, to three digits.
        let lateness_us = Histogram::new_with_bounds(1, 86_400_000_000, 3).expect("these bounds are allowed");
        let (jobs, anew, attempts) = Default::default();
        Self { jobs, anew, attempts, lateness_us, run: 0, runs: 0, early: 0, claimed_twice: 0 }
    }
}

impl Ledger {
    /// A job is put, or about to be.
    pub fn put(&mut self, id: u64, deadline: u64) {
        self.jobs.insert(id, (deadline, 0));
    }

    /// A job is put again, as nobody knows whether it is there.
    pub fn put_again(&mut self, id: u64) {
        self.anew.insert(id);
    }

    /// A job was run, at a time in microseconds. Lateness counts for the first time only. One that nobody put is not ours.
    pub fn ran(&mut self, id: u64, attempt: u32, at_us: u64) {
        let Some((deadline, runs)) = self.jobs.get_mut(&id) else { return };
        *runs += 1;
        self.runs += 1;
        let deadline_us = *deadline * 1_000;
        self.early += u64::from(at_us < deadline_us);
        self.claimed_twice += u64::from(!self.attempts.insert((id, attempt)) && !self.anew.contains(&id));
        if *runs == 1 {
            self.run += 1;
            self.lateness_us.saturating_record(at_us.saturating_sub(deadline_us));
        }
    }

    /// As a worker prints it.
    pub fn ran_line(&mut self, line: &str) {
        let numbers: Vec<u64> = line.split(' ').take(3).filter_map(|number| number.parse().ok()).collect();
        if let [id, attempt, at_us] = numbers[..] {
            self.ran(id, attempt as u32, at_us);
        }
    }

    /// How many jobs were run, each counted once.
    pub fn run(&self) -> u64 {
        self.run
    }

    pub fn lost(&self) -> u64 {
        self.jobs.len() as u64 - self.run
    }

    pub fn lateness(&self) -> [u64; 3] {
        let at = |quantile| self.lateness_us.value_at_quantile(quantile);
        [at(0.5), at(0.99), self.lateness_us.max()]
    }

    /// The figures, in two lines; an error if a job was lost or early, or one claim of it had two workers.
    pub fn verdict(&self) -> Result<String> {
        let [p50, p99, max] = self.lateness().map(milliseconds);
        let (put, run, lost, early, twice) = (self.jobs.len(), self.run, self.lost(), self.early, self.runs - self.run);
        let claimed_twice = self.claimed_twice;
        let text = format!(
            "put {put}, run {run}, lost {lost}, early {early}, run twice {twice}, claimed twice {claimed_twice}\n\
             lateness p50 {p50}, p99 {p99}, max {max}"
        );
        if lost + early + claimed_twice > 0 { Err(Error::Broken(text)) } else { Ok(text) }
    }
}

pub fn milliseconds(us: u64) -> String {
    format!("{:.2} ms", us as f64 / 1e3)
}
