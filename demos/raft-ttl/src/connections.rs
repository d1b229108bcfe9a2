//! The connections to a node: how many there may be, and how long they may take.
//!
//! A new connection waits *at the door* until its first frame is there. The door has few places: the connection that has
//! waited longest is closed when another comes. So silent connections keep nobody out. After that a connection is a
//! node's, of which each other node has a few, or a client's, of which there is a number. A client's connection must not be
//! idle for long; a node's may. A frame is short, so the number of connections bounds the memory.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::frame::{self, Connection};
use crate::limits::{AT_THE_DOOR, LEAVING, MAX_FRAME, OF_EACH_NODE, Tuning};
use crate::message::{Hello, Reply, Request};
use crate::node::Node;
use crate::types::NodeId;

/// Answers on every connection to this listener; dropped, it closes them all.
pub(crate) async fn serve(node: Node, limits: Tuning, listener: TcpListener) -> Infallible {
    let host = Arc::new(Host {
        node,
        limits,
        clients: Semaphore::new(limits.clients as usize),
        nodes: Mutex::default(),
        leaving: Semaphore::new(AT_THE_DOOR),
    });
    let mut door = Bench::default();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(Arc::clone(&host).receive(stream, door.sit(AT_THE_DOOR)))),
                // Too many open files, say: that passes.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Where few have a place: the one that has sat longest goes when another comes. What tells them to go is dropped; who has
/// left by itself has closed the other end.
#[derive(Debug, Default)]
struct Bench(VecDeque<oneshot::Sender<Infallible>>);

impl Bench {
    /// Takes one of so many places, until the answer is ready or dropped. O(places).
    fn sit(&mut self, places: usize) -> oneshot::Receiver<Infallible> {
        self.0.retain(|seated| !seated.is_closed());
        if self.0.len() == places {
            self.0.pop_front();
        }
        let (seated, turned_away) = oneshot::channel();
        self.0.push_back(seated);
        turned_away
    }
}

/// What all connections share.
struct Host {
    node: Node,
    limits: Tuning,
    clients: Semaphore,
    nodes: Mutex<BTreeMap<NodeId, Bench>>,
    leaving: Semaphore,
}

/// Why a connection ends: it is broken, or this is the last thing to say on it.
enum End {
    Broken,
    Last(Box<Reply>),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

impl Host {
    /// Answers on a connection as long as it makes sense.
    async fn receive(self: Arc<Self>, stream: TcpStream, place: oneshot::Receiver<Infallible>) {
        let mut connection = frame::connection(stream);
        let Err(End::Last(reply)) = self.converse(&mut connection, place).await else { return };
        let said = self.reply(&mut connection, &reply).await;
        // A client that is still sending could not read that if the connection were closed at once.
        let stream = connection.get_mut();
        if said.is_ok()
            && let Ok(_place) = self.leaving.try_acquire()
            && stream.shutdown().await.is_ok()
        {
            let _ = timeout(LEAVING, tokio::io::copy(stream, &mut tokio::io::sink())).await;
        }
    }

    async fn converse(
        &self,
        connection: &mut Connection,
        turned_away: oneshot::Receiver<Infallible>,
    ) -> Result<(), End> {
        let mut request = tokio::select! {
            first = self.request(connection, self.limits.frame_time) => first?,
            _ = turned_away => return Err(busy("others came while nothing was said")),
        };
        if let Some(Ok(Request::Peer(hello))) = request {
            return self.serve_node(connection, hello).await;
        }
        let Ok(_place) = self.clients.try_acquire() else { return Err(busy("there are too many clients")) };
        while let Some(asked) = request {
            let reply = match asked {
                Ok(Request::Peer(_) | Request::Call(_)) => {
                    let problem = "a node says who it is before anything else";
                    return Err(refused(problem.to_owned()));
                }
                Ok(request) => self.node.answer(request).await,
                Err(problem) => malformed(&problem),
            };
            self.reply(connection, &reply).await?;
            request = self.request(connection, self.limits.idle_time).await?;
        }
        Ok(())
    }

    /// Lets the engine hear another node, if it is one.
    async fn serve_node(&self, connection: &mut Connection, hello: Hello) -> Result<(), End> {
        let welcome = self.node.peers.welcome(&hello).map_err(refused)?;
        let turned_away = {
            // No change behind this lock can be half done.
            let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            nodes.entry(hello.from).or_default().sit(OF_EACH_NODE)
        };
        let talk = async {
            self.reply(connection, &Reply::Welcome(welcome)).await?;
            while let Some(call) = self.request(connection, Duration::MAX).await? {
                let reply = match (call, self.node.peers.admit(&hello)) {
                    (Ok(Request::Call(call)), Ok(())) => self.node.hear(call).await,
                    (Ok(Request::Call(_)), Err(problem)) => Reply::Refused(problem),
                    (Ok(_), _) => Reply::Refused("a node is no client".to_owned()),
                    (Err(problem), _) => malformed(&problem),
                };
                self.reply(connection, &reply).await?;
            }
            Ok(())
        };
        tokio::select! {
            ended = talk => ended,
            _ = turned_away => Err(End::Broken),
        }
    }

    /// The next request, if it comes in time.
    async fn request(
        &self,
        connection: &mut Connection,
        time: Duration,
    ) -> Result<Option<Result<Request, String>>, End> {
        match timeout(time, frame::receive(connection)).await {
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(refused(format!("a frame is longer than {MAX_FRAME} bytes")))
            }
            Ok(received) => Ok(received?),
            Err(_) => Err(busy("no whole request came in time")),
        }
    }

    /// Sends a reply, if it is taken in time.
    async fn reply(&self, connection: &mut Connection, reply: &Reply) -> Result<(), End> {
        timeout(self.limits.frame_time, frame::send(connection, reply)).await.map_err(|_| End::Broken)??;
        Ok(())
    }
}

fn busy(problem: &str) -> End {
    End::Last(Box::new(Reply::Busy(problem.to_owned())))
}

fn refused(problem: String) -> End {
    End::Last(Box::new(Reply::Refused(problem)))
}

fn malformed(problem: &str) -> Reply {
    Reply::Refused(format!("no request ({problem}): expected one, whole"))
}
