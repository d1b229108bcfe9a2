//! A chart that a document asks for: what a figure is at each size, a line for each subject. Both axes are logarithmic, and
//! all figures have the same.

use plotters::prelude::{
    ChartBuilder, Circle, IntoDrawingArea, IntoLogRange, LineSeries, PathElement, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, IntoTextStyle, RGBColor, TextStyle, WHITE};

use crate::table::{Answer, human};

/// Of one figure, in the units of the picture. Two stand side by side: as wide as a page, so that letters keep their size.
const WIDTH: u32 = 430;
const HEIGHT: u32 = 290;
/// Plotters makes letters a fifth smaller than it is told.
const LETTERS: u32 = 17;
/// From one line of the legend to the next.
const LINE: i32 = 26;

const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
const GRID: RGBColor = RGBColor(0xe3, 0xe5, 0xe9);

/// Seven that also people who see few colours can tell apart, after Okabe and Ito (2008).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x59, 0x63, 0x6e),
];

/// The picture: two figures in a row, and the legend where the next would stand.
pub(crate) fn draw(answer: &Answer<'_>) -> Result<String, String> {
    let mut figures: Vec<&str> = answer.rows.iter().map(|(label, _)| *label).collect();
    figures.dedup();
    let rows = figures.len() as u32 / 2 + 1;
    let size = (2 * WIDTH, HEIGHT * rows);
    if answer.subjects.len() > COLOURS.len() {
        return Err(format!("a chart has colours for {} subjects", COLOURS.len()));
    }
    let mut svg = String::new();
    draw_all(&mut svg, size, answer, &figures).map_err(|error| error.to_string())?;
    // A page that is narrower makes it smaller; none makes it larger.
    Ok(svg.replacen("<svg ", "<svg style=\"max-width:100%;height:auto\" ", 1))
}

fn draw_all(
    svg: &mut String,
    size: (u32, u32),
    answer: &Answer<'_>,
    figures: &[&str],
) -> Result<(), Box<dyn std::error::Error>> {
    let canvas = SVGBackend::with_string(svg, size).into_drawing_area();
    canvas.fill(&WHITE)?;
    let rows = || answer.rows.iter().map(|(_, row)| *row);
    let values = || rows().flat_map(|row| answer.subjects.iter().filter_map(|(name, _)| row.value(name)));
    let sizes = || rows().map(|row| row.n as f64);
    let x_range = (sizes().fold(f64::MAX, f64::min)..sizes().fold(0.0, f64::max)).log_scale();
    let power = |value: f64, round: fn(f64) -> f64| 10f64.powf(round(value.log10()));
    let bottom = power(values().fold(f64::MAX, f64::min), f64::floor);
    let y_range = (bottom..power(values().fold(bottom, f64::max), f64::ceil)).log_scale();
    let unit = rows().next().map_or("", |row| &row.unit);
    let areas = canvas.split_evenly((size.1 as usize / HEIGHT as usize, 2));
    for (area, &figure) in areas.iter().zip(figures) {
        let mut chart = ChartBuilder::on(area)
            .caption(figure, letters(HPos::Center, VPos::Top))
            .margin(8)
            .margin_right(42)
            .x_label_area_size(48)
            .y_label_area_size(88)
            .build_cartesian_2d(x_range.clone(), y_range.clone())?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .max_light_lines(0)
            .bold_line_style(GRID)
            .axis_style(INK)
            .label_style(letters(HPos::Left, VPos::Top))
            .x_labels(4)
            .y_labels(6)
            .x_label_formatter(&|n| human(*n, "").replace(".0 ", ""))
            .y_label_formatter(&|value| human(*value, unit).replace(".0 ", " "))
            .x_desc("number of timers")
            .y_desc("time of each")
            .axis_desc_style(letters(HPos::Left, VPos::Top))
            .draw()?;
        for ((subject, _), colour) in answer.subjects.iter().zip(COLOURS) {
            let of_figure = answer.rows.iter().filter(|(label, _)| *label == figure);
            let points = of_figure.filter_map(|(_, row)| Some((row.n as f64, row.value(subject)?)));
            let points: Vec<(f64, f64)> = points.collect();
            chart.draw_series(points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        }
    }
    let legend = &areas[figures.len()];
    for (place, ((_, label), colour)) in answer.subjects.iter().zip(COLOURS).enumerate() {
        let (x, y) = (36, 48 + place as i32 * LINE);
        legend.draw(&PathElement::new(vec![(x, y), (x + 26, y)], colour.stroke_width(3)))?;
        legend.draw(&Circle::new((x + 13, y), 4, colour.filled()))?;
        legend.draw(&Text::new((*label).to_owned(), (x + 36, y), letters(HPos::Left, VPos::Center)))?;
    }
    let below = 48 + answer.subjects.len() as i32 * LINE + LINE / 2;
    let note = "Both axes are logarithmic. Lower is faster.";
    legend.draw(&Text::new(note, (36, below), letters(HPos::Left, VPos::Center)))?;
    canvas.present()?;
    Ok(())
}

fn letters(horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    let style = ("sans-serif", LETTERS).into_font().color(&INK.to_rgba());
    style.pos(Pos::new(horizontal, vertical)).into_text_style(&(WIDTH, LETTERS))
}
