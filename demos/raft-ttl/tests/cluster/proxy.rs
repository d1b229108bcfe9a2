//! The wire between two nodes, which may be cut, and may lose, delay and double what is sent on it.
//!
//! Nodes know nothing of it: each looks for each other at a wire of its own, and frames pass as they are.

use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use raft_ttl::cluster::GLANCE;
use raft_ttl::frame::{Connection, connection};
use raft_ttl::message::Reply;
use raft_ttl::types::NodeId;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::process::Nodes;

/// How bad the wires are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    /// How many of a hundred frames are lost, requests and replies.
    pub(crate) lost: u32,
    /// How many of a hundred are delayed, by up to 80 ms.
    pub(crate) delayed: u32,
    /// How many of a hundred requests arrive twice, the second time at some other time.
    pub(crate) doubled: u32,
}

/// A frame with more bytes is long: one with entries may be, a heartbeat is not.
const LONG: usize = 4 << 10;

type Forge = fn(Reply) -> Reply;

struct Sky {
    weather: Weather,
    /// Nodes that nobody hears, and that hear nobody.
    cut_off: Vec<NodeId>,
    random: Pcg64,
    /// All requests that passed: to whom, after which hello.
    recorded: Vec<(SocketAddr, [Bytes; 2])>,
    /// How many frames were lost, delayed and doubled, how many passed, and how many replies were forged.
    counts: [u64; 5],
    /// How many connections nodes have made to each other.
    connections: u64,
    /// Whose replies are forged, and how.
    forged: Option<(NodeId, Forge)>,
    /// To whom long frames, what follows them on their connections, and new connections do not get through.
    strait: Option<NodeId>,
}

/// The wires between all nodes of a cluster.
pub(crate) struct Wires {
    sky: Arc<Mutex<Sky>>,
    _tasks: JoinSet<()>,
}

impl Wires {
    /// Three nodes that have been started, with a wire between each two.
    pub(crate) async fn between_nodes(arguments: &[&str], seed: u64) -> (Nodes, Self) {
        let mut nodes = Nodes::new(3, arguments);
        let sky = Arc::new(Mutex::new(Sky {
            weather: Weather::default(),
            cut_off: Vec::new(),
            random: Pcg64::seed_from_u64(seed),
            recorded: Vec::new(),
            counts: [0; 5],
            connections: 0,
            forged: None,
            strait: None,
        }));
        let mut tasks = JoinSet::new();
        for from in nodes.ids() {
            for to in nodes.ids().into_iter().filter(|&to| to != from) {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = nodes.address(to);
                nodes.route(from, to, listener.local_addr().unwrap());
                tasks.spawn(serve(listener, address, [from, to], Arc::clone(&sky)));
            }
        }
        nodes.start_all().unwrap();
        (nodes, Self { sky, _tasks: tasks })
    }

    pub(crate) fn set(&self, weather: Weather) {
        self.sky.lock().unwrap().weather = weather;
    }

    /// Cuts a node off from all others, without a word to anybody.
    pub(crate) fn cut_off(&self, id: NodeId) {
        self.sky.lock().unwrap().cut_off.push(id);
    }

    /// Puts other replies in the place of those of a node.
    pub(crate) fn forge(&self, id: NodeId, forge: Forge) {
        self.sky.lock().unwrap().forged = Some((id, forge));
    }

    /// Lets no long frame through to a node, nor what follows it on its connection, nor a new connection.
    pub(crate) fn narrow(&self, to: NodeId) {
        self.sky.lock().unwrap().strait = Some(to);
    }

    pub(crate) fn heal(&self) {
        let mut sky = self.sky.lock().unwrap();
        sky.cut_off.clear();
        sky.strait = None;
        sky.weather = Weather::default();
    }

    /// Sends all requests once more that have passed so far, in the same order, and says how many.
    pub(crate) async fn play_again(&self) -> usize {
        let recorded = mem::take(&mut self.sky.lock().unwrap().recorded);
        let count = recorded.len();
        for (to, requests) in recorded {
            echo(requests, to, Duration::ZERO).await;
        }
        count
    }

    /// How many frames were lost, delayed and doubled, how many passed, and how many replies were forged.
    pub(crate) fn counts(&self) -> [u64; 5] {
        self.sky.lock().unwrap().counts
    }

    /// How many connections nodes have made to each other.
    pub(crate) fn connections(&self) -> u64 {
        self.sky.lock().unwrap().connections
    }
}

impl Sky {
    /// What becomes of a frame.
    fn fate(&mut self, ends: [NodeId; 2]) -> Fate {
        let Weather { lost, delayed, doubled } = self.weather;
        let mut happens = |percent: u32| self.random.random_range(0..100) < percent;
        let (is_lost, is_delayed, is_doubled) = (happens(lost), happens(delayed), happens(doubled));
        let is_lost = is_lost || ends.iter().any(|end| self.cut_off.contains(end));
        let delay = Duration::from_millis(self.random.random_range(1..80));
        self.counts[0] += u64::from(is_lost);
        self.counts[1] += u64::from(is_delayed);
        self.counts[2] += u64::from(is_doubled);
        self.counts[3] += 1;
        Fate { is_lost, delay: is_delayed.then_some(delay), echo: is_doubled.then_some(delay) }
    }
}

struct Fate {
    is_lost: bool,
    delay: Option<Duration>,
    /// After how long the frame arrives once more.
    echo: Option<Duration>,
}

async fn serve(listener: TcpListener, to: SocketAddr, ends: [NodeId; 2], sky: Arc<Mutex<Sky>>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        sky.lock().unwrap().connections += 1;
        connections.spawn(pass_on(stream, to, ends, Arc::clone(&sky)));
    }
}

/// Passes requests and replies on, one after the other, until either side is gone.
async fn pass_on(from: TcpStream, to: SocketAddr, ends: [NodeId; 2], sky: Arc<Mutex<Sky>>) {
    let is_closed = |sky: &Mutex<Sky>| sky.lock().unwrap().strait == Some(ends[1]);
    while is_closed(&sky) {
        sleep(GLANCE).await;
    }
    // A node that is down refuses connections, and so does the wire to it.
    let Ok(onward) = TcpStream::connect(to).await else { return };
    let (mut from, mut onward) = (connection(from), connection(onward));
    let mut echoes = JoinSet::new();
    // What the node said first, without which nobody listens to an echo.
    let mut hello = None;
    while let Some(request) = frame(&mut from).await {
        let fate = sky.lock().unwrap().fate(ends);
        if hello.is_none() {
            hello = Some(request.clone());
        } else if let (Some(delay), Some(hello)) = (fate.echo, &hello) {
            echoes.spawn(echo([hello.clone(), request.clone()], to, delay));
        }
        if let Some(hello) = &hello {
            sky.lock().unwrap().recorded.push((to, [hello.clone(), request.clone()]));
        }
        if fate.is_lost {
            continue;
        }
        if let Some(delay) = fate.delay {
            sleep(delay).await;
        }
        while request.len() > LONG && is_closed(&sky) {
            sleep(GLANCE).await;
        }
        if onward.send(request).await.is_err() {
            return;
        }
        let Some(mut reply) = frame(&mut onward).await else {
            return;
        };
        let forged = sky.lock().unwrap().forged;
        if let Some((_, forge)) = forged.filter(|(id, _)| *id == ends[1]) {
            sky.lock().unwrap().counts[4] += 1;
            reply = postcard::to_stdvec(&forge(postcard::from_bytes(&reply).unwrap())).unwrap().into();
        }
        let fate = sky.lock().unwrap().fate(ends);
        if !fate.is_lost && from.send(reply).await.is_err() {
            return;
        }
    }
}

/// Sends a request that was sent already, after its hello, and is not interested in the reply.
async fn echo(requests: [Bytes; 2], to: SocketAddr, delay: Duration) {
    sleep(delay).await;
    let Ok(stream) = TcpStream::connect(to).await else { return };
    let mut connection = connection(stream);
    for request in requests {
        if connection.send(request).await.is_err() || frame(&mut connection).await.is_none() {
            return;
        }
    }
}

/// The next frame, if there is one.
async fn frame(connection: &mut Connection) -> Option<Bytes> {
    Some(connection.next().await?.ok()?.freeze())
}
