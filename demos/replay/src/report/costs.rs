//! The picture of the costs: four small charts, a bar a queue each.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, PathElement, Rectangle, SVGBackend, Text};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::chart::{self, Drawn};
use super::palette::{self, GRID, INK};
use crate::figure::{pause, three_digits};
use crate::replay::{Outcome, Spread};
use crate::table::TAIL;

const TITLE_HEIGHT: i32 = 34;
const BAR_HEIGHT: i32 = 20;
const BAR_DISTANCE: i32 = 32;
/// Room for a queue's name, left of its bar.
const NAME_WIDTH: i32 = 84;
/// Room for a value, right of the longest bar.
const VALUE_WIDTH: i32 = 90;

/// One of the small charts.
struct Panel {
    title: &'static str,
    value_of: fn(&Outcome) -> Spread,
    label: fn(f64) -> String,
}

/// A figure without a spread.
fn exact(value: f64) -> Spread {
    Spread {
        median: value,
        least: value,
        most: value,
    }
}

const PANELS: [Panel; 4] = [
    Panel {
        title: "Whole replay, ns a request",
        value_of: |outcome| outcome.request_ns,
        label: |ns| format!("{} ns", three_digits(ns)),
    },
    Panel {
        title: "Bare queue, ns a call",
        value_of: |outcome| outcome.queue_op_ns,
        label: |ns| format!("{} ns", three_digits(ns)),
    },
    Panel {
        title: "Longest advance",
        value_of: |outcome| exact(outcome.pauses.max() as f64),
        label: pause,
    },
    Panel {
        title: "99.99th percentile of advances",
        value_of: |outcome| exact(outcome.pauses.value_at_quantile(TAIL) as f64),
        label: pause,
    },
];

/// Draws it.
pub(super) fn chart(outcomes: &[Outcome]) -> String {
    let panel_height = TITLE_HEIGHT + BAR_DISTANCE * outcomes.len() as i32 + 18;
    chart::svg(2 * panel_height as u32, |canvas| -> Drawn {
        for (area, panel) in canvas.split_evenly((2, 2)).iter().zip(&PANELS) {
            draw_panel(area, panel, outcomes)?;
        }
        Ok(())
    })
}

fn draw_panel(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    panel: &Panel,
    outcomes: &[Outcome],
) -> Drawn {
    let (width, _) = area.dim_in_pixel();
    let room = f64::from(width as i32 - NAME_WIDTH - VALUE_WIDTH);
    let most = outcomes
        .iter()
        .map(|outcome| (panel.value_of)(outcome).most)
        .fold(1e-9, f64::max);
    let x_of = |value: f64| NAME_WIDTH + (value / most * room).round() as i32;
    area.draw(&Text::new(
        panel.title,
        (NAME_WIDTH, 8),
        chart::letters(HPos::Left, VPos::Top),
    ))?;
    for (place, outcome) in outcomes.iter().enumerate() {
        let spread = (panel.value_of)(outcome);
        let top = TITLE_HEIGHT + BAR_DISTANCE * place as i32;
        let (middle, bottom) = (top + BAR_HEIGHT / 2, top + BAR_HEIGHT);
        let colour = palette::queue(place);
        let end = x_of(spread.median).max(NAME_WIDTH + 1);
        area.draw(&Rectangle::new(
            [(NAME_WIDTH, top), (end, bottom)],
            colour.filled(),
        ))?;
        if spread.most > spread.least {
            let whisker = vec![(x_of(spread.least), middle), (x_of(spread.most), middle)];
            area.draw(&PathElement::new(whisker, INK.light.stroke_width(2)))?;
        }
        let name = chart::letters(HPos::Right, VPos::Center);
        area.draw(&Text::new(
            outcome.name.clone(),
            (NAME_WIDTH - 10, middle),
            name,
        ))?;
        let value = (panel.label)(spread.median);
        let beside = (x_of(spread.most).max(end) + 8, middle);
        area.draw(&Text::new(
            value,
            beside,
            chart::letters(HPos::Left, VPos::Center),
        ))?;
    }
    let foot = TITLE_HEIGHT + BAR_DISTANCE * outcomes.len() as i32;
    let axis = vec![(NAME_WIDTH, TITLE_HEIGHT - 6), (NAME_WIDTH, foot - 6)];
    area.draw(&PathElement::new(axis, GRID.light.stroke_width(1)))?;
    Ok(())
}
