//! Cost against the number of timers: a line a subject; both axes logarithmic.

use std::error::Error;
use std::ops::Range;

use plotters::prelude::*;
use timer_wheel_bench::results::{Measured, Results};

use crate::table::{grouped, human};

/// Those that are drawn, each with its colour. The first stands out.
const SUBJECTS: [(&str, RGBColor); 6] = [
    ("wheel", RGBColor(196, 62, 0)),
    ("textbook", RGBColor(0, 95, 158)),
    ("slab", RGBColor(102, 102, 102)),
    ("btree+slab", RGBColor(0, 115, 79)),
    ("delayqueue", RGBColor(160, 44, 120)),
    ("hhwt", RGBColor(106, 61, 154)),
];

/// The figure of the subjects, at all sizes up to a million.
pub(crate) fn draw(results: &Results, figure: &str) -> Result<String, String> {
    let mut all: Vec<&Measured> = results.figures.iter().filter(|it| it.figure == figure).collect();
    all.retain(|it| it.n <= 1_000_000 && SUBJECTS.iter().any(|(name, _)| it.subject == *name));
    all.sort_by_key(|it| it.n);
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return Err(format!("'{figure}' was not measured"));
    };
    let values = all.iter().map(|it| it.value().max(0.1));
    let (low, high) = values.fold((f64::MAX, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let mut svg = String::new();
    draw_on(&mut svg, figure, first.n..last.n + 1, low / 1.5..high * 1.5, &all)
        .map_err(|error| format!("'{figure}': {error}"))?;
    Ok(svg)
}

fn draw_on(
    svg: &mut String,
    figure: &str,
    sizes: Range<u64>,
    values: Range<f64>,
    all: &[&Measured],
) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::with_string(svg, (720, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(format!("{figure}, against the number of timers"), ("sans-serif", 18))
        .margin(12)
        .margin_right(40)
        .x_label_area_size(32)
        .y_label_area_size(72)
        .build_cartesian_2d(sizes.log_scale(), values.log_scale())?;
    let unit = &all[0].unit;
    let y_label = |value: &f64| human(*value, unit);
    chart.configure_mesh().x_label_formatter(&|&n| grouped(n)).y_label_formatter(&y_label).draw()?;
    for (name, color) in SUBJECTS {
        let style = color.stroke_width(if name == "wheel" { 4 } else { 2 });
        let line = all.iter().filter(|it| it.subject == name).map(|it| (it.n, it.value().max(0.1)));
        let line = LineSeries::new(line, style).point_size(3);
        let sample = move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], style);
        chart.draw_series(line)?.label(name).legend(sample);
    }
    chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).background_style(WHITE.mix(0.8)).draw()?;
    drop(chart);
    Ok(root.present()?)
}
