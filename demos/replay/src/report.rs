//! The result as one self-contained page with pictures.
//!
//! The pictures are SVG within the page. They are drawn in the colours of the light [`palette`]; the page's
//! style sheet redefines each of these colours for a dark screen, by the attribute it is written in.

mod chart;
mod costs;
mod palette;
mod pauses;
mod timeline;

use crate::figure::{grouped, pause};
use crate::replay::Comparison;
use crate::setup::Fact;
use crate::table;

const STYLE: &str = include_str!("report/style.css");

/// Writes the page.
pub(crate) fn page(facts: &[Fact], comparison: &Comparison) -> String {
    let style = format!("{STYLE}\n{}", palette::dark_style());
    let standing = if comparison.is_clean() { "good" } else { "bad" };
    let verdict = escaped(&table::verdict(comparison));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Replay: {title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n\
         <h1>A cache on timers, replayed</h1>\n\
         <p class=\"verdict {standing}\">{verdict}</p>\n{facts}{workload}{queues}{pictures}\
         </main>\n</body>\n</html>\n",
        title = facts
            .first()
            .map_or_else(String::new, |fact| escaped(&fact.text)),
        facts = facts_list(facts),
        workload = workload_table(comparison),
        queues = queues_table(comparison),
        pictures = pictures(comparison),
    )
}

fn facts_list(facts: &[Fact]) -> String {
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
    format!("<h2>What was run</h2>\n<dl>\n{items}</dl>\n")
}

fn workload_table(comparison: &Comparison) -> String {
    let tiles: String = table::workload_counts(comparison)
        .iter()
        .map(|(name, count)| {
            let count = grouped(*count);
            format!("<div class=\"tile\"><span>{name}</span><strong>{count}</strong></div>\n")
        })
        .collect();
    format!("<h2>What happened in the cache</h2>\n<div class=\"tiles\">\n{tiles}</div>\n")
}

fn queues_table(comparison: &Comparison) -> String {
    let (headings, rows) = table::queue_figures(comparison);
    let headings: String = headings
        .iter()
        .map(|heading| format!("<th>{heading}</th>"))
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
        "<h2>What each queue did and took</h2>\n<div class=\"scroll\"><table>\n\
         <thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n\
         <p class=\"note\">Speed-ups are against {baseline}, a BTreeSet with a slab of values that has the \
         same features. textbook is a wheel of linked lists, one node a timer. A queue op is any of the \
         {ops} calls of the queue; their cost is measured on the bare queue, without the cache.</p>\n",
        baseline = table::BASELINE,
        ops = grouped(comparison.queue_ops),
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
            timeline::live(timeline),
        ),
        figure(
            "Expiries over the trace",
            "Entries whose time was up, as a rate over each bin.",
            timeline::expiries(timeline),
        ),
        figure(
            "Pauses: how often does an advance take longer?",
            &format!(
                "The share of calls to advance that take at least so long, both scales logarithmic; lower \
                 and further left is better. 1 in 10k is the 99.99th percentile. Longest: {longest}. Each \
                 call's time is its least over the rounds, reading the clock included."
            ),
            pauses::chart(&comparison.outcomes),
        ),
        figure(
            "Cost side by side",
            "Medians of the rounds; the thin line spans the best and the worst round. Shorter is better.",
            costs::chart(&comparison.outcomes),
        ),
    ]
    .concat()
}

fn figure(title: &str, caption: &str, svg: String) -> String {
    let caption = escaped(caption);
    format!("<figure>\n<h2>{title}</h2>\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n")
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
