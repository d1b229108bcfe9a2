//! A discrete-event simulation: a hundred servers, requests that come at random and wait their
//! turn, and the wheel as the event list. The results are checked against queueing theory (M/M/1).
//!
//! Events come in exact order of their times, and those of one instant in the order in which they
//! were scheduled. So one seed gives one run, on every machine and with every geometry.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel && cargo add rand@0.10 rand_distr@0.6 rand_pcg@0.10 --no-default-features`

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_distr::{Distribution, Exp};
use rand_pcg::Pcg64Mcg;
use timer_wheel::{Caffeine, Geometry, Micros, Wheel};

const SERVERS: usize = 100;
const CYCLES: usize = 500; // of each server
const MEAN_SERVICE: f64 = 1e6; // in nanoseconds
const LOAD: f64 = 0.7; // the part of a server's capacity that is used

enum Event {
    Arrival(usize),
    Departure(usize),
}

/// Sums over a cycle of one server: from one moment at which it falls idle to the next. Times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Cycle {
    time: u64,
    busy: u64,
    /// The number of requests in the server, summed over time.
    present: u64,
    served: u64,
    /// The time that each request was in the server, summed over requests.
    stays: u64,
}

#[derive(Default)]
struct Server {
    /// The arrival time of each request. The first one is being served.
    requests: VecDeque<u64>,
    cycle: Cycle,
    cycles_left: usize,
    seen_at: u64,
}

impl Server {
    /// Adds the time since the last event to the sums.
    fn pass_time(&mut self, now: u64) {
        let time = now - self.seen_at;
        self.cycle.time += time;
        self.cycle.present += time * self.requests.len() as u64;
        if !self.requests.is_empty() {
            self.cycle.busy += time;
        }
        self.seen_at = now;
    }

    /// Ends the service of a request, and the cycle if that was the last one.
    fn finish_request(&mut self, now: u64) -> Option<Cycle> {
        let came = self.requests.pop_front().expect("a request was served");
        self.cycle.served += 1;
        self.cycle.stays += now - came;
        if !self.requests.is_empty() {
            return None;
        }
        self.cycles_left -= 1;
        Some(std::mem::take(&mut self.cycle))
    }
}

/// Runs every server to the end of its cycles.
fn simulate<G: Geometry>(seed: u64) -> Vec<Cycle> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let services = Exp::new(1.0 / MEAN_SERVICE).expect("a rate is positive");
    let arrivals = Exp::new(LOAD / MEAN_SERVICE).expect("a rate is positive");
    let mut after = |now: u64, gaps: Exp<f64>| now + gaps.sample(&mut random) as u64;

    let mut events: Wheel<Event, G> = Wheel::with_geometry(0);
    let mut servers = Vec::new();
    for index in 0..SERVERS {
        servers.push(Server { cycles_left: CYCLES, ..Server::default() });
        events.schedule(after(0, arrivals), Event::Arrival(index));
    }

    let mut cycles = Vec::with_capacity(SERVERS * CYCLES);
    // Time goes from event to event. An event schedules others, so they are taken one by one.
    while let Some(first) = events.pop_first() {
        let (now, event) = (first.deadline, first.value);
        let (Event::Arrival(index) | Event::Departure(index)) = event;
        let server = &mut servers[index];
        if server.cycles_left == 0 {
            continue; // the arrival after its last cycle
        }
        server.pass_time(now);
        match event {
            Event::Arrival(_) => {
                server.requests.push_back(now);
                events.schedule(after(now, arrivals), Event::Arrival(index));
                if server.requests.len() == 1 {
                    events.schedule(after(now, services), Event::Departure(index));
                }
            }
            Event::Departure(_) => {
                cycles.extend(server.finish_request(now));
                if !server.requests.is_empty() {
                    events.schedule(after(now, services), Event::Departure(index));
                }
            }
        }
    }
    cycles
}

/// A ratio of two sums over all cycles, and its value in theory.
type Measure = (&'static str, f64, fn(&Cycle) -> (u64, u64));

const MEASURES: [Measure; 3] = [
    ("part of the time that a server is busy", LOAD, |cycle| (cycle.busy, cycle.time)),
    ("requests in a server", LOAD / (1.0 - LOAD), |cycle| (cycle.present, cycle.time)),
    ("nanoseconds that a request stays", MEAN_SERVICE / (1.0 - LOAD), |cycle| (cycle.stays, cycle.served)),
];

fn main() {
    let cycles = simulate::<Micros>(1);
    assert_eq!(cycles.len(), SERVERS * CYCLES);
    // Ticks a million times as long change the costs only.
    assert!(cycles == simulate::<Caffeine>(1), "one seed, one run");

    for cycle in &cycles {
        // Little's law holds for each cycle to the nanosecond, whatever the distributions.
        assert_eq!(cycle.present, cycle.stays);
    }
    println!("{:40} {:>12} {:>12}", "", "theory", "simulated");
    for (name, theory, sums) in MEASURES {
        let (over, under) = cycles.iter().map(sums).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let ratio = over as f64 / under as f64;
        println!("{name:40} {theory:12.4} {ratio:12.4}");
        // Because there is one seed, this holds always or never.
        assert!((ratio / theory - 1.0).abs() < 0.03, "theory and simulation disagree");
    }
    let served: u64 = cycles.iter().map(|cycle| cycle.served).sum();
    println!("{served} requests served in {} cycles", cycles.len());
}
