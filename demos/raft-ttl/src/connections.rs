//! The connections to a node: how many there may be, and how long they may take.
//!
//! A new connection waits *at the door* until its first frame is there. The door has few places: the connection that has
//! waited longest is closed when another comes. So silent connections keep nobody out. After that a connection is a
//! node's, of which each other node has a few, or a client's, of which there is a number. If all places of clients are
//! taken, one that comes gets that of the client which has done nothing for longest: neither taken its answer nor asked
//! again. A node's connection may be idle for ever.
//!
//! A connection has one answer under way. The next request is read when the system has taken that, and it holds little for
//! a connection. So who takes no answers has few made, and the number of connections bounds the memory.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use socket2::SockRef;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::frame::{self, Connection};
use crate::limits::{AT_THE_DOOR, IN_FLIGHT, LEAVING, MAX_FRAME, OF_EACH_NODE};
use crate::message::{Hello, Reply, Request};
use crate::node::Node;
use crate::types::NodeId;

/// Answers on every connection to this listener; dropped, it closes them all.
pub(crate) async fn serve(node: Node, listener: TcpListener) -> Infallible {
    let (clients, nodes, leaving) = (Places::default(), Mutex::default(), Semaphore::new(AT_THE_DOOR));
    let host = Arc::new(Host { node, clients, nodes, leaving });
    let door = Places::default();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(Arc::clone(&host).receive(stream, door.take(AT_THE_DOOR)))),
                // Too many open files, say: that passes.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Places of connections. If all are taken, the connection that has waited longest loses its place to one that comes, and is
/// told so.
#[derive(Clone, Default)]
struct Places(Arc<Mutex<Taken>>);

#[derive(Default)]
struct Taken {
    count: usize,
    /// Those that can be lost, in the order in which their connections began to wait.
    waiting: VecDeque<Arc<Notify>>,
}

impl Places {
    /// A place to wait at, one of so many; none if nobody waits at any.
    fn take(&self, places: usize) -> Option<Place> {
        let lost = Arc::new(Notify::new());
        let mut taken = self.0.lock();
        if taken.count < places {
            taken.count += 1;
        } else {
            taken.waiting.pop_front()?.notify_one();
        }
        taken.waiting.push_back(Arc::clone(&lost));
        Some(Place { places: self.clone(), lost, is_busy: false })
    }
}

/// A place, given back when it is dropped.
struct Place {
    places: Places,
    /// Notified when another connection has the place.
    lost: Arc<Notify>,
    is_busy: bool,
}

impl Place {
    /// It cannot be lost from now on; `false` if it is lost already.
    fn work(&mut self) -> bool {
        let mut taken = self.places.0.lock();
        let nth = taken.waiting.iter().position(|it| Arc::ptr_eq(it, &self.lost));
        self.is_busy |= nth.and_then(|nth| taken.waiting.remove(nth)).is_some();
        self.is_busy
    }

    fn wait(&mut self) {
        self.is_busy = false;
        self.places.0.lock().waiting.push_back(Arc::clone(&self.lost));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.work() {
            self.places.0.lock().count -= 1;
        }
    }
}

struct Host {
    node: Node,
    clients: Places,
    nodes: Mutex<BTreeMap<NodeId, Places>>,
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
    async fn receive(self: Arc<Self>, stream: TcpStream, place: Option<Place>) {
        bound(&stream);
        let mut connection = frame::connection(stream);
        let reply = match self.converse(&mut connection, place).await {
            Ok(()) => return,
            // Not in the middle of another one.
            Err(End::Last(reply)) if connection.write_buffer().is_empty() => reply,
            Err(_) => return reset(connection.get_ref()),
        };
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

    async fn converse(&self, connection: &mut Connection, place: Option<Place>) -> Result<(), End> {
        // All who are at the door wait.
        let place = place.ok_or(End::Broken)?;
        let mut request = tokio::select! {
            first = self.request(connection, self.node.limits.frame_time) => first?,
            () = place.lost.notified() => return Err(others_came()),
        };
        drop(place);
        if let Some(Ok(Request::Peer(hello))) = request {
            return self.serve_node(connection, hello).await;
        }
        let place = self.clients.take(self.node.limits.clients as usize);
        let mut place = place.ok_or_else(|| busy("there are too many clients"))?;
        while let Some(asked) = request {
            if !place.work() {
                return Err(others_came());
            }
            let reply = match asked {
                Ok(Request::Peer(_) | Request::Call(_)) => {
                    let problem = "a node says who it is before anything else";
                    return Err(refused(problem.to_owned()));
                }
                Ok(request) => self.node.answer(request).await,
                Err(problem) => malformed(&problem),
            };
            place.wait();
            let next = async {
                self.reply(connection, &reply).await?;
                self.request(connection, self.node.limits.idle_time).await
            };
            request = tokio::select! {
                next = next => next?,
                () = place.lost.notified() => return Err(others_came()),
            };
        }
        Ok(())
    }

    /// Lets the engine hear another node, if it is one.
    async fn serve_node(&self, connection: &mut Connection, hello: Hello) -> Result<(), End> {
        let welcome = self.node.peers.welcome(&hello).map_err(refused)?;
        let place = self.nodes.lock().entry(hello.from).or_default().take(OF_EACH_NODE);
        // All of them wait, as far as places go.
        let place = place.ok_or(End::Broken)?;
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
            () = place.lost.notified() => Err(End::Broken),
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
        timeout(self.node.limits.frame_time, frame::send(connection, reply)).await.map_err(|_| End::Broken)??;
        Ok(())
    }
}

/// Has the system hold little for a connection. It would take some megabytes of answers that nobody reads, and more of the
/// memory that all connections share than is good for those between nodes. Should it refuse, that is so.
fn bound(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let _ = socket.set_send_buffer_size(IN_FLIGHT).and(socket.set_recv_buffer_size(IN_FLIGHT));
}

/// Has the system forget what it holds for a connection when that is closed, and not offer it for minutes.
fn reset(stream: &TcpStream) {
    // Should that fail, it does.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

fn others_came() -> End {
    busy("others came while nothing was said")
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn connection_that_comes_gets_the_place_of_the_one_that_has_waited_for_longest() {
        let places = Places::default();
        let mut held: Vec<_> = (0..3).map(|_| places.take(3).unwrap()).collect();
        assert!(held.iter_mut().all(Place::work));
        assert!(places.take(3).is_none(), "all are being answered");

        held.iter_mut().rev().skip(1).for_each(Place::wait);
        let mut comes = places.take(3).unwrap();
        assert!(comes.work());
        let is_told = |place: &Place| place.lost.notified().now_or_never().is_some();
        assert_eq!(held.iter().map(is_told).collect::<Vec<_>>(), [false, true, false]);
        // Whoever asks in time stays, and whoever is too late knows it.
        assert!(held[0].work() && !held[1].work());
        assert!(places.take(3).is_none());
        // What is lost is not given back, and what is held is.
        drop(held.remove(1));
        assert!(places.take(3).is_none());
        drop(comes);
        assert!(places.take(3).is_some());
    }
}
