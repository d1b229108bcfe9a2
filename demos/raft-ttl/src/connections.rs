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
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use socket2::SockRef;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
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
        door: Places::new(AT_THE_DOOR),
        clients: Places::new(node.limits.clients as usize),
        nodes: node.peers.others().map(|id| (id, Places::new(OF_EACH_NODE))).collect(),
        leaving: Semaphore::new(AT_THE_DOOR),
        node,
    });
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(Arc::clone(&host).receive(stream))),
                // Too many open files, say: that passes.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Places of connections. If all are taken, one that comes gets the place of the connection that has waited longest.
struct Places {
    free: Semaphore,
    /// How to tell those who wait that their places are lost, in the order in which they began to wait.
    waiting: Mutex<VecDeque<oneshot::Sender<()>>>,
}

impl Places {
    fn new(count: usize) -> Self {
        Self { free: Semaphore::new(count), waiting: Mutex::default() }
    }

    /// A place; none if all are taken and nobody waits at any.
    async fn take(&self) -> Option<SemaphorePermit<'_>> {
        if let Ok(place) = self.free.try_acquire() {
            return Some(place);
        }
        loop {
            let longest = self.waiting.lock().pop_front()?;
            // It may not wait any more.
            if longest.send(()).is_ok() {
                return self.free.acquire().await.ok();
            }
        }
    }

    /// Waits for something at a place; for nothing if another connection gets the place meanwhile.
    async fn wait<T>(&self, next: impl Future<Output = T>) -> Option<T> {
        let (told, mut lost) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            waiting.retain(|it| !it.is_closed());
            waiting.push_back(told);
        }
        let next = tokio::select! {
            _ = &mut lost => None,
            next = next => Some(next),
        };
        // It cannot be lost from now on.
        lost.close();
        next.filter(|_| lost.try_recv().is_err())
    }
}

struct Host {
    node: Node,
    door: Places,
    clients: Places,
    nodes: BTreeMap<NodeId, Places>,
    leaving: Semaphore,
}

/// What is left to say when a connection ends, unless it is broken.
type LastWord = Option<Box<Reply>>;

impl Host {
    /// Answers on a connection as long as it makes sense.
    async fn receive(self: Arc<Self>, stream: TcpStream) {
        bound(&stream);
        let mut connection = frame::connection(stream);
        let reply = match self.converse(&mut connection).await {
            Ok(()) => return,
            // Not in the middle of another one.
            Err(Some(reply)) if connection.write_buffer().is_empty() => reply,
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

    async fn converse(&self, connection: &mut Connection) -> Result<(), LastWord> {
        let place = self.door.take().await.ok_or_else(others_came)?;
        let first = self.door.wait(self.request(connection, self.node.limits.frame_time)).await;
        drop(place);
        let mut request = first.ok_or_else(others_came)??;
        if let Some(Ok(Request::Peer(hello))) = request {
            return self.serve_node(connection, hello).await;
        }
        let _place = self.clients.take().await.ok_or_else(|| busy("there are too many clients"))?;
        while let Some(asked) = request {
            let reply = match asked {
                Ok(Request::Peer(_) | Request::Call(_)) => {
                    return Err(refused("a node says who it is before anything else".to_owned()));
                }
                Ok(request) => self.node.answer(request).await,
                Err(problem) => malformed(&problem),
            };
            let next = async {
                self.reply(connection, &reply).await?;
                self.request(connection, self.node.limits.idle_time).await
            };
            request = self.clients.wait(next).await.ok_or_else(others_came)??;
        }
        Ok(())
    }

    /// Lets the engine hear another node, if it is one.
    async fn serve_node(&self, connection: &mut Connection, hello: Hello) -> Result<(), LastWord> {
        let welcome = self.node.peers.welcome(&hello).map_err(refused)?;
        let places = self.nodes.get(&hello.from).ok_or(LastWord::None)?;
        // All of them wait, as far as places go.
        let _place = places.take().await.ok_or(LastWord::None)?;
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
        places.wait(talk).await.ok_or(LastWord::None)?
    }

    /// The next request, if it comes in time.
    async fn request(
        &self,
        connection: &mut Connection,
        time: Duration,
    ) -> Result<Option<Result<Request, String>>, LastWord> {
        match timeout(time, frame::receive(connection)).await {
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => {
                Err(refused(format!("a frame is longer than {MAX_FRAME} bytes")))
            }
            Ok(received) => received.map_err(|_| None),
            Err(_) => Err(busy("no whole request came in time")),
        }
    }

    /// Sends a reply, if it is taken in time.
    async fn reply(&self, connection: &mut Connection, reply: &Reply) -> Result<(), LastWord> {
        let sent = timeout(self.node.limits.frame_time, frame::send(connection, reply)).await;
        if let Ok(Ok(())) = sent { Ok(()) } else { Err(None) }
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

fn others_came() -> LastWord {
    busy("others came while nothing was said")
}

fn busy(problem: &str) -> LastWord {
    Some(Box::new(Reply::Busy(problem.to_owned())))
}

fn refused(problem: String) -> LastWord {
    Some(Box::new(Reply::Refused(problem)))
}

fn malformed(problem: &str) -> Reply {
    Reply::Refused(format!("no request ({problem}): expected one, whole"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::future::{pending, ready};
    use tokio::task::yield_now;

    #[tokio::test]
    async fn connection_that_comes_gets_the_place_of_the_one_that_has_waited_for_longest() {
        let places = Places::new(2);
        let (_first, second) = (places.take().await.unwrap(), places.take().await.unwrap());
        assert_eq!(places.wait(ready("asked")).await, Some("asked"));
        assert!(places.take().await.is_none(), "both are being answered");

        let (mut longest, mut other) = (Box::pin(places.wait(yield_now())), Box::pin(places.wait(pending::<()>())));
        assert!(longest.as_mut().now_or_never().is_none() && other.as_mut().now_or_never().is_none());
        let mut comes = Box::pin(places.take());
        assert!(comes.as_mut().now_or_never().is_none());
        // It has lost its place, although what it waits for is there by now.
        assert_eq!(longest.now_or_never(), Some(None));
        assert!(other.now_or_never().is_none());
        drop(second);
        assert!(comes.now_or_never().flatten().is_some());
    }
}
