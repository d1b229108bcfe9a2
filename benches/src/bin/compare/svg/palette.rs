//! The colours of the subjects, the same in every drawing.

use plotters::style::RGBColor;

use crate::subject;

/// Dark enough for text on white. The first stands out, the others tell neighbours apart; who cannot
/// see them reads the names.
const COLORS: [RGBColor; 12] = [
    RGBColor(0xc4, 0x3e, 0x00), // orange red
    RGBColor(0x00, 0x5f, 0x9e), // blue
    RGBColor(0x76, 0x76, 0x76), // grey
    RGBColor(0x1b, 0x8a, 0xb5), // light blue
    RGBColor(0x00, 0x7d, 0x5a), // green
    RGBColor(0x5a, 0x8f, 0x29), // light green
    RGBColor(0xa8, 0x74, 0x00), // ochre
    RGBColor(0xb0, 0x4a, 0x86), // pink
    RGBColor(0x6a, 0x3d, 0x9a), // violet
    RGBColor(0x7a, 0x4a, 0x2b), // brown
    RGBColor(0x3d, 0x4a, 0x7a), // slate
    RGBColor(0x8c, 0x2f, 0x39), // wine red
];

const _: () = assert!(COLORS.len() >= subject::ALL.len());

pub(super) fn color_of(name: &str) -> RGBColor {
    let place = subject::ALL.iter().position(|known| known.name == name);
    COLORS[place.unwrap_or(COLORS.len() - 1)]
}

/// Whether it is the subject that the others are held against.
pub(super) fn stands_out(name: &str) -> bool {
    subject::ALL[0].name == name
}
