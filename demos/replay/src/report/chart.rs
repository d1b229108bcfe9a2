//! The costs as bars: four small charts, a bar a queue each, in whatever width there is.

use timer_wheel_bench::results::Spread;

use crate::figure::pause;
use crate::replay::Outcome;

/// So that the shortest bar can be seen, in percent of the width.
const LEAST: f64 = 0.4;

/// The queues, in the order they ran.
const COLOURS: [&str; 5] = ["#1f6fd1", "#c75a12", "#1b8a6b", "#7a4cb8", "#8a750f"];

type ValueOf = fn(&Outcome) -> Spread;

const PANELS: [(&str, ValueOf); 4] = [
    ("Time of a request", |outcome| outcome.request_ns),
    ("Time of a queue call, without the cache", |outcome| outcome.call_ns),
    ("Longest advance", |outcome| Spread::of([outcome.longest_ns])),
    ("99.99th percentile of advances", |outcome| Spread::of([outcome.tail_ns])),
];

pub(super) fn bars(outcomes: &[Outcome]) -> String {
    let panels = PANELS.map(|(title, value_of)| panel(title, outcomes, value_of));
    format!("<div class=\"panels\">\n{}</div>\n", panels.concat())
}

fn panel(title: &str, outcomes: &[Outcome], value_of: ValueOf) -> String {
    let longest = outcomes.iter().map(|outcome| value_of(outcome).max).fold(1.0, f64::max);
    let row = |(outcome, colour): (&Outcome, &str)| {
        let spread = value_of(outcome);
        let [start, end, bar] = [spread.min, spread.max, spread.median].map(|ns| (100.0 * ns / longest).max(LEAST));
        format!(
            "<dt>{}</dt><dd><svg><rect width=\"{bar:.1}%\" height=\"100%\" fill=\"{colour}\"/><line x1=\"{start:.1}%\" \
             x2=\"{end:.1}%\" y1=\"50%\" y2=\"50%\"/></svg></dd><dd>{}</dd>\n",
            outcome.name,
            pause(spread.median)
        )
    };
    let rows: String = outcomes.iter().zip(COLOURS).map(row).collect();
    format!("<div><h3>{title}</h3>\n<dl class=\"bars\">\n{rows}</dl></div>\n")
}
