//! The result as one self-contained page with charts.
//!
//! The bars of the charts are SVG within the page.

mod chart;

use crate::figure::grouped;
use crate::replay::Comparison;
use crate::setup::{Fact, Setup};
use crate::summary;

const STYLE: &str = include_str!("report/style.css");

/// Writes the page: the finding and its chart first, what it rests on below.
pub(crate) fn page(setup: &Setup<'_>, comparison: &Comparison) -> String {
    let standing = if comparison.is_clean() { "good" } else { "bad" };
    let title = escaped(&setup.trace.name);
    let finding = summary::finding(comparison);
    let finding: String = finding.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    let verdict = escaped(&summary::verdict(comparison));
    let sections = [
        "<h2>Cost side by side</h2>\n".to_owned(),
        chart::bars(&comparison.outcomes),
        "<p class=\"note\">Shorter is better. A bar is the median of the rounds, in proportion to the longest bar of its chart. \
         The thin line at its end spans the best and the worst round.</p>\n"
            .to_owned(),
        format!("<p class=\"verdict {standing}\">{verdict}</p>\n"),
        table(comparison),
        section("What was replayed", &setup.facts()),
        section("What happened in the cache", &summary::sums(comparison)),
        section("How to repeat it", &setup.repeat()),
    ]
    .concat();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Replay: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>The cost of timers in a cache</h1>\n<p>A cache served the same requests with each of these queues of timers.</p>\n\
         <ul class=\"finding\">\n{finding}</ul>\n\
         {sections}</main>\n</body>\n</html>\n"
    )
}

fn section(title: &str, facts: &[Fact]) -> String {
    let item = |(subject, text): &Fact| format!("<dt>{subject}</dt><dd>{}</dd>\n", escaped(text));
    let items: String = facts.iter().map(item).collect();
    format!("<h2>{title}</h2>\n<dl>\n{items}</dl>\n")
}

fn table(comparison: &Comparison) -> String {
    let row = |tag: &str, cells: [String; 7]| {
        let cells = cells.map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell.trim_start())));
        format!("<tr>{}</tr>\n", cells.concat())
    };
    let head = row("th", summary::HEADINGS.map(|heading| heading.replace('\n', " ")));
    let rows: String = summary::figures(comparison).into_iter().map(|cells| row("td", cells)).collect();
    let (note, calls) = (escaped(&summary::note(comparison)), grouped(comparison.calls));
    format!(
        "<h2>The figures</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead>{head}</thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n<p class=\"note\">{note} There were {calls} calls.</p>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
