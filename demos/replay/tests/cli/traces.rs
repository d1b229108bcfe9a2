//! Real traces: their formats, plain and compressed, and what expires in them.

use crate::command::{Folder, gzip};

/// Worked out by hand: after writes, `a` expires by 12 s and `b` by 30 s; after accesses, `a` lives until 22 s and both
/// are gone by 30 s.
const TWITTER: &str = "\
0,a,1,1,1,set,10
5,a,1,1,1,get,0
12,a,1,1,1,get,0
15,b,1,1,1,set,10
30,b,1,1,1,gets,0
";

/// Blocks 1 and 2 are met again within the TTL, block 3 after it. Block 3 is due at 1,700, 1 at 2,100, 2 at 2,199 and 3
/// again at 2,300.
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
fn trace_expires_as_worked_out_by_hand() {
    let folder = Folder::new();
    // Requests, hits, misses, inserts, refreshes, expired.
    for (trace, rules, expected) in [
        (TWITTER, "", [5, 1, 2, 2, 0, 2]),
        (TWITTER, "--expire after-access", [5, 2, 1, 2, 2, 2]),
        (TWITTER, "--ttl 1d --capacity 1000000000000", [5, 3, 0, 2, 0, 0]),
        (TWITTER, "--ttl 4s", [5, 0, 3, 2, 0, 2]),
        (TWITTER, "--requests 3", [3, 1, 1, 1, 0, 1]),
        (CLOUDPHYSICS, "--expire after-access --ttl 10m", [7, 1, 4, 5, 2, 4]),
        (CLOUDPHYSICS, "", [7, 3, 2, 3, 0, 0]),
    ] {
        folder.write("trace", trace);
        let ran = folder.run(&format!("--trace trace {rules}"));
        let names = ["requests", "hits", "misses", "inserts", "refreshes", "expired"];
        assert_eq!(ran.counts(names), expected, "{rules}: {trace}");
        assert_eq!(ran.counts(["early", "late"]), [0, 0]);
        assert_eq!(ran.stdout.contains("nothing expires"), trace == CLOUDPHYSICS && rules.is_empty());
    }
}

#[test]
fn trace_gives_one_digest_plain_and_compressed() {
    for (trace, rules) in [(TWITTER, ""), (CLOUDPHYSICS, "--expire after-access --ttl 10m")] {
        let folder = Folder::new();
        // A file's name tells nothing; two compressed files after one another are one.
        let (first, second) = trace.split_at(20);
        let variants = [
            trace.into(),
            trace.replace('\n', "\r\n").into(),
            trace.trim_end().into(),
            gzip(trace),
            [gzip(first), gzip(second)].concat(),
        ];
        let digests = variants.map(|variant: Vec<u8>| {
            folder.write("trace", variant);
            folder.run(&format!("--trace trace {rules}")).digest()
        });
        assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    }
}
