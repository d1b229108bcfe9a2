//! W17: producers on threads of their own, with one timer for all or one each.

use std::time::Duration;

use timer_wheel_bench::Spread;
use timer_wheel_bench::results::{Counts, Sheet};

use crate::cli::Options;
use crate::driver::{Each, TreeClient, WheelTimer};
use crate::goals::{Goals, ratio};
use crate::pairs::{self, Load, Pairs};

const FIGURE: &str = "W17 pairs a second";

/// The jobs that each producer has under way.
const WINDOW: u64 = 10_000;

const DELAY: Duration = Duration::from_secs(10);

type Subject = (&'static str, fn(&Load) -> Result<Pairs, String>);

const SUBJECTS: [Subject; 4] = [
    ("Timer", pairs::run::<WheelTimer>),
    ("a Timer each", pairs::run::<Each<WheelTimer>>),
    ("Mutex<BTreeMap>", pairs::run::<TreeClient>),
    ("a Mutex<BTreeMap> each", pairs::run::<Each<TreeClient>>),
];

pub(crate) fn measure(options: &Options, sheet: &mut Sheet, goals: &mut Goals) -> Result<(), String> {
    println!("\n{FIGURE}: the oldest of {WINDOW} cancelled, {} pairs each", options.pairs);
    for &producers in &options.threads {
        let load = Load { producers, pairs: options.pairs, window: WINDOW, delay: DELAY };
        let mut rounds = SUBJECTS.map(|_| Vec::new());
        for _ in 0..options.rounds {
            for (row, (name, run)) in rounds.iter_mut().zip(SUBJECTS) {
                if options.wants(name) {
                    row.push(run(&load)?.a_second);
                }
            }
        }
        println!("  {producers} producers");
        for (row, (name, _)) in rounds.iter().zip(SUBJECTS) {
            if !row.is_empty() {
                let rate = Spread::of(row.iter().copied());
                sheet.push(FIGURE, producers, name, ("pairs", Counts::Median), rate);
                println!("    {name:<26}{:>14.0}", rate.median);
            }
        }
        let [timer, timer_each, _, tree_each] = &rounds;
        let wanted = [(timer_each, 0.8, "a Timer each"), (tree_each, 1.5, "a map each")];
        for (other, wanted, name) in wanted {
            if let Some(ratio) = ratio(timer, other) {
                println!("    {ratio:.2} x the rate of {name}");
                let text = format!("W17 {wanted} x {name} with {producers} producers");
                goals.hold(ratio >= wanted, text);
            }
        }
    }
    Ok(())
}
