//! Charts of bars, in the colours that the reader's system prefers, light or dark.

use std::fmt::Write;

use timer_wheel_bench::results::Row;

use crate::table::{Query, grouped, human};

const STYLE: &str = "text { fill: #1f2328 } .back { fill: #ffffff } .s0 { fill: #c43e00 } .s1 { fill: #0a6e4f } \
    .s2 { fill: #1f6fb2 } .s3 { fill: #8a4fa3 } @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } \
    .back { fill: #0d1117 } .s0 { fill: #ff8552 } .s1 { fill: #4cc79b } .s2 { fill: #6cb6ff } .s3 { fill: #d2a8ff } }";

const PANEL: f64 = 380.0;
const BAR: f64 = 14.0;
/// Where bars begin and how long they may be: to the left is a size, to the right a value.
const BARS: (f64, f64) = (86.0, 200.0);

/// A panel a figure, in it a group of bars a size, in it a bar a subject. `of`: what a size counts.
pub(crate) fn draw(of: &str, query: &Query<'_>) -> Result<String, String> {
    let (mut figures, mut sizes) = (Vec::new(), Vec::new());
    for &(figure, row) in &query.rows {
        if !figures.contains(&figure) {
            figures.push(figure);
        }
        if !sizes.contains(&row.n) {
            sizes.push(row.n);
        }
    }
    let group = BAR * query.subjects.len() as f64 + 8.0;
    let panel = 34.0 + group * sizes.len() as f64;
    let (width, height) = (2.0 * PANEL, 34.0 + panel * figures.len().div_ceil(2) as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n<style>{STYLE}</style>\n\
         <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for (nth, (_, label)) in query.subjects.iter().enumerate() {
        let x = 12.0 + 180.0 * nth as f64;
        bar(&mut svg, nth, (x, 10.0), 16.0);
        text(&mut svg, "start", (x + 22.0, 20.0), label);
    }
    for (nth, figure) in figures.into_iter().enumerate() {
        let (left, top) = (PANEL * (nth % 2) as f64, 34.0 + panel * (nth / 2) as f64);
        text(&mut svg, "start", (left + 12.0, top + 20.0), &format!("{figure}, by {of}"));
        let rows = || query.rows.iter().filter(|(label, _)| *label == figure).map(|(_, row)| row);
        let values = |row: &Row| query.subjects.iter().map(|(subject, _)| row.value(subject)).collect::<Vec<_>>();
        let most = rows().flat_map(|row| values(row)).flatten().fold(0.0, f64::max);
        if most <= 0.0 {
            return Err(format!("'{figure}' is nothing that can be drawn"));
        }
        for (at, row) in rows().enumerate() {
            let top = top + 30.0 + group * at as f64;
            text(&mut svg, "end", (left + BARS.0 - 8.0, top + group / 2.0), &grouped(row.n));
            for (nth, value) in values(row).into_iter().enumerate().filter_map(|(nth, it)| Some((nth, it?))) {
                let (at, length) = (top + BAR * nth as f64, (value / most * BARS.1).max(1.0));
                bar(&mut svg, nth, (left + BARS.0, at), length);
                text(&mut svg, "start", (left + BARS.0 + length + 6.0, at + BAR - 4.0), &human(value, &row.unit));
            }
            svg.push('\n');
        }
    }
    Ok(svg + "</svg>\n")
}

fn bar(svg: &mut String, subject: usize, (x, y): (f64, f64), length: f64) {
    let height = BAR - 2.0;
    // Writing to a string does not fail.
    let _ = write!(svg, r#"<rect class="s{subject}" x="{x}" y="{y}" width="{length:.1}" height="{height}"/>"#);
}

fn text(svg: &mut String, anchor: &str, (x, y): (f64, f64), text: &str) {
    let text = text.replace('<', "&lt;");
    let _ = write!(svg, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#);
}
