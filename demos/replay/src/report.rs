//! The result as one self-contained page with pictures.
//!
//! The pictures are SVG within the page. They are drawn in the colours of the light [`palette`]; the page's
//! style sheet redefines each of these colours for a dark screen, by the attribute it is written in. Each
//! is drawn twice, for a wide screen and for a phone's, because letters that are scaled down with a picture
//! cannot be read; the style sheet shows one of them.

mod chart;
mod costs;
mod palette;
mod pauses;
mod timeline;

use crate::figure::{grouped, pause};
use crate::replay::Comparison;
use crate::setup::{Fact, Setup};
use crate::table;

const STYLE: &str = include_str!("report/style.css");

/// Writes the page.
pub(crate) fn page(setup: &Setup, comparison: &Comparison) -> String {
    let style = format!("{STYLE}\n{}", palette::dark_style());
    let standing = if comparison.is_clean() { "good" } else { "bad" };
    let verdict = escaped(&table::verdict(comparison));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Replay: {title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n\
         <h1>A cache on timers, replayed</h1>\n\
         <p class=\"verdict {standing}\">{verdict}</p>\n{facts}{workload}{queues}{pictures}\
         {run}</main>\n</body>\n</html>\n",
        title = escaped(&setup.trace.name),
        facts = section("What was replayed", &setup.facts()),
        workload = section("What happened in the cache", &table::sums(comparison)),
        queues = queues_table(comparison),
        pictures = pictures(comparison),
        run = section("How to repeat it", &setup.run()),
    )
}

/// Facts under a heading.
fn section(title: &str, facts: &[Fact]) -> String {
    let items: String = facts
        .iter()
        .map(|fact| {
            format!(
                "<dt>{}</dt><dd>{}</dd>\n",
                fact.subject,
                escaped(&fact.text)
            )
        })
        .collect();
    format!("<h2>{title}</h2>\n<dl>\n{items}</dl>\n")
}

fn queues_table(comparison: &Comparison) -> String {
    let (headings, rows) = table::queue_figures(comparison);
    let headings: String = headings
        .iter()
        .map(|heading| format!("<th>{}</th>", heading.join(" ").trim_start()))
        .collect();
    let rows: String = rows
        .iter()
        .map(|row| {
            let cells: String = row
                .iter()
                .map(|cell| format!("<td>{}</td>", escaped(cell)))
                .collect();
            format!("<tr>{cells}</tr>\n")
        })
        .collect();
    format!(
        "<h2>What each queue took</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n\
         <thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n\
         <p class=\"note\">{note} A queue call is any of the {calls} calls of the queue; they are timed on \
         the bare queue, without the cache.</p>\n",
        note = escaped(table::NOTE),
        calls = grouped(comparison.queue_ops),
    )
}

fn pictures(comparison: &Comparison) -> String {
    let timeline = &comparison.outcomes[0].findings.timeline;
    let longest = comparison
        .outcomes
        .iter()
        .map(|outcome| format!("{} {}", outcome.name, pause(outcome.pauses.max() as f64)));
    let longest = longest.collect::<Vec<_>>().join(", ");
    [
        figure(
            "Live timers over the trace",
            "Timers set at the end of each of the picture's bins.",
            |width| timeline::live(timeline, width),
        ),
        figure(
            "Expiries over the trace",
            "Entries whose time was up, as a rate over each bin.",
            |width| timeline::expiries(timeline, width),
        ),
        figure(
            "Pauses: how often does an advance take longer?",
            &format!(
                "The share of calls to advance that take at least so long, both scales logarithmic; lower \
                 and further left is better. 1 in 10k is the 99.99th percentile. Longest: {longest}. Each \
                 call's time is its least over the rounds, reading the clock included."
            ),
            |width| pauses::chart(&comparison.outcomes, width),
        ),
        figure(
            "Cost side by side",
            "Medians of the rounds; the thin line spans the best and the worst round. Shorter is better. Where \
             the bars would differ a hundredfold their scale is logarithmic, a line a power of ten.",
            |width| costs::chart(&comparison.outcomes, width),
        ),
    ]
    .concat()
}

/// A picture for screens of either width.
fn figure(title: &str, caption: &str, draw: impl Fn(u32) -> String) -> String {
    let caption = escaped(caption);
    let picture = |class: &str, width| {
        let svg = draw(width);
        format!("<div class=\"{class}\" role=\"img\" aria-label=\"{title}\">\n{svg}</div>\n")
    };
    format!(
        "<figure>\n<h2>{title}</h2>\n{}{}<figcaption>{caption}</figcaption>\n</figure>\n",
        picture("wide", chart::WIDE),
        picture("narrow", chart::NARROW)
    )
}

/// A text as HTML.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            other => html.push(other),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_text_opens_no_tags_and_closes_no_attributes() {
        assert_eq!(
            escaped("<a href=\"x\">&"),
            "&lt;a href=&quot;x&quot;&gt;&amp;"
        );
    }
}
