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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::frame::{self, Connection};
use crate::limits::{AT_THE_DOOR, IN_FLIGHT, LEAVING, MAX_FRAME, OF_EACH_NODE};
use crate::message::{Hello, Reply, Request};
use crate::node::Node;
use crate::types::NodeId;

/// Answers on every connection to this listener; dropped, it closes them all.
pub(crate) async fn serve(node: Node, listener: TcpListener) -> Infallible {
    let host = Arc::new(Host {
        clients: Clients::new(node.limits.clients as usize),
        node,
        nodes: Mutex::default(),
        leaving: Semaphore::new(AT_THE_DOOR),
    });
    let door = Bench::default();
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

/// Where connections wait, in the order in which they came. The one that has waited longest goes when its place is needed,
/// and is told so.
#[derive(Clone, Debug, Default)]
struct Bench(Arc<Mutex<VecDeque<Arc<Notify>>>>);

impl Bench {
    /// Sits down; if all of so many seats are taken, in the place of the one that has sat longest.
    fn sit(&self, seats: usize) -> Seat {
        let turned_away = Arc::new(Notify::new());
        let mut all = self.lock();
        if all.len() >= seats {
            all.pop_front().inspect(|seat| seat.notify_one());
        }
        all.push_back(Arc::clone(&turned_away));
        Seat { bench: self.clone(), turned_away }
    }

    /// Has the one go that has sat longest; `false` if nobody sits there.
    fn turn_away(&self) -> bool {
        self.lock().pop_front().inspect(|seat| seat.notify_one()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Notify>>> {
        // No change behind this lock can be half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A seat on a bench, given back when it is dropped.
struct Seat {
    bench: Bench,
    turned_away: Arc<Notify>,
}

impl Seat {
    /// Ready when the one who sits here has to go.
    async fn turned_away(&self) {
        self.turned_away.notified().await;
    }

    /// Gets up; `false` if it was too late for that, since another one counts on the place.
    fn leave(&self) -> bool {
        let mut seats = self.bench.lock();
        let place = seats.iter().position(|seat| Arc::ptr_eq(seat, &self.turned_away));
        place.and_then(|place| seats.remove(place)).is_some()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The places of clients.
///
/// Invariant: whoever is turned away from `waiting` has a place and gives it back at once.
#[derive(Debug)]
struct Clients {
    places: Semaphore,
    /// Those who have a place and are not being answered.
    waiting: Bench,
}

impl Clients {
    fn new(places: usize) -> Self {
        Self { places: Semaphore::new(places), waiting: Bench::default() }
    }

    /// A place; if none is free, that of the client that has done nothing for longest. None if all are being answered.
    async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        if let Ok(place) = self.places.try_acquire() {
            return Some(place);
        }
        if self.waiting.turn_away() { self.places.acquire().await.ok() } else { None }
    }
}

struct Host {
    node: Node,
    clients: Clients,
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
    async fn receive(self: Arc<Self>, stream: TcpStream, seat: Seat) {
        bound(&stream);
        let mut connection = frame::connection(stream);
        let reply = match self.converse(&mut connection, seat).await {
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

    async fn converse(&self, connection: &mut Connection, seat: Seat) -> Result<(), End> {
        let mut request = tokio::select! {
            first = self.request(connection, self.node.limits.frame_time) => first?,
            () = seat.turned_away() => return Err(others_came()),
        };
        drop(seat);
        if let Some(Ok(Request::Peer(hello))) = request {
            return self.serve_node(connection, hello).await;
        }
        let Some(_place) = self.clients.enter().await else { return Err(busy("there are too many clients")) };
        while let Some(asked) = request {
            let reply = match asked {
                Ok(Request::Peer(_) | Request::Call(_)) => {
                    let problem = "a node says who it is before anything else";
                    return Err(refused(problem.to_owned()));
                }
                Ok(request) => self.node.answer(request).await,
                Err(problem) => malformed(&problem),
            };
            let seat = self.clients.waiting.sit(usize::MAX);
            let next = async {
                self.reply(connection, &reply).await?;
                self.request(connection, self.node.limits.idle_time).await
            };
            request = tokio::select! {
                next = next => next?,
                () = seat.turned_away() => return Err(others_came()),
            };
            if !seat.leave() {
                return Err(others_came());
            }
        }
        Ok(())
    }

    /// Lets the engine hear another node, if it is one.
    async fn serve_node(&self, connection: &mut Connection, hello: Hello) -> Result<(), End> {
        let welcome = self.node.peers.welcome(&hello).map_err(refused)?;
        let seat = {
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
            () = seat.turned_away() => Err(End::Broken),
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
    fn client_that_comes_gets_the_place_of_the_one_that_has_done_nothing_for_longest() {
        let clients = Clients::new(3);
        let mut places: Vec<_> = (0..3).map(|_| clients.enter().now_or_never().unwrap().unwrap()).collect();
        assert!(clients.enter().now_or_never().unwrap().is_none(), "all are being answered");

        let first = clients.waiting.sit(usize::MAX);
        let second = clients.waiting.sit(usize::MAX);
        let mut comes = Box::pin(clients.enter());
        assert!(comes.as_mut().now_or_never().is_none(), "the place is not free yet");
        assert!(first.turned_away().now_or_never().is_some());
        assert!(second.turned_away().now_or_never().is_none());
        drop(places.pop());
        places.push(comes.as_mut().now_or_never().unwrap().unwrap());

        // Whoever asks in time stays, and whoever is too late knows it.
        assert!(second.leave() && !first.leave());
        assert!(clients.enter().now_or_never().is_some_and(|place| place.is_none()));
    }
}
