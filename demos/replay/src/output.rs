//! Files that are either whole or not there.
//!
//! A file is written beside its destination under another name and renamed once it is complete. Dropped
//! before that, it leaves nothing behind.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// A file that is complete but not yet in its place.
pub(crate) struct Draft {
    destination: PathBuf,
    form: Form,
}

enum Form {
    /// To be renamed.
    Renamed(NamedTempFile),
    /// To be written to what is there: a terminal, a pipe, a device or a link to any file.
    Poured(String),
}

/// Makes sure that a folder is there or can be made, and that files can be written to it: where it is to
/// be, something is made and removed again.
pub(crate) fn check_folder(folder: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::writing(folder, &error);
    let mut there = folder;
    loop {
        match fs::metadata(there) {
            Ok(metadata) if metadata.is_dir() => break,
            Ok(_) => return Err(failed(io::ErrorKind::NotADirectory.into())),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            Err(_) => there = folder_of(there),
        }
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".replay-");
    let tried = if there == folder {
        builder.tempfile_in(there).map(drop)
    } else {
        builder.tempdir_in(there).map(drop)
    };
    // The error's own words would name the file that was tried.
    tried.map_err(|error| failed(error.kind().into()))
}

/// Makes sure that a file can be written: that it is not a folder, and its folder takes files.
pub(crate) fn check_file(file: &Path) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::writing(file, &error);
    if file.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    if !is_replaceable(file).map_err(failed)? {
        return Ok(());
    }
    match fs::metadata(folder_of(file)) {
        Ok(metadata) if metadata.is_dir() => check_folder(folder_of(file)),
        Ok(_) => Err(failed(io::ErrorKind::NotADirectory.into())),
        Err(error) => Err(failed(error)),
    }
}

/// Whether a file is an ordinary one or not there. Others are written to as they are.
fn is_replaceable(file: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(file) {
        Ok(metadata) => Ok(metadata.is_file()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Writes a file's text out, to be put in its place by [`Draft::publish`].
pub(crate) fn draft(destination: &Path, text: String) -> Result<Draft, Failure> {
    let failed = |error: io::Error| Failure::writing(destination, &error);
    let form = if is_replaceable(destination).map_err(failed)? {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".replay-");
        // A temporary file is for its owner only, unless told to be an ordinary one.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder
            .tempfile_in(folder_of(destination))
            .map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        Form::Renamed(file)
    } else {
        Form::Poured(text)
    };
    Ok(Draft {
        destination: destination.to_owned(),
        form,
    })
}

impl Draft {
    /// Puts the file in its place.
    pub(crate) fn publish(self) -> Result<(), Failure> {
        let published = match self.form {
            Form::Renamed(file) => file
                .persist(&self.destination)
                .map(drop)
                .map_err(|error| error.error),
            Form::Poured(text) => fs::write(&self.destination, text),
        };
        published.map_err(|error| Failure::writing(&self.destination, &error))
    }
}

/// Prints to stdout. That nobody listens any more is not an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::writing(Path::new("stdout"), &error))
        }
        _ => Ok(()),
    }
}

/// Says a line on stderr, or to nobody if that cannot be written to.
pub(crate) fn say(line: &str) {
    _ = writeln!(io::stderr(), "{line}");
}

/// The folder a file is in.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
