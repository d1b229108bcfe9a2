//! A mutant: one place of the library and what cargo-mutants would write there.

use std::ops::Range;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What the compiled program knows a mutant by: its place in the list, counted from 1.
pub(crate) type Id = u32;

#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq)]
pub(crate) enum Genre {
    BinaryOperator,
    FnValue,
    MatchArm,
    MatchArmGuard,
    StructField,
    UnaryOperator,
}

/// A line and a column of characters, both counted from 1.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Position {
    line: usize,
    column: usize,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Span {
    start: Position,
    end: Position,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mutant {
    /// Place and change in words; no two are the same.
    pub(crate) name: String,
    /// The change with the lines around it: as long as it is the same, so is the mutant.
    pub(crate) diff: String,
    pub(crate) file: String,
    pub(crate) genre: Genre,
    pub(crate) replacement: String,
    span: Span,
}

impl Mutant {
    /// All of them, in cargo-mutants' own choice, which `.cargo/mutants.toml` configures.
    pub(crate) fn list(root: &Path) -> Result<Vec<Self>> {
        let listed = Command::new("cargo")
            .args(["mutants", "--list", "--json"])
            .current_dir(root)
            .output()
            .context("cannot run cargo-mutants: cargo install --locked cargo-mutants@27.1.0")?;
        let complaint = String::from_utf8_lossy(&listed.stderr);
        ensure!(listed.status.success(), "cargo mutants: {complaint}");
        serde_json::from_slice(&listed.stdout).context("what cargo-mutants lists is not understood")
    }

    /// The bytes of its file that it replaces.
    pub(crate) fn range(&self, source: &str) -> Range<usize> {
        byte(source, self.span.start)..byte(source, self.span.end)
    }

    /// Its file with nothing changed but itself.
    pub(crate) fn apply(&self, source: &str) -> String {
        let Range { start, end } = self.range(source);
        format!(
            "{} {} {}",
            &source[..start],
            self.replacement,
            &source[end..]
        )
    }

    /// One that replaces the first of these words, as cargo-mutants might list it.
    #[cfg(test)]
    pub(crate) fn of(source: &str, genre: Genre, word: &str, replacement: &str) -> Self {
        let start = source.find(word).expect("the source has this word");
        Self {
            name: format!("replace {word} with {replacement}"),
            diff: format!("{word} -> {replacement}"),
            file: "src/lib.rs".to_owned(),
            genre,
            replacement: replacement.to_owned(),
            span: Span {
                start: position(source, start),
                end: position(source, start + word.len()),
            },
        }
    }

    pub(crate) fn area(&self) -> Area {
        let path = self.file.trim_start_matches("src/");
        match path.split(['/', '.']).next() {
            Some(
                "wheel" | "slots" | "hierarchy" | "index" | "buckets" | "run" | "heap" | "blocks"
                | "header" | "budget" | "pages" | "occupancy" | "geometry" | "key",
            ) => Area::Wheel,
            Some("ttl") => Area::Ttl,
            _ => Area::Drivers,
        }
    }
}

fn byte(source: &str, at: Position) -> usize {
    let line: usize = source
        .split_inclusive('\n')
        .take(at.line - 1)
        .map(str::len)
        .sum();
    let rest = source[line..].char_indices();
    rest.map(|(offset, _)| line + offset)
        .nth(at.column - 1)
        .unwrap_or(source.len())
}

#[cfg(test)]
fn position(source: &str, byte: usize) -> Position {
    let before = &source[..byte];
    let line = before.rsplit('\n').next().expect("there is always a line");
    Position {
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
    }
}

/// A part of the library that the figures are given for.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, ValueEnum,
)]
pub(crate) enum Area {
    /// The wheel and everything below it
    Wheel,
    /// ttl
    Ttl,
    /// timer, clock, delay_queue, sync
    Drivers,
}

impl Area {
    /// The test programs that are about it.
    pub(crate) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Wheel => &["wheel"],
            Self::Ttl => &["ttl"],
            Self::Drivers => &["timer", "delay_queue"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_begin_at_one() {
        let source = "fn f() {}\n/* naïve */ fn g() -> bool { 1 < 2 }\n";
        let mutant = Mutant::of(source, Genre::BinaryOperator, "<", ">");
        assert_eq!(&source[mutant.range(source)], "<");
        assert_eq!(mutant.apply(source), source.replace("1 < 2", "1  >  2"));
    }
}
