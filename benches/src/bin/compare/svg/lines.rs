//! Cost against the number of timers, a line a subject, both axes logarithmic.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::palette::{color_of, stands_out};
use super::{Drawing, FAINT, FONT, INK, WIDTH, decades, label, text};
use crate::figure::Figure;
use crate::ledger::Entry;

const HEIGHT: u32 = 560;
/// Room for the names to the right of the lines.
const NAMES: u32 = 150;
/// The least distance of two names.
const NAME_HEIGHT: i32 = 17;

pub(super) fn draw(
    drawing: &Drawing<'_>,
    figure: Figure,
) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        root.fill(&WHITE)?;
        let subtitle = format!(
            "{}: median, with minimum and maximum, against the number of timers",
            figure.name
        );
        drawing.title(&root, &subtitle)?;
        draw_chart(drawing, figure, &root)?;
        root.present()?;
    }
    Ok(svg)
}

fn draw_chart(drawing: &Drawing<'_>, figure: Figure, root: &super::Area<'_>) -> super::Drawn {
    let sizes = drawing.sizes(figure);
    let (first, last) = (sizes[0] as f64, sizes[sizes.len() - 1] as f64);
    let extremes = drawing
        .entries(figure)
        .flat_map(|entry| [entry.min(), entry.max()]);
    let (low, high) = decades(extremes);
    let mut chart = ChartBuilder::on(root)
        .margin_top(76)
        .margin_bottom(18)
        .margin_left(20)
        .margin_right(NAMES)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (first * 0.9..last * 1.1).log_scale(),
            (low..high).log_scale(),
        )?;
    chart
        .configure_mesh()
        .bold_line_style(RGBColor(0xd8, 0xd8, 0xd8))
        .light_line_style(RGBColor(0xf1, 0xf1, 0xf1))
        .axis_style(FAINT)
        .label_style((FONT, 14).into_font().color(&INK))
        .x_label_formatter(&|n| timers(*n))
        .y_label_formatter(&|value| label(*value, figure.unit))
        .x_desc("timers")
        .draw()?;

    let mut names = Vec::new();
    for line in lines(drawing, figure) {
        let name = line[0].subject;
        let color = color_of(name);
        let width = if stands_out(name) { 4 } else { 2 };
        // Nothing that takes no time can stand on a logarithmic axis.
        let place = |n: usize, value: f64| (n as f64, value.max(low));
        chart.draw_series(line.iter().map(|entry| {
            let range = vec![place(entry.n, entry.min()), place(entry.n, entry.max())];
            PathElement::new(range, color.mix(0.55).stroke_width(1))
        }))?;
        let medians: Vec<_> = line
            .iter()
            .map(|entry| place(entry.n, entry.value()))
            .collect();
        chart.draw_series(
            medians
                .iter()
                .map(|&at| Circle::new(at, width + 1, color.filled())),
        )?;
        if let Some(end) = medians.last() {
            names.push((chart.backend_coord(end), name));
        }
        chart.draw_series(LineSeries::new(medians, color.stroke_width(width as u32)))?;
    }
    draw_names(names, root)
}

/// The entries of each subject, by size.
fn lines<'a>(drawing: &'a Drawing<'_>, figure: Figure) -> Vec<Vec<&'a Entry>> {
    let mut lines: Vec<Vec<&Entry>> = Vec::new();
    for entry in drawing.entries(figure) {
        match lines
            .iter_mut()
            .find(|line| line[0].subject == entry.subject)
        {
            Some(line) => line.push(entry),
            None => lines.push(vec![entry]),
        }
    }
    for line in &mut lines {
        line.sort_by_key(|entry| entry.n);
    }
    lines
}

/// Writes each name beside the end of its line, moved as little as it takes not to hide another.
fn draw_names(mut names: Vec<((i32, i32), &str)>, root: &super::Area<'_>) -> super::Drawn {
    names.sort_by_key(|&((_, y), _)| y);
    let wanted: Vec<i32> = names.iter().map(|&((_, y), _)| y).collect();
    let right = (WIDTH - NAMES) as i32;
    for (&((x, y), name), at) in names.iter().zip(spread(&wanted)) {
        let color = color_of(name);
        if x + 8 < right || (at - y).abs() > 3 {
            let path = vec![(x + 6, y), (right + 6, at)];
            root.draw(&PathElement::new(path, color.mix(0.4)))?;
        }
        let style = text(if stands_out(name) { 17 } else { 14 }, &color, HPos::Left);
        root.draw(&Text::new(name.to_owned(), (right + 10, at - 8), style))?;
    }
    Ok(())
}

/// Moves ascending places apart until no two are closer than a name is high: those that crowd one
/// another are set evenly around their middle.
fn spread(wanted: &[i32]) -> Vec<i32> {
    /// Neighbours without a gap: how many, and the sum of where each would have the first be.
    struct Crowd {
        names: i32,
        firsts: i32,
    }
    impl Crowd {
        fn first(&self) -> i32 {
            let most = HEIGHT as i32 - 40 - (self.names - 1) * NAME_HEIGHT;
            (self.firsts / self.names).min(most)
        }
    }
    let mut crowds: Vec<Crowd> = Vec::new();
    for &place in wanted {
        let mut crowd = Crowd {
            names: 1,
            firsts: place,
        };
        while let Some(above) = crowds.last() {
            if above.first() + above.names * NAME_HEIGHT <= crowd.first() {
                break;
            }
            crowd.firsts += above.firsts - crowd.names * above.names * NAME_HEIGHT;
            crowd.names += above.names;
            crowds.pop();
        }
        crowds.push(crowd);
    }
    crowds
        .iter()
        .flat_map(|crowd| (0..crowd.names).map(|name| crowd.first() + name * NAME_HEIGHT))
        .collect()
}

fn timers(n: f64) -> String {
    match n {
        n if n >= 1e6 => format!("{} M", n / 1e6),
        n if n >= 1e3 => format!("{},000", n / 1e3),
        n => n.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_keeps_the_order_and_the_distance() {
        assert_eq!(spread(&[100, 200, 300]), [100, 200, 300]);
        assert_eq!(spread(&[100, 101, 102]), [84, 101, 118]);
        assert_eq!(spread(&[100, 110, 120]), [93, 110, 127]);
        let bottom = HEIGHT as i32 - 40;
        assert_eq!(spread(&[bottom - 1, bottom]), [bottom - 17, bottom]);
    }
}
