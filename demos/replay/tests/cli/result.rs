//! Results: the figures, the page, the table, and that a run can be repeated.

use std::fs;

use crate::command::Folder;

const SMALL: &str = "--requests 4000";

#[test]
fn json_has_all_that_programs_rely_on() {
    let folder = Folder::new();
    let ran = folder.run(SMALL);
    let figures = ran.figures();
    assert_eq!(ran.counts(["requests", "early", "late"]), [4_000, 0, 0]);
    let verdict = &figures["verdict"];
    assert_eq!(verdict["digests_equal"], true);
    assert_eq!(verdict["queues_compared"], 3);
    assert_eq!(figures["wheel"]["geometry"], "millis");
    let queues = figures["queues"].as_object().unwrap();
    assert!(queues.keys().eq(["btree", "textbook", "wheel"]));
    for queue in queues.values() {
        assert_eq!(queue["expired"], figures["workload"]["expired"]);
        assert_eq!(queue["digest"].as_str().unwrap().len(), 16);
        for time in [
            "/ns_per_request/median",
            "/ns_per_queue_call/median",
            "/advances/longest_us",
            "/advances/p9999_us",
        ] {
            assert!(
                queue.pointer(time).unwrap().as_f64().unwrap() > 0.0,
                "{time}"
            );
        }
    }
}

#[test]
fn json_says_what_was_run_when_and_where() {
    let ran = Folder::new().run("--requests 100 --ttl 1500ms --capacity 7 --budget 5");
    let figures = ran.figures();
    let command = figures["run"]["command"].as_str().unwrap();
    assert!(command.starts_with("cargo run --release -p replay -- "));
    assert!(command.contains("--ttl 1500ms"));
    for fact in ["version", "machine", "date"] {
        assert!(!figures["run"][fact].as_str().unwrap().is_empty(), "{fact}");
    }
    assert_eq!(figures["cache"]["ttl_seconds"], 1.5);
    assert_eq!(figures["cache"]["capacity"], 7);
    assert_eq!(figures["wheel"]["budget"], 5);
    assert_eq!(figures["rounds"], 1);
}

#[test]
fn workload_adds_up() {
    for rules in [
        "",
        "--capacity 2000",
        "--profile cluster12",
        "--expire after-access",
    ] {
        let ran = Folder::new().run(&format!("--requests 20000 --ttl 1s {rules}"));
        let [requests, hits, misses, writes] = ran.counts(["requests", "hits", "misses", "writes"]);
        assert_eq!(hits + misses + writes, requests, "{rules}");
        let [inserts, expired, evicted, deleted, left] =
            ran.counts(["inserts", "expired", "evicted", "deleted", "left"]);
        assert_eq!(expired + evicted + deleted + left, inserts, "{rules}");
        assert!(left > 0 && expired > 0, "{rules}");
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
    assert_eq!(figures["workload"]["requests"], 4_000);
}

/// What is said meanwhile is no reason to give up.
#[cfg(target_os = "linux")]
#[test]
fn stderr_that_cannot_be_written_to_is_done_without() {
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    for (arguments, status) in [("--rounds 1", 0), ("--trace none.csv", 2)] {
        let folder = Folder::new();
        let output = folder
            .command(SMALL)
            .args(arguments.split(' '))
            .stderr(full())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments}");
    }
}

/// A page that cannot be written although all looks well beforehand: the disk is full.
#[cfg(target_os = "linux")]
#[test]
fn report_that_cannot_be_written_costs_no_figures() {
    let folder = Folder::new();
    fs::create_dir(folder.path("report")).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path("report/report.html")).unwrap();
    for (json, shown) in [
        ("figures.json", "Digests are equal"),
        ("-", "digests_equal"),
    ] {
        let output = folder
            .command("--requests 20000 --ttl 1s --rounds 1 --json")
            .arg(json)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(
            stdout.contains(shown) && !stdout.contains("report.html"),
            "{stdout}"
        );
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.contains("report.html: cannot be written"),
            "{stderr}"
        );
    }
}

#[test]
fn run_without_expiries_says_that_it_compared_nothing() {
    let ran = Folder::new().run("--requests 1000");
    assert_eq!(ran.counts(["expired"]), [0]);
    assert!(ran.stdout.contains("Nothing expired"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("Digests are equal"), "{}", ran.stdout);
}

#[test]
fn text_fits_into_80_columns() {
    let folder = Folder::new();
    folder.write("trace", "0,a,1,1,1,set,10\n20,a,1,1,1,get,0\n");
    for arguments in [
        "--requests 300000 --ttl 3s --capacity 1000 --budget 1000",
        "--trace trace --ttl 1500ms",
        "--requests 1",
        "--requests 1000 --queue wheel",
    ] {
        let ran = folder.run(arguments);
        ran.figures();
        for line in ran.stdout.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
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
    // Four pictures, each for a wide and for a narrow screen.
    assert_eq!(page.matches("<svg").count(), 8);
    assert_eq!(page.matches("</svg>").count(), 8);
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
            ran.figures()["workload"]["requests"].as_u64(),
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
        "misses",
        "writes",
        "made",
        "expired",
        "evicted",
        "deleted",
        "left",
        "at once at most",
        "a new deadline",
        "ns a",
        "queue call",
        "longest",
        "p99.99",
        "speed-up",
        "Early: 0, late: 0.",
        "report.html",
    ] {
        assert!(ran.stdout.contains(word), "no `{word}` in {}", ran.stdout);
    }
    assert_eq!(ran.stderr, "");
}
