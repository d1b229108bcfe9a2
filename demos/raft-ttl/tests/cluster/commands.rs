//! The commands of the client, as a user types them.

use std::fs::{self, File};
use std::process::{Command, Output};

use raft_ttl::limits::MAX_VALUE;
use raft_ttl::types::NodeId;

use crate::process::{CALM, Nodes, program};

struct Shell<'a> {
    nodes: &'a Nodes,
}

impl Shell<'_> {
    /// Runs a command against these nodes.
    fn run(&self, nodes: &[NodeId], arguments: &[&str]) -> (i32, String, String) {
        let addresses = nodes.iter().map(|&id| self.nodes.address(id).to_string());
        let addresses = addresses.collect::<Vec<_>>().join(",");
        let mut command = Command::new(program());
        command.args(arguments).args(["--nodes", &addresses]);
        if arguments.contains(&"-") {
            command.stdin(File::open(self.nodes.directory().join("long")).unwrap());
        }
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_do_what_they_say() {
    let mut nodes = Nodes::started(&CALM);
    let (leader, _) = nodes.all_up().await;
    let followers: Vec<_> = nodes.ids().into_iter().filter(|&id| id != leader).collect();
    let shell = Shell { nodes: &nodes };
    // The leader is found, whichever node is asked.
    let at_follower = |arguments: &[&str]| shell.run(&followers[..1], arguments);

    let (status, out, err) = at_follower(&["put", "key", "a value", "--ttl", "1h"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.starts_with("done, at index "), "{out}");
    let (status, out, err) = at_follower(&["get", "key", "--linearizable"]);
    assert_eq!((status, out.as_str()), (0, "a value\n"));
    assert!(err.contains("left"), "{err}");
    assert_eq!(at_follower(&["touch", "key", "--ttl", "2h"]).0, 0);
    assert_eq!(at_follower(&["put", "key", "another"]).0, 0);
    let (status, out, err) = at_follower(&["get", "key", "--linearizable"]);
    assert_eq!((status, out.as_str(), err.as_str()), (0, "another\n", ""));
    assert_eq!(at_follower(&["delete", "key"]).0, 0);

    for arguments in [&["get", "key", "--linearizable"][..], &["delete", "key"], &["touch", "key", "--ttl", "1s"]] {
        let (status, out, err) = at_follower(arguments);
        assert_eq!((status, out.as_str(), err.as_str()), (1, "", "no such key\n"));
    }
    // Longer than an argument can be.
    let long = "€".repeat(MAX_VALUE / 4);
    fs::write(nodes.directory().join("long"), &long).unwrap();
    assert_eq!(at_follower(&["put", "long", "-", "--ttl", "1h"]).0, 0);
    let (status, out, _) = at_follower(&["get", "long", "--linearizable"]);
    assert!(status == 0 && out == format!("{long}\n"), "{} bytes", out.len());
    assert_eq!(at_follower(&["delete", "long"]).0, 0);

    let (status, _, err) = at_follower(&["get", ""]);
    assert_eq!((status, err.contains("must not be empty")), (2, true), "{err}");
    let (status, _, err) = at_follower(&["put", "key", "value", "--ttl", "0s"]);
    assert_eq!((status, err.contains("a TTL of 0")), (2, true), "{err}");
    let (status, _, err) = at_follower(&["put", "key", "value", "--ttl", "101years"]);
    assert_eq!((status, err.contains("36500 days")), (2, true), "{err}");
    let (status, _, err) = at_follower(&["put", "key", "value", "--ttl", "soon"]);
    assert_eq!((status, err.contains("--ttl")), (2, true), "{err}");

    // A key that expires is gone for the client, too.
    assert_eq!(at_follower(&["put", "brief", "value", "--ttl", "100ms"]).0, 0);
    nodes.agree(|status| status.keys == 0).await;
    let shell = Shell { nodes: &nodes };
    assert_eq!(shell.run(&followers, &["get", "brief"]).0, 1);

    let (status, out, _) = shell.run(&nodes.ids(), &["status"]);
    assert_eq!((status, out.lines().count(), out.matches(" leader ").count()), (0, 4, 1), "{out}");
    // Nodes that are down are said to be, and only if all are is it an error.
    nodes.kill(leader);
    let shell = Shell { nodes: &nodes };
    let (status, out, _) = shell.run(&nodes.ids(), &["status", "--json"]);
    let answers: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
    assert_eq!((status, answers.len()), (0, 3));
    for (id, answer) in nodes.ids().into_iter().zip(answers) {
        assert_eq!(answer["address"], nodes.address(id).to_string());
        assert_eq!(answer["status"]["id"] == id, id != leader, "{answer}");
        assert_eq!(answer["error"].is_string(), id == leader, "{answer}");
    }
    let (status, out, _) = shell.run(&nodes.ids(), &["status"]);
    assert_eq!((status, out.matches("no answer").count()), (0, 1), "{out}");
    assert_eq!(shell.run(&[leader], &["status"]).0, 1);
    let lonely = shell.run(&[leader], &["put", "key", "value", "--patience", "100ms"]);
    assert_eq!((lonely.0, lonely.2.contains("no leader")), (1, true), "{}", lonely.2);
    assert_eq!(shell.run(&[leader], &["get", "key"]).0, 1);
}
