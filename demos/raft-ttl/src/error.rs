//! What ends a run of the program, or keeps a client from its answer.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a run ended, or a request has no good answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    Interrupted,
    /// The arguments make no sense, or the request. Nothing was done.
    Arguments(String),
    /// A data directory that this node cannot use.
    Directory(PathBuf, String),
    /// An address at which nobody can listen.
    Address(SocketAddr, io::Error),
    /// The node cannot go on: its disk or its engine failed.
    Stopped(String),
    /// Nobody has answered, or no leader was found in time.
    Unanswered(String),
    /// Nobody knows whether it was, or will be, done.
    Unsure(String),
    /// The demo found something wrong.
    Broken(String),
}

impl Error {
    pub fn broken(what: &str, error: &dyn fmt::Display) -> Self {
        Self::Broken(format!("{what}: {error}"))
    }

    /// The exit status: 130 for an interrupt, as shells have it, 2 for what the user can mend, else 1.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Interrupted => 130,
            Self::Arguments(_) | Self::Directory(..) | Self::Address(..) => 2,
            Self::Stopped(_) | Self::Unanswered(_) | Self::Unsure(_) | Self::Broken(_) => 1,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::Arguments(problem) => f.write_str(problem),
            Self::Directory(path, problem) => {
                write!(f, "{}: cannot be used: {problem}", path.display())
            }
            Self::Address(address, error) => write!(f, "{address}: cannot listen: {error}"),
            Self::Stopped(reason) => write!(f, "the node stops: {reason}"),
            Self::Unanswered(reason) => write!(f, "no answer: {reason}"),
            Self::Unsure(reason) => write!(f, "it may have been done, or not: {reason}"),
            Self::Broken(finding) => f.write_str(finding),
        }
    }
}

impl std::error::Error for Error {}
