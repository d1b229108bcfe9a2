//! Results: the figures, the page, the table, and that a run can be repeated.

use std::fs;

use crate::command::Folder;

const SMALL: &str = "--requests 4000";

#[test]
fn json_has_all_that_programs_rely_on() {
    let folder = Folder::new();
    let ran = folder.run(SMALL);
    let figures = ran.figures();
    assert_eq!(figures["requests"], 4_000);
    assert_eq!(figures["digests_equal"], true);
    assert_eq!(
        (&figures["early"], &figures["late"]),
        (&0.into(), &0.into())
    );
    let queues = figures["queues"].as_object().unwrap();
    assert!(queues.keys().eq(["btree", "textbook", "wheel"]));
    for queue in queues.values() {
        assert_eq!(queue["expired"], figures["expired"]);
        assert_eq!(queue["digest"].as_str().unwrap().len(), 16);
        for time in [
            "ns_per_request",
            "ns_per_queue_op",
            "longest_advance_us",
            "p9999_advance_us",
        ] {
            assert!(queue[time].as_f64().unwrap() > 0.0, "{time}");
        }
    }
}

#[test]
fn json_to_stdout_is_all_there_is_on_stdout() {
    let folder = Folder::new();
    let output = folder
        .command(SMALL)
        .args(["--rounds", "1", "--json", "-"])
        .output()
        .unwrap();
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(figures["requests"], 4_000);
}

#[test]
fn every_queue_alone_gives_the_digest_of_all_and_says_that_it_was_alone() {
    let folder = Folder::new();
    let trace = "--requests 20000 --ttl 1s";
    let digest = folder.run(trace).digest();
    for queue in ["wheel", "btree", "textbook"] {
        let ran = folder.run(&format!("{trace} --queue {queue}"));
        assert_eq!(ran.digest(), digest);
        assert_eq!(ran.figures()["queues"].as_object().unwrap().len(), 1);
        assert!(
            ran.stdout.contains(&format!("Only {queue} ran")),
            "{}",
            ran.stdout
        );
    }
    let ran = folder.run(&format!("{trace} --queue btree,wheel,btree"));
    assert!(
        ran.figures()["queues"]
            .as_object()
            .unwrap()
            .keys()
            .eq(["btree", "wheel"])
    );
    assert!(
        ran.stdout.contains("Digests are equal: btree, wheel"),
        "{}",
        ran.stdout
    );
}

#[test]
fn digest_depends_on_the_trace_and_the_rules_only() {
    let folder = Folder::new();
    let trace = "--requests 20000 --ttl 1s";
    let first = folder.run(trace);
    assert!(first.counts(["expired"])[0] > 1_000);
    let digest = first.digest();
    assert_eq!(folder.run(trace).digest(), digest);
    for geometry in ["millis", "caffeine", "micros", "compact"] {
        for budget in ["", "--budget 1", "--budget 64"] {
            let ran = folder.run(&format!("{trace} --geometry {geometry} {budget}"));
            assert_eq!(ran.digest(), digest, "{geometry} {budget}");
        }
    }
    for other in [
        "--seed 2",
        "--profile cluster12",
        "--expire after-access",
        "--capacity 100",
    ] {
        assert_ne!(
            folder.run(&format!("{trace} {other}")).digest(),
            digest,
            "{other}"
        );
    }
}

#[test]
fn synthetic_trace_is_the_same_on_every_machine() {
    // If this fails after an update of the generator's crates, old and new figures cannot be compared.
    let ran = Folder::new().run("--requests 20000 --ttl 1s --seed 42");
    assert_eq!(ran.digest(), "c754ae8edef70ad2");
}

#[test]
fn every_profile_runs() {
    let folder = Folder::new();
    for profile in [
        "cluster4",
        "cluster7",
        "cluster10",
        "cluster11",
        "cluster12",
        "cluster14",
        "cluster15",
        "cluster23",
        "cluster27",
        "cluster37",
        "cluster53",
    ] {
        let ran = folder.run(&format!("{SMALL} --profile {profile}"));
        assert_eq!(
            ran.counts(["requests", "early", "late"]),
            [4_000, 0, 0],
            "{profile}"
        );
    }
}

#[test]
fn one_request_is_enough() {
    let folder = Folder::new();
    assert_eq!(
        folder.run("--requests 1").counts(["requests", "inserts"]),
        [1, 1]
    );
}

#[test]
fn page_is_self_contained_and_alone_in_its_folder() {
    let folder = Folder::new();
    folder.write("<b>&.csv", "0,a,1,1,1,set,10\n20,a,1,1,1,get,0\n");
    folder.run("--trace <b>&.csv").figures();
    assert_eq!(folder.list("report"), ["report.html"]);
    assert_eq!(folder.list("."), ["<b>&.csv", "figures.json", "report"]);
    let page = fs::read_to_string(folder.path("report/report.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 4);
    assert_eq!(page.matches("</svg>").count(), 4);
    assert!(page.contains("&lt;b&gt;&amp;.csv") && !page.contains("<b>"));
    assert!(page.contains("Digests are equal"));
    let outside = page.replace("http://www.w3.org/2000/svg", "");
    for reference in ["http", "src=", "href=", "url(", "@import", "<script"] {
        assert!(!outside.contains(reference), "{reference}");
    }
}

#[test]
fn page_replaces_the_one_before() {
    let folder = Folder::new();
    fs::create_dir(folder.path("report")).unwrap();
    folder.write("report/report.html", "old");
    folder.run(SMALL).figures();
    assert_eq!(folder.list("report"), ["report.html"]);
    assert!(
        fs::read_to_string(folder.path("report/report.html"))
            .unwrap()
            .len()
            > 1_000
    );
}

#[test]
fn quiet_says_nothing() {
    let ran = Folder::new().run(&format!("{SMALL} --quiet"));
    assert_eq!(
        (
            ran.figures()["requests"].as_u64(),
            &*ran.stdout,
            &*ran.stderr
        ),
        (Some(4_000), "", "")
    );
}

#[test]
fn table_names_every_figure() {
    let ran = Folder::new().run(SMALL);
    for word in [
        "hits",
        "inserts",
        "refreshes",
        "expired",
        "evicted",
        "most",
        "ns/request",
        "ns/queue",
        "longest",
        "p99.99",
        "speed-up",
        "digest",
        "Early: 0, late: 0.",
        "report.html",
    ] {
        assert!(ran.stdout.contains(word), "no `{word}` in {}", ran.stdout);
    }
    assert_eq!(ran.stderr, "");
}
