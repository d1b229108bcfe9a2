//! What ends a run of the program, or keeps a client from its answer.

use std::io;

use derive_more::{Display, From};

use crate::disk::DiskError;

/// Why a run ended, or a request has no good answer.
#[derive(Debug, Display, From)]
#[non_exhaustive]
pub enum Error {
    #[display("interrupted")]
    Interrupted,
    /// The arguments make no sense, or the request, or what they name cannot be used. Nothing was done.
    Arguments(String),
    /// The node cannot go on: its disk or its engine failed.
    #[display("the node stops: {_0}")]
    Stopped(String),
    /// Nobody has answered, or no leader was found in time.
    #[display("no answer: {_0}")]
    Unanswered(String),
    /// Nobody knows whether it was, or will be, done.
    #[display("it may have been done, or not: {_0}")]
    Unsure(String),
    /// The demo found something wrong.
    Broken(String),
    /// The demo cannot start its nodes.
    #[display("no nodes: {_0}")]
    #[from]
    NoNodes(io::Error),
}

impl Error {
    /// The exit status: 130 for an interrupt, as shells have it, 2 for what the user can mend, else 1.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Interrupted => 130,
            Self::Arguments(_) => 2,
            Self::Stopped(_) | Self::Unanswered(_) | Self::Unsure(_) | Self::Broken(_) | Self::NoNodes(_) => 1,
        }
    }
}

impl std::error::Error for Error {}

impl From<DiskError> for Error {
    fn from(error: DiskError) -> Self {
        Self::Stopped(error.to_string())
    }
}
