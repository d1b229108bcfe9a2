//! The colours of the pictures, for a light and for a dark screen.

use plotters::style::RGBColor;

/// One colour on either screen. On the light one it must be unlike all others, to be told from them.
pub(super) struct Shade {
    /// On a light screen, and in the SVG.
    pub(super) light: RGBColor,
    dark: RGBColor,
}

const fn shade(light: u32, dark: u32) -> Shade {
    Shade {
        light: rgb(light),
        dark: rgb(dark),
    }
}

const fn rgb(code: u32) -> RGBColor {
    let [_, red, green, blue] = code.to_be_bytes();
    RGBColor(red, green, blue)
}

/// Titles, labels and axes.
pub(super) const INK: Shade = shade(0x2b_2f_36, 0xd9_dd_e3);
/// What helps to read, and should not be seen otherwise.
pub(super) const GRID: Shade = shade(0xe3_e5_e9, 0x33_38_40);
/// The workload, which is all queues' alike.
pub(super) const WORKLOAD: Shade = shade(0x5f_6b_7d, 0x9a_a7_ba);
/// The queues, in the order they ran.
pub(super) const QUEUES: [Shade; 3] = [
    shade(0x1f_6f_d1, 0x5b_a3_f5),
    shade(0xc7_5a_12, 0xf0_8d_49),
    shade(0x1b_8a_6b, 0x45_c4_9d),
];

/// The colour of a queue.
pub(super) fn queue(place: usize) -> RGBColor {
    QUEUES[place % QUEUES.len()].light
}

/// Style rules that put each shade's dark colour in the place of its light one.
pub(super) fn dark_style() -> String {
    let rules: String = [&INK, &GRID, &WORKLOAD]
        .into_iter()
        .chain(&QUEUES)
        .map(|shade| {
            let (light, dark) = (code(shade.light), code(shade.dark));
            format!(
                "  [fill=\"{light}\"] {{ fill: {dark}; }}\n  [stroke=\"{light}\"] {{ stroke: {dark}; }}\n"
            )
        })
        .collect();
    format!("@media (prefers-color-scheme: dark) {{\n{rules}}}\n")
}

/// A colour as the SVG backend writes it.
fn code(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}
