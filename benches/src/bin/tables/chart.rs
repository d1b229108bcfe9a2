//! Charts of bars, in the colours that the reader's system prefers, light or dark.

use std::fmt::Write;

use timer_wheel_bench::results::{Measured, Results};

use crate::table::{grouped, human};

/// A file of `docs/plots`: a panel a figure, in it a group of bars a size, in it a bar a subject.
pub(crate) struct Chart {
    pub(crate) name: &'static str,
    /// The results file.
    pub(crate) results: &'static str,
    /// The figures, and what they are called here.
    pub(crate) panels: &'static [(&'static str, &'static str)],
    pub(crate) sizes: &'static [u64],
    /// What a size counts.
    pub(crate) of: &'static str,
    /// The subjects, and what they are called here.
    pub(crate) subjects: &'static [(&'static str, &'static str)],
}

const STYLE: &str = "text { fill: #1f2328 } .back { fill: #ffffff } .s0 { fill: #c43e00 } .s1 { fill: #0a6e4f } \
    .s2 { fill: #1f6fb2 } .s3 { fill: #8a4fa3 } @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } \
    .back { fill: #0d1117 } .s0 { fill: #ff8552 } .s1 { fill: #4cc79b } .s2 { fill: #6cb6ff } .s3 { fill: #d2a8ff } }";

const PANEL: f64 = 380.0;
const BAR: f64 = 14.0;
/// Where bars begin and how long they may be: to the left is a size, to the right a value.
const BARS: (f64, f64) = (86.0, 200.0);

impl Chart {
    /// Draws what was measured. A subject without a figure is left out.
    pub(crate) fn draw(&self, results: &Results) -> Result<String, String> {
        let group = BAR * self.subjects.len() as f64 + 8.0;
        let present = |size: &&u64| results.figures.iter().any(|it| it.n == **size && it.is_named(self.panels[0].0));
        let sizes: Vec<u64> = self.sizes.iter().filter(present).copied().collect();
        let panel = 34.0 + group * sizes.len() as f64;
        let (width, height) = (2.0 * PANEL, 34.0 + panel * self.panels.len().div_ceil(2) as f64);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n<style>{STYLE}</style>\n\
             <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n"
        );
        for (nth, (_, label)) in self.subjects.iter().enumerate() {
            let x = 12.0 + 180.0 * nth as f64;
            bar(&mut svg, nth, (x, 10.0), 16.0);
            text(&mut svg, "start", (x + 22.0, 20.0), label);
        }
        for (nth, (figure, title)) in self.panels.iter().enumerate() {
            let (left, top) = (PANEL * (nth % 2) as f64, 34.0 + panel * (nth / 2) as f64);
            text(&mut svg, "start", (left + 12.0, top + 20.0), &format!("{title}, by {}", self.of));
            let find = |size: u64, subject: &str| {
                let is_it = |it: &&Measured| it.figure == *figure && it.n == size && it.subject == subject;
                results.figures.iter().find(is_it)
            };
            let all = sizes.iter().flat_map(|&size| self.subjects.iter().filter_map(move |it| find(size, it.0)));
            let most = all.map(Measured::value).fold(0.0, f64::max);
            if most <= 0.0 {
                return Err(format!("'{figure}' was not measured"));
            }
            for (row, &size) in sizes.iter().enumerate() {
                let top = top + 30.0 + group * row as f64;
                text(&mut svg, "end", (left + BARS.0 - 8.0, top + group / 2.0), &grouped(size));
                for (nth, (subject, _)) in self.subjects.iter().enumerate() {
                    let Some(it) = find(size, subject) else { continue };
                    let (at, length) = (top + BAR * nth as f64, (it.value() / most * BARS.1).max(1.0));
                    bar(&mut svg, nth, (left + BARS.0, at), length);
                    let value = human(it.value(), &it.unit);
                    text(&mut svg, "start", (left + BARS.0 + length + 6.0, at + BAR - 4.0), &value);
                }
            }
        }
        Ok(svg + "</svg>\n")
    }
}

fn bar(svg: &mut String, subject: usize, (x, y): (f64, f64), length: f64) {
    let height = BAR - 2.0;
    // Writing to a string does not fail.
    let _ = write!(svg, r#"<rect class="s{subject}" x="{x}" y="{y}" width="{length:.1}" height="{height}"/>"#);
}

fn text(svg: &mut String, anchor: &str, (x, y): (f64, f64), text: &str) {
    let text = text.replace('<', "&lt;");
    let _ = writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#);
}
