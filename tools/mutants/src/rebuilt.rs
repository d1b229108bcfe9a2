//! A mutant that must be built by itself, as cargo-mutants would do it.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;

use crate::mutant::Mutant;
use crate::suite::{Verdict, finish, limited};
use crate::tree::Tree;

/// For one test program.
const MOST: Duration = Duration::from_secs(600);

/// What is built and run, in this order; each only if nothing before failed.
const TARGETS: [&[&str]; 3] = [&["--lib"], &["--test", "wheel"], &["--lib", "--tests"]];

pub(crate) fn restore(tree: &Tree, sources: &HashMap<String, String>) -> Result<()> {
    sources
        .iter()
        .try_for_each(|(file, source)| tree.write(file, source))
}

/// Builds and runs the tests with this mutant in the tree. Nothing comes of it if it does not compile: a
/// constant may be found wrong that late.
pub(crate) fn try_mutant(mutant: &Mutant, source: &str, tree: &Tree) -> Result<Option<Verdict>> {
    tree.write(&mutant.file, &mutant.apply(source))?;
    let verdict = build_and_run(tree);
    tree.write(&mutant.file, source)?;
    verdict
}

fn build_and_run(tree: &Tree) -> Result<Option<Verdict>> {
    for targets in TARGETS {
        let mut arguments = vec!["test", "--no-run", "--profile", "mutants"];
        arguments.extend(targets);
        let compiled = tree.cargo(&arguments)?;
        if !compiled.errors.is_empty() {
            return Ok(None);
        }
        for (name, path) in compiled.programs {
            let verdict = finish(limited(&path), &name, MOST, tree)?;
            if verdict != Verdict::Survived {
                return Ok(Some(verdict));
            }
        }
    }
    Ok(Some(Verdict::Survived))
}
