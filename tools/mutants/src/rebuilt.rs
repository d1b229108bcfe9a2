//! A mutant that must be built by itself, as cargo-mutants would do it.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;

use crate::mutant::{Area, Mutant};
use crate::suite::{BRIEF, Verdict, finish, limited};
use crate::tree::Tree;

/// For one test.
const MOST: Duration = Duration::from_secs(60);

pub(crate) fn restore(tree: &Tree, sources: &HashMap<String, String>) -> Result<()> {
    sources
        .iter()
        .try_for_each(|(file, source)| tree.write(file, source))
}

/// Builds and runs the tests with this mutant in the tree. Nothing comes of it if it does not compile: a
/// constant may be found wrong that late.
pub(crate) fn try_mutant(mutant: &Mutant, source: &str, tree: &Tree) -> Result<Option<Verdict>> {
    tree.write(&mutant.file, &mutant.apply(source))?;
    let verdict = build_and_run(mutant.area(), tree);
    tree.write(&mutant.file, source)?;
    verdict
}

/// The unit tests first, then those of the area, then all.
fn build_and_run(area: Area, tree: &Tree) -> Result<Option<Verdict>> {
    let own = area
        .programs()
        .iter()
        .flat_map(|&name| ["--test", name])
        .collect();
    for targets in [vec!["--lib"], own, vec!["--tests"]] {
        let compiled = tree.cargo(&[&["test", "--no-run"], &*targets].concat())?;
        if !compiled.errors.is_empty() {
            return Ok(None);
        }
        for (name, path) in compiled.programs {
            let mut program = limited(&path);
            program.env(BRIEF.0, BRIEF.1);
            let verdict = finish(program, &name, |_| MOST, tree)?;
            if verdict != Verdict::Survived {
                return Ok(Some(verdict));
            }
        }
    }
    Ok(Some(Verdict::Survived))
}
