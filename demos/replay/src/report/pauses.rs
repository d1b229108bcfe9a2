//! The chart of the pauses: which share of the calls takes at least how long.

use hdrhistogram::Histogram;
use plotters::prelude::{ChartBuilder, IntoLogRange, LineSeries, PathElement, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::chart::{self, Drawn};
use crate::figure::{pause, short};
use crate::replay::Outcome;

const HEIGHT: u32 = 400;

/// The least range of an axis: with fewer powers of ten, labels would stand too close.
const LEAST_RANGE: f64 = 1e3;

pub(super) fn chart(outcomes: &[Outcome], width: u32) -> String {
    let all = || outcomes.iter().map(|outcome| &outcome.pauses);
    let shortest_ns = all().map(Histogram::min).min().unwrap_or(1).max(1);
    let longest_ns = all().map(Histogram::max).max().unwrap_or(1).max(shortest_ns);
    let calls = all().map(Histogram::len).max().unwrap_or(1).max(1);
    let left = 10f64.powf((shortest_ns as f64).log10().floor());
    let right = 10f64.powf(((longest_ns + 1) as f64).log10().ceil()).max(left * LEAST_RANGE);
    let bottom = 0.1f64.powf((calls as f64).log10().ceil()).min(1.0 / LEAST_RANGE);
    chart::svg((width, HEIGHT), |canvas| -> Drawn {
        let mut chart = ChartBuilder::on(canvas)
            .margin_top(12)
            .margin_right(24)
            .x_label_area_size(46)
            .y_label_area_size(96)
            .build_cartesian_2d((left..right).log_scale(), (bottom..1.0).log_scale())?;
        chart::mesh!(chart)
            .x_label_formatter(&|ns| round_pause(*ns))
            .y_label_formatter(&|share| one_in(*share))
            .x_desc("time of a call (logarithmic)")
            .x_labels(width as usize / 85)
            .y_desc("share of calls at least as long")
            .draw()?;
        for (place, outcome) in outcomes.iter().enumerate() {
            let colour = chart::queue(place);
            chart.draw_series(LineSeries::new(exceeding(&outcome.pauses), colour.stroke_width(2)))?;
            let (x, y) = (width as i32 - 130, 34 + 22 * place as i32);
            canvas.draw(&PathElement::new(vec![(x, y), (x + 26, y)], colour.stroke_width(3)))?;
            let style = chart::letters(HPos::Left, VPos::Center);
            canvas.draw(&Text::new(outcome.name.clone(), (x + 34, y), style))?;
        }
        Ok(())
    })
}

/// The share of calls that take at least each time that occurs, as steps.
fn exceeding(pauses: &Histogram<u64>) -> Vec<(f64, f64)> {
    let calls = pauses.len() as f64;
    let mut at_least = pauses.len();
    let mut steps = Vec::new();
    for bucket in pauses.iter_recorded() {
        let ns = bucket.value_iterated_to().max(1) as f64;
        steps.push((ns, at_least as f64 / calls));
        at_least -= bucket.count_since_last_iteration();
        if at_least > 0 {
            steps.push((ns, at_least as f64 / calls));
        }
    }
    steps
}

/// A round number of ns as a pause: `10 µs`.
fn round_pause(ns: f64) -> String {
    pause(ns).replace(".00 ", " ").replace(".0 ", " ")
}

/// A share as odds: `1 in 10k`.
fn one_in(share: f64) -> String {
    match share {
        share if share >= 1.0 => "all".to_owned(),
        share => format!("1 in {}", short((1.0 / share).round())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeding_starts_with_all_and_ends_with_the_longest() {
        let mut pauses = Histogram::new(3).unwrap();
        for ns in [10, 10, 10, 500] {
            pauses.record(ns).unwrap();
        }
        assert_eq!(exceeding(&pauses), [(10.0, 1.0), (10.0, 0.25), (500.0, 0.25)]);
        assert_eq!([10.0, 1e4, 1e6].map(round_pause), ["10 ns", "10 µs", "1 ms"]);
        assert_eq!([1.0, 1e-4].map(one_in), ["all", "1 in 10k"]);
    }
}
