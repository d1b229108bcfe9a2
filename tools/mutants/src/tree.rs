//! A copy of the work tree, in which files are changed and compiled.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};
use ignore::WalkBuilder;
use serde::Deserialize;

/// The library's package.
pub(crate) const PACKAGE: &str = "timer-wheel";

/// What a run of cargo may take, in seconds.
const LONGEST: &str = "400";

pub(crate) struct Tree {
    root: PathBuf,
    target: PathBuf,
}

impl Tree {
    /// Makes the copy as the work tree is, but for the files in `apart`, which are written by others.
    /// What has not changed is not touched, so that cargo need not compile it again.
    pub(crate) fn copy(
        from: &Path,
        scratch: &Path,
        name: &str,
        apart: &HashSet<&str>,
    ) -> Result<Self> {
        let tree = Self {
            root: scratch.join(name),
            target: scratch.join(format!("{name}-target")),
        };
        let wanted = files(from)?;
        if tree.root.exists() {
            for gone in files(&tree.root)?.difference(&wanted) {
                fs::remove_file(tree.root.join(gone))?;
            }
        }
        for file in &wanted {
            let to = tree.root.join(file);
            fs::create_dir_all(to.parent().expect("a file is in a directory"))?;
            if !file.to_str().is_some_and(|file| apart.contains(file)) {
                write(&to, &fs::read(from.join(file))?)?;
            }
        }
        Ok(tree)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> Result<()> {
        write(&self.root.join(file), text.as_bytes())
    }

    /// Runs cargo on the library with all features and no lints.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Result<Compiled> {
        let (command, arguments) = arguments.split_first().expect("a command");
        // A constant may be computed for ever: without lints nothing else would end that.
        let ran = Command::new("timeout")
            .args([LONGEST, "cargo", command])
            .args([
                "--package",
                PACKAGE,
                "--all-features",
                "--message-format=json",
            ])
            .args(arguments)
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("RUSTFLAGS", "--cap-lints=allow")
            .output()
            .context("cannot run cargo")?;
        let mut compiled = Compiled::default();
        for line in ran.stdout.split(|&byte| byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Message::Told { message }) if message.level == "error" => {
                    compiled.errors.push(message);
                }
                Ok(Message::Made {
                    target,
                    executable: Some(path),
                }) => compiled.programs.push((target.name, path)),
                _ => {}
            }
        }
        if ran.status.code() == Some(124) {
            compiled.errors.push(Diagnostic::default());
        } else if !ran.status.success() && compiled.errors.is_empty() {
            bail!("cargo: {}", String::from_utf8_lossy(&ran.stderr));
        }
        Ok(compiled)
    }
}

/// The files of a tree that git would have, but its own.
fn files(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false).parents(false).require_git(false);
    let mut found = BTreeSet::new();
    for entry in walk.build() {
        let entry = entry?;
        let file = entry.path().strip_prefix(root)?;
        if entry.file_type().is_some_and(|kind| kind.is_file()) && !file.starts_with(".git") {
            found.insert(file.to_owned());
        }
    }
    Ok(found)
}

/// Writes a file unless it is so already.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[derive(Default)]
pub(crate) struct Compiled {
    pub(crate) errors: Vec<Diagnostic>,
    /// The names and paths of test programs.
    pub(crate) programs: Vec<(String, PathBuf)>,
}

/// What of cargo's messages matters here.
#[derive(Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-message")]
    Told { message: Diagnostic },
    #[serde(rename = "compiler-artifact")]
    Made {
        target: Target,
        executable: Option<PathBuf>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Diagnostic {
    pub(crate) message: String,
    pub(crate) level: String,
    pub(crate) rendered: Option<String>,
    pub(crate) spans: Vec<CodeSpan>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CodeSpan {
    pub(crate) file_name: String,
    byte_start: usize,
    byte_end: usize,
    pub(crate) is_primary: bool,
}

impl CodeSpan {
    pub(crate) fn range(&self) -> Range<usize> {
        self.byte_start..self.byte_end
    }
}

/// Gives items to one worker a tree; the last argument says how many of how many were begun.
pub(crate) fn for_each<T: Send>(
    items: Vec<T>,
    trees: &[Tree],
    work: impl Fn(T, &Tree, String) -> Result<()> + Sync,
) -> Result<()> {
    let all = items.len();
    let queue = Mutex::new((1..).zip(items));
    let next = || queue.lock().expect("no worker panics").next();
    let work = |tree| {
        while let Some((number, item)) = next() {
            work(item, tree, format!("{number}/{all}"))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let start = |tree| scope.spawn(move || work(tree));
        let workers: Vec<_> = trees.iter().map(start).collect();
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().expect("no worker panics"));
        joined.collect()
    })
}
