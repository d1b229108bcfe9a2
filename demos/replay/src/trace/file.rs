//! A trace read from a file, plain or compressed with gzip, line by line.
//!
//! The file is streamed: only the decoded requests and the keys stay in memory, 24 bytes a request and about 40 a
//! key. A last line without a line end counts. A compressed stream that ends early is an error, and so is a time
//! earlier than that of the line before.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use flate2::bufread::MultiGzDecoder;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::format::{self, Format, Record, refusal};
use super::{KeyId, Request, Trace};
use crate::figure::NS_PER_S;
use crate::interrupt;
use crate::progress::Progress;

/// The longest line, in bytes; a trace's lines are a few hundred.
const LINE_LIMIT: u64 = 1 << 16;

/// The first two bytes of every gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

const BUFFER_BYTES: usize = 1 << 18;

/// Reads a trace, or so many requests of it.
pub(crate) fn load(path: &Path, limit: Option<u64>, progress: Progress) -> Result<Trace> {
    let name = path.display();
    let opened =
        File::open(path).with_context(|| format!("{name}: expected a trace, plain or .gz; cannot be opened"))?;
    let metadata = opened.metadata().ok();
    if metadata.as_ref().is_some_and(|metadata| metadata.is_dir()) {
        bail!("{name}: is a folder; expected a trace, plain or .gz");
    }
    let bar = progress.stage("reading the trace", metadata.map_or(0, |metadata| metadata.len()));
    let mut input = BufReader::with_capacity(BUFFER_BYTES, bar.wrap_read(opened));
    let mut reading = Reading { path, format: None, line: 1, keys: IndexSet::default(), requests: Vec::new() };
    let limit = limit.unwrap_or(u64::MAX);
    let start = input.fill_buf().map_err(|error| reading.unreadable(error))?;
    if start.starts_with(&GZIP_MAGIC) {
        reading.read(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(input)), limit)?;
    } else {
        reading.read(input, limit)?;
    }
    bar.finish_and_clear();
    ensure!(!reading.requests.is_empty(), "{name}:1: no requests: expected at least one");
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Trace { name, requests: reading.requests, keys: reading.keys.len() as u32 })
}

struct Reading<'a> {
    path: &'a Path,
    /// How lines are read, as the first one tells.
    format: Option<Format>,
    /// The number of the current line, from 1.
    line: u64,
    /// The keys, each at its number.
    keys: IndexSet<u128, FxBuildHasher>,
    requests: Vec<Request>,
}

impl Reading<'_> {
    fn read(&mut self, mut input: impl BufRead, limit: u64) -> Result<()> {
        let mut line = Vec::new();
        while (self.requests.len() as u64) < limit {
            if self.line.is_multiple_of(interrupt::STEPS_BETWEEN_CHECKS as u64) {
                interrupt::check()?;
            }
            line.clear();
            let bytes = (&mut input).take(LINE_LIMIT).read_until(b'\n', &mut line);
            match bytes.map_err(|error| self.unreadable(error))? as u64 {
                0 => break,
                LINE_LIMIT => {
                    return Err(self.error(&refusal("a line of a trace, which is shorter", &line)));
                }
                _ => {}
            }
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            self.take(line).map_err(|problem| self.error(&problem))?;
            self.line += 1;
        }
        Ok(())
    }

    /// Takes in one line, or says what was expected of it.
    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        let format = match self.format {
            Some(format) => format,
            None => *self.format.insert(format::guess(line)?),
        };
        if self.line == 1 && format::is_header(line) {
            return Ok(());
        }
        let record = format(line).map_err(|problem| format!("malformed line: {problem}"))?;
        let at_ns = record.at_s * NS_PER_S;
        if let Some(last) = self.requests.last().filter(|last| at_ns < last.at_ns) {
            let last_s = last.at_ns / NS_PER_S;
            return Err(refusal(format!("a time no earlier than {last_s}, that of the line before"), line));
        }
        let (number, _) = self.keys.insert_full(record.key);
        let key = u32::try_from(number).map_err(|_| refusal("at most 2^32 distinct keys", line))?;
        let Record { operation, ttl_s, .. } = record;
        self.requests.push(Request { at_ns, ttl_s, key: KeyId(key), operation });
        Ok(())
    }

    fn unreadable(&self, error: io::Error) -> anyhow::Error {
        self.error(&format!("truncated or unreadable: {error}; expected a complete plain or .gz file"))
    }

    fn error(&self, problem: &str) -> anyhow::Error {
        anyhow!("{}:{}: {problem}", self.path.display(), self.line)
    }
}
