//! The program that all mutants are in: finding out which can be.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::mutant::{Id, Mutant};
use crate::switch::{Switched, runtime};
use crate::tree::{Compiled, Diagnostic, Tree, for_each};

/// The root of the library, which takes what tells mutants whether they are on.
pub(crate) const LIBRARY: &str = "src/lib.rs";

/// How the tests reach a mutant.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) enum Reach {
    /// By its switch.
    Switch,
    /// Not in the common program: it must be built by itself.
    Rebuild,
    /// Not at all: it does not compile.
    Unviable,
}

/// What is known from the last time, so that it need not be found out again.
#[derive(Default, Deserialize, Serialize)]
pub(crate) struct Known {
    /// By the mutants' diffs. Those that are not here have a switch, as far as is known.
    reach: BTreeMap<String, Reach>,
    /// Names of functions that constants call.
    kept: HashSet<String>,
}

pub(crate) struct Prepared {
    pub(crate) reach: Vec<Reach>,
    /// The names and paths of the test programs.
    pub(crate) programs: Compiled,
}

/// Compiles the tests with as many mutants as possible, and looks what is wrong with the others.
pub(crate) fn prepare(
    root: &Path,
    mutants: &[Mutant],
    trees: &[Tree],
    known_at: &Path,
) -> Result<Prepared> {
    let mut known: Known = match fs::read(known_at) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(_) => Known::default(),
    };
    let sources = sources(root, mutants)?;
    let mut dropped: BTreeSet<Id> = numbered(mutants)
        .filter(|(_, mutant)| known.reach.contains_key(&mutant.diff))
        .map(|(id, _)| id)
        .collect();
    let tree = &trees[0];
    for round in 1.. {
        let switched = write(tree, mutants, &sources, &dropped, &known.kept)?;
        for one in switched.values() {
            dropped.extend(&one.left);
        }
        let compiled = tree.cargo(&["check", "--lib", "--tests"])?;
        println!(
            "round {round}: {} errors, {} mutants left out",
            compiled.errors.len(),
            dropped.len()
        );
        if compiled.errors.is_empty() {
            break;
        }
        let before = (dropped.len(), known.kept.len());
        for error in &compiled.errors {
            blame(error, &switched, &mut dropped, &mut known.kept);
        }
        let first = compiled.errors[0].rendered.as_deref().unwrap_or_default();
        ensure!(
            before != (dropped.len(), known.kept.len()),
            "nobody is to blame for this:\n{first}"
        );
    }
    judge(mutants, &sources, &dropped, &mut known, trees)?;
    fs::write(known_at, serde_json::to_vec(&known)?)?;

    write(tree, mutants, &sources, &dropped, &known.kept)?;
    let programs = tree.cargo(&[
        "test",
        "--no-run",
        "--profile",
        "mutants",
        "--lib",
        "--tests",
    ])?;
    if let Some(error) = programs.errors.first() {
        bail!("does not build: {error:?}");
    }
    let reach = |mutant: &Mutant| known.reach.get(&mutant.diff).copied();
    let reach = mutants
        .iter()
        .map(|mutant| reach(mutant).unwrap_or(Reach::Switch));
    Ok(Prepared {
        reach: reach.collect(),
        programs,
    })
}

pub(crate) fn numbered(mutants: &[Mutant]) -> impl Iterator<Item = (Id, &Mutant)> {
    (1..).zip(mutants)
}

/// The files that have mutants, and the root of the library, as they are.
pub(crate) fn sources(root: &Path, mutants: &[Mutant]) -> Result<HashMap<String, String>> {
    let mut files: HashSet<&str> = mutants.iter().map(|mutant| mutant.file.as_str()).collect();
    files.insert(LIBRARY);
    let read = |file: &str| {
        let text =
            fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))?;
        Ok((file.to_owned(), text))
    };
    files.into_iter().map(read).collect()
}

/// Writes all files with the switches of all mutants that are not dropped.
fn write<'a>(
    tree: &Tree,
    mutants: &[Mutant],
    sources: &'a HashMap<String, String>,
    dropped: &BTreeSet<Id>,
    kept: &HashSet<String>,
) -> Result<BTreeMap<&'a str, Switched>> {
    let mut switched = BTreeMap::new();
    for (file, source) in sources {
        let of_file =
            numbered(mutants).filter(|(id, mutant)| mutant.file == *file && !dropped.contains(id));
        let of_file: Vec<(Id, &Mutant)> = of_file.collect();
        let one = Switched::new(source, &of_file, kept).with_context(|| format!("in {file}"))?;
        let runtime = if file == LIBRARY {
            runtime(mutants.len())
        } else {
            String::new()
        };
        tree.write(file, &format!("{}{runtime}", one.text))?;
        switched.insert(file.as_str(), one);
    }
    Ok(switched)
}

/// Leaves out the mutants at which an error points, or lets the function that it names be constant.
fn blame(
    error: &Diagnostic,
    switched: &BTreeMap<&str, Switched>,
    dropped: &mut BTreeSet<Id>,
    kept: &mut HashSet<String>,
) {
    let (primary, secondary): (Vec<_>, Vec<_>) =
        error.spans.iter().partition(|span| span.is_primary);
    if error.message.starts_with("cannot call non-const") {
        let path = error.message.split('`').nth(1).unwrap_or_default();
        let name = path.rsplit("::").next().unwrap_or_default();
        if name != "mutant" {
            kept.insert(name.to_owned());
            return;
        }
    }
    for span in primary.iter().chain(&secondary) {
        let file = switched.get(span.file_name.as_str());
        if let Some(ids) = file.and_then(|file| file.mutants_at(&span.range())) {
            dropped.extend(ids);
            return;
        }
    }
    for span in primary {
        if let Some(file) = switched.get(span.file_name.as_str()) {
            dropped.extend(file.mutants_within(&span.range()));
        }
    }
}

/// Compiles each of the dropped by itself, as cargo-mutants would write it.
fn judge(
    mutants: &[Mutant],
    sources: &HashMap<String, String>,
    dropped: &BTreeSet<Id>,
    known: &mut Known,
    trees: &[Tree],
) -> Result<()> {
    let unknown = numbered(mutants)
        .filter(|(id, mutant)| dropped.contains(id) && !known.reach.contains_key(&mutant.diff));
    let unknown: Vec<&Mutant> = unknown.map(|(_, mutant)| mutant).collect();
    println!("{} of them are compiled one by one", unknown.len());
    for tree in &trees[1..] {
        for (file, source) in sources {
            tree.write(file, source)?;
        }
    }
    let results = Mutex::new(&mut known.reach);
    for_each(unknown, &trees[1..], |mutant, tree, _| {
        let source = &sources[&mutant.file];
        tree.write(&mutant.file, &mutant.apply(source))?;
        let compiled = tree.cargo(&["check", "--lib"])?;
        tree.write(&mutant.file, source)?;
        let reach = if compiled.errors.is_empty() {
            Reach::Rebuild
        } else {
            Reach::Unviable
        };
        results.lock().unwrap().insert(mutant.diff.clone(), reach);
        Ok(())
    })
}
