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

type Forge = fn(Reply) -> Reply;

/// How bad the wires are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Weather {
    /// How many of a hundred frames are lost, requests and replies.
    pub(crate) lost: u32,
    /// How many of a hundred are delayed, by up to 80 ms.
    pub(crate) delayed: u32,
    /// How many of a hundred requests arrive twice, the second time at some other time.
    pub(crate) doubled: u32,
    /// A node that nobody hears, and that hears nobody: without a word to anybody.
    pub(crate) cut_off: Option<NodeId>,
    /// To whom long frames, what follows them on their connections, and new connections do not get through.
    pub(crate) strait: Option<NodeId>,
    /// Nodes that every frame to and from takes so long to reach.
    pub(crate) far: ([Option<NodeId>; 2], Duration),
    /// Whose replies others take the place of, and which.
    pub(crate) forged: Option<(NodeId, Forge)>,
}

/// A frame with more bytes is long: one with entries may be, a heartbeat is not.
const LONG: usize = 4 << 10;

struct Sky {
    weather: Weather,
    random: Pcg64,
    /// All requests that passed: to whom, after which hello.
    recorded: Vec<(SocketAddr, [Bytes; 2])>,
    /// How many frames were lost, delayed and doubled.
    counts: [u64; 3],
    /// How many replies were forged.
    forgeries: u64,
    /// How many connections nodes have made to each other.
    connections: u64,
}

/// The wires between all nodes of a cluster.
pub(crate) struct Wires {
    sky: Arc<Mutex<Sky>>,
    _tasks: JoinSet<()>,
}

impl Wires {
    /// Three nodes that have been started, with a wire between each two.
    pub(crate) async fn between_nodes(arguments: &[&str], seed: u64) -> (Nodes, Self) {
        Self::between_nodes_in(arguments, seed, Weather::default()).await
    }

    /// The same in this weather from the beginning.
    pub(crate) async fn between_nodes_in(arguments: &[&str], seed: u64, weather: Weather) -> (Nodes, Self) {
        let mut nodes = Nodes::new(3, arguments);
        let sky = Arc::new(Mutex::new(Sky {
            weather,
            random: Pcg64::seed_from_u64(seed),
            recorded: Vec::new(),
            counts: [0; 3],
            forgeries: 0,
            connections: 0,
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

    pub(crate) fn heal(&self) {
        self.set(Weather::default());
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

    /// How many frames were lost, delayed and doubled.
    pub(crate) fn counts(&self) -> [u64; 3] {
        self.sky.lock().unwrap().counts
    }

    /// How many replies were forged.
    pub(crate) fn forged(&self) -> u64 {
        self.sky.lock().unwrap().forgeries
    }

    /// How many connections nodes have made to each other.
    pub(crate) fn connections(&self) -> u64 {
        self.sky.lock().unwrap().connections
    }
}

impl Sky {
    /// How long a frame takes from one end to the other.
    fn one_way(&self, ends: [NodeId; 2]) -> Duration {
        let (far, one_way) = self.weather.far;
        if ends.iter().any(|&end| far.contains(&Some(end))) { one_way } else { Duration::ZERO }
    }

    /// What becomes of a frame.
    fn fate(&mut self, ends: [NodeId; 2]) -> Fate {
        let Weather { lost, delayed, doubled, cut_off, .. } = self.weather;
        let mut happens = |percent: u32| self.random.random_range(0..100) < percent;
        let (is_lost, is_delayed, is_doubled) = (happens(lost), happens(delayed), happens(doubled));
        let is_lost = is_lost || cut_off.is_some_and(|node| ends.contains(&node));
        let delay = Duration::from_millis(self.random.random_range(1..80));
        let one_way = self.one_way(ends);
        for (count, happened) in self.counts.iter_mut().zip([is_lost, is_delayed, is_doubled]) {
            *count += u64::from(happened);
        }
        let delayed = if is_delayed { delay } else { Duration::ZERO };
        Fate { is_lost, delay: one_way + delayed, echo: is_doubled.then_some(delay) }
    }
}

struct Fate {
    is_lost: bool,
    delay: Duration,
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
    let is_closed = |sky: &Mutex<Sky>| sky.lock().unwrap().weather.strait == Some(ends[1]);
    while is_closed(&sky) {
        sleep(GLANCE).await;
    }
    // A connection is there after a round trip.
    let one_way = sky.lock().unwrap().one_way(ends);
    sleep(2 * one_way).await;
    // A node that is down refuses connections, and so does the wire to it.
    let Ok(onward) = TcpStream::connect(to).await else { return };
    let (mut from, mut onward) = (connection(from), connection(onward));
    let mut echoes = JoinSet::new();
    // What the node said first, without which nobody listens to an echo.
    let mut hello = None;
    while let Some(request) = frame(&mut from).await {
        let fate = sky.lock().unwrap().fate(ends);
        let requests = [hello.get_or_insert_with(|| request.clone()).clone(), request.clone()];
        sky.lock().unwrap().recorded.push((to, requests.clone()));
        if let Some(delay) = fate.echo {
            echoes.spawn(echo(requests, to, delay));
        }
        if fate.is_lost {
            continue;
        }
        sleep(fate.delay).await;
        while request.len() > LONG && is_closed(&sky) {
            sleep(GLANCE).await;
        }
        if onward.send(request).await.is_err() {
            return;
        }
        let Some(mut reply) = frame(&mut onward).await else {
            return;
        };
        let forged = sky.lock().unwrap().weather.forged;
        if let Some((_, forge)) = forged.filter(|(id, _)| *id == ends[1]) {
            sky.lock().unwrap().forgeries += 1;
            reply = postcard::to_stdvec(&forge(postcard::from_bytes(&reply).unwrap())).unwrap().into();
        }
        let fate = sky.lock().unwrap().fate(ends);
        let one_way = sky.lock().unwrap().one_way(ends);
        sleep(one_way).await;
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
