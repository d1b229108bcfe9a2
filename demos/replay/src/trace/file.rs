//! A trace read from a file, plain or compressed with gzip, line by line.
//!
//! The file is streamed: only the decoded requests and the keys' fingerprints stay in memory, 16 bytes a
//! request and about 40 a key. A last line without a line end counts as whole if its fields are; a
//! compressed stream that ends early is an error, and so is a time earlier than the line before it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use clap::ValueEnum;
use flate2::bufread::MultiGzDecoder;

use super::bad_line::BadLine;
use super::interner::Interner;
use super::lines::Lines;
use super::{KeyId, Request, Trace, cloudphysics, twitter};
use crate::failure::Failure;
use crate::figure::NS_PER_S;
use crate::interrupt;
use crate::progress::Progress;

/// How a trace's lines are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    /// timestamp,key,key size,value size,client id,operation,TTL
    Twitter,
    /// version,time,op,size,lbn
    Cloudphysics,
}

/// What happens to lines that make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadLines {
    /// The first one ends the run.
    Refuse,
    /// They are counted, and the first few shown.
    Skip,
}

/// The lines left out of a trace.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    /// How many.
    pub(crate) lines: u64,
    /// What was wrong with the first few.
    pub(crate) first: Vec<String>,
}

/// How many skipped lines are shown.
const SKIPPED_SHOWN: usize = 10;

/// How many lines may pass before one tells the format, where bad lines are skipped at all.
const GUESSING_LINES: u64 = 1_000;

/// The first two bytes of every gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

const READ_BUFFER_BYTES: usize = 1 << 18;

/// Reads a trace, up to a number of requests.
pub(crate) fn load(
    path: &Path,
    format: Option<Format>,
    limit: u64,
    bad_lines: BadLines,
    progress: Progress,
) -> Result<Trace, Failure> {
    let opened = File::open(path).map_err(|error| {
        let problem = format!("cannot be opened: {error}; expected a trace, plain or .gz");
        Failure::in_file(path, problem)
    })?;
    let metadata = opened.metadata();
    if metadata.as_ref().is_ok_and(fs::Metadata::is_dir) {
        let problem = "is a folder; expected a trace, plain or .gz";
        return Err(Failure::in_file(path, problem));
    }
    let bytes = metadata.map_or(0, |metadata| metadata.len());
    let bar = progress.stage("reading the trace", bytes);
    let mut file = BufReader::with_capacity(READ_BUFFER_BYTES, bar.wrap_read(opened));
    let mut reading = Reading::new(path, format, limit, bad_lines);
    let magic = file.fill_buf().map(|start| start.starts_with(&GZIP_MAGIC));
    if magic.map_err(|error| reading.unreadable(1, &error))? {
        let plain = BufReader::with_capacity(READ_BUFFER_BYTES, MultiGzDecoder::new(file));
        reading.read(plain)?;
    } else {
        reading.read(file)?;
    }
    bar.finish_and_clear();
    reading.finish()
}

/// A trace being read.
struct Reading<'a> {
    path: &'a Path,
    format: Option<Format>,
    limit: u64,
    bad_lines: BadLines,
    keys: Interner,
    requests: Vec<Request>,
    skipped: Skipped,
}

impl<'a> Reading<'a> {
    fn new(path: &'a Path, format: Option<Format>, limit: u64, bad_lines: BadLines) -> Self {
        Self {
            path,
            format,
            limit,
            bad_lines,
            keys: Interner::default(),
            requests: Vec::new(),
            skipped: Skipped::default(),
        }
    }

    /// Takes in all lines.
    fn read(&mut self, input: impl BufRead) -> Result<(), Failure> {
        let mut lines = Lines::new(input);
        while (self.requests.len() as u64) < self.limit {
            if (lines.number() as usize).is_multiple_of(interrupt::STEPS_BETWEEN_CHECKS) {
                interrupt::check()?;
            }
            let line = match lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => return Err(self.unreadable(lines.number(), &error)),
            };
            if let Err(bad) = self.take(line) {
                self.refuse_or_skip(lines.number(), &bad)?;
            }
        }
        Ok(())
    }

    /// Takes in one line.
    fn take(&mut self, line: &[u8]) -> Result<(), BadLine> {
        let format = match self.format {
            Some(format) => format,
            None => *self.format.insert(guess(line)?),
        };
        let record = match format {
            Format::Twitter => twitter::parse(line)?,
            Format::Cloudphysics if line == cloudphysics::HEADER && self.requests.is_empty() => {
                return Ok(());
            }
            Format::Cloudphysics => cloudphysics::parse(line)?,
        };
        let at_ns = record.at_s * NS_PER_S;
        if let Some(last) = self.requests.last().filter(|last| at_ns < last.at_ns) {
            let last_s = last.at_ns / NS_PER_S;
            let expected = format!("a time no earlier than {last_s}, that of the line before");
            return Err(BadLine::new(expected, line));
        }
        let key = self
            .keys
            .number(record.key)
            .ok_or_else(|| BadLine::new(format!("at most {} distinct keys", KeyId::LIMIT), line))?;
        self.requests
            .push(Request::new(at_ns, record.operation, key, record.ttl_s));
        Ok(())
    }

    fn refuse_or_skip(&mut self, number: u64, bad: &BadLine) -> Result<(), Failure> {
        let hopeless = self.format.is_none() && number > GUESSING_LINES;
        if self.bad_lines == BadLines::Refuse || hopeless {
            let fault = if self.format.is_none() {
                "unknown format"
            } else {
                "malformed line"
            };
            return Err(Failure::in_line(
                self.path,
                number,
                format!("{fault}: {bad}"),
            ));
        }
        self.skipped.lines += 1;
        if self.skipped.first.len() < SKIPPED_SHOWN {
            let skipped = format!("{}:{number}: skipped: {bad}", self.path.display());
            self.skipped.first.push(skipped);
        }
        Ok(())
    }

    fn unreadable(&self, number: u64, error: &std::io::Error) -> Failure {
        let problem =
            format!("truncated or unreadable: {error}; expected a complete plain or .gz file");
        Failure::in_line(self.path, number, problem)
    }

    fn finish(self) -> Result<Trace, Failure> {
        if self.requests.is_empty() {
            let problem = format!(
                "no requests: expected at least one, skipped {} lines",
                self.skipped.lines
            );
            return Err(Failure::in_line(self.path, 1, problem));
        }
        Ok(Trace {
            name: self
                .path
                .file_name()
                .unwrap_or(self.path.as_os_str())
                .to_string_lossy()
                .into_owned(),
            requests: self.requests,
            keys: self.keys.len(),
            resolution_ns: NS_PER_S,
            skipped: self.skipped,
        })
    }
}

/// Tells the format from one line.
fn guess(line: &[u8]) -> Result<Format, BadLine> {
    if line == cloudphysics::HEADER || cloudphysics::parse(line).is_ok() {
        Ok(Format::Cloudphysics)
    } else if twitter::parse(line).is_ok() {
        Ok(Format::Twitter)
    } else {
        let expected = "a line of a trace that `--format` knows (twitter: \
                        timestamp,key,key size,value size,client id,operation,TTL; cloudphysics: \
                        version,time,op,size,lbn)";
        Err(BadLine::new(expected, line))
    }
}
