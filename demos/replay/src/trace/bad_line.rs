//! A line that makes no sense, with what was expected of it.

use std::fmt;

/// How much of an offending text is shown.
const SHOWN_CHARACTERS: usize = 60;

/// Why a line was refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadLine {
    expected: String,
    found: String,
}

impl BadLine {
    /// Refuses a text for not being what was expected.
    pub(super) fn new(expected: impl Into<String>, found: &[u8]) -> Self {
        Self {
            expected: expected.into(),
            found: excerpt(found),
        }
    }
}

/// The start of a text that may hold anything, made printable.
fn excerpt(text: &[u8]) -> String {
    // A character takes at most four bytes, so that this prefix holds enough of them.
    let prefix = &text[..text.len().min(4 * SHOWN_CHARACTERS)];
    let text: String = String::from_utf8_lossy(prefix)
        .chars()
        .flat_map(char::escape_debug)
        .take(SHOWN_CHARACTERS + 1)
        .collect();
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("`{}...`", &text[..end]),
        None => format!("`{text}`"),
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_line_of_any_bytes_is_printable_and_short() {
        let text = BadLine::new("a number", &[0xff; 5_000]).to_string();
        assert!(text.starts_with("expected a number, found `"), "{text}");
        assert!(
            text.ends_with("...`") && text.chars().count() < 100,
            "{text}"
        );
        let text = BadLine::new("a number", b"a\x1b[2J\nb").to_string();
        assert!(!text.contains(['\x1b', '\n']), "{text}");
    }
}
