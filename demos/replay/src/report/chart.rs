//! What all charts share: the canvas, the letters, the colours.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea, SVGBackend, TextStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, IntoTextStyle, RGBColor};

/// The widths of a chart, in the units of its own coordinates: on a wide screen, and on a phone's.
pub(super) const WIDE: u32 = 1040;
pub(super) const NARROW: u32 = 360;

const LETTERS: u32 = 15;

/// Each colour on a light and on a dark screen. On the light one all are different, so that a style sheet can tell
/// them apart.
const COLOURS: [(RGBColor, RGBColor); 7] = [
    (INK, rgb(0xd9_dd_e3)),
    (GRID, rgb(0x33_38_40)),
    (QUEUES[0], rgb(0x5b_a3_f5)),
    (QUEUES[1], rgb(0xf0_8d_49)),
    (QUEUES[2], rgb(0x45_c4_9d)),
    (QUEUES[3], rgb(0xb3_8f_ea)),
    (QUEUES[4], rgb(0xd9_c2_4a)),
];

/// Titles, labels and axes.
pub(super) const INK: RGBColor = rgb(0x2b_2f_36);
/// The lines behind a chart.
pub(super) const GRID: RGBColor = rgb(0xe3_e5_e9);
/// The queues, in the order they ran.
const QUEUES: [RGBColor; 5] = [rgb(0x1f_6f_d1), rgb(0xc7_5a_12), rgb(0x1b_8a_6b), rgb(0x7a_4c_b8), rgb(0x8a_75_0f)];

const fn rgb(code: u32) -> RGBColor {
    let [_, red, green, blue] = code.to_be_bytes();
    RGBColor(red, green, blue)
}

pub(super) fn queue(place: usize) -> RGBColor {
    QUEUES[place % QUEUES.len()]
}

/// A colour as style sheets have it.
pub(super) fn code(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// Style rules that replace each light colour by its dark one.
pub(super) fn dark_style() -> String {
    let rules = COLOURS.map(|(light, dark)| (code(light), code(dark))).map(|(light, dark)| {
        format!("  [fill=\"{light}\"] {{ fill: {dark}; }}\n  [stroke=\"{light}\"] {{ stroke: {dark}; }}\n")
    });
    format!("@media (prefers-color-scheme: dark) {{\n{}}}\n", rules.concat())
}

pub(super) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Drawing into memory does not fail.
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

pub(super) fn svg(size: (u32, u32), draw: impl FnOnce(&Canvas<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    let canvas = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    draw(&canvas).and_then(|()| Ok(canvas.present()?)).expect("drawing into memory does not fail");
    drop(canvas);
    svg
}

/// Letters, at a side of their place.
pub(super) fn letters(horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    ("sans-serif", LETTERS)
        .into_font()
        .color(&INK.to_rgba())
        .pos(Pos::new(horizontal, vertical))
        .into_text_style(&(NARROW, LETTERS))
}

/// The mesh of a chart in the colours and letters of all charts.
macro_rules! mesh {
    ($chart:expr) => {
        $chart
            .configure_mesh()
            .light_line_style(chart::INK.mix(0.0))
            .bold_line_style(chart::GRID)
            .axis_style(chart::INK)
            .label_style(chart::letters(HPos::Left, VPos::Top))
            .axis_desc_style(chart::letters(HPos::Left, VPos::Top))
    };
}
pub(super) use mesh;
