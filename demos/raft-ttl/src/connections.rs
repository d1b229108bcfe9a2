//! The connections to a node: how many there may be, how long they may take, and what they may hold.
//!
//! A new connection waits *at the door* until its first frame is there, or one begins that is too long for a node's
//! hello. The door has few places: the connection that has waited longest is closed when another comes. So silent
//! connections keep nobody out. After that a connection is a node's, of which each other node has a few, or a client's,
//! of which there is a number. A client's connection must not be idle for long; a node's may. A client's long frame takes
//! one of a few places until it is answered, so memory does not follow the number of connections.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::frame;
use crate::limits::{
    AT_THE_DOOR, LEAVING, LONG_FRAME, LONG_FRAME_TIME, LONG_FRAMES, LONGEST_AT_THE_DOOR, MAX_FRAME, MAX_KEYS,
    OF_EACH_NODE, Tuning,
};
use crate::message::{Hello, Reply, Request};
use crate::node::Node;
use crate::types::NodeId;

/// Answers on every connection to this listener; dropped, it closes them all.
pub(crate) async fn serve(node: Node, limits: Tuning, listener: TcpListener) -> Infallible {
    let host = Arc::new(Host {
        node,
        limits,
        clients: Arc::new(Semaphore::new(limits.clients)),
        long: Mutex::new(Bench::new(LONG_FRAMES, LONG_FRAME_TIME)),
        nodes: Mutex::default(),
        leaving: Semaphore::new(AT_THE_DOOR),
    });
    let mut door = Bench::new(AT_THE_DOOR, Duration::ZERO);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let place = door.sit().expect("no place is safe");
                    drop(connections.spawn(Arc::clone(&host).receive(stream, place)));
                }
                // Too many open files, say: that passes.
                Err(_) => sleep(Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Where few have a place: the one that has sat longest goes when another comes.
#[derive(Debug)]
struct Bench {
    /// Since when, and what tells them to go: dropped, an end tells its other end. Who has left by itself has
    /// closed the other end.
    seated: VecDeque<(Instant, oneshot::Sender<Infallible>)>,
    seats: usize,
    /// How long a place is safe.
    safe: Duration,
}

impl Bench {
    fn new(seats: usize, safe: Duration) -> Self {
        Self { seated: VecDeque::with_capacity(seats), seats, safe }
    }

    /// Takes a place, until the answer is ready or dropped; `None` if all of them are safe. O(places).
    fn sit(&mut self) -> Option<Place> {
        self.seated.retain(|(_, seated)| !seated.is_closed());
        if self.seated.len() == self.seats {
            if self.seated.front().is_some_and(|(since, _)| since.elapsed() < self.safe) {
                return None;
            }
            self.seated.pop_front();
        }
        let (seated, turned_away) = oneshot::channel();
        self.seated.push_back((Instant::now(), seated));
        Some(Place(Some(turned_away)))
    }
}

/// A place on a bench, or none that is needed.
struct Place(Option<oneshot::Receiver<Infallible>>);

impl Place {
    /// Waits until the place is to be given up.
    async fn lost(&mut self) {
        match &mut self.0 {
            Some(turned_away) => _ = turned_away.await,
            None => pending().await,
        }
    }
}

/// What all connections share.
struct Host {
    node: Node,
    limits: Tuning,
    clients: Arc<Semaphore>,
    long: Mutex<Bench>,
    nodes: Mutex<BTreeMap<NodeId, Bench>>,
    leaving: Semaphore,
}

/// A request, or what is wrong with it, and the place of its frame.
type Parsed = (Result<Request, String>, Place);

/// Why a connection ends: it is broken, or this is the last thing to say on it, to one who may be in the middle of
/// something, or says nothing.
enum End {
    Broken,
    Silent(Box<Reply>),
    Reply(Box<Reply>),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

impl From<Reply> for End {
    fn from(reply: Reply) -> Self {
        Self::Reply(Box::new(reply))
    }
}

impl Host {
    /// Answers on a connection as long as it makes sense.
    async fn receive(self: Arc<Self>, mut stream: TcpStream, place: Place) {
        let ended = self.converse(&mut stream, place).await;
        let (reply, is_sending) = match ended {
            Ok(()) | Err(End::Broken) => return,
            Err(End::Silent(reply)) => (reply, false),
            Err(End::Reply(reply)) => (reply, true),
        };
        let said = self.reply(&mut stream, &reply).await;
        // Whoever is still sending would not get to read that if the connection were closed at once.
        if said.is_ok()
            && is_sending
            && let Ok(_place) = self.leaving.try_acquire()
            && stream.shutdown().await.is_ok()
        {
            let mut sink = tokio::io::sink();
            let rest = tokio::io::copy(&mut stream, &mut sink);
            let _ = timeout(LEAVING, rest).await;
        }
    }

    async fn converse(&self, stream: &mut TcpStream, mut place: Place) -> Result<(), End> {
        stream.set_nodelay(true)?;
        let silent = |problem: &str| End::Silent(Box::new(Reply::Busy(problem.to_owned())));
        let first = tokio::select! {
            first = timeout(self.limits.frame_time, self.first_frame(stream)) => {
                first.map_err(|_| silent("nothing was said for too long"))??
            }
            () = place.lost() => return Err(silent("others came while nothing was said")),
        };
        drop(place);
        let (length, early) = match first {
            First::End => return Ok(()),
            First::Hello(hello) => return self.serve_node(stream, hello).await,
            First::Client { length, early } => (length, early),
        };
        let Ok(_place) = Arc::clone(&self.clients).try_acquire_owned() else {
            return Err(Reply::Busy("there are too many clients".to_owned()).into());
        };
        let mut request = match early {
            Some(request) => request,
            None => self.request(stream, length).await?,
        };
        loop {
            let (request_or_problem, mut place) = request;
            let reply = match request_or_problem {
                Ok(Request::Peer(_) | Request::Call(_)) => {
                    let problem = "a node says who it is before anything else";
                    return Err(Reply::Refused(problem.to_owned()).into());
                }
                Ok(request) => tokio::select! {
                    reply = self.node.answer(request) => reply,
                    () = place.lost() => Reply::Unsure("others came before it was done".to_owned()),
                },
                Err(problem) => malformed(&problem),
            };
            drop(place);
            self.reply(stream, &reply).await?;
            drop(reply);
            let idle = timeout(self.limits.idle_time, self.length(stream)).await;
            let Some(length) = idle.map_err(|_| silent("nothing was said for too long"))?? else {
                return Ok(());
            };
            request = self.request(stream, length).await?;
        }
    }

    /// What comes first, as far as it is read at the door.
    async fn first_frame(&self, stream: &mut TcpStream) -> Result<First, End> {
        let Some(length) = self.length(stream).await? else {
            return Ok(First::End);
        };
        if length > LONGEST_AT_THE_DOOR {
            let early = None;
            return Ok(First::Client { length, early });
        }
        Ok(match self.request(stream, length).await? {
            (Ok(Request::Peer(hello)), _) => First::Hello(hello),
            request => First::Client { length, early: Some(request) },
        })
    }

    /// Lets the engine hear another node, if it is one.
    async fn serve_node(&self, stream: &mut TcpStream, hello: Hello) -> Result<(), End> {
        let peers = &self.node.peers;
        let welcome = peers.welcome(&hello).map_err(Reply::Refused)?;
        let mut place = {
            let mut nodes = lock(&self.nodes);
            let bench = nodes.entry(hello.from).or_insert_with(|| Bench::new(OF_EACH_NODE, Duration::ZERO));
            bench.sit().expect("no place is safe")
        };
        let talk = async {
            self.reply(stream, &Reply::Welcome(welcome)).await?;
            while let Some(length) = self.length(stream).await? {
                let call = self.message(stream, length).await?;
                let reply = match (call, peers.admit(&hello)) {
                    (Ok(Request::Call(call)), Ok(())) => self.node.hear(call).await,
                    (Ok(Request::Call(_)), Err(problem)) => Reply::Refused(problem),
                    (Ok(_), _) => Reply::Refused("a node is no client".to_owned()),
                    (Err(problem), _) => malformed(&problem),
                };
                self.reply(stream, &reply).await?;
            }
            Ok(())
        };
        tokio::select! {
            ended = talk => ended,
            () = place.lost() => Err(End::Broken),
        }
    }

    /// The length of the next frame.
    async fn length(&self, stream: &mut TcpStream) -> Result<Option<usize>, End> {
        let Some(length) = frame::length(stream).await? else {
            return Ok(None);
        };
        if length > MAX_FRAME {
            let problem = format!("a frame of {length} bytes is longer than {MAX_FRAME}");
            return Err(Reply::Refused(problem).into());
        }
        Ok(Some(length))
    }

    /// The rest of a client's frame, and its place if it is long.
    async fn request(&self, stream: &mut TcpStream, length: usize) -> Result<Parsed, End> {
        let taken = || Reply::Busy("others hold too much".to_owned());
        let mut place = self.place(length).ok_or_else(taken)?;
        tokio::select! {
            request = self.message(stream, length) => Ok((request?, place)),
            () = place.lost() => Err(taken().into()),
        }
    }

    /// The rest of a frame in time.
    async fn message(&self, stream: &mut TcpStream, length: usize) -> Result<Result<Request, String>, End> {
        match timeout(self.limits.frame_time, frame::message(stream, length)).await {
            Ok(message) => Ok(message?),
            Err(_) => Err(Reply::Busy("the frame took too long".to_owned()).into()),
        }
    }

    /// Sends a reply in time, if there is a place for it.
    async fn reply(&self, stream: &mut TcpStream, reply: &Reply) -> Result<(), End> {
        let mut frame = frame::encode(reply)?;
        let mut place = Place(None);
        match self.place(frame.len()) {
            Some(its) => place = its,
            None => frame = frame::encode(&Reply::Busy("others hold too much".to_owned()))?,
        }
        tokio::select! {
            sent = timeout(self.limits.frame_time, stream.write_all(&frame)) => Ok(sent.map_err(|_| End::Broken)??),
            () = place.lost() => Err(End::Broken),
        }
    }

    /// The place that a client's frame needs if it is long.
    fn place(&self, length: usize) -> Option<Place> {
        if length < LONG_FRAME { Some(Place(None)) } else { lock(&self.long).sit() }
    }
}

/// No change behind these locks can be half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What comes first on a connection.
enum First {
    End,
    /// A node says who it is.
    Hello(Hello),
    /// Anything else, whole if it is short.
    Client {
        length: usize,
        early: Option<Parsed>,
    },
}

fn malformed(problem: &str) -> Reply {
    Reply::Refused(format!("no request ({problem}): expected one, whole, of at most {MAX_KEYS} keys"))
}
