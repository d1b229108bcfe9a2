//! Standard output, on which jobs are delivered and answers given.

use std::io::{self, Write};

use crate::error::{Error, Result};

/// Prints to standard output. What cannot be written was not done: a full disk, or a pipe that nobody reads any more.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    printed.map_err(|error| Error::Broken(format!("standard output: {error}")))
}
