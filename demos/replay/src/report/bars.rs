//! The costs as bars: four small charts, a bar a queue each, in whatever width there is.

use super::chart::{self, INK};
use crate::figure::pause;
use crate::replay::{Outcome, Spread};
use crate::summary::TAIL;

/// So that the shortest bar can be seen, in percent of the width.
const LEAST: f64 = 0.4;

/// A figure of a queue, in ns.
type ValueOf = fn(&Outcome) -> Spread;

/// The small charts, each with its title.
const PANELS: [(&str, ValueOf); 4] = [
    ("Time of a request", |outcome| outcome.request_ns),
    ("Time of a queue call, without the cache", |outcome| outcome.call_ns),
    ("Longest advance", |outcome| Spread::exact(outcome.pauses.max() as f64)),
    ("99.99th percentile of advances", |outcome| Spread::exact(outcome.pauses.value_at_quantile(TAIL) as f64)),
];

pub(super) fn charts(outcomes: &[Outcome]) -> String {
    let panels = PANELS.map(|(title, value_of)| {
        let spreads: Vec<Spread> = outcomes.iter().map(value_of).collect();
        panel(title, outcomes, &spreads)
    });
    format!("<div class=\"panels\">\n{}</div>\n", panels.concat())
}

fn panel(title: &str, outcomes: &[Outcome], spreads: &[Spread]) -> String {
    let most = spreads.iter().map(|spread| spread.most).fold(1.0, f64::max);
    let row = |(place, (outcome, spread)): (usize, (&Outcome, &Spread))| {
        let [start, end, bar] = [spread.least, spread.most, spread.median].map(|ns| (100.0 * ns / most).max(LEAST));
        let [colour, ink] = [chart::queue(place), INK].map(chart::code);
        format!(
            "<dt>{}</dt><dd><svg><rect width=\"{bar:.1}%\" height=\"100%\" fill=\"{colour}\"/><line x1=\"{start:.1}%\" \
             x2=\"{end:.1}%\" y1=\"50%\" y2=\"50%\" stroke=\"{ink}\" stroke-width=\"2\"/></svg></dd><dd>{}</dd>\n",
            outcome.name,
            pause(spread.median)
        )
    };
    let rows: String = outcomes.iter().zip(spreads).enumerate().map(row).collect();
    format!("<div><h3>{title}</h3>\n<dl class=\"bars\">\n{rows}</dl></div>\n")
}
