//! What all pictures share: the canvas, the letters, the way axes are labelled.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea, SVGBackend, TextStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, IntoFont, IntoTextStyle};

use super::palette::INK;

/// The widths of a picture, in the units of its own coordinates: on a wide screen, and on a phone's.
pub(super) const WIDE: u32 = 1040;
pub(super) const NARROW: u32 = 360;

/// The height of letters.
const LETTERS: u32 = 15;

/// What a picture is drawn on.
pub(super) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What drawing may fail with. Drawing into memory does not.
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws a picture.
pub(super) fn svg((width, height): (u32, u32), draw: impl FnOnce(&Canvas<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    let canvas = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
    draw(&canvas)
        .and_then(|()| Ok(canvas.present()?))
        .expect("drawing into memory does not fail");
    drop(canvas);
    svg
}

/// Letters, standing at a side of their place.
pub(super) fn letters(horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    ("sans-serif", LETTERS)
        .into_font()
        .color(&INK.light.to_rgba())
        .pos(Pos::new(horizontal, vertical))
        .into_text_style(&(NARROW, LETTERS))
}

/// Letters for axes.
pub(super) fn axis_letters() -> TextStyle<'static> {
    letters(HPos::Left, VPos::Top)
}

/// A number short enough for an axis: `250k`, `1.5M`.
pub(super) fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{value:.2}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_drops_what_it_can() {
        assert_eq!(short(0.0), "0");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(100.0), "100");
        assert_eq!(short(250_000.0), "250k");
        assert_eq!(short(1_500_000.0), "1.5M");
    }
}
