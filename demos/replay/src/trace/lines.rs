//! The numbered lines of a stream of bytes that may hold anything.

use std::io::{self, BufRead, Read};

/// The longest line that is read in full, in bytes; a trace's lines are a few hundred.
const LENGTH_LIMIT: u64 = 1 << 16;

/// One line after the other, each with its number.
pub(super) struct Lines<R> {
    input: R,
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Starts before line 1.
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            number: 0,
            line: Vec::new(),
        }
    }

    /// The number of the line that was read last, or that reading failed in.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line, without its end (`\n` or `\r\n`), or `None` after the last.
    ///
    /// A line past the limit comes back cut short, which no format takes for a whole one.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        self.number += 1;
        (&mut self.input)
            .take(LENGTH_LIMIT)
            .read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            return Ok(None);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        } else if self.line.len() as u64 == LENGTH_LIMIT {
            self.skip_rest()?;
            self.line.clear();
            self.line
                .extend_from_slice(b"<a line longer than any request>");
        }
        Ok(Some(&self.line))
    }

    /// Reads to the end of an overlong line.
    fn skip_rest(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let (used, ended) = match buffer.iter().position(|&byte| byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.input.consume(used);
            if ended {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_takes_either_line_end_and_a_missing_one() {
        let mut lines = Lines::new(&b"a\nb\r\n\nc"[..]);
        for (number, expected) in [(1, &b"a"[..]), (2, b"b"), (3, b""), (4, b"c")] {
            assert_eq!(lines.next().unwrap(), Some(expected));
            assert_eq!(lines.number(), number);
        }
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn next_of_an_overlong_line_skips_it_whole() {
        for length in [
            LENGTH_LIMIT - 1,
            LENGTH_LIMIT,
            LENGTH_LIMIT + 1,
            5 * LENGTH_LIMIT,
        ] {
            let mut text = vec![b'1'; length as usize];
            text.extend_from_slice(b"\nnext");
            let mut lines = Lines::new(&text[..]);
            let first = lines.next().unwrap().unwrap();
            assert_eq!(first.len() as u64 == length, length < LENGTH_LIMIT);
            assert_eq!(lines.next().unwrap(), Some(&b"next"[..]));
            assert_eq!(lines.number(), 2);
        }
    }
}
