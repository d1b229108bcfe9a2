//! The chart of the costs: four small ones, a bar a queue each.

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::{ChartBuilder, IntoLogRange, PathElement, Rectangle, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::chart::{self, Canvas, Drawn, INK};
use crate::figure::pause;
use crate::replay::{Outcome, Spread};
use crate::summary::TAIL;

const TITLE_HEIGHT: u32 = 34;
const AXIS_HEIGHT: u32 = 26;
const QUEUE_HEIGHT: u32 = 32;
const GAP: u32 = 18;
/// Room for a queue's name, left of its bar.
const NAME_WIDTH: u32 = 84;
/// Room for a value, right of the longest bar.
const VALUE_WIDTH: u32 = 84;

/// Bars whose ratio is larger cannot be compared on a linear scale.
const LINEAR_UP_TO: f64 = 100.0;

/// A figure of a queue, in ns.
type ValueOf = fn(&Outcome) -> Spread;

/// The small charts, each with its title.
const PANELS: [(&str, ValueOf); 4] = [
    ("Whole replay, a request", |outcome| outcome.request_ns),
    ("Bare queue, a call", |outcome| outcome.call_ns),
    ("Longest advance", |outcome| Spread::exact(outcome.pauses.max() as f64)),
    ("99.99th percentile of advances", |outcome| Spread::exact(outcome.pauses.value_at_quantile(TAIL) as f64)),
];

/// Draws it: two by two where there is room, else one below the other.
pub(super) fn chart(outcomes: &[Outcome], width: u32) -> String {
    let columns = if width < chart::WIDE { 1 } else { 2 };
    let rows = PANELS.len() / columns;
    let height = TITLE_HEIGHT + QUEUE_HEIGHT * outcomes.len() as u32 + AXIS_HEIGHT + GAP;
    chart::svg((width, height * rows as u32), |canvas| {
        for (area, (title, value_of)) in canvas.split_evenly((rows, columns)).iter().zip(PANELS) {
            let spreads: Vec<Spread> = outcomes.iter().map(value_of).collect();
            let least = spreads.iter().map(|spread| spread.least).fold(f64::MAX, f64::min).max(1.0);
            let most = spreads.iter().map(|spread| spread.most).fold(1.0, f64::max);
            if most <= least * LINEAR_UP_TO {
                draw(canvas, area, title, outcomes, &spreads, 0.0, 0.0..most)?;
            } else {
                // From a power of ten on, so that the shortest bar can be seen.
                let begin = 10f64.powf((least.log10() - 0.1).floor());
                let title = format!("{title} (logarithmic)");
                draw(canvas, area, &title, outcomes, &spreads, begin, (begin..most).log_scale())?;
            }
        }
        Ok(())
    })
}

/// Draws one of the small charts, whose bars begin at a value, over a range.
fn draw<X>(
    canvas: &Canvas<'_>,
    area: &Canvas<'_>,
    title: &str,
    outcomes: &[Outcome],
    spreads: &[Spread],
    begin: f64,
    range: X,
) -> Drawn
where
    X: AsRangedCoord<Value = f64, CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>>,
{
    let (title_area, area) = area.split_vertically(TITLE_HEIGHT);
    let style = chart::letters(HPos::Left, VPos::Top);
    title_area.draw(&Text::new(title, (NAME_WIDTH as i32, 8), style))?;
    let mut panel = ChartBuilder::on(&area)
        .margin_right(VALUE_WIDTH)
        .margin_bottom(GAP)
        .x_label_area_size(AXIS_HEIGHT)
        .y_label_area_size(NAME_WIDTH)
        .build_cartesian_2d(range, outcomes.len() as f64..0.0)?;
    chart::mesh!(panel)
        .disable_y_mesh()
        .disable_y_axis()
        .x_labels(4)
        .x_label_formatter(&|ns| round_pause(*ns))
        .draw()?;
    for (place, (outcome, spread)) in outcomes.iter().zip(spreads).enumerate() {
        let middle = place as f64 + 0.5;
        let x_of = |value: f64| panel.backend_coord(&(value.max(begin), middle)).0;
        let y = panel.backend_coord(&(begin.max(1.0), middle)).1;
        let [start, end, least, most] = [begin, spread.median, spread.least, spread.most].map(x_of);
        let bar = [(start, y - 10), (end.max(start + 1), y + 10)];
        canvas.draw(&Rectangle::new(bar, chart::queue(place).filled()))?;
        if most > least {
            let line = vec![(least, y), (most, y)];
            let ends = [least, most].map(|x| vec![(x, y - 4), (x, y + 4)]);
            for path in ends.into_iter().chain([line]) {
                canvas.draw(&PathElement::new(path, INK.stroke_width(2)))?;
            }
        }
        let name = chart::letters(HPos::Right, VPos::Center);
        canvas.draw(&Text::new(outcome.name.clone(), (start - 10, y), name))?;
        let value = chart::letters(HPos::Left, VPos::Center);
        canvas.draw(&Text::new(pause(spread.median), (most.max(end) + 8, y), value))?;
    }
    Ok(())
}

/// A round number of ns as a pause: `10 µs`.
pub(super) fn round_pause(ns: f64) -> String {
    pause(ns).replace(".00 ", " ").replace(".0 ", " ")
}
