//! Cost against the number of timers: a line a subject, with its name at the end; both axes logarithmic.
//!
//! Each drawing is a card of its own colour, which goes by what the reader's system prefers: legible on any
//! page. Lines carry their names, so that no colour has to be matched.

use timer_wheel_bench::results::{Measured, Results};

use crate::table::{grouped, human};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 120.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = HEIGHT - 48.0;
/// The least distance of two names.
const NAME: f64 = 16.0;

/// Of each subject on a light card and on a dark one, at least 4.5 to 1 against it. The first stands out.
const COLORS: [(&str, &str); 6] = [
    ("#c43e00", "#ff8a5c"),
    ("#005f9e", "#6cb6f5"),
    ("#666666", "#a8b0b8"),
    ("#00734f", "#4fc79f"),
    ("#a02c78", "#e98bc6"),
    ("#6a3d9a", "#bd9ae8"),
];

/// The figure of every subject, at all sizes.
pub(crate) fn draw(results: &Results, figure: &str) -> Result<String, String> {
    let all: Vec<&Measured> = results
        .figures
        .iter()
        .filter(|it| it.figure == figure)
        .collect();
    let sizes = all.iter().map(|it| it.n as f64);
    let (first, last) = (
        sizes.clone().fold(f64::MAX, f64::min),
        sizes.fold(0.0, f64::max),
    );
    if first >= last {
        return Err(format!("'{figure}' was not measured at several sizes"));
    }
    let lowest = all
        .iter()
        .map(|it| it.min)
        .fold(f64::MAX, f64::min)
        .max(0.1);
    let highest = all.iter().map(|it| it.max).fold(lowest, f64::max);
    let (low, high) = (lowest.log10().floor(), (highest * 1.001).log10().ceil());
    let x =
        |n: f64| LEFT + 12.0 + (n / first).log10() / (last / first).log10() * (RIGHT - LEFT - 24.0);
    let y = |value: f64| BOTTOM - (value.log10().max(low) - low) / (high - low) * (BOTTOM - TOP);

    let mut svg = head(figure);
    for decade in low as i32..=high as i32 {
        let value = 10_f64.powi(decade);
        let (number, unit) = human(value, &all[0].unit);
        let number = match number.contains('.') {
            true => number.trim_end_matches('0').trim_end_matches('.'),
            false => &number,
        };
        let at = y(value);
        svg += &format!(
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/>\n\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{number} {unit}</text>\n",
            LEFT - 8.0,
            at + 4.0
        );
    }
    let mut n = first;
    while n <= last {
        let at = x(n);
        svg += &format!(
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/>\n\
             <text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>\n",
            BOTTOM + 20.0,
            grouped(n as u64)
        );
        n *= 10.0;
    }
    let mut names: Vec<(f64, usize, &str)> = Vec::new();
    for (nth, line) in lines(results, figure) {
        let points = line.iter().map(|it| (x(it.n as f64), y(it.value())));
        let path: Vec<String> = points
            .clone()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        svg += &format!(
            "<g class=\"s{nth}\"><polyline points=\"{}\"/>",
            path.join(" ")
        );
        for (it, (x, middle)) in line.iter().zip(points) {
            let (top, bottom) = (y(it.max), y(it.min));
            svg += &format!("<path d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>");
            svg += &format!("<circle cx=\"{x:.1}\" cy=\"{middle:.1}\" r=\"3.5\"/>");
        }
        svg += "</g>\n";
        if let Some(end) = line.last() {
            names.push((y(end.value()), nth, &end.subject));
        }
    }
    for (at, nth, name) in apart(names) {
        let (x, at) = (RIGHT + 4.0, at + 4.0);
        svg += &format!("<text class=\"name s{nth}\" x=\"{x}\" y=\"{at:.1}\">{name}</text>\n");
    }
    Ok(svg + "</svg>\n")
}

fn head(figure: &str) -> String {
    let rules = |ink: &str, card: &str, grid: &str, colors: &[&str]| {
        let mut rules = format!("text{{fill:{ink}}} .card{{fill:{card}}} .grid{{stroke:{grid}}}");
        for (nth, color) in colors.iter().enumerate() {
            rules +=
                &format!(" .s{nth}{{stroke:{color}}} .s{nth} circle,.name.s{nth}{{fill:{color}}}");
        }
        rules
    };
    let light = rules(
        "#3d444d",
        "#ffffff",
        "#dde1e6",
        &COLORS.map(|(light, _)| light),
    );
    let dark = rules(
        "#c3cad2",
        "#0d1117",
        "#2c333c",
        &COLORS.map(|(_, dark)| dark),
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <title>{figure}, against the number of timers</title>\n\
         <style>\n{light}\n\
         polyline,g path{{fill:none}} polyline{{stroke-width:2}} .s0 polyline{{stroke-width:3.5}}\n\
         text.name,circle{{stroke:none}} .s0.name{{font-weight:600}}\n\
         @media (prefers-color-scheme: dark){{\n{dark}\n}}\n</style>\n\
         <rect class=\"card\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\n\
         <text x=\"20\" y=\"30\" font-size=\"16\">{figure}: median, least and greatest, against the number of timers</text>\n"
    )
}

/// The figures of each subject, by size, under the number that the subject has in all drawings.
fn lines<'a>(results: &'a Results, figure: &str) -> Vec<(usize, Vec<&'a Measured>)> {
    let mut lines: Vec<(&str, Vec<&Measured>)> = Vec::new();
    for it in &results.figures {
        if lines.iter().all(|(subject, _)| *subject != it.subject) {
            lines.push((&it.subject, Vec::new()));
        }
        let mut line = lines
            .iter_mut()
            .filter(|(subject, _)| *subject == it.subject);
        if let Some((_, line)) = line.next().filter(|_| it.figure == figure) {
            line.push(it);
        }
    }
    let lines = lines.into_iter().map(|(_, line)| line).enumerate();
    let mut lines: Vec<_> = lines.filter(|(_, line)| !line.is_empty()).collect();
    for (_, line) in &mut lines {
        line.sort_by_key(|it| it.n);
    }
    lines
}

/// Names beside the ends of their lines, each pushed down as far as it takes not to hide the one above, and all
/// up again where the card ends.
fn apart(mut names: Vec<(f64, usize, &str)>) -> Vec<(f64, usize, &str)> {
    names.sort_by(|one, other| one.0.total_cmp(&other.0));
    for at in 1..names.len() {
        names[at].0 = names[at].0.max(names[at - 1].0 + NAME);
    }
    let mut lowest = BOTTOM;
    for name in names.iter_mut().rev() {
        name.0 = name.0.min(lowest);
        lowest = name.0 - NAME;
    }
    names
}
