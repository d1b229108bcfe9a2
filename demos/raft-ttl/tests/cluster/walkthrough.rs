//! The documentation shows the loop as it is.

const DOCUMENT: &str = include_str!("../../../../docs/ttl.md");
const SOURCE: &str = include_str!("../../src/drive.rs");

/// Lines without what they are indented by.
fn flat(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_start).collect()
}

#[test]
fn document_shows_the_loop_as_it_is() {
    let (_, section) = DOCUMENT.split_once("## The loop on a real engine").unwrap();
    let (_, shown) = section.split_once("```rust,ignore\n").unwrap();
    let (shown, _) = shown.split_once("\n```").unwrap();
    let (shown, source) = (flat(shown), flat(SOURCE));
    assert!(shown.len() > 30, "all of the loop");
    let is_there = source.windows(shown.len()).any(|lines| lines == shown);
    assert!(is_there, "docs/ttl.md and src/drive.rs differ");
}
