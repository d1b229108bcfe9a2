//! A client: asks nodes, and finds the one that leads.

use std::io;
use std::time::Duration;

use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::time::{Instant, sleep, timeout};

use crate::error::Error;
use crate::frame::{self, Connection};
use crate::limits::{MAX_PART, PART_TIME};
use crate::message::{Reply, Request, Status};
use crate::types::{self, Command, Item};

/// How long one node may take to answer: longer than it waits for the others.
const ANSWER_LIMIT: Duration = Duration::from_secs(7);

/// How long to wait before the nodes are asked once more, when none of them leads.
const PAUSE: Duration = Duration::from_millis(25);

/// A value and how many milliseconds it has left, if it is there and has a TTL.
pub type Found = Result<Option<(String, Option<u64>)>, Error>;

/// A client of a cluster, with one connection at a time.
#[derive(Debug)]
pub struct Client {
    nodes: Vec<String>,
    /// The node that is asked next, and the connection to it if there is one.
    target: usize,
    connection: Option<Connection>,
}

impl Client {
    /// A client of the cluster that has these nodes, of which there must be one: a host, which may be a name, and a port each.
    pub fn new(nodes: Vec<String>) -> Self {
        assert!(!nodes.is_empty(), "a cluster has nodes");
        Self { nodes, target: 0, connection: None }
    }

    /// Asks the leader, and looks for one until `deadline`.
    ///
    /// It is asked again only if nothing was done. So a write happens once at most.
    pub async fn lead(&mut self, request: &Request, deadline: Instant) -> Result<Reply, Error> {
        let (first, mut leader) = (self.target, None);
        loop {
            let (at, node) = (self.target, &self.nodes[self.target]);
            self.target = (at + 1) % self.nodes.len();
            let kept = self.connection.take().filter(frame::is_open);
            let reached = match kept {
                Some(connection) => Ok(connection),
                None => connect(node).await,
            };
            let problem = match reached {
                Err(error) => error.to_string(),
                Ok(connection) => {
                    let asked = ask_on(connection, request).await;
                    let (connection, reply) = asked.map_err(|error| match error.kind() {
                        // It is longer than a frame, and was not sent.
                        io::ErrorKind::InvalidInput => Error::Arguments(error.to_string()),
                        _ => Error::Unsure(format!("{node}: {error}")),
                    })?;
                    match reply {
                        Reply::Refused(problem) => return Err(Error::Arguments(problem)),
                        Reply::Unsure(problem) => return Err(Error::Unsure(problem)),
                        Reply::NotLeader(known) => {
                            leader = known.map(|address| address.to_string()).or(leader);
                            "it does not lead".to_owned()
                        }
                        Reply::Busy(problem) => problem,
                        reply => {
                            (self.target, self.connection) = (at, Some(connection));
                            return Ok(reply);
                        }
                    }
                }
            };
            if Instant::now() >= deadline {
                return Err(Error::Unanswered(format!("no leader was found: {node}: {problem}")));
            }
            if self.target == first {
                match leader.take().filter(|leader| !self.nodes.contains(leader)) {
                    // One that nobody has told this client of.
                    Some(leader) => {
                        self.target = self.nodes.len();
                        self.nodes.push(leader);
                    }
                    None => sleep(PAUSE).await,
                }
            }
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

    /// Sets a key, once at most. A value that no message holds goes in parts under keys of their own: they are joined in
    /// one entry of the log, so nobody sees less than all of it, and they expire if that never comes.
    pub async fn put(&mut self, item: Item, deadline: Instant) -> Result<Reply, Error> {
        if item.value.len() <= MAX_PART {
            return self.lead(&Request::Write(Command::Put(vec![item])), deadline).await;
        }
        item.check().map_err(Error::Arguments)?;
        let time = PART_TIME.max(deadline - Instant::now());
        let (upload, mut parts, mut rest) = (types::unique(), Vec::new(), &*item.value);
        while !rest.is_empty() {
            let (value, left) = rest.split_at(types::part(rest).len());
            let key = format!("part {} of {upload:016x}", parts.len());
            let ttl_ms = Some(time.as_millis() as u64);
            let part = Item { key: key.clone(), value: value.to_owned(), ttl_ms };
            self.insist(&Request::Write(Command::Put(vec![part])), deadline).await?;
            parts.push(key);
            rest = left;
        }
        self.lead(&Request::Write(Command::Join { key: item.key, parts, ttl_ms: item.ttl_ms }), deadline).await
    }

    /// The value of a key, if it is there, and how long it has left: the latest, from the leader.
    pub async fn get(&mut self, key: &str, deadline: Instant) -> Found {
        whole(key, true, deadline, async |request| self.insist(&request, deadline).await).await
    }
}

/// Asks for a value until all of it is there, and until `deadline` if it changes all the time.
pub async fn whole(
    key: &str,
    linearizable: bool,
    deadline: Instant,
    mut ask: impl AsyncFnMut(Request) -> Result<Reply, Error>,
) -> Found {
    let (mut value, mut known) = (String::new(), None);
    while known.is_none() || Instant::now() < deadline {
        let request = Request::Get { key: key.to_owned(), linearizable, from: value.len() };
        match ask(request).await? {
            // It was set anew meanwhile: from the beginning.
            Reply::Value { index, .. } if known.is_some_and(|known| known != index) => {
                (value, known) = (String::new(), None);
            }
            Reply::Value { part, length, index, remaining_ms } => {
                value += &part;
                if value.len() >= length {
                    return Ok(Some((value, remaining_ms)));
                }
                known = Some(index);
            }
            Reply::Missing => return Ok(None),
            Reply::Refused(problem) => return Err(Error::Arguments(problem)),
            other => return Err(Error::Unanswered(format!("{other:?}"))),
        }
    }
    Err(Error::Unanswered("the value is too long for that time, or changes all the time".to_owned()))
}

pub async fn ask(node: impl ToSocketAddrs, request: &Request) -> io::Result<Reply> {
    Ok(ask_on(connect(node).await?, request).await?.1)
}

pub async fn status(node: impl ToSocketAddrs) -> io::Result<Status> {
    match ask(node, &Request::Status).await? {
        Reply::Status(status) => Ok(*status),
        other => Err(io::Error::other(format!("it answers {other:?}"))),
    }
}

async fn connect(node: impl ToSocketAddrs) -> io::Result<Connection> {
    Ok(frame::connection(timeout(ANSWER_LIMIT, TcpStream::connect(node)).await??))
}

async fn ask_on(mut connection: Connection, request: &Request) -> io::Result<(Connection, Reply)> {
    let reply = timeout(ANSWER_LIMIT, frame::exchange(&mut connection, request)).await??;
    Ok((connection, reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn value_that_is_set_anew_while_it_is_read_is_read_anew() {
        let (mut asked, mut replies) =
            (Vec::new(), [("a lo", 6, 1), ("", 3, 2), ("a n", 3, 3), ("a", 3, 3), (" n", 3, 3)].into_iter());
        let found = whole("key", true, Instant::now() + ANSWER_LIMIT, async |request| {
            let Request::Get { from, .. } = request else { panic!("{request:?}") };
            asked.push(from);
            let (part, length, index) = replies.next().unwrap();
            Ok(Reply::Value { part: part.to_owned(), length, index, remaining_ms: Some(index) })
        });
        assert_eq!(found.await.unwrap(), Some(("a n".to_owned(), Some(3))));
        assert_eq!(asked, [0, 4, 0]);
    }
}
