//! The command line: a node, a client, a demonstration.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::Disk;
use crate::client::{self, Client, Found};
use crate::demo::{self, Wishes};
use crate::error::Error;
use crate::limits::{MAX_SECRET, MAX_TTL, MAX_VALUE, Tuning};
use crate::message::{Reply, Request};
use crate::node::{Node, Settings};
use crate::report;
use crate::types::{Command, Item, NodeId};

/// The port of a node is this one and its number, unless told otherwise.
const FIRST_PORT: u16 = 7_000;

const NO_KEY: &str = "no such key";

/// A replicated key-value store whose keys expire on all nodes alike: a node of it, a client, and a
/// demonstration.
///
/// Exits with 0 when all is well, with 1 when there is no such key, no answer, or a broken promise,
/// with 2 for what the user can mend, with 130 when interrupted.
#[derive(Parser, Debug)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Runs three nodes, writes keys with TTLs, kills the leader, and tells what expired when
    Demo(Wishes),
    /// Runs a node
    Node(NodeArgs),
    /// Sets a key
    Put {
        key: String,
        /// At most 1 MiB; - reads it from standard input
        value: String,
        /// How long it stays, such as 500ms, 10s or 1d; without this it stays for ever
        #[arg(long, value_parser = milliseconds)]
        ttl: Option<u64>,
    },
    /// Gives a key another TTL, which begins now
    Touch {
        key: String,
        /// How long it stays from now on
        #[arg(long, value_parser = milliseconds)]
        ttl: u64,
    },
    /// Prints the value of a key
    Get {
        key: String,
        /// The latest value, of the leader, and not what the first node happens to have
        #[arg(long)]
        linearizable: bool,
    },
    /// Deletes a key
    Delete { key: String },
    /// Prints how each node is, one line a node
    Status {
        /// For programs: all there is to know, in JSON
        #[arg(long)]
        json: bool,
    },
    /// Makes a node a member, with the disk it has now in the place of the one it had
    Add {
        /// Its number; all nodes must have been told where it is, with --peer
        id: NodeId,
    },
    /// Makes a node a member no more
    Remove {
        /// Its number
        id: NodeId,
    },
}

#[derive(Args, Debug)]
struct ClusterArgs {
    /// For a client: the nodes, with commas between them
    #[arg(
        long,
        global = true,
        value_name = "HOST:PORT",
        value_delimiter = ',',
        default_value = "127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003"
    )]
    nodes: Vec<String>,
    /// For a client: how long to look for a leader
    #[arg(long, global = true, value_parser = humantime::parse_duration, default_value = "10s")]
    patience: Duration,
}

#[derive(Args, Debug)]
struct NodeArgs {
    /// Its number
    #[arg(long)]
    id: NodeId,
    /// Where it listens [default: port 7000 and its number, on loopback]
    #[arg(long)]
    listen: Option<SocketAddr>,
    /// The directory of its data
    #[arg(long)]
    data: PathBuf,
    /// Another node that is or can be a member, and where it is, such as 2=127.0.0.1:7002
    #[arg(long = "peer", value_name = "ID=ADDRESS", value_parser = peer)]
    peers: Vec<(NodeId, SocketAddr)>,
    /// A file with what all nodes of the cluster know and nobody else; without it anybody who reaches this
    /// node may pose as another one
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    #[command(flatten)]
    tuning: Tuning,
    /// Stop when standard input ends: when the one who holds it is gone
    #[arg(long)]
    lifeline: bool,
}

/// Runs the program on two threads, not counting those that wait for disks: the engine keeps one busy. Messages that
/// are being read or written are in no account of memory, and there are no more of them than threads.
#[tokio::main(worker_threads = 2)]
pub async fn main() {
    let status = run(Cli::parse()).await.unwrap_or_else(|error| {
        eprintln!("raft-ttl: {error}");
        error.exit_status()
    });
    // Nothing is left to be done that anybody waits for.
    std::process::exit(status.into())
}

async fn run(Cli { action, cluster }: Cli) -> Result<u8, Error> {
    let deadline = || Instant::now() + cluster.patience.min(MAX_TTL);
    let mut client = Client::new(cluster.nodes.clone());
    match action {
        Action::Demo(wishes) => tokio::select! {
            biased;
            () = interrupt() => Err(Error::Interrupted),
            shown = demo::show(&wishes) => shown.map(|()| 0),
        },
        Action::Node(args) => node(args).await.map(|()| 0),
        Action::Put { key, mut value, ttl: ttl_ms } => {
            if value == "-" {
                value.clear();
                let read = io::stdin().take(MAX_VALUE as u64 + 1).read_to_string(&mut value);
                read.map_err(|error| Error::Arguments(error.to_string()))?;
            }
            tell(client.put(Item { key, value, ttl_ms }, deadline()).await?, "")
        }
        Action::Touch { key, ttl: ttl_ms } => {
            tell(client.lead(&Request::Write(Command::Touch { key, ttl_ms }), deadline()).await?, NO_KEY)
        }
        Action::Delete { key } => tell(client.lead(&Request::Write(Command::Delete(key)), deadline()).await?, NO_KEY),
        Action::Get { key, linearizable: true } => show(client.get(&key, deadline()).await?),
        Action::Get { key, linearizable: false } => show(first_answer(&cluster.nodes, &key, deadline()).await?),
        Action::Status { json } => status(&cluster, json).await,
        // These may as well be done twice.
        Action::Add { id } => tell(client.insist(&Request::Add(id), deadline()).await?, ""),
        Action::Remove { id } => tell(client.insist(&Request::Remove(id), deadline()).await?, "it is no member"),
    }
}

async fn node(args: NodeArgs) -> Result<(), Error> {
    let port = u16::try_from(args.id).ok().and_then(|id| FIRST_PORT.checked_add(id));
    let listen = args.listen.or(port.map(|port| (Ipv4Addr::LOCALHOST, port).into()));
    let listen = listen.ok_or_else(|| Error::Arguments("which address? see --listen".to_owned()))?;
    let mut members = BTreeMap::from([(args.id, listen)]);
    for (id, address) in args.peers {
        if members.insert(id, address).is_some() {
            return Err(Error::Arguments(format!("node {id} is given twice")));
        }
    }
    let secret = secret(args.secret_file.as_deref())?;
    let settings = Settings { id: args.id, members, secret, tuning: args.tuning };
    let listener = TcpListener::bind(listen).await;
    let listener = listener.map_err(|error| Error::Arguments(format!("{listen}: cannot listen: {error}")))?;
    let node = Node::start(&settings, Disk::open(&args.data)?).await?;
    eprintln!("raft-ttl: node {} listens on {listen}", args.id);
    if settings.secret.is_empty() && settings.members.len() > 1 {
        eprintln!("raft-ttl: anybody who reaches this address may pose as another node: see --secret-file");
    }
    let stop = async {
        let (mut stdin, mut nowhere) = (tokio::io::stdin(), tokio::io::sink());
        tokio::select! {
            () = interrupt() => {}
            _ = tokio::io::copy(&mut stdin, &mut nowhere), if args.lifeline => {}
        }
    };
    node.run(listener, stop).await
}

/// What is in the file, without the end of its line.
fn secret(file: Option<&Path>) -> Result<String, Error> {
    let Some(file) = file else {
        return Ok(String::new());
    };
    let refuse = |problem: String| Error::Arguments(format!("{}: {problem}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
    let secret = text.trim_end();
    if secret.is_empty() || secret.len() > MAX_SECRET {
        let problem = format!("expected a secret of 1 to {MAX_SECRET} bytes");
        return Err(refuse(problem));
    }
    Ok(secret.to_owned())
}

/// Ready at an interrupt, or at a request to terminate.
async fn interrupt() {
    let listen = |kind| signal(kind).expect("signals can be listened to");
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt()), listen(SignalKind::terminate()));
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Tells what came of a write; `missing` is what to say if there was nothing to be done.
fn tell(reply: Reply, missing: &str) -> Result<u8, Error> {
    match reply {
        Reply::Done { index } => {
            println!("done, at index {index}");
            Ok(0)
        }
        Reply::Missing => {
            eprintln!("{missing}");
            Ok(1)
        }
        other => Err(Error::Unanswered(format!("{other:?}"))),
    }
}

fn show(found: Option<(String, Option<u64>)>) -> Result<u8, Error> {
    let Some((value, remaining_ms)) = found else { return tell(Reply::Missing, NO_KEY) };
    println!("{value}");
    if let Some(ms) = remaining_ms {
        eprintln!("{} left", humantime::format_duration(Duration::from_millis(ms)));
    }
    Ok(0)
}

/// The value that the first node has which answers.
async fn first_answer(nodes: &[String], key: &str, deadline: Instant) -> Found {
    let mut found = Ok(None);
    for node in nodes {
        let silent = |error| Error::Unanswered(format!("{node}: {error}"));
        let ask = async |request| client::ask(node, &request).await.map_err(silent);
        found = client::whole(key, false, deadline, ask).await;
        if !matches!(found, Err(Error::Unanswered(_))) {
            break;
        }
    }
    found
}

async fn status(cluster: &ClusterArgs, json: bool) -> Result<u8, Error> {
    let mut answers = Vec::new();
    for node in &cluster.nodes {
        answers.push((node, client::status(node).await));
    }
    if json {
        println!("{}", report::json(&answers));
    } else {
        print!("{}", report::table(&answers));
    }
    if answers.iter().all(|(_, answer)| answer.is_err()) {
        return Err(Error::Unanswered("no node is up".to_owned()));
    }
    Ok(0)
}

/// Reads a TTL as people write it, in whole milliseconds. What is too much is for the node to say.
fn milliseconds(text: &str) -> Result<u64, String> {
    let ttl = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    u64::try_from(ttl.as_millis()).map_err(|_| "more milliseconds than can be counted".to_owned())
}

fn peer(text: &str) -> Result<(NodeId, SocketAddr), String> {
    let (id, address) = text.split_once('=').ok_or("expected ID=ADDRESS")?;
    let id = id.parse().map_err(|error| format!("{id}: {error}"))?;
    let address = address.parse().map_err(|error| format!("{address}: {error}"))?;
    Ok((id, address))
}
