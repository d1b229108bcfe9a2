//! Results: the figures, the page, the table, and that a run can be repeated.

use std::fs;

use crate::command::Folder;

#[test]
fn json_has_all_that_programs_rely_on() {
    let ran = Folder::new().run("--requests 20000 --ttl 1500ms --capacity 700");
    let figures = ran.figures();
    let [hits, misses, writes] = ran.counts(["hits", "misses", "writes"]);
    assert_eq!(hits + misses + writes, 20_000);
    let [inserts, left] = ran.counts(["inserts", "left"]);
    let [expired, evicted, deleted] = ran.counts(["expired", "evicted", "deleted"]);
    assert_eq!(expired + evicted + deleted + left, inserts);
    assert!(left > 0 && expired > 0 && evicted > 0);
    assert_eq!(ran.counts(["requests", "early", "late", "queues_compared"]), [20_000, 0, 0, 4]);
    for (place, value) in [
        ("/verdict/digests_equal", "true"),
        ("/wheel/geometry", "\"millis\""),
        ("/cache/ttl_seconds", "1.5"),
        ("/cache/capacity", "700"),
        ("/rounds", "1"),
    ] {
        assert_eq!(figures.pointer(place).unwrap().to_string(), value, "{place}");
    }
    let queues = figures["queues"].as_object().unwrap();
    assert!(queues.keys().eq(["btree", "lane", "textbook", "wheel"]));
    for queue in queues.values() {
        assert_eq!(queue["expired"], expired);
        let times = ["ns_per_request/median", "ns_per_queue_call/median", "advances/longest_us"];
        for time in times.into_iter().chain(["advances/p9999_us"]) {
            assert!(queue.pointer(&format!("/{time}")).unwrap().as_f64().unwrap() > 0.0, "{time}");
        }
    }
    let command = figures["run"]["command"].as_str().unwrap();
    assert!(command.starts_with("cargo run --release -p replay -- "));
    assert!(command.contains("--ttl 1500ms"));
    for fact in ["version", "commit", "machine", "date"] {
        assert!(!figures["run"][fact].as_str().unwrap().is_empty(), "{fact}");
    }
}

#[test]
fn json_to_stdout_or_a_pipe_is_all_there_is_and_quiet_says_nothing() {
    let folder = Folder::new();
    for (arguments, length) in [("--json -", 1_000), ("--quiet --json /dev/stdout", 1_000), ("--quiet", 0)] {
        let output = folder.command(&format!("--requests 4000 --rounds 1 {arguments}")).output().unwrap();
        assert!(output.status.success() && output.stdout.len() >= length, "{arguments}");
        if length > 0 {
            let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(figures["workload"]["requests"], 4_000);
        }
        assert!(!arguments.contains("quiet") || output.stderr.is_empty());
    }
}

#[test]
fn text_names_every_figure_in_80_columns() {
    let folder = Folder::new();
    folder.write("trace", "0,a,1,1,1,set,10\n20,a,1,1,1,get,0\n");
    for (arguments, words) in [
        (
            "--requests 300000 --ttl 3s --capacity 1000",
            "hits, misses, writes, made, expired, evicted, deleted, left, at once, a new deadline, ns a, queue call, \
             longest, p99.99, speed-up, All queues agree: wheel, Early: 0, report.html",
        ),
        ("--trace trace --ttl 1500ms", "All queues agree"),
        ("--requests 1", "Nothing expired"),
        ("--trace trace --queue index", "Only index ran"),
        ("--trace trace --queue btree,wheel,btree", "agree: btree, wheel expired"),
    ] {
        let ran = folder.run(arguments);
        ran.figures();
        assert_eq!(ran.stderr, "");
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
        let text = ran.stdout.replace('\n', " ");
        for word in words.split(", ") {
            assert!(text.contains(word), "{arguments}: no `{word}` in {}", ran.stdout);
        }
    }
}

#[test]
fn digest_depends_on_the_trace_and_the_rules_only() {
    let folder = Folder::new();
    // If this fails after an update of the generator's crates, old and new figures cannot be compared.
    let first = "c754ae8edef70ad2";
    let usual = "--requests 20000 --seed 42 --ttl";
    for (rules, is_same) in [
        ("1s", true),
        ("1s --queue index,wheel --geometry caffeine", true),
        ("1s --profile cluster12", false),
        ("1s --expire after-access", false),
        ("1s --capacity 100", false),
        ("2s", false),
    ] {
        assert_eq!(folder.run(&format!("{usual} {rules}")).digest() == first, is_same, "{rules}");
    }
}

#[test]
fn page_is_self_contained_and_replaces_the_one_before() {
    let folder = Folder::new();
    folder.write("<b>&.csv", "0,a,1,1,1,set,10\n20,a,1,1,1,get,0\n");
    fs::create_dir(folder.path("report")).unwrap();
    folder.write("report/report.html", "old");
    folder.run("--trace <b>&.csv").figures();
    assert_eq!(folder.files(), ["<b>&.csv", "figures.json", "report.html"]);
    let page = fs::read_to_string(folder.path("report/report.html")).unwrap();
    // Three bars in each of four charts.
    assert_eq!((page.matches("<svg").count(), page.matches("</svg>").count()), (12, 12));
    assert!(page.contains("&lt;b&gt;&amp;.csv") && !page.contains("<b>"));
    let places = ["Timer wheel: ", "<svg", "All queues agree", "commit"].map(|text| page.find(text));
    assert!(places[0].is_some() && places.is_sorted(), "{places:?}");
    for reference in ["http", "src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(reference), "{reference}");
    }
}
