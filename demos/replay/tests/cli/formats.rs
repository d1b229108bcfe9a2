//! Real traces: their formats, plain and compressed, and what expires in them.

use crate::command::{Folder, gzip};

/// Worked out by hand: after writes, `a` expires by 12 s and `b` by 30 s; after accesses, `a` lives until
/// 22 s and both are gone by 30 s.
const TWITTER: &str = "\
0,a,1,1,1,set,10
5,a,1,1,1,get,0
12,a,1,1,1,get,0
15,b,1,1,1,set,10
30,b,1,1,1,gets,0
";

/// Blocks 1 and 2 are met again within the TTL, block 3 after it.
const CLOUDPHYSICS: &str = "\
version,time,op,size,lbn
1,1000,2a,512,1
1,1000,28,512,2
1,1100,28,512,3
1,1500,28,512,1
1,1599,2a,512,2
1,1700,28,512,3
1,2300,28,512,1
";

#[test]
fn twitter_trace_expires_after_writes_as_worked_out() {
    let folder = Folder::new();
    folder.write("trace", TWITTER);
    let ran = folder.run("--trace trace");
    let counts = ran.counts([
        "requests",
        "hits",
        "misses",
        "inserts",
        "refreshes",
        "expired",
    ]);
    assert_eq!(counts, [5, 1, 2, 2, 0, 2]);
    assert_eq!(ran.counts(["early", "late", "most_live"]), [0, 0, 1]);
}

#[test]
fn twitter_trace_expires_after_accesses_as_worked_out() {
    let folder = Folder::new();
    folder.write("trace", TWITTER);
    let ran = folder.run("--trace trace --expire after-access");
    let counts = ran.counts([
        "requests",
        "hits",
        "misses",
        "inserts",
        "refreshes",
        "expired",
    ]);
    assert_eq!(counts, [5, 2, 1, 2, 2, 2]);
    assert_eq!(ran.counts(["early", "late", "most_live"]), [0, 0, 2]);
    assert_ne!(ran.digest(), folder.run("--trace trace").digest());
}

#[test]
fn cloudphysics_trace_expires_by_an_idle_ttl_as_worked_out() {
    let folder = Folder::new();
    folder.write("trace.csv", CLOUDPHYSICS);
    let ran = folder.run("--trace trace.csv --expire after-access --ttl 10m");
    let counts = ran.counts([
        "requests",
        "hits",
        "misses",
        "inserts",
        "refreshes",
        "expired",
    ]);
    // Block 3 is due at 1,700, and so are 1 at 2,100 and 2 at 2,199 and 3 again at 2,300.
    assert_eq!(counts, [7, 1, 4, 5, 2, 4]);
    assert_eq!(ran.counts(["early", "late"]), [0, 0]);
}

#[test]
fn cloudphysics_trace_without_a_ttl_expires_nothing_and_says_so() {
    let folder = Folder::new();
    folder.write("trace.csv", CLOUDPHYSICS);
    let ran = folder.run("--trace trace.csv");
    assert_eq!(ran.counts(["expired", "inserts"]), [0, 3]);
    assert!(ran.stdout.contains("nothing expires"), "{}", ran.stdout);
}

#[test]
fn trace_gives_one_digest_plain_compressed_guessed_and_named() {
    for (format, trace, options) in [
        ("twitter", TWITTER, ""),
        (
            "cloudphysics",
            CLOUDPHYSICS,
            "--expire after-access --ttl 10m",
        ),
    ] {
        let folder = Folder::new();
        folder.write("plain", trace);
        folder.write("dos", trace.replace('\n', "\r\n"));
        folder.write("open-ended", trace.trim_end());
        folder.write("packed.gz", gzip(trace.as_bytes()));
        // A name tells nothing; two compressed files after one another are one.
        let (first, second) = trace.split_at(20);
        folder.write(
            "twice",
            [gzip(first.as_bytes()), gzip(second.as_bytes())].concat(),
        );
        let digest = folder.run(&format!("--trace plain {options}")).digest();
        for name in ["dos", "open-ended", "packed.gz", "twice"] {
            let guessed = folder.run(&format!("--trace {name} {options}"));
            assert_eq!(guessed.digest(), digest, "{name}");
            let named = folder.run(&format!("--trace {name} --format {format} {options}"));
            assert_eq!(named.digest(), digest, "{name}");
        }
    }
}

#[test]
fn ttl_overrides_the_traces_own() {
    let folder = Folder::new();
    folder.write("trace", TWITTER);
    assert_eq!(
        folder
            .run("--trace trace --ttl 1d")
            .counts(["expired", "hits"]),
        [0, 3]
    );
    assert_eq!(
        folder
            .run("--trace trace --ttl 4s")
            .counts(["expired", "hits"]),
        [2, 0]
    );
}

#[test]
fn requests_limits_what_is_read() {
    let folder = Folder::new();
    folder.write("trace", TWITTER);
    assert_eq!(
        folder
            .run("--trace trace --requests 3")
            .counts(["requests", "expired"]),
        [3, 1]
    );
}

#[test]
fn capacity_evicts_the_least_recently_used() {
    let folder = Folder::new();
    folder.write(
        "trace",
        "0,a,1,1,1,set,9\n1,b,1,1,1,set,9\n2,a,1,1,1,get,0\n3,c,1,1,1,set,9\n\
         4,b,1,1,1,get,0\n5,a,1,1,1,get,0\n50,z,1,1,1,get,0\n",
    );
    let ran = folder.run("--trace trace --capacity 2");
    assert_eq!(
        ran.counts(["evicted", "expired", "hits", "misses"]),
        [1, 2, 2, 2]
    );
    let ran = folder.run("--trace trace --capacity 1000000000000");
    assert_eq!(
        ran.counts(["evicted", "expired", "hits", "misses"]),
        [0, 3, 3, 1]
    );
}

#[test]
fn skip_bad_lines_counts_and_shows_them() {
    let folder = Folder::new();
    let mut trace = String::from("nonsense\n");
    trace.push_str(&TWITTER.replace("15,b", "\n15,b,1,1,1,steal,0\n3,b,1,1,1,get,0\n15,b"));
    folder.write("trace", &trace);
    let ran = folder.run("--trace trace --skip-bad-lines");
    assert_eq!(
        ran.counts(["requests", "skipped_lines", "expired"]),
        [5, 4, 2]
    );
    for (line, problem) in [
        (1, "expected a line of a trace"),
        (5, "expected timestamp,key"),
        (6, "as the operation, found `steal`"),
        (7, "a time no earlier than 12"),
    ] {
        let shown = format!("trace:{line}: skipped: ");
        let found = ran.stderr.lines().find(|text| text.contains(&shown));
        assert!(
            found.is_some_and(|text| text.contains(problem)),
            "{line}: {}",
            ran.stderr
        );
    }
    assert!(ran.stdout.contains("4 malformed lines"), "{}", ran.stdout);
    folder.write("clean", TWITTER);
    assert_eq!(ran.digest(), folder.run("--trace clean").digest());
}
