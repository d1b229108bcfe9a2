//! Nodes as processes, for the demo and the tests: started, killed, and never left behind.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpSocket;
use tokio::time::{Instant, sleep};

use crate::client::{self, Client};
use crate::error::Error;
use crate::message::{Reply, Request, Status};
use crate::types::{self, Expired, NodeId};

/// How often a condition is looked at that is waited for.
pub const GLANCE: Duration = Duration::from_millis(20);

/// How long anything may take that does not depend on a TTL.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The end of what begins now.
pub fn deadline() -> Instant {
    Instant::now() + PATIENCE
}

/// The file with the secret of the nodes. Nobody else may look into a temporary directory.
const SECRET: &str = "secret";

pub type Statuses = BTreeMap<NodeId, Status>;

/// Nodes on loopback, with their data in a temporary directory. Dropped, it kills the processes and
/// removes the directory; should it never be dropped, the processes stop by themselves, because they
/// hear from their standard input that nobody holds its other end.
#[derive(Debug)]
pub struct Cluster {
    /// What runs a node, from its next start on.
    pub program: PathBuf,
    arguments: Vec<String>,
    members: BTreeMap<NodeId, Member>,
    directory: TempDir,
    /// Where a node looks for another from its next start on, if not at its address.
    pub routes: BTreeMap<(NodeId, NodeId), SocketAddr>,
    /// How many seconds the wall clocks of nodes are ahead from their next start on.
    pub ahead_s: BTreeMap<NodeId, i64>,
}

#[derive(Debug)]
struct Member {
    address: SocketAddr,
    /// Keeps the port from others while the process does not have it. Nobody listens here.
    _reserved: Option<TcpSocket>,
    process: Option<Child>,
}

impl Cluster {
    /// So many nodes, numbered from 1, on ports that are free. None is started. `program` is this
    /// one, `arguments` go to each node.
    pub fn new(program: &Path, nodes: u64, arguments: &[&str]) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("raft-ttl-").tempdir()?;
        fs::write(directory.path().join(SECRET), format!("{:016x}{:016x}", types::unique(), types::unique()))?;
        Ok(Self {
            program: program.to_owned(),
            arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
            members: (1..=nodes).map(|id| Ok((id, Member::new()?))).collect::<io::Result<_>>()?,
            directory,
            routes: BTreeMap::new(),
            ahead_s: BTreeMap::new(),
        })
    }

    pub fn secret(&self) -> io::Result<String> {
        fs::read_to_string(self.directory().join(SECRET))
    }

    pub fn data(&self, id: NodeId) -> PathBuf {
        self.directory().join(format!("node-{id}"))
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn ids(&self) -> Vec<NodeId> {
        self.members.keys().copied().collect()
    }

    pub fn address(&self, id: NodeId) -> SocketAddr {
        self.members[&id].address
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.members.values().map(|it| it.address).collect()
    }

    /// Starts a node, anew if it is running.
    pub fn start(&mut self, id: NodeId) -> io::Result<()> {
        self.kill(id);
        let mut command = Command::new(&self.program);
        command
            .args(["node", "--lifeline", "--tell", "--id", &id.to_string()])
            .args(["--listen", &self.address(id).to_string()])
            .args(["--wall-ahead-s", &self.ahead_s.get(&id).unwrap_or(&0).to_string()])
            .arg("--data")
            .arg(self.data(id))
            .arg("--secret-file")
            .arg(self.directory().join(SECRET))
            .args(&self.arguments);
        for (&other, member) in self.members.iter().filter(|&(&other, _)| other != id) {
            let address = self.routes.get(&(id, other)).unwrap_or(&member.address);
            command.args(["--peer", &format!("{other}={address}")]);
        }
        let append = |file| File::options().create(true).append(true).open(file);
        let (log, mut told) = (append(self.log_file(id))?, append(self.told_file(id))?);
        told.write_all(b"\n\n")?;
        // An interrupt at the terminal is for the one who started the nodes.
        command.stdin(Stdio::piped()).stdout(told).stderr(log).process_group(0);
        self.member(id).process = Some(command.spawn()?);
        Ok(())
    }

    /// One node more, of which each other one is told at its next start.
    pub fn grow(&mut self) -> io::Result<NodeId> {
        let id = self.members.len() as u64 + 1;
        self.members.insert(id, Member::new()?);
        Ok(id)
    }

    /// Starts all nodes. Those that are running die first, all of them.
    pub fn start_all(&mut self) -> io::Result<()> {
        self.members.values_mut().for_each(Member::kill);
        self.ids().into_iter().try_for_each(|id| self.start(id))
    }

    /// Kills a node, with SIGKILL where there is such a thing, and waits until it is gone.
    pub fn kill(&mut self, id: NodeId) {
        self.member(id).kill();
    }

    /// Whether a node has been started and not been killed, and has not ended by itself.
    pub fn is_running(&mut self, id: NodeId) -> bool {
        let process = self.member(id).process.as_mut();
        process.is_some_and(|process| matches!(process.try_wait(), Ok(None)))
    }

    /// Sends a signal to a node's process: `-STOP` stops it where it is, as if its machine had no time for it, until `-CONT`.
    pub fn signal(&mut self, id: NodeId, signal: &str) -> io::Result<()> {
        let process = self.member(id).process.as_ref();
        let process = process.ok_or(io::ErrorKind::NotFound)?.id().to_string();
        match Command::new("kill").args([signal, &process]).status()? {
            status if status.success() => Ok(()),
            status => Err(io::Error::other(format!("kill {signal} ends with {status}"))),
        }
    }

    /// How much memory a node's process has, in KiB; 0 where the system does not tell.
    pub fn memory(&self, id: NodeId) -> u64 {
        self.process_kib(id, "VmRSS:")
    }

    /// The most that it has had so far.
    pub fn peak_memory(&self, id: NodeId) -> u64 {
        self.process_kib(id, "VmHWM:")
    }

    fn process_kib(&self, id: NodeId, name: &str) -> u64 {
        let process = self.members[&id].process.as_ref().map_or(0, Child::id);
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        kib.and_then(|kib| kib.parse().ok()).unwrap_or(0)
    }

    pub fn log(&self, id: NodeId) -> String {
        fs::read_to_string(self.log_file(id)).unwrap_or_default()
    }

    /// What each life of a node has told of what expired. Its last line may be cut off.
    pub fn expired(&self, id: NodeId) -> Vec<Vec<Expired>> {
        let told = fs::read_to_string(self.told_file(id)).unwrap_or_default();
        let heard = |life: &str| life.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        told.split("\n\n").skip(1).map(heard).collect()
    }

    pub fn broken(&self, what: &str) -> Error {
        let said = self.ids().into_iter().map(|id| format!("\nnode {id} said:\n{}", self.log(id)));
        Error::Broken(said.fold(what.to_owned(), |all, said| all + &said))
    }

    pub fn client(&self) -> Client {
        Client::new(self.addresses().iter().map(SocketAddr::to_string).collect())
    }

    /// Asks one node, again if a busy machine or other clients keep it from answering.
    pub async fn ask(&self, id: NodeId, request: &Request) -> Result<Reply, Error> {
        let deadline = deadline();
        loop {
            match client::ask(self.address(id), request).await {
                Ok(Reply::Busy(_)) if Instant::now() < deadline => sleep(GLANCE).await,
                Err(error) if error.kind() == io::ErrorKind::TimedOut && Instant::now() < deadline => {}
                answer => return answer.map_err(|error| Error::Unanswered(format!("node {id}: {error}"))),
            }
        }
    }

    /// How each node is, as far as it answers.
    pub async fn statuses(&self) -> Statuses {
        let mut statuses = Statuses::new();
        for (&id, member) in &self.members {
            if member.process.is_some()
                && let Ok(status) = client::status(member.address).await
            {
                statuses.insert(id, status);
            }
        }
        statuses
    }

    /// Waits until the nodes are as `found` wants them, and gives what it found.
    pub async fn until<T>(&self, what: &str, found: impl Fn(&Statuses) -> Option<T>) -> Result<T, Error> {
        let deadline = deadline();
        loop {
            let statuses = self.statuses().await;
            match found(&statuses) {
                Some(found) => return Ok(found),
                None if Instant::now() >= deadline => return Err(self.broken(&format!("{what}: {statuses:?}"))),
                None => sleep(GLANCE).await,
            }
        }
    }

    /// Waits until most nodes know who leads, and says who, and in which term.
    pub async fn leader(&self) -> Result<(NodeId, u64), Error> {
        self.until("no leader", |statuses| leader_of(statuses, self.members.len())).await
    }

    /// Waits until all nodes are up, have applied the same and are as wanted.
    pub async fn agreement(&self, is_wanted: impl Fn(&Status) -> bool) -> Result<Statuses, Error> {
        let agrees = |statuses: &Statuses| {
            let one = statuses.values().next()?;
            let is_same = |other: &Status| (other.applied, &other.digest) == (one.applied, &one.digest);
            let all_do =
                statuses.len() == self.members.len() && statuses.values().all(|it| is_same(it) && is_wanted(it));
            all_do.then(|| statuses.clone())
        };
        self.until("no agreement", agrees).await
    }

    fn member(&mut self, id: NodeId) -> &mut Member {
        self.members.get_mut(&id).expect("a node of this cluster")
    }

    fn told_file(&self, id: NodeId) -> PathBuf {
        self.directory().join(format!("node-{id}.told"))
    }

    fn log_file(&self, id: NodeId) -> PathBuf {
        self.directory().join(format!("node-{id}.log"))
    }
}

/// The node that leads in the latest term that most of so many nodes know of.
fn leader_of(statuses: &Statuses, nodes: usize) -> Option<(NodeId, u64)> {
    let term = statuses.values().map(|status| status.term).max()?;
    let leads = |status: &&Status| status.term == term && status.role == "Leader";
    let leader = statuses.values().find(leads)?.id;
    let follows = |status: &&Status| status.term == term && status.leader == Some(leader);
    let agreeing = statuses.values().filter(follows).count();
    (agreeing > nodes / 2).then_some((leader, term))
}

impl Member {
    /// A member at a free port. It stays reserved where two sockets may have one address as long as
    /// neither listens; elsewhere another program could come first.
    fn new() -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self {
            address: socket.local_addr()?,
            _reserved: cfg!(target_os = "linux").then_some(socket),
            process: None,
        })
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may be gone already, which is as well.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}
