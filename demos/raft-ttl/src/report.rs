//! How nodes are, for people and for programs.

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::message::Status;

/// What came of asking each node.
type Answers = [(SocketAddr, io::Result<Status>)];

/// A line a node, with a head.
pub(crate) fn table(answers: &Answers) -> String {
    let mut table = format!(
        "{:<21} {:>4}  {:<9} {:>6} {:>9} {:>9} {:>8} {:>8} {:>8} {:>9}  {}\n",
        "address", "node", "role", "term", "log", "applied", "keys", "TTLs", "pending", "expired", "digest"
    );
    for (address, answer) in answers {
        let _ = match answer {
            Ok(it) => writeln!(
                table,
                "{:<21} {:>4}  {:<9} {:>6} {:>9} {:>9} {:>8} {:>8} {:>8} {:>9}  {}",
                address.to_string(),
                it.id,
                it.role.to_lowercase(),
                it.term,
                it.last_log,
                it.applied,
                it.keys,
                it.ttls,
                it.pending,
                it.expired,
                it.digest
            ),
            Err(error) => writeln!(table, "{:<21} no answer: {error}", address.to_string()),
        };
    }
    table
}

/// One JSON array: for each node its address, and its status or why there is none.
pub(crate) fn json(answers: &Answers) -> String {
    let lines = answers.iter().map(|(address, answer)| match answer {
        Ok(status) => json!({ "address": address, "status": status }),
        Err(error) => json!({ "address": address, "error": error.to_string() }),
    });
    lines.collect::<Value>().to_string()
}
