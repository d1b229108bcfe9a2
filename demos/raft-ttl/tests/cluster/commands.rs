//! The commands of the client, as a user types them.

use std::fs::{self, File};
use std::process::{Command, Output};

use raft_ttl::limits::MAX_VALUE;
use raft_ttl::types::NodeId;

use crate::process::{CALM, Nodes, program};

/// Where a node is, by name.
fn host(nodes: &Nodes, id: NodeId) -> String {
    format!("localhost:{}", nodes.address(id).port())
}

/// Runs a command against nodes: how it ends, and what it writes to its two outputs.
fn run(nodes: &Nodes, ids: &[NodeId], arguments: &[&str]) -> (i32, String, String) {
    let hosts = ids.iter().map(|&id| host(nodes, id)).collect::<Vec<_>>().join(",");
    let mut command = Command::new(program());
    command.args(arguments).args(["--nodes", &hosts]);
    if arguments.contains(&"-") {
        command.stdin(File::open(nodes.directory().join("long")).unwrap());
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_do_what_they_say() {
    let mut nodes = Nodes::started(&CALM);
    let (leader, _) = nodes.all_up().await;
    let followers: Vec<_> = nodes.ids().into_iter().filter(|&id| id != leader).collect();
    // Longer than an argument can be.
    let long = "€".repeat(MAX_VALUE / 4) + "\n";
    fs::write(nodes.directory().join("long"), long.trim_end()).unwrap();
    let latest = |key| ["get", key, "--linearizable"];
    for (arguments, status, out, err) in [
        (&["put", "key", "a value", "--ttl", "1h"][..], 0, "done, at index ", ""),
        (&latest("key"), 0, "a value\n", "left\n"),
        (&["touch", "key", "--ttl", "2h"], 0, "done", ""),
        (&["put", "key", "another"], 0, "done", ""),
        (&latest("key"), 0, "another\n", ""),
        (&["delete", "key"], 0, "done", ""),
        (&latest("key"), 1, "", "no such key\n"),
        (&["delete", "key"], 1, "", "no such key\n"),
        (&["touch", "key", "--ttl", "1s"], 1, "", "no such key\n"),
        (&["put", "long", "-", "--ttl", "1h"], 0, "done", ""),
        (&latest("long"), 0, &long, "left\n"),
        (&["delete", "long"], 0, "done", ""),
        (&["add", "2"], 0, "done", ""),
        (&["remove", "9"], 1, "", "it is no member\n"),
        (&["get", ""], 2, "", "must not be empty"),
        (&["put", "key", "value", "--ttl", "0s"], 2, "", "a TTL of 0"),
        (&["put", "key", "value", "--ttl", "101years"], 2, "", "36500 days"),
        (&["put", "key", "value", "--ttl", "soon"], 2, "", "--ttl"),
        (&["put", "brief", "value", "--ttl", "100ms"], 0, "done", ""),
    ] {
        // The leader is found, whichever node is asked.
        let (its_status, its_out, its_err) = run(&nodes, &followers[..1], arguments);
        assert_eq!((its_status, its_err.is_empty()), (status, err.is_empty()), "{arguments:?}: {its_err}");
        assert!(its_out.starts_with(out) && its_err.contains(err), "{arguments:?}: {its_err}, {} bytes", its_out.len());
        assert!(!out.is_empty() || its_out.is_empty(), "{arguments:?}: {its_out}");
    }
    // A key that expires is gone for the client, too.
    nodes.agree(|status| status.keys == 0).await;
    assert_eq!(run(&nodes, &followers, &["get", "brief"]).0, 1);

    let (status, out, _) = run(&nodes, &nodes.ids(), &["status"]);
    assert_eq!((status, out.lines().count(), out.matches(" leader ").count()), (0, 4, 1), "{out}");
    // Nodes that are down are said to be, and only if all are is it an error.
    nodes.kill(leader);
    let (status, out, _) = run(&nodes, &nodes.ids(), &["status", "--json"]);
    let answers: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
    assert_eq!((status, answers.len()), (0, 3));
    for (id, answer) in nodes.ids().into_iter().zip(answers) {
        assert_eq!(answer["address"], host(&nodes, id));
        assert_eq!(answer["status"]["id"] == id, id != leader, "{answer}");
        assert_eq!(answer["error"].is_string(), id == leader, "{answer}");
    }
    let (status, out, _) = run(&nodes, &nodes.ids(), &["status"]);
    assert_eq!((status, out.matches("no answer").count()), (0, 1), "{out}");
    for (arguments, reason) in [
        (&["status"][..], "no node is up"),
        (&["get", "key"], "no answer"),
        (&["put", "key", "value", "--patience", "100ms"], "no leader"),
    ] {
        let (status, _, err) = run(&nodes, &[leader], arguments);
        assert_eq!((status, err.contains(reason)), (1, true), "{err}");
    }
}
