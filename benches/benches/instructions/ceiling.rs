//! Counts that are kept, and the ceiling that each gives: `benches/results/instructions.jsonl`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gungraun::prelude::*;
use gungraun::{Callgrind, EventKind};
use serde_json::Value;
use timer_wheel_bench::results::{Counts, Results, Row, Spread};

use crate::steady::{CALLS, N};

/// A call may take so many hundredths of what it did: a change that costs five fails.
const MOST: u64 = 104;

/// Set where counts are taken to be kept: they have no ceiling then.
const UNLIMITED: &str = "INSTRUCTIONS_UNLIMITED";

/// The ceiling of a group's call. Without a count that was kept none is low enough.
pub(crate) fn ceiling(group: &str, call: &str) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    if std::env::var_os(UNLIMITED).is_none() {
        let results = Results::read(&kept()).unwrap_or_default();
        let row = results.rows.iter().find(|row| row.figure == figure(call));
        let counted = row.and_then(|row| row.value(&subject(group))).map_or(0.0, |count| count * CALLS as f64);
        let mut callgrind = Callgrind::default();
        callgrind.hard_limits([(EventKind::Ir, counted as u64 * MOST / 100)]);
        config.tool(callgrind);
    }
    config
}

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results/instructions.jsonl")
}

/// The name in tables: `index_wheel` is `IndexWheel`.
fn subject(group: &str) -> String {
    let words = group.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}

fn figure(call: &str) -> String {
    call.replace('_', " ")
}

/// Counts everything and writes it to a file, which keeps what it has of other queues.
pub(crate) fn keep(path: &Path) -> Result<(), String> {
    let before = Results::read(path).unwrap_or_default();
    let mut results = Results { rows: before.rows, ..Results::new(1) };
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["--bench", "--output-format=json"])
        .env(UNLIMITED, "")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err("the counting has failed".to_owned());
    }
    let counted: Result<Vec<_>, String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| read(line).ok_or_else(|| format!("not understood of gungraun: {line}")))
        .collect();
    let counted = counted?;
    for row in &mut results.rows {
        row.subjects.retain(|(name, _)| !counted.iter().any(|(counted, ..)| counted == name));
    }
    for (subject, figure, count) in counted {
        let at = results.rows.iter().position(|row| row.figure == figure).unwrap_or(results.rows.len());
        if at == results.rows.len() {
            let unit = "instructions".to_owned();
            results.rows.push(Row { figure, n: N as u64, unit, counts: Counts::Median, subjects: Vec::new() });
        }
        results.rows[at].subjects.push((subject, Spread::of([count])));
    }
    results.rows.retain(|row| !row.subjects.is_empty());
    results.write(path)
}

/// The queue, the figure, and the instructions of one call.
fn read(line: &str) -> Option<(String, String, f64)> {
    let counted: Value = serde_json::from_str(line).ok()?;
    let (module, call) = (&counted["module_path"], &counted["function_name"]);
    let group = module.as_str()?.split("::").nth(1)?;
    let total = &counted["profiles"][0]["summaries"]["total"]["summary"]["Callgrind"]["Ir"];
    let metrics = &total["metrics"];
    // Of this run alone, or beside the run before.
    let this = metrics.get("Left").or_else(|| metrics["Both"].get(0))?;
    let count = this["Int"].as_f64()? / CALLS as f64;
    Some((subject(group), figure(call.as_str()?), count))
}
