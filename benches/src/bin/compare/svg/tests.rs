//! That the drawings are whole: well-formed, of a fixed size, and nobody left out.

use roxmltree::Document;

use super::Drawing;
use crate::figure::{ASCENDING, CAFFEINE_EXPIRE, CHURN, Figure, Workload};
use crate::ledger::Ledger;

fn ledger(figure: Figure, sizes: &[usize], subjects: &[&'static str]) -> Ledger {
    let mut ledger = Ledger::new();
    for &n in sizes {
        for (&subject, value) in subjects.iter().zip(1..) {
            for round in 0..3 {
                let sample = figure.sample(f64::from(value * 10 + round));
                ledger.record(n, subject, sample);
            }
        }
    }
    ledger
}

fn draw(workload: Workload, ledger: &Ledger) -> String {
    Drawing { workload, ledger }.draw().unwrap()
}

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|it| it.has_tag_name("text"));
    texts
        .map(|it| it.text().unwrap_or_default().trim().to_owned())
        .collect()
}

fn count(svg: &str, tag: &str) -> usize {
    let document = Document::parse(svg).unwrap();
    document
        .descendants()
        .filter(|it| it.has_tag_name(tag))
        .count()
}

#[test]
fn several_sizes_give_a_line_and_a_name_a_subject() {
    let subjects = ["wheel", "btree+slab", "delayqueue"];
    let sizes = [1_000, 10_000, 100_000];
    let svg = draw(Workload::W3, &ledger(CHURN, &sizes, &subjects));
    for subject in subjects {
        assert_eq!(
            texts(&svg).iter().filter(|text| *text == subject).count(),
            1
        );
    }
    assert_eq!(count(&svg, "circle"), subjects.len() * sizes.len());
    let none = draw(Workload::W3, &ledger(CHURN, &sizes, &["wheel"]));
    let lines = count(&svg, "polyline") - count(&none, "polyline");
    // Two more lines, the ranges of their points, and what leads to their names at most.
    assert!((2 * (1 + sizes.len())..=2 * (2 + sizes.len())).contains(&lines));
    assert!(svg.contains(r#"width="960""#));
}

#[test]
fn one_size_gives_a_bar_a_subject_for_each_figure() {
    let mut both = ledger(CAFFEINE_EXPIRE, &[32_768], &["wheel", "textbook", "heap"]);
    both.extend(ledger(ASCENDING, &[32_768], &["wheel", "btree"]));
    let svg = draw(Workload::W9, &both);
    // The card, and the bars.
    assert_eq!(count(&svg, "rect"), 1 + 5);
    let wheels = texts(&svg).into_iter().filter(|text| text == "wheel");
    assert_eq!(wheels.count(), 2);
}

#[test]
fn figures_of_nothing_are_drawn_at_the_edge() {
    let mut ledger = ledger(CHURN, &[10, 100], &["heap"]);
    for n in [10, 100] {
        ledger.record(n, "wheel", CHURN.sample(0.0));
    }
    let svg = draw(Workload::W3, &ledger);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    assert!(texts(&svg).contains(&"wheel".to_owned()));
}
