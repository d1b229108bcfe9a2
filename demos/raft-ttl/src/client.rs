//! A client: asks nodes, and finds the one that leads.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::error::Error;
use crate::frame::{self, Connection};
use crate::message::{Reply, Request, Status};
use crate::types::NodeId;

/// How long one node may take to answer: longer than it waits for the others.
const ANSWER_LIMIT: Duration = Duration::from_secs(7);

/// How long to wait before the next node is asked, when one does not know who leads.
const PAUSE: Duration = Duration::from_millis(25);

/// A client of a cluster, with one connection at a time.
#[derive(Debug)]
pub struct Client {
    nodes: Vec<SocketAddr>,
    /// Where nodes are, whatever others say.
    known: BTreeMap<NodeId, SocketAddr>,
    next: usize,
    connection: Option<(SocketAddr, Connection)>,
}

impl Client {
    /// A client of the cluster that has these nodes, of which there must be one.
    pub fn new(nodes: Vec<SocketAddr>) -> Self {
        assert!(!nodes.is_empty(), "a cluster has nodes");
        Self { nodes, known: BTreeMap::new(), next: 0, connection: None }
    }

    /// A client that finds the nodes where it is told, and not where they find each other.
    pub fn of(members: BTreeMap<NodeId, SocketAddr>) -> Self {
        Self { known: members.clone(), ..Self::new(members.into_values().collect()) }
    }

    /// Asks the leader, whoever that is, and looks for one until `deadline`.
    ///
    /// It is asked again only if nothing was done. So a write happens once at most.
    pub async fn lead(&mut self, request: &Request, deadline: Instant) -> Result<Reply, Error> {
        let mut target = match &self.connection {
            Some((address, _)) => *address,
            None => self.following_node(),
        };
        loop {
            let problem = match self.reach(target).await {
                Err(error) => {
                    let problem = format!("{target}: {error}");
                    target = self.following_node();
                    problem
                }
                Ok(connection) => match ask_on(connection, request).await {
                    Ok((connection, reply)) => {
                        self.connection = Some((target, connection));
                        match reply {
                            Reply::Refused(problem) => return Err(Error::Arguments(problem)),
                            Reply::Unsure(problem) => return Err(Error::Unsure(problem)),
                            Reply::NotLeader(Some((id, address))) => {
                                let leader = self.known.get(&id).copied().unwrap_or(address);
                                target = leader;
                                format!("it should be {leader}")
                            }
                            Reply::Busy(problem) => {
                                // It may have closed the connection, too.
                                self.connection = None;
                                target = self.following_node();
                                problem
                            }
                            Reply::NotLeader(None) => {
                                target = self.following_node();
                                "no node knows one".to_owned()
                            }
                            reply => return Ok(reply),
                        }
                    }
                    // It is longer than a frame, and was not sent.
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                        return Err(Error::Arguments(error.to_string()));
                    }
                    Err(error) => return Err(Error::Unsure(format!("{target}: {error}"))),
                },
            };
            if Instant::now() >= deadline {
                return Err(Error::Unanswered(format!("no leader was found: {problem}")));
            }
            sleep(PAUSE).await;
        }
    }

    /// As [`lead`](Self::lead), but asks again also when nobody knows whether it was done: for reads,
    /// and for what may as well be done twice.
    pub async fn insist(&mut self, request: &Request, deadline: Instant) -> Result<Reply, Error> {
        loop {
            match self.lead(request, deadline).await {
                Err(Error::Unsure(_)) if Instant::now() < deadline => sleep(PAUSE).await,
                answer => return answer,
            }
        }
    }

    fn following_node(&mut self) -> SocketAddr {
        self.next = (self.next + 1) % self.nodes.len();
        self.nodes[self.next]
    }

    async fn reach(&mut self, target: SocketAddr) -> io::Result<Connection> {
        match self.connection.take() {
            Some((address, connection)) if address == target && is_open(&connection) => Ok(connection),
            _ => connect(target).await,
        }
    }
}

/// Whether the other side has left a connection open on which nothing is under way.
fn is_open(connection: &Connection) -> bool {
    let read = connection.get_ref().try_read(&mut [0]);
    read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

pub async fn ask(node: SocketAddr, request: &Request) -> io::Result<Reply> {
    Ok(ask_on(connect(node).await?, request).await?.1)
}

pub async fn status(node: SocketAddr) -> io::Result<Status> {
    match ask(node, &Request::Status).await? {
        Reply::Status(status) => Ok(*status),
        other => Err(io::Error::other(format!("it answers {other:?}"))),
    }
}

async fn connect(node: SocketAddr) -> io::Result<Connection> {
    Ok(frame::connection(timeout(ANSWER_LIMIT, TcpStream::connect(node)).await??))
}

async fn ask_on(mut connection: Connection, request: &Request) -> io::Result<(Connection, Reply)> {
    let reply = timeout(ANSWER_LIMIT, frame::exchange(&mut connection, request)).await??;
    Ok((connection, reply))
}
