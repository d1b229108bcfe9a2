//! Three nodes of etcd of a test's own, on ports that are free and in a temporary directory.

use std::fs::File;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use durable_jobs::store::{News, Options, open};
use etcd_client::Client;
use futures_util::StreamExt;
use tempfile::TempDir;
use tokio::net::TcpSocket;
use tokio::time::timeout;

use crate::server::skip;
use crate::trial::{PATIENCE, insist};
use crate::{contract, kills, shards, trial};

struct Ensemble {
    directory: TempDir,
    nodes: Vec<Node>,
}

struct Node {
    clients: SocketAddr,
    peers: SocketAddr,
    /// Keep the ports from others while the process does not have them. Nobody listens here.
    _reserved: [TcpSocket; 2],
    process: Option<Child>,
}

fn reserve() -> (SocketAddr, TcpSocket) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    (socket.local_addr().unwrap(), socket)
}

impl Ensemble {
    /// Starts three nodes. `None` if there is no etcd on this machine, which is said, and is an error where it is required.
    async fn start() -> Option<Self> {
        if Command::new("etcd").arg("--version").stdout(Stdio::null()).status().is_err() {
            skip("etcd");
            return None;
        }
        let node = |_| {
            let ((clients, one), (peers, two)) = (reserve(), reserve());
            Node { clients, peers, _reserved: [one, two], process: None }
        };
        let mut ensemble = Self { directory: tempfile::tempdir().unwrap(), nodes: (0..3).map(node).collect() };
        (0..3).for_each(|node| ensemble.spawn(node));
        ensemble.leader().await;
        Some(ensemble)
    }

    fn spawn(&mut self, number: usize) {
        let (data, log) =
            (format!("node{number}"), File::create(self.directory.path().join(format!("log{number}"))).unwrap());
        let members: Vec<String> =
            self.nodes.iter().enumerate().map(|(nth, node)| format!("node{nth}=http://{}", node.peers)).collect();
        let node = &mut self.nodes[number];
        let (clients, peers) = (format!("http://{}", node.clients), format!("http://{}", node.peers));
        let mut command = Command::new("etcd");
        command.current_dir(self.directory.path()).args(["--name", &data, "--data-dir", &data]);
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &members.join(",")]);
        node.process = Some(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    }

    fn kill(&mut self, number: usize) {
        let mut process = self.nodes[number].process.take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Waits until a node leads, and answers which.
    async fn leader(&self) -> usize {
        insist(async || {
            for (number, node) in self.nodes.iter().enumerate() {
                let ask = async {
                    let status = Client::connect([node.clients.to_string()], None).await?.status().await?;
                    let own = status.header().map(|header| header.member_id());
                    Ok::<_, etcd_client::Error>(status.leader() != 0 && own == Some(status.leader()))
                };
                if matches!(timeout(Duration::from_secs(1), ask).await, Ok(Ok(true))) {
                    return Ok(number);
                }
            }
            Err("nobody leads")
        })
        .await
    }

    fn name(&self, numbers: &[usize]) -> String {
        let nodes: Vec<String> = numbers.iter().map(|number| self.nodes[*number].clients.to_string()).collect();
        format!("etcd://{}", nodes.join(","))
    }
}

impl Drop for Ensemble {
    fn drop(&mut self) {
        for mut process in self.nodes.iter_mut().filter_map(|node| node.process.take()) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn etcd_does_what_a_store_must() {
    let Some(ensemble) = Ensemble::start().await else { return };
    let name = ensemble.name(&[0, 1, 2]);
    contract::check(async |layout| open(&name, layout, &crate::options()).await).await;
    let shards = shards(&[name]).await;
    trial::workers_that_come_and_go(&shards).await;
    trial::two_owners_of_faulty_stores(&shards).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn etcd_lives_through_kills_of_workers_and_of_the_leader() {
    let Some(mut ensemble) = Ensemble::start().await else { return };
    let name = ensemble.name(&[0, 1, 2]);
    kills::of_workers(&[name], async || {
        let leader = ensemble.leader().await;
        ensemble.kill(leader);
        ensemble.leader().await;
        ensemble.spawn(leader);
    })
    .await;
}

/// What happens while a node is away is not told by it, so the news end.
#[tokio::test(flavor = "multi_thread")]
async fn etcd_ends_the_news_when_some_may_be_lost() {
    let Some(mut ensemble) = Ensemble::start().await else { return };
    let watched = open(&ensemble.name(&[0]), contract::LAYOUT, &Options::default()).await.unwrap();
    let others = open(&ensemble.name(&[1, 2]), contract::LAYOUT, &Options::default()).await.unwrap();
    let job = |id| durable_jobs::store::Job { part: 0, id, deadline: 5, payload: Vec::new() };
    let put = async |id| insist(async || others.put(&[job(id)]).await).await;
    for id in [1, 3] {
        let mut news = insist(async || watched.news().await).await;
        put(id).await;
        assert_eq!(timeout(PATIENCE, news.next()).await.unwrap(), Some(News::Inserted(0, (5, id))));
        ensemble.kill(0);
        ensemble.leader().await;
        put(id + 1).await;
        ensemble.spawn(0);
        assert_eq!(timeout(PATIENCE, news.next()).await.unwrap(), None);
    }
}
