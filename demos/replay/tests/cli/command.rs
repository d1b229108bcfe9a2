//! A run of the program in a folder of its own.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

/// A folder for traces and results, which is removed when dropped.
pub(crate) struct Folder(TempDir);

/// The results of a run.
pub(crate) struct Ran {
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

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// The names of all files, also in the folder for the report, in order.
    pub(crate) fn files(&self) -> Vec<String> {
        let of = |folder: &str| fs::read_dir(self.path(folder)).into_iter().flatten();
        let entries = of(".").chain(of("report")).map(Result::unwrap);
        let files = entries.filter(|entry| !entry.file_type().unwrap().is_dir());
        let mut names: Vec<String> = files.map(|file| file.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program with arguments given in one line, in this folder.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace());
        command
    }

    /// Runs the program, one round, with a report and with the figures as JSON.
    pub(crate) fn run(&self, arguments: &str) -> Ran {
        let results = "--report report --rounds 1 --json figures.json";
        let output = self.command(&format!("{results} {arguments}")).output().unwrap();
        let json = fs::read(self.path("figures.json")).ok();
        Ran {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
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

    /// Counts of these names in the sections of the figures, in order.
    #[track_caller]
    pub(crate) fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        let figures = self.figures();
        let sections = ["workload", "verdict", "trace"];
        names.map(|name| sections.iter().find_map(|section| figures[section][name].as_u64()).unwrap())
    }

    /// The digest that all queues agree on.
    #[track_caller]
    pub(crate) fn digest(&self) -> String {
        let figures = self.figures();
        assert_eq!(figures["verdict"]["digests_equal"], true);
        let queues = figures["queues"].as_object().unwrap();
        queues.values().next().unwrap()["digest"].as_str().unwrap().to_owned()
    }
}

/// Compresses with gzip.
pub(crate) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}
