//! What ends a run of the program, or keeps a request from its answer.

use derive_more::Display;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Display, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Error {
    #[display("interrupted")]
    Interrupted,
    /// What the user can mend: an argument, or a store that is not for this program. Nothing was done.
    Refused(String),
    /// The store gave no answer. What was asked for may have been done.
    #[display("the store does not answer: {_0}")]
    Store(String),
    /// The demo or the comparison found something wrong.
    Broken(String),
}

pub type Result<T> = std::result::Result<T, Error>;

/// An error with its causes, in one line.
fn said(error: &dyn std::error::Error) -> String {
    let causes: Vec<String> =
        std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect();
    causes.join(": ").replace('\n', " ")
}

impl Error {
    pub fn refused<E: std::error::Error>(error: E) -> Self {
        Self::Refused(said(&error))
    }

    pub fn store<E: std::error::Error>(error: E) -> Self {
        Self::Store(said(&error))
    }

    /// The exit status: 130 for an interrupt, as shells have it, 2 for what the user can mend, else 1.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Interrupted => 130,
            Self::Refused(_) => 2,
            Self::Store(_) | Self::Broken(_) => 1,
        }
    }
}

impl std::error::Error for Error {}
