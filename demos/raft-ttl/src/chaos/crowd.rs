//! Those who ask something of the nodes all the time: some write, some read, and most are no use.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{PATIENCE, broken, client_of};
use crate::client::{self, Client};
use crate::cluster::{Cluster, GLANCE};
use crate::error::Error;
use crate::frame;
use crate::ledger::Ledger;
use crate::limits::{MAX_FRAME, MAX_VALUE};
use crate::message::{Hello, Reply, Request};
use crate::time::wall_us_now;
use crate::types::Item;

/// How many of each kind of client there are.
pub(super) const WRITERS: u64 = 4;
const READERS: u64 = 4;
const SLOW: u64 = 20;
const SILENT: usize = 300;
const DEAF: u64 = 10;

/// How long those who are no use leave a node alone before they come again.
const PAUSE: Duration = Duration::from_secs(1);

/// A value of the longest, for those who ask and do not listen.
const LARGE: &str = "large";

/// All that ask something of the nodes meanwhile.
pub(super) struct Crowd {
    ledger: Ledger,
    writers: JoinSet<Result<(Ledger, Duration), Error>>,
    others: JoinSet<()>,
    is_over: Arc<AtomicBool>,
    tally: Arc<Tally>,
}

/// What the others have done.
#[derive(Default)]
struct Tally {
    reads: AtomicU64,
    bad: AtomicU64,
    refusals: AtomicU64,
}

impl Tally {
    fn count(which: &AtomicU64) {
        which.fetch_add(1, Ordering::Relaxed);
    }
}

impl Crowd {
    /// They come.
    pub(super) async fn gather(nodes: &Cluster, seed: u64) -> Result<Self, Error> {
        let large = Item { key: LARGE.to_owned(), value: "v".repeat(MAX_VALUE), ttl_ms: None };
        let began_us = wall_us_now();
        let put = Request::Put(vec![large.clone()]);
        let deadline = Instant::now() + PATIENCE;
        let written = client_of(nodes).insist(&put, deadline).await;
        written.map_err(|failure| broken("no write", &failure))?;
        let mut ledger = Ledger::default();
        ledger.promise(&[large], began_us);

        let is_over = Arc::new(AtomicBool::new(false));
        let tally = Arc::new(Tally::default());
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let random = Pcg64::seed_from_u64(seed.wrapping_add(writer + 1));
            writers.spawn(write(client_of(nodes), writer, random, Arc::clone(&is_over)));
        }
        let mut others = JoinSet::new();
        let addresses = nodes.addresses();
        let some = |nth: u64| addresses[nth as usize % addresses.len()];
        for nth in 0..READERS {
            others.spawn(read(some(nth), client_of(nodes), Arc::clone(&tally)));
        }
        for nth in 0..SLOW {
            others.spawn(again(some(nth), be_slow));
        }
        for nth in 0..DEAF {
            others.spawn(again(some(nth), be_deaf));
        }
        for &address in &addresses {
            others.spawn(be_silent(address));
            let random = Pcg64::seed_from_u64(seed.wrapping_add(u64::from(address.port())));
            others.spawn(talk_nonsense(address, random, Arc::clone(&tally)));
        }
        Ok(Self { ledger, writers, others, is_over, tally })
    }

    /// What was written, how long the longest write took, and how often the others did what.
    pub(super) async fn leave(mut self) -> Result<(Ledger, Duration, [u64; 3]), Error> {
        self.is_over.store(true, Ordering::Relaxed);
        let (mut ledger, mut stall) = (self.ledger, Duration::ZERO);
        while let Some(written) = self.writers.join_next().await {
            let written = written.map_err(|panic| broken("a writer", &panic))?;
            let (part, longest) = written?;
            ledger.merge(part);
            stall = stall.max(longest);
        }
        drop(self.others);
        let Tally { reads, bad, refusals } = &*self.tally;
        let kinds = [reads, bad, refusals].map(|count| count.load(Ordering::Relaxed));
        Ok((ledger, stall, kinds))
    }
}

/// Writes keys, each once, until all is over. One in a hundred stays, and must.
async fn write(
    mut client: Client,
    writer: u64,
    mut random: Pcg64,
    is_over: Arc<AtomicBool>,
) -> Result<(Ledger, Duration), Error> {
    let (mut ledger, mut longest) = (Ledger::default(), Duration::ZERO);
    let mut nth = 0_u64;
    while !is_over.load(Ordering::Relaxed) {
        nth += 1;
        let ttl_ms = random.random_range(100..2_000);
        let stays = random.random_range(0..100) == 0;
        let item =
            Item { key: format!("{writer}-{nth:08}"), value: "value".to_owned(), ttl_ms: (!stays).then_some(ttl_ms) };
        let began = Instant::now();
        let written = Ledger::write(&mut client, item, began + PATIENCE).await;
        let written = written.map_err(|failure| broken("a write", &failure))?;
        longest = longest.max(began.elapsed());
        ledger.merge(written);
        sleep(Duration::from_millis(5)).await;
    }
    Ok((ledger, longest))
}

/// Asks for what costs something: how a node is, what expired there, the latest of a key.
async fn read(address: SocketAddr, mut client: Client, tally: Arc<Tally>) {
    loop {
        let get = Request::Get { key: "nobody's".to_owned(), linearizable: true };
        let asked = [
            client::ask(address, &Request::Status).await.is_ok(),
            client::ask(address, &Request::History(0)).await.is_ok(),
            client.lead(&get, Instant::now() + PATIENCE).await.is_ok(),
        ];
        for _ in asked.into_iter().filter(|&is_answered| is_answered) {
            Tally::count(&tally.reads);
        }
        sleep(GLANCE).await;
    }
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
    let part = vec![0; MAX_FRAME / 16];
    for _ in 0..15 {
        stream.write_all(&part).await?;
        sleep(PAUSE / 5).await;
    }
    wait_for_the_end(&mut stream).await
}

/// Asks for much, again and again, and takes nothing of it.
async fn be_deaf(mut stream: TcpStream) -> io::Result<()> {
    let get = frame::encode(&Request::Get { key: LARGE.to_owned(), linearizable: false })?;
    for _ in 0..10 {
        stream.write_all(&get).await?;
    }
    // Nothing is read, so nothing tells that the other side is gone, either.
    sleep(Duration::from_secs(5)).await;
    Ok(())
}

async fn wait_for_the_end(stream: &mut TcpStream) -> io::Result<()> {
    let read = timeout(PATIENCE, stream.read(&mut [0; 1 << 10])).await;
    read.map_or(Ok(()), |read| read.map(drop))
}

/// Holds as many connections as it can, and says nothing on any.
async fn be_silent(address: SocketAddr) {
    let mut held: Vec<TcpStream> = Vec::new();
    loop {
        held.retain(|stream| {
            let read = stream.try_read(&mut [0; 256]);
            read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        });
        while held.len() < SILENT / 3 {
            match TcpStream::connect(address).await {
                Ok(stream) => held.push(stream),
                Err(_) => break,
            }
        }
        sleep(PAUSE).await;
    }
}

/// Sends what is no frame, no message, no node's hello.
async fn talk_nonsense(address: SocketAddr, mut random: Pcg64, tally: Arc<Tally>) {
    loop {
        let mut bytes = vec![0; random.random_range(1..2_000)];
        bytes.fill_with(|| random.random_range(0..=255_u8));
        match random.random_range(0..4) {
            0 => {}
            1 => drop(bytes.splice(..0, [0, 0, 0, 200])),
            2 => {
                let many_requests = [&[0, 0, 1, 0][..], &[6; 256]].concat();
                bytes = many_requests;
            }
            _ => {
                let hello = Hello {
                    secret: "a guess".to_owned(),
                    from: random.random_range(0..4),
                    to: random.random_range(0..4),
                    cluster: Some(random.random_range(0..u64::MAX)),
                    disk: None,
                    now_ns: random.random_range(0..u64::MAX),
                };
                bytes = frame::encode(&Request::Peer(hello)).unwrap_or_default();
            }
        }
        if let Ok(mut stream) = TcpStream::connect(address).await
            && stream.write_all(&bytes).await.is_ok()
        {
            Tally::count(&tally.bad);
            let answer = timeout(Duration::from_millis(200), frame::receive(&mut stream)).await;
            if let Ok(Ok(frame::Received::Message(Reply::Refused(_)))) = answer {
                Tally::count(&tally.refusals);
            }
        }
        sleep(GLANCE).await;
    }
}
