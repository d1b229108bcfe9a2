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

/// Makes sure that a folder can become one, without making it yet.
pub(crate) fn check_folder(folder: &Path) -> Result<(), Failure> {
    match fs::metadata(folder) {
        Ok(metadata) if !metadata.is_dir() => Err(Failure::writing(
            folder,
            &io::ErrorKind::NotADirectory.into(),
        )),
        _ => Ok(()),
    }
}

/// Makes sure that a file's folder is there and the file is not a folder.
pub(crate) fn check_file(file: &Path) -> Result<(), Failure> {
    if file.is_dir() {
        return Err(Failure::writing(file, &io::ErrorKind::IsADirectory.into()));
    }
    match fs::metadata(folder_of(file)) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Failure::writing(file, &io::ErrorKind::NotADirectory.into())),
        Err(error) => Err(Failure::writing(file, &error)),
    }
}

/// Writes a file's text out, to be put in its place by [`Draft::publish`].
pub(crate) fn draft(destination: &Path, text: String) -> Result<Draft, Failure> {
    let failed = |error: io::Error| Failure::writing(destination, &error);
    let is_replaceable = match fs::symlink_metadata(destination) {
        Ok(metadata) => metadata.is_file(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(failed(error)),
    };
    let form = if is_replaceable {
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

/// The folder a file is in.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
