//! Charts over trace time.

use plotters::prelude::{AreaSeries, ChartBuilder};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::chart::{self, Drawn, WORKLOAD};
use crate::figure::short;
use crate::timeline::Timeline;

const HEIGHT: u32 = 260;

pub(super) fn live(timeline: &Timeline, width: u32) -> String {
    let values: Vec<f64> = timeline.live.iter().map(|&live| live as f64).collect();
    area(timeline, &values, "live timers", width)
}

pub(super) fn expiries(timeline: &Timeline, width: u32) -> String {
    let rates = timeline.expired.iter().map(|&expired| expired as f64 / timeline.bin_s());
    area(timeline, &rates.collect::<Vec<_>>(), "expiries a second", width)
}

/// The unit that suits a span, with its length in seconds.
fn unit_of(span_s: f64) -> (&'static str, f64) {
    match span_s {
        span_s if span_s < 1.0 => ("ms", 1e-3),
        span_s if span_s < 300.0 => ("s", 1.0),
        span_s if span_s < 3.0 * 3_600.0 => ("min", 60.0),
        span_s if span_s < 3.0 * 86_400.0 => ("h", 3_600.0),
        _ => ("days", 86_400.0),
    }
}

/// One value a bin, as an area of steps.
fn area(timeline: &Timeline, values: &[f64], y_title: &str, width: u32) -> String {
    let (unit, unit_s) = unit_of(timeline.bin_s() * values.len() as f64);
    let bin = timeline.bin_s() / unit_s;
    let top = values.iter().copied().fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.08 } else { 1.0 };
    let steps = values
        .iter()
        .enumerate()
        .flat_map(|(place, &value)| [(place as f64 * bin, value), ((place + 1) as f64 * bin, value)]);
    chart::svg((width, HEIGHT), |canvas| -> Drawn {
        let mut chart = ChartBuilder::on(canvas)
            .margin_top(8)
            .margin_right(20)
            .x_label_area_size(46)
            .y_label_area_size(78)
            .build_cartesian_2d(0.0..values.len() as f64 * bin, 0.0..top)?;
        chart::mesh!(chart)
            .x_labels(width as usize / 85)
            .y_labels(5)
            .x_label_formatter(&|x| short(*x))
            .y_label_formatter(&|y| short(*y))
            .x_desc(format!("trace time ({unit})"))
            .y_desc(y_title)
            .draw()?;
        let series = AreaSeries::new(steps, 0.0, WORKLOAD.mix(0.25));
        chart.draw_series(series.border_style(WORKLOAD.stroke_width(2)))?;
        Ok(())
    })
}
