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

/// Draws it: two by two where there is room, else one below the other.
pub(super) fn chart(outcomes: &[Outcome], width: u32) -> String {
    let panel_height = TITLE_HEIGHT + BAR_DISTANCE * outcomes.len() as i32 + 18;
    let columns = if width < chart::WIDE { 1 } else { 2 };
    let rows = PANELS.len() / columns;
    let size = (width, rows as u32 * panel_height as u32);
    chart::svg(size, |canvas| -> Drawn {
        for (area, panel) in canvas.split_evenly((rows, columns)).iter().zip(&PANELS) {
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
    let scale = Scale::of(
        outcomes.iter().map(|outcome| (panel.value_of)(outcome)),
        f64::from(width as i32 - NAME_WIDTH - VALUE_WIDTH),
    );
    let x_of = |value: f64| NAME_WIDTH + scale.length_of(value).round() as i32;
    let foot = TITLE_HEIGHT + BAR_DISTANCE * outcomes.len() as i32 - 6;
    let from_top_to_foot = |x: i32| vec![(x, TITLE_HEIGHT - 6), (x, foot)];
    for mark in scale.marks() {
        let line = from_top_to_foot(x_of(mark));
        area.draw(&PathElement::new(line, GRID.light.stroke_width(1)))?;
    }
    area.draw(&Text::new(
        format!("{}{}", panel.title, scale.name()),
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
    let axis = from_top_to_foot(NAME_WIDTH);
    area.draw(&PathElement::new(axis, GRID.light.stroke_width(1)))?;
    Ok(())
}

/// How long the bar of a value is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Scale {
    /// In proportion to the value.
    Linear {
        /// The length of a bar of 1.
        of_one: f64,
    },
    /// In proportion to its powers of ten above the one where bars begin.
    Logarithmic {
        /// The power of ten where bars begin.
        begin: f64,
        /// The largest value's power of ten.
        end: f64,
        /// The length of a bar for each power of ten.
        of_power: f64,
    },
}

impl Scale {
    /// Values whose ratio is larger cannot be told apart on a linear scale.
    const LINEAR_UP_TO: f64 = 100.0;

    /// The scale that lays these figures out in some room.
    fn of(spreads: impl Iterator<Item = Spread> + Clone, room: f64) -> Self {
        let least = spreads.clone().map(|spread| spread.median);
        let least = least.fold(f64::MAX, f64::min).max(1.0);
        let most = spreads.map(|spread| spread.most).fold(1e-9, f64::max);
        if most <= least * Self::LINEAR_UP_TO {
            return Self::Linear {
                of_one: room / most,
            };
        }
        // Below the least by up to a power of ten, so that its bar can be seen.
        let (begin, end) = ((least.log10() - 0.1).floor(), most.log10());
        Self::Logarithmic {
            begin,
            end,
            of_power: room / (end - begin),
        }
    }

    fn length_of(self, value: f64) -> f64 {
        match self {
            Self::Linear { of_one } => value * of_one,
            Self::Logarithmic {
                begin, of_power, ..
            } => (value.max(1.0).log10() - begin).max(0.0) * of_power,
        }
    }

    /// The powers of ten to be marked.
    fn marks(self) -> impl Iterator<Item = f64> {
        let powers = match self {
            Self::Linear { .. } => 0..0,
            Self::Logarithmic { begin, end, .. } => begin as i32 + 1..end.floor() as i32 + 1,
        };
        powers.map(|power| 10f64.powi(power))
    }

    /// What is to be said of it beside a title.
    fn name(self) -> &'static str {
        match self {
            Self::Linear { .. } => "",
            Self::Logarithmic { .. } => " (logarithmic)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(values: &[f64]) -> Scale {
        Scale::of(values.iter().map(|&value| exact(value)), 300.0)
    }

    #[test]
    fn scale_is_linear_unless_bars_would_vanish() {
        let linear = scale(&[1.0, 99.0]);
        assert_eq!(
            (linear.length_of(99.0), linear.length_of(33.0)),
            (300.0, 100.0)
        );
        assert_eq!((linear.marks().count(), linear.name()), (0, ""));
    }

    #[test]
    fn scale_over_many_powers_of_ten_is_logarithmic_and_shows_all_bars() {
        let wide = scale(&[1_280.0, 17_200.0, 2_990_000.0]);
        assert!((wide.length_of(2_990_000.0) - 300.0).abs() < 1e-9);
        assert!(wide.length_of(1_280.0) > 5.0);
        assert!(wide.marks().eq([1e4, 1e5, 1e6]));
        let from_a_power = scale(&[1_000.0, 1_000_000.0]);
        assert!(from_a_power.length_of(1_000.0) > 50.0);
        assert_eq!(
            scale(&[0.0, 1e6]).length_of(0.0),
            scale(&[0.0, 1e6]).length_of(1.0)
        );
    }
}
