//! A run of the program in a folder of its own.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

/// A folder for traces and results, which goes when it is dropped.
pub(crate) struct Folder(TempDir);

/// What a run left behind.
pub(crate) struct Ran {
    /// The exit status.
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The figures, if it wrote any.
    pub(crate) json: Option<Value>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Where a file is, or would be.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// The names of all files and folders in a folder of it, in order.
    pub(crate) fn list(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(folder)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The program with arguments given in one line, reporting into this folder.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
        command
            .current_dir(self.0.path())
            .args(["--report", "report"])
            .args(arguments.split_whitespace());
        command
    }

    /// Runs the program, one round, with the figures as JSON.
    pub(crate) fn run(&self, arguments: &str) -> Ran {
        let ran = self
            .command(arguments)
            .args(["--rounds", "1", "--json", "figures.json"])
            .output();
        let Output {
            status,
            stdout,
            stderr,
        } = ran.unwrap();
        let json = fs::read(self.path("figures.json")).ok();
        Ran {
            status: status.code().unwrap(),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
            json: json.map(|json| serde_json::from_slice(&json).unwrap()),
        }
    }
}

impl Ran {
    /// The figures of a run that went well.
    #[track_caller]
    pub(crate) fn figures(&self) -> &Value {
        assert_eq!(self.status, 0, "{}", self.stderr);
        self.json.as_ref().unwrap()
    }

    /// Counts of that name in the sections of the figures, in order.
    #[track_caller]
    pub(crate) fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        let figures = self.figures();
        names.map(|name| {
            ["workload", "verdict", "trace"]
                .into_iter()
                .find_map(|section| figures[section][name].as_u64())
                .unwrap_or_else(|| panic!("no {name}"))
        })
    }

    /// The digest that all queues agree on.
    #[track_caller]
    pub(crate) fn digest(&self) -> String {
        let figures = self.figures();
        assert_eq!(figures["verdict"]["digests_equal"], true);
        let mut digests = figures["queues"]
            .as_object()
            .unwrap()
            .values()
            .map(|queue| &queue["digest"]);
        digests.next().unwrap().as_str().unwrap().to_owned()
    }
}

/// Compresses with gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
