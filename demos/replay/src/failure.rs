//! What ends a run before its figures: bad input, an output that cannot be written, an interrupt.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The exit status of a run that was interrupted, as shells have it.
const INTERRUPTED: u8 = 130;

/// The reason a run stopped short.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user asked the program to stop.
    Interrupted,
    /// A trace that cannot be read or understood.
    Input {
        /// The trace file.
        file: PathBuf,
        /// The line at fault, counted from 1, when it is one line's fault.
        line: Option<u64>,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A file or folder that cannot be written.
    Output {
        /// The file or folder.
        file: PathBuf,
        /// Why not.
        problem: String,
    },
    /// No terminal where one is needed, or one that fails.
    Terminal(String),
    /// A wish this machine cannot fulfil, such as more requests than fit its memory.
    Resources(String),
}

impl Failure {
    /// A fault of a trace as a whole.
    pub(crate) fn in_file(file: &Path, problem: impl Into<String>) -> Self {
        Self::Input {
            file: file.to_owned(),
            line: None,
            problem: problem.into(),
        }
    }

    /// A fault of one line of a trace.
    pub(crate) fn in_line(file: &Path, line: u64, problem: impl Into<String>) -> Self {
        Self::Input {
            file: file.to_owned(),
            line: Some(line),
            problem: problem.into(),
        }
    }

    /// An output that cannot be written.
    pub(crate) fn writing(file: &Path, error: &io::Error) -> Self {
        Self::Output {
            file: file.to_owned(),
            problem: error.to_string(),
        }
    }

    /// A terminal that fails.
    pub(crate) fn terminal(error: &io::Error) -> Self {
        Self::Terminal(format!("the terminal fails: {error}"))
    }

    /// The exit status: that of an interrupt, or 2 for everything the user can mend.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Self::Interrupted => INTERRUPTED,
            Self::Input { .. } | Self::Output { .. } | Self::Terminal(_) | Self::Resources(_) => 2,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => write!(f, "interrupted, no report written"),
            Self::Input {
                file,
                line: Some(line),
                problem,
            } => write!(f, "{}:{line}: {problem}", file.display()),
            Self::Input {
                file,
                line: None,
                problem,
            } => write!(f, "{}: {problem}", file.display()),
            Self::Output { file, problem } => {
                write!(f, "{}: cannot be written: {problem}", file.display())
            }
            Self::Terminal(problem) => write!(f, "--watch: {problem}"),
            Self::Resources(problem) => write!(f, "{problem}"),
        }
    }
}

impl std::error::Error for Failure {}
