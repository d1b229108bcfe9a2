//! Files that are either whole or not there, and text on stdout and stderr.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// Makes sure that a file can be written, before the work for it begins.
pub(crate) fn check(destination: &Path) -> Result<()> {
    temporary(destination, "").map(drop).with_context(|| cannot_write(destination))
}

/// Writes a file, whole or not at all.
pub(crate) fn write(destination: &Path, text: &str) -> Result<()> {
    let written = temporary(destination, text).and_then(|file| match file {
        Some(file) => Ok(file.persist(destination).map(drop)?),
        None => fs::write(destination, text),
    });
    written.with_context(|| cannot_write(destination))
}

/// A temporary file with a text, next to its destination. A pipe, a device or a link has none: it cannot be replaced.
fn temporary(destination: &Path, text: &str) -> io::Result<Option<NamedTempFile>> {
    if destination.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if fs::symlink_metadata(destination).is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(None);
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".replay-");
    // By default a temporary file is for its owner only.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let parent = destination.parent().filter(|parent| !parent.as_os_str().is_empty());
    let file = builder.tempfile_in(parent.unwrap_or(Path::new(".")));
    // The error's own text would name the temporary file.
    let mut file = file.map_err(|error| io::Error::from(error.kind()))?;
    file.write_all(text.as_bytes())?;
    Ok(Some(file))
}

/// What to say of a file that cannot be written, before the reason.
pub(crate) fn cannot_write(file: &Path) -> String {
    format!("{}: cannot be written", file.display())
}

/// Prints to stdout. That nobody listens any more is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context(cannot_write(Path::new("stdout")))
        }
        _ => Ok(()),
    }
}

/// Prints a line to stderr, if that can be written to.
pub(crate) fn say(line: &str) {
    _ = writeln!(io::stderr(), "{line}");
}
