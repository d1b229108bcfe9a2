//! The figures of a workload at one size: a bar a subject, on a logarithmic scale.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::palette::{color_of, stands_out};
use super::{Area, Drawing, Drawn, FAINT, INK, WIDTH, decades, label, text};
use crate::figure::Figure;
use crate::ledger::Entry;

const TOP: i32 = 80;
const BAR: i32 = 22;
/// What a figure takes beyond its bars.
const HEADING: i32 = 46;
const LEFT: i32 = 150;
const RIGHT: i32 = WIDTH as i32 - 120;

pub(super) fn draw(drawing: &Drawing<'_>) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
    let figures: Vec<(Figure, Vec<&Entry>)> = drawing
        .ledger
        .figures()
        .into_iter()
        .filter(|figure| figure.workload == drawing.workload)
        .map(|figure| (figure, drawing.entries(figure).collect()))
        .collect();
    let bars: usize = figures.iter().map(|(_, entries)| entries.len()).sum();
    let height = TOP + bars as i32 * BAR + figures.len() as i32 * HEADING;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        let n = figures.first().map_or(0, |(_, entries)| entries[0].n);
        let subtitle = format!("medians, with minimum and maximum, of {n} timers; logarithmic");
        drawing.title(&root, &subtitle)?;
        let mut y = TOP;
        for (figure, entries) in figures {
            draw_figure(figure, &entries, y, &root)?;
            y += HEADING + entries.len() as i32 * BAR;
        }
        root.present()?;
    }
    Ok(svg)
}

fn draw_figure(figure: Figure, entries: &[&Entry], top: i32, root: &Area<'_>) -> Drawn {
    let heading = format!("{} [{}]", figure.name, figure.unit.name());
    root.draw(&Text::new(heading, (24, top), text(16, &INK, HPos::Left)))?;
    let (low, high) = decades(entries.iter().flat_map(|entry| [entry.min(), entry.max()]));
    let place = |value: f64| {
        let share = (value.max(low) / low).ln() / (high / low).ln();
        LEFT + (share * f64::from(RIGHT - LEFT)) as i32
    };
    for (entry, row) in entries.iter().zip(0..) {
        let y = top + 26 + row * BAR;
        let middle = y + 8;
        let color = color_of(entry.subject);
        let strength = if stands_out(entry.subject) { 1.0 } else { 0.6 };
        let name = text(14, &color, HPos::Right).pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(
            entry.subject.to_owned(),
            (LEFT - 8, middle),
            name,
        ))?;
        // Longer than nothing, so that the least of a decade can be seen.
        let bar = [(LEFT, y + 1), (place(entry.value()).max(LEFT + 2), y + 15)];
        root.draw(&Rectangle::new(bar, color.mix(strength).filled()))?;
        let range = vec![(place(entry.min()), middle), (place(entry.max()), middle)];
        root.draw(&PathElement::new(range, INK.stroke_width(1)))?;
        let value = label(entry.value(), figure.unit);
        let at = place(entry.max()).max(LEFT + 2) + 8;
        let style = text(14, &FAINT, HPos::Left).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(value, (at, middle), style))?;
    }
    Ok(())
}
