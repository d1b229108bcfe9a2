//! Jobs in etcd. Each request is a transaction or two, with a nested one for each job.
//!
//! A job has up to four keys: its position, without a value; by its id where that is, and its payload; and a key that each
//! claim writes, whose version is the number of attempts. The watch of the positions is the news, in the order of commits.

use std::time::Duration;

use async_trait::async_trait;
use etcd_client::{
    Client, Compare, CompareOp, ConnectOptions, EventType, GetOptions, PutOptions, Txn, TxnOp, TxnOpResponse,
    WatchOptions, WatchStream,
};
use tokio::time::{sleep, timeout};

use super::{Claim, Count, Job, Layout, Lease, News, Row, Store, Tell};
use crate::clock::Clock;
use crate::error::{Error, Result};

/// How many jobs a transaction has. etcd takes up to 1.5 MB.
const CHUNK: usize = 20;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Before a watch that was lost is begun again.
const PAUSE: Duration = Duration::from_millis(100);

const LAYOUT: &str = "durable-jobs/layout";
const LEASES: &str = "durable-jobs/lease/";
const POSITIONS: &str = "durable-jobs/job/";

pub struct Etcd {
    client: Client,
    layout: Layout,
}

fn position(part: u32, (deadline, id): Row) -> String {
    format!("{POSITIONS}{part:05}/{deadline:020}/{id:020}")
}

fn place(id: u64) -> String {
    format!("durable-jobs/place/{id}")
}

fn payload(id: u64) -> String {
    format!("durable-jobs/payload/{id}")
}

fn attempts(id: u64) -> String {
    format!("durable-jobs/attempts/{id}")
}

fn put(key: String, value: impl Into<Vec<u8>>) -> TxnOp {
    TxnOp::put(key, value, None)
}

fn delete(key: String) -> TxnOp {
    TxnOp::delete(key, None)
}

fn exists(key: String) -> Compare {
    Compare::version(key, CompareOp::Greater, 0)
}

/// What removes all that there is of a job.
fn remove(part: u32, row: Row) -> [TxnOp; 4] {
    [position(part, row), place(row.1), payload(row.1), attempts(row.1)].map(delete)
}

/// What moves a job.
fn shift(part: u32, row: Row, deadline: u64) -> [TxnOp; 3] {
    let to = put(position(part, (deadline, row.1)), "");
    [delete(position(part, row)), to, put(place(row.1), deadline.to_string())]
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The partition and the row of a position.
fn parse(key: &[u8]) -> Option<(u32, Row)> {
    let mut numbers = key.strip_prefix(POSITIONS.as_bytes())?.split(|byte| *byte == b'/').map(number);
    Some((numbers.next()??.try_into().ok()?, (numbers.next()??, numbers.next()??)))
}

/// The value and the version of the only key of an answer to a get.
fn found(response: &TxnOpResponse) -> Option<(Vec<u8>, i64)> {
    let TxnOpResponse::Get(get) = response else { return None };
    get.kvs().first().map(|it| (it.value().to_vec(), it.version()))
}

/// Waits for an answer of etcd, for so long only.
async fn answer<T>(work: impl Future<Output = std::result::Result<T, etcd_client::Error>>) -> Result<T> {
    timeout(PATIENCE, work).await.map_err(|_| Error::store("no answer in time"))?.map_err(Error::store)
}

impl Etcd {
    pub async fn open(endpoints: &str, layout: Layout) -> Result<Self> {
        let endpoints: Vec<&str> = endpoints.split(',').collect();
        let refuse = |error: etcd_client::Error| Error::Refused(format!("etcd://{}: {error}", endpoints.join(",")));
        // Without a leader a node says so, and another is asked.
        let options = ConnectOptions::new().with_connect_timeout(PATIENCE).with_require_leader(true);
        let mut client = Client::connect(&endpoints, Some(options)).await.map_err(refuse)?;
        let lay_out = Txn::new().when([Compare::version(LAYOUT, CompareOp::Equal, 0)]);
        answer(client.txn(lay_out.and_then([TxnOp::put(LAYOUT, layout.encode(), None)]))).await?;
        let there = answer(client.get(LAYOUT, None)).await?;
        let there = there.kvs().first().map(|it| String::from_utf8_lossy(it.value()).into_owned());
        layout.check("etcd", &there.unwrap_or_default())?;
        Ok(Self { client, layout })
    }

    /// Runs a nested transaction for each of some things. Answers whether each succeeded, and with what.
    async fn each<T>(&self, all: &[T], txn: impl Fn(&T) -> Txn) -> Result<Vec<(bool, Vec<TxnOpResponse>)>> {
        let mut answers = Vec::new();
        for chunk in all.chunks(CHUNK) {
            let nested: Vec<TxnOp> = chunk.iter().map(|one| TxnOp::txn(txn(one))).collect();
            let mut client = self.client.kv_client();
            for response in answer(client.txn(Txn::new().and_then(nested))).await?.op_responses() {
                let TxnOpResponse::Txn(nested) = response else {
                    return Err(Error::store("an answer to something else"));
                };
                answers.push((nested.succeeded(), nested.op_responses()));
            }
        }
        Ok(answers)
    }

    /// Watches the positions from a revision on, or from now on. It has begun when this returns, with the first revision.
    async fn watch(client: &Client, from: i64) -> Result<(WatchStream, i64)> {
        let options = WatchOptions::new().with_prefix().with_start_revision(from);
        let mut stream = answer(client.watch_client().watch(POSITIONS, Some(options))).await?;
        match answer(stream.message()).await? {
            Some(first) if first.created() => {
                let now = first.header().map_or(0, |header| header.revision() + 1);
                Ok((stream, if from > 0 { from } else { now }))
            }
            _ => Err(Error::store("no watch")),
        }
    }
}

#[async_trait]
impl Store for Etcd {
    async fn put(&self, jobs: &[Job]) -> Result<u64> {
        let inserted = self.each(jobs, |job| {
            let row = (job.deadline, job.id);
            let keys = [
                put(payload(job.id), &job.payload[..]),
                put(position(job.part, row), ""),
                put(place(job.id), job.deadline.to_string()),
            ];
            Txn::new().when([Compare::version(payload(job.id), CompareOp::Equal, 0)]).and_then(keys)
        });
        Ok(inserted.await?.iter().filter(|(done, _)| *done).count() as u64)
    }

    async fn cancel(&self, part: u32, id: u64) -> Result<bool> {
        loop {
            let there = answer(self.client.kv_client().get(place(id), None)).await?;
            let Some(deadline) = there.kvs().first().and_then(|it| number(it.value())) else { return Ok(false) };
            let txn = Txn::new().when([exists(position(part, (deadline, id)))]).and_then(remove(part, (deadline, id)));
            if answer(self.client.kv_client().txn(txn)).await?.succeeded() {
                return Ok(true);
            }
        }
    }

    async fn scan(&self, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>> {
        let from = after.map_or_else(|| position(part, (0, 0)), |row| position(part, row) + "\0");
        let options =
            GetOptions::new().with_range(position(part + 1, (0, 0))).with_limit(limit as i64).with_keys_only();
        let rows = answer(self.client.kv_client().get(from, Some(options))).await?;
        Ok(rows.kvs().iter().filter_map(|it| Some(parse(it.key())?.1)).collect())
    }

    async fn claim(&self, part: u32, rows: &[Row], until: u64) -> Result<Vec<Claim>> {
        let claims = self.each(rows, |row| {
            let mut work = shift(part, *row, until).to_vec();
            work.push(put(attempts(row.1), ""));
            work.extend([payload(row.1), attempts(row.1)].map(|key| TxnOp::get(key, None)));
            Txn::new().when([exists(position(part, *row))]).and_then(work).or_else([TxnOp::get(place(row.1), None)])
        });
        let claim = |(row, (done, responses)): (&Row, (bool, Vec<TxnOpResponse>))| match &responses[..] {
            [.., payload, attempts] if done => {
                let attempt = found(attempts).map_or(1, |(_, version)| version as u32);
                Claim::Taken { attempt, payload: found(payload).unwrap_or_default().0 }
            }
            [place] => match found(place).and_then(|(value, _)| number(&value)) {
                Some(deadline) => Claim::Moved((deadline, row.1)),
                None => Claim::Gone,
            },
            _ => Claim::Gone,
        };
        Ok(rows.iter().zip(claims.await?).map(claim).collect())
    }

    async fn settle(&self, part: u32, ends: &[(Row, Option<u64>)]) -> Result<()> {
        let settled = self.each(ends, |(row, later)| {
            let txn = Txn::new().when([exists(position(part, *row))]);
            match later {
                Some(later) if *later == row.0 => txn, // it is there
                Some(later) => txn.and_then(shift(part, *row, *later)),
                None => txn.and_then(remove(part, *row)),
            }
        });
        settled.await.map(drop)
    }

    async fn leases(&self) -> Result<Vec<Lease>> {
        let options = GetOptions::new().with_prefix();
        let leases = answer(self.client.kv_client().get(LEASES, Some(options))).await?;
        let lease = |it: &etcd_client::KeyValue| {
            // The epoch is the revision, which grows with each change.
            Some(Lease { epoch: it.mod_revision() as u64, ..postcard::from_bytes(it.value()).ok()? })
        };
        Ok(leases.kvs().iter().filter_map(lease).collect())
    }

    async fn lease(&self, changes: &[(Option<Lease>, Option<Lease>)]) -> Result<Vec<bool>> {
        // etcd forgets the keys when its own lease ends, of which there is one for each call.
        let now = Clock::default().now_ms();
        let longest = changes.iter().filter_map(|change| change.1).map(|lease| lease.until.saturating_sub(now)).max();
        let seconds = longest.unwrap_or(0).div_ceil(1_000).clamp(1, 1 << 30) as i64;
        let granted = answer(self.client.lease_client().grant(seconds, None)).await?.id();
        let changed = self.each(changes, |(seen, wanted)| {
            let key = seen.or(*wanted).map_or_else(String::new, |lease| format!("{LEASES}{}", lease.key));
            let seen = seen.map_or(0, |lease| lease.epoch as i64);
            let txn = Txn::new().when([Compare::mod_revision(key.clone(), CompareOp::Equal, seen)]);
            match wanted.filter(|lease| lease.until > now) {
                Some(lease) => {
                    let value = postcard::to_stdvec(&lease).unwrap_or_default();
                    txn.and_then([TxnOp::put(key, value, Some(PutOptions::new().with_lease(granted)))])
                }
                None => txn.and_then([delete(key)]),
            }
        });
        Ok(changed.await?.into_iter().map(|(done, _)| done).collect())
    }

    async fn count(&self) -> Result<Vec<Count>> {
        let mut counts = Vec::new();
        for part in self.layout.parts() {
            let all = GetOptions::new().with_range(position(part + 1, (0, 0))).with_count_only();
            let jobs = answer(self.client.kv_client().get(position(part, (0, 0)), Some(all))).await?.count() as u64;
            let first = self.scan(part, None, 1).await?.first().map(|row| row.0);
            counts.push(Count { part, jobs, first });
        }
        Ok(counts)
    }

    async fn news(&self, tell: Tell) -> Result<()> {
        let (client, (mut stream, mut next)) = (self.client.clone(), Self::watch(&self.client, 0).await?);
        tokio::spawn(async move {
            loop {
                let mut is_lost = false;
                while let Ok(Some(told)) = stream.message().await {
                    // What is older than the compaction is told by nobody.
                    if told.compact_revision() > 0 {
                        is_lost = true;
                        break;
                    }
                    next = told.header().map_or(next, |header| next.max(header.revision() + 1));
                    for event in told.events() {
                        let Some((part, row)) = event.kv().and_then(|it| parse(it.key())) else { continue };
                        let is_put = event.event_type() == EventType::Put;
                        if !tell(if is_put { News::Inserted(part, row) } else { News::Removed(part, row) }) {
                            return;
                        }
                    }
                    if told.canceled() {
                        break;
                    }
                }
                // From where it was, if that is known: then nothing is lost.
                (stream, next) = loop {
                    match Self::watch(&client, if is_lost { 0 } else { next }).await {
                        Ok(begun) => break begun,
                        Err(_) => sleep(PAUSE).await,
                    }
                };
                if is_lost && !tell(News::Lost) {
                    return;
                }
            }
        });
        Ok(())
    }
}
