//! Those who ask something of the nodes all the time: some write, and most are no use.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use raft_ttl::client::Client;
use raft_ttl::cluster::{GLANCE, PATIENCE};
use raft_ttl::frame;
use raft_ttl::ledger::Ledger;
use raft_ttl::limits::{MAX_FRAME, MAX_PART};
use raft_ttl::message::{Hello, Reply, Request};
use raft_ttl::time::wall_us_now;
use raft_ttl::types::{DiskId, Item};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::process::{Nodes, deadline, get, item};

/// How many of each kind of client there are.
const WRITERS: u64 = 4;
const SLOW: usize = 20;
const SILENT: usize = 300;
const DEAF: usize = 10;

/// How long those who are no use leave a node alone before they come again.
const PAUSE: Duration = Duration::from_secs(1);

/// A value of the longest, for those who ask and do not listen.
const LARGE: &str = "large";

/// All that ask something of the nodes meanwhile.
pub(super) struct Crowd {
    ledger: Ledger,
    writers: JoinSet<(Ledger, Duration)>,
    others: JoinSet<()>,
    is_over: Arc<AtomicBool>,
}

impl Crowd {
    /// They come.
    pub(super) async fn gather(nodes: &Nodes, seed: u64) -> Self {
        let large = Item { value: "v".repeat(MAX_PART), ..item(LARGE, None) };
        let (mut ledger, began_us) = (Ledger::default(), wall_us_now());
        nodes.put(vec![large.clone()]).await;
        ledger.promise(&[large], began_us);

        let is_over = Arc::new(AtomicBool::new(false));
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let random = Pcg64::seed_from_u64(seed.wrapping_add(writer + 1));
            writers.spawn(write(nodes.client(), writer, random, Arc::clone(&is_over)));
        }
        let mut others = JoinSet::new();
        let addresses = nodes.addresses();
        let some = |nth: usize| addresses[nth % addresses.len()];
        for nth in 0..SLOW {
            others.spawn(again(some(nth), be_slow));
        }
        for nth in 0..DEAF {
            others.spawn(again(some(nth), be_deaf));
        }
        for nth in 0..SILENT {
            others.spawn(again(some(nth), be_silent));
        }
        for &address in &addresses {
            let random = Pcg64::seed_from_u64(seed.wrapping_add(u64::from(address.port())));
            others.spawn(talk_nonsense(address, random));
        }
        Self { ledger, writers, others, is_over }
    }

    /// What was written.
    pub(super) async fn leave(mut self) -> Ledger {
        self.is_over.store(true, Ordering::Relaxed);
        let mut stall = Duration::ZERO;
        while let Some(written) = self.writers.join_next().await {
            let (part, longest) = written.unwrap();
            self.ledger.merge(part);
            stall = stall.max(longest);
        }
        drop(self.others);
        println!("longest stall {stall:.1?}");
        self.ledger
    }
}

/// Writes keys, each once, until all is over. One in a hundred of the first stays, and must; more would be memory that
/// grows.
async fn write(mut client: Client, writer: u64, mut random: Pcg64, is_over: Arc<AtomicBool>) -> (Ledger, Duration) {
    let (mut ledger, mut longest) = (Ledger::default(), Duration::ZERO);
    let mut nth = 0_u64;
    while !is_over.load(Ordering::Relaxed) {
        nth += 1;
        let ttl_ms = random.random_range(100..2_000);
        let stays = random.random_range(0..100) == 0 && nth < 10_000;
        let item = item(format!("{writer}-{nth:08}"), (!stays).then_some(ttl_ms));
        let began = Instant::now();
        ledger.write(&mut client, item, deadline()).await.unwrap();
        longest = longest.max(began.elapsed());
        sleep(Duration::from_millis(5)).await;
    }
    (ledger, longest)
}

/// Does something on one connection after the other.
async fn again<F: Future<Output = io::Result<()>>>(address: SocketAddr, act: impl Fn(TcpStream) -> F) {
    loop {
        if let Ok(stream) = TcpStream::connect(address).await {
            // However it ends, the node goes on.
            let _ = act(stream).await;
        }
        sleep(PAUSE).await;
    }
}

/// Sends a frame a little at a time, and never its end.
async fn be_slow(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(&(MAX_FRAME as u32).to_be_bytes()).await?;
    for _ in 0..15 {
        stream.write_all(&vec![0; MAX_FRAME / 16]).await?;
        sleep(PAUSE / 5).await;
    }
    timeout(PATIENCE, stream.read(&mut [0; 1 << 10])).await?.map(drop)
}

/// Asks for much, again and again, and takes nothing of it.
async fn be_deaf(stream: TcpStream) -> io::Result<()> {
    let mut connection = frame::connection(stream);
    for _ in 0..300 {
        frame::send(&mut connection, &get(LARGE, false)).await?;
    }
    // Nothing is read, so nothing tells that the other side is gone, either.
    sleep(Duration::from_secs(5)).await;
    Ok(())
}

/// Says nothing until the other side has had enough.
async fn be_silent(mut stream: TcpStream) -> io::Result<()> {
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.map(drop)
}

/// Sends what is no frame, no message, no node's hello.
async fn talk_nonsense(address: SocketAddr, mut random: Pcg64) {
    loop {
        let mut bytes = vec![0; random.random_range(1..2_000)];
        bytes.fill_with(|| random.random_range(0..=255_u8));
        let hello = Hello {
            secret: "a guess".to_owned(),
            from: random.random_range(0..4),
            to: random.random_range(0..4),
            member: Some((DiskId(random.random_range(0..u64::MAX)), 1)),
            now_ns: random.random_range(0..u64::MAX),
        };
        let kind = random.random_range(0..4);
        if let Ok(stream) = TcpStream::connect(address).await {
            let mut connection = frame::connection(stream);
            let stream = connection.get_mut();
            let _ = match kind {
                0 => stream.write_all(&bytes).await,
                1 => stream.write_all(&[&[0, 0, 0, 200][..], &bytes].concat()).await,
                2 => stream.write_all(&[&[0, 0, 1, 0][..], &[4; 256]].concat()).await, // many requests
                _ => frame::send(&mut connection, &Request::Peer(hello)).await,
            };
            let _ = timeout(Duration::from_millis(200), frame::receive::<Reply>(&mut connection)).await;
        }
        sleep(GLANCE).await;
    }
}
