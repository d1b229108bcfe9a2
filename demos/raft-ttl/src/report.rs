//! How nodes are, for people and for programs.

use std::io;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use crate::message::Status;

/// What came of asking each node.
type Answers<'a> = [(&'a String, io::Result<Status>)];

/// A line a node, with a head, and then why candidates do not lead and who gave no answer.
pub(crate) fn table(answers: &Answers<'_>) -> String {
    let head = ["address", "node", "role", "term", "log", "applied", "keys", "TTLs", "pending", "expired", "digest"];
    let (mut table, mut notes) = (plain(&head), String::new());
    for (address, answer) in answers {
        match answer {
            Ok(it) => {
                let numbers = [it.term, it.last_log, it.applied, it.keys, it.ttls, it.pending, it.expired];
                let first = [address.to_string(), it.id.to_string(), it.role.to_lowercase()].into_iter();
                table.add_row(first.chain(numbers.map(|it| it.to_string())).chain([it.digest.clone()]));
                notes.extend(it.votes.iter().map(|votes| format!(" {address}: a candidate: {votes}\n")));
            }
            Err(error) => notes += &format!(" {address}: no answer: {error}\n"),
        }
    }
    format!("{}\n{notes}", table.trim_fmt())
}

/// An empty table without lines, whose columns but for the first keep to the right.
pub(crate) fn plain(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(head);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// One JSON array: for each node its address, and its status or why there is none.
pub(crate) fn json(answers: &Answers<'_>) -> String {
    let lines = answers.iter().map(|(address, answer)| match answer {
        Ok(status) => json!({ "address": address, "status": status }),
        Err(error) => json!({ "address": address, "error": error.to_string() }),
    });
    lines.collect::<Value>().to_string()
}
