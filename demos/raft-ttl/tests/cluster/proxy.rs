//! The wires between nodes, on which frames may be lost, late, held up or forged.
//!
//! Nodes know nothing of it: each looks for each other at a wire of its own.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use raft_ttl::cluster::GLANCE;
use raft_ttl::frame::{Connection, connection};
use raft_ttl::types::NodeId;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::bytes::Bytes;

use crate::process::Nodes;

/// A request, or the reply to one.
pub(crate) struct Frame {
    /// The node that made the connection, and the one to which it did.
    pub(crate) ends: [NodeId; 2],
    /// The first request on the connection, without which nobody listens to the others.
    pub(crate) hello: Bytes,
    pub(crate) is_reply: bool,
    pub(crate) bytes: Bytes,
}

impl Frame {
    pub(crate) fn is_hello(&self) -> bool {
        self.bytes == self.hello
    }
}

/// What becomes of a frame.
pub(crate) enum Fate {
    Arrives,
    ArrivesAfter(Duration),
    Lost,
    /// It is asked again what becomes of it; what follows it has to wait.
    HeldUp,
}

/// Says what becomes of a frame, which it may change.
type Weather = Box<dyn FnMut(&mut Frame) -> Fate + Send>;

/// All is well.
pub(crate) fn fair(_: &mut Frame) -> Fate {
    Fate::Arrives
}

/// Nobody hears this node, and it hears nobody: without a word to anybody.
pub(crate) fn cut_off(node: NodeId) -> impl FnMut(&mut Frame) -> Fate {
    move |frame| if frame.ends.contains(&node) { Fate::Lost } else { Fate::Arrives }
}

/// The wires between all nodes of a cluster.
pub(crate) struct Wires {
    weather: Arc<Mutex<Weather>>,
    _tasks: JoinSet<()>,
}

impl Wires {
    /// Three nodes that have been started, with a wire between each two.
    pub(crate) async fn between_nodes(
        arguments: &[&str],
        weather: impl FnMut(&mut Frame) -> Fate + Send + 'static,
    ) -> (Nodes, Self) {
        let mut nodes = Nodes::new(3, arguments);
        let wires = Arc::new(Mutex::new(Box::new(weather) as Weather));
        let mut tasks = JoinSet::new();
        for from in nodes.ids() {
            for to in nodes.ids().into_iter().filter(|&to| to != from) {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = nodes.address(to);
                nodes.routes.insert((from, to), listener.local_addr().unwrap());
                tasks.spawn(serve(listener, address, [from, to], Arc::clone(&wires)));
            }
        }
        nodes.start_all().unwrap();
        (nodes, Self { weather: wires, _tasks: tasks })
    }

    pub(crate) fn set(&self, weather: impl FnMut(&mut Frame) -> Fate + Send + 'static) {
        *self.weather.lock().unwrap() = Box::new(weather);
    }

    pub(crate) fn heal(&self) {
        self.set(fair);
    }
}

async fn serve(listener: TcpListener, to: SocketAddr, ends: [NodeId; 2], weather: Arc<Mutex<Weather>>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(pass_on(stream, to, ends, Arc::clone(&weather)));
    }
}

/// Passes requests and replies on, one after the other, until either side is gone.
async fn pass_on(from: TcpStream, to: SocketAddr, ends: [NodeId; 2], weather: Arc<Mutex<Weather>>) -> Option<()> {
    // A node that is down refuses connections, and so does the wire to it.
    let (mut from, mut onward) = (connection(from), connection(TcpStream::connect(to).await.ok()?));
    let mut hello = None;
    loop {
        let bytes = next(&mut from).await?;
        let hello = hello.get_or_insert_with(|| bytes.clone()).clone();
        let mut frame = Frame { ends, hello, is_reply: false, bytes };
        if arrives(&mut frame, &weather).await {
            onward.send(frame.bytes).await.ok()?;
            (frame.is_reply, frame.bytes) = (true, next(&mut onward).await?);
            if arrives(&mut frame, &weather).await {
                from.send(frame.bytes).await.ok()?;
            }
        }
    }
}

/// Whether a frame arrives, once it does.
async fn arrives(frame: &mut Frame, weather: &Mutex<Weather>) -> bool {
    loop {
        let fate = weather.lock().unwrap()(frame);
        match fate {
            Fate::Arrives => return true,
            Fate::ArrivesAfter(time) => {
                sleep(time).await;
                return true;
            }
            Fate::Lost => return false,
            Fate::HeldUp => sleep(GLANCE).await,
        }
    }
}

/// The next frame, if there is one.
async fn next(connection: &mut Connection) -> Option<Bytes> {
    Some(connection.next().await?.ok()?.freeze())
}
