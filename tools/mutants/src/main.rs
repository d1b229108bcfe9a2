//! Runs the library's tests on every mutant that cargo-mutants lists, and says which are caught.
//!
//! # Why not cargo-mutants itself
//!
//! It builds the tests anew for each mutant, which are days for this library. Here all mutants are compiled
//! into one program, each behind a [switch] that the environment sets, and each test is run
//! beforehand to see which mutants it asks for: only those tests are run for a mutant, the quickest
//! first, until one fails. Which mutants there are, and which are left out, is cargo-mutants' list and its
//! configuration, `.cargo/mutants.toml`.
//!
//! # What it does
//!
//! 1. Copies the work tree and puts all mutants behind switches. What then does not compile is left out,
//!    and compiled by itself, as the text that cargo-mutants would write: it is *unviable*, or it
//!    can only be built by itself (in a constant, say).
//! 2. Builds the test programs, and runs every test without a mutant, to see how long it takes and which
//!    switches it asks for.
//! 3. Runs the mutants. A test that twice takes ten times as long and four seconds more than it should counts
//!    as failed (`Endless`), as does one that takes gigabytes.
//! 4. With `--rebuild`: builds and runs those that are to be built by themselves, unit tests first, then the
//!    tests of the area, then all; with few random scripts, as there is no telling which tests matter.
//!
//! All is kept in `target/mutants`, what came of a mutant by the code around it: interrupted, a run goes on
//! where it was, and after a change it begins with what has changed. A survivor has survived every test of every
//! program of `cargo test --lib --tests` that asks for its switch, with as many random scripts as usual
//! (unless it says *of the quick tests*). Random scripts are drawn anew each time, so that the odd mutant may be
//! caught in one run and not in another. Documentation tests are not run.
//!
//! Needs `sh` with `ulimit -v`, and `timeout`, as on Linux.

mod mutant;
mod outcome;
mod prepare;
mod rebuilt;
mod suite;
mod switch;
mod tree;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::mutant::{Area, Mutant};
use crate::outcome::{Outcome, Outcomes};
use crate::prepare::{LIBRARY, Reach, numbered, prepare};
use crate::suite::Suite;
use crate::tree::{Tree, for_each};

/// Runs the library's tests on every mutant that cargo-mutants lists.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Action,
    /// Where copies, programs and outcomes are kept.
    #[arg(long, global = true, default_value = "target/mutants")]
    scratch: PathBuf,
}

#[derive(Subcommand)]
enum Action {
    /// Run mutants that have not been run, and report.
    Run(Choice),
    /// Report what has been found so far.
    Report,
}

#[derive(clap::Args)]
struct Choice {
    /// Only those of one area.
    #[arg(long)]
    area: Option<Area>,
    /// Only those with one of these words in their name, which is place and change as cargo-mutants tells it.
    #[arg(long)]
    name: Vec<String>,
    /// Run at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Forget what was found before.
    #[arg(long)]
    fresh: bool,
    /// Run those that survived once more, after tests were added.
    #[arg(long)]
    again: bool,
    /// Leave out tests that take longer than so many milliseconds.
    #[arg(long, value_name = "MS")]
    brief: Option<u64>,
    /// Also those that must be built by themselves: half a minute each and more.
    #[arg(long)]
    rebuild: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let root = std::env::current_dir()?;
    fs::create_dir_all(&arguments.scratch)?;
    let scratch = arguments.scratch.canonicalize()?;
    let mutants = Mutant::list(&root)?;
    let outcomes_at = scratch.join("outcomes.jsonl");
    if let Action::Run(choice) = &arguments.command {
        if choice.fresh {
            fs::write(&outcomes_at, "")?;
        }
        run(
            choice,
            &root,
            &scratch,
            &mutants,
            Outcomes::open(&outcomes_at)?,
        )?;
    }
    print!("{}", Outcomes::open(&outcomes_at)?.report(&mutants));
    Ok(())
}

fn run(
    choice: &Choice,
    root: &Path,
    scratch: &Path,
    mutants: &[Mutant],
    mut outcomes: Outcomes,
) -> Result<()> {
    let mut apart: HashSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
    apart.insert(LIBRARY);
    let mut trees = vec![Tree::copy(root, scratch, "switched", &apart)?];
    for job in 0..choice.jobs {
        trees.push(Tree::copy(
            root,
            scratch,
            &format!("job-{job}"),
            &HashSet::new(),
        )?);
    }
    let prepared = prepare(root, mutants, &trees, &scratch.join("known.json"))?;
    let suite = Suite::measure(prepared.programs, &trees[1..], &scratch.join("suite.json"))?;

    let mut switched = Vec::new();
    let mut rebuilt = Vec::new();
    for (id, mutant) in numbered(mutants) {
        let is_chosen = choice.area.is_none_or(|area| area == mutant.area())
            && (choice.name.is_empty()
                || choice.name.iter().any(|word| mutant.name.contains(word)));
        let found = outcomes.get(mutant);
        let is_more = |found: &Outcome| choice.again || found.is_brief && choice.brief.is_none();
        let is_done = found
            .is_some_and(|found| found.verdict.is_some() && !(found.survived() && is_more(found)));
        let reach = prepared.reach[id as usize - 1];
        match reach {
            Reach::Unviable => outcomes.add(Outcome::new(mutant, reach, None, false))?,
            _ if is_done || !is_chosen => {}
            Reach::Switch => switched.push((id, mutant)),
            Reach::Rebuild => rebuilt.push((id, mutant)),
        }
    }
    println!(
        "{} to run by their switch, {} to be built by themselves",
        switched.len(),
        rebuilt.len()
    );
    let outcomes = Mutex::new(outcomes);
    let most = choice.brief.map(Duration::from_millis);
    for_each(switched, &trees[1..], |(id, mutant), tree, done| {
        let verdict = suite.try_mutant(id, mutant.area(), most, tree)?;
        let note = if suite.is_reached(id) {
            ""
        } else {
            ", no test asks for it"
        };
        println!("{done}: {verdict:?}{note}: {}", mutant.name);
        let outcome = Outcome::new(mutant, Reach::Switch, Some(verdict), most.is_some());
        outcomes.lock().expect("no worker panics").add(outcome)
    })?;
    if choice.rebuild {
        let sources = prepare::sources(root, mutants)?;
        for tree in &trees[1..] {
            rebuilt::restore(tree, &sources)?;
        }
        for_each(rebuilt, &trees[1..], |(_, mutant), tree, done| {
            let verdict = rebuilt::try_mutant(mutant, &sources[&mutant.file], tree)?;
            println!("{done}: {verdict:?}: {}", mutant.name);
            let reach = if verdict.is_some() {
                Reach::Rebuild
            } else {
                Reach::Unviable
            };
            let outcome = Outcome::new(mutant, reach, verdict, false);
            outcomes.lock().expect("no worker panics").add(outcome)
        })?;
    }
    Ok(())
}
