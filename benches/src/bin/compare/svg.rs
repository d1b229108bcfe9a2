//! The results as drawings: a file a workload, cost against the number of timers.
//!
//! Each is a white card of its own, so that it is as legible on a dark page as on a light one, and its
//! lines and bars carry their subjects' names, so that no legend has to be matched by colour.
//!
//! Those of the documentation are made by
//! `compare --n 1000,10000,100000,1000000,10000000 --workloads W1a,W1b,W1c,W2,W3,W4,W8
//! --subjects wheel,textbook,slab,btree+slab,delayqueue,hhwt --svg docs/plots`.

mod bars;
mod lines;
mod palette;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::figure::{Figure, Unit, Workload};
use crate::ledger::{Entry, Ledger};

/// What a drawing shows of a workload.
struct Drawing<'a> {
    workload: Workload,
    ledger: &'a Ledger,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

const WIDTH: u32 = 960;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(110, 110, 110);

/// Writes a file for each workload that was measured.
pub(crate) fn write(directory: &Path, ledger: &Ledger) -> io::Result<()> {
    for workload in ledger.workloads() {
        let drawing = Drawing { workload, ledger };
        let path = directory.join(format!("{}.svg", workload.name().to_lowercase()));
        fs::write(path, drawing.draw().map_err(io::Error::other)?)?;
    }
    Ok(())
}

impl Drawing<'_> {
    fn draw(&self) -> Result<String, DrawingAreaErrorKind<io::Error>> {
        let main = self.workload.main_figure();
        if self.sizes(main).len() > 1 {
            lines::draw(self, main)
        } else {
            bars::draw(self)
        }
    }

    /// The sizes at which a figure was measured, ascending.
    fn sizes(&self, figure: Figure) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.entries(figure).map(|entry| entry.n).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn entries(&self, figure: Figure) -> impl Iterator<Item = &Entry> {
        self.ledger
            .entries()
            .iter()
            .filter(move |entry| entry.figure == figure)
    }

    fn title(&self, area: &Area<'_>, subtitle: &str) -> Drawn {
        let title = format!("{}: {}", self.workload.name(), self.workload.title());
        area.draw(&Text::new(title, (24, 18), text(20, &INK, HPos::Left)))?;
        area.draw(&Text::new(
            subtitle.to_owned(),
            (24, 46),
            text(14, &FAINT, HPos::Left),
        ))
    }
}

fn text(size: i32, color: &RGBColor, anchor: HPos) -> TextStyle<'static> {
    (FONT, size)
        .into_font()
        .color(color)
        .pos(Pos::new(anchor, VPos::Top))
}

/// A value in a unit that keeps it short.
fn label(value: f64, unit: Unit) -> String {
    let (value, unit) = match unit {
        Unit::Nanoseconds if value >= 1e9 => (value / 1e9, "s"),
        Unit::Nanoseconds if value >= 1e6 => (value / 1e6, "ms"),
        Unit::Nanoseconds if value >= 1e3 => (value / 1e3, "\u{b5}s"),
        unit => (value, unit.name()),
    };
    let value = match value {
        value if value >= 99.95 || value.fract() == 0.0 => format!("{value:.0}"),
        value if value >= 0.95 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    };
    format!("{value} {unit}")
}

/// The powers of ten that enclose some values; a decade if they are all the same.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for value in values.filter(|&value| value > 0.0) {
        low = low.min(value);
        high = high.max(value);
    }
    if high == 0.0 {
        return (1.0, 10.0);
    }
    let power = |value: f64| 10_f64.powf(value);
    let (first, last) = (low.log10().floor(), high.log10().ceil());
    (power(first), power(last.max(first + 1.0)))
}
