//! Jobs in etcd. Each request is a transaction or two, with a nested one for each job.
//!
//! A job has up to four keys: its position, without a value; by its id where that is, and its payload; and a key that each
//! claim writes, whose version is the number of attempts. The watch of the positions is the news, in the order of commits. A
//! job that has failed has one key.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use etcd_client::{
    Client, Compare, CompareOp, ConnectOptions, Error as Fault, Event, EventType, GetOptions, KeyValue, Txn, TxnOp,
    TxnOpResponse, WatchOptions, WatchResponse,
};
use futures_util::future::ready;
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::time::timeout;

use super::{Claim, End, Failed, Job, Layout, Lease, News, Row, Store};
use crate::error::{Error, Result};

/// How many jobs a transaction has. etcd takes up to 1.5 MB.
const CHUNK: usize = 20;

const LAYOUT: &str = "durable-jobs/layout";
const LEASES: &str = "durable-jobs/lease/";
const POSITIONS: &str = "durable-jobs/job/";

pub struct Etcd {
    client: Client,
    patience: Duration,
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

/// A job that has failed: its attempts, its last error, and its payload.
type Record = (u32, String, Vec<u8>);

fn failed(part: u32, id: u64) -> String {
    format!("durable-jobs/failed/{part:05}/{id:020}")
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

impl Etcd {
    pub async fn open(endpoints: &str, layout: Layout, patience: Duration) -> Result<Self> {
        let endpoints: Vec<&str> = endpoints.split(',').collect();
        // Without a leader a node says so, and another is asked.
        let options = ConnectOptions::new().with_connect_timeout(patience).with_require_leader(true);
        // A silent node is found out, also where nothing is asked but the watch goes on.
        let options = options.with_keep_alive(patience, patience).with_keep_alive_while_idle(true);
        let client = Client::connect(&endpoints, Some(options)).await.map_err(Error::refused)?;
        let etcd = Self { client, patience };
        let lay_out = Txn::new().when([Compare::version(LAYOUT, CompareOp::Equal, 0)]);
        let mut client = etcd.client.kv_client();
        etcd.answer(client.txn(lay_out.and_then([TxnOp::put(LAYOUT, layout.encode(), None)]))).await?;
        let there = etcd.answer(client.get(LAYOUT, None)).await?;
        let there = there.kvs().first().map(|it| String::from_utf8_lossy(it.value()).into_owned());
        layout.check(&there.unwrap_or_default())?;
        Ok(etcd)
    }

    /// Waits for an answer, for so long only.
    async fn answer<T>(&self, work: impl Future<Output = std::result::Result<T, Fault>>) -> Result<T> {
        timeout(self.patience, work).await.map_err(Error::store)?.map_err(Error::store)
    }

    /// Runs a nested transaction for each of some things. Answers whether each succeeded, and with what.
    async fn each<T>(&self, all: &[T], txn: impl Fn(&T) -> Txn) -> Result<Vec<(bool, Vec<TxnOpResponse>)>> {
        let mut answers = Vec::new();
        for chunk in all.chunks(CHUNK) {
            let nested: Vec<TxnOp> = chunk.iter().map(|one| TxnOp::txn(txn(one))).collect();
            let mut client = self.client.kv_client();
            for response in self.answer(client.txn(Txn::new().and_then(nested))).await?.op_responses() {
                let TxnOpResponse::Txn(nested) = response else {
                    return Err(Error::Store("an answer to something else".to_owned()));
                };
                answers.push((nested.succeeded(), nested.op_responses()));
            }
        }
        Ok(answers)
    }

    /// Inserts the jobs whose ids do not wait, and which are among the failed if they are to leave those.
    async fn insert(&self, jobs: &[Job], leave_failed: bool) -> Result<u64> {
        let inserted = self.each(jobs, |job| {
            let mut when = vec![Compare::version(payload(job.id), CompareOp::Equal, 0)];
            let mut keys = vec![
                put(payload(job.id), &job.payload[..]),
                put(position(job.part, (job.deadline, job.id)), ""),
                put(place(job.id), job.deadline.to_string()),
            ];
            if leave_failed {
                when.push(exists(failed(job.part, job.id)));
                keys.push(delete(failed(job.part, job.id)));
            }
            Txn::new().when(when).and_then(keys)
        });
        Ok(inserted.await?.iter().filter(|(done, _)| *done).count() as u64)
    }
}

#[async_trait]
impl Store for Etcd {
    async fn put(&self, jobs: &[Job]) -> Result<u64> {
        self.insert(jobs, false).await
    }

    async fn cancel(&self, part: u32, id: u64) -> Result<bool> {
        loop {
            let there = self.answer(self.client.kv_client().get(place(id), None)).await?;
            let Some(deadline) = there.kvs().first().and_then(|it| number(it.value())) else { return Ok(false) };
            let txn = Txn::new().when([exists(position(part, (deadline, id)))]).and_then(remove(part, (deadline, id)));
            if self.answer(self.client.kv_client().txn(txn)).await?.succeeded() {
                return Ok(true);
            }
        }
    }

    async fn scan(&self, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>> {
        let from = after.map_or_else(|| position(part, (0, 0)), |row| position(part, row) + "\0");
        let options =
            GetOptions::new().with_range(position(part + 1, (0, 0))).with_limit(limit as i64).with_keys_only();
        let rows = self.answer(self.client.kv_client().get(from, Some(options))).await?;
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

    async fn settle(&self, part: u32, ends: &[(Row, End)]) -> Result<()> {
        let mut records = HashMap::new();
        for (row, end) in ends {
            let End::Failed(error) = end else { continue };
            let mut client = self.client.kv_client();
            let tried = self.answer(client.get(attempts(row.1), None)).await?;
            let payload = self.answer(client.get(payload(row.1), None)).await?;
            let tried = tried.kvs().first().map_or(0, |it| it.version() as u32);
            let payload = payload.kvs().first().map(|it| it.value().to_vec()).unwrap_or_default();
            records.insert(row.1, postcard::to_stdvec(&(tried, error, payload)).map_err(Error::store)?);
        }
        let settled = self.each(ends, |(row, end)| {
            let txn = Txn::new().when([exists(position(part, *row))]);
            match end {
                End::Later(later) if *later == row.0 => txn, // it is there
                End::Later(later) => txn.and_then(shift(part, *row, *later)),
                End::Done => txn.and_then(remove(part, *row)),
                End::Failed(_) => {
                    let record = put(failed(part, row.1), records[&row.1].clone());
                    txn.and_then([&remove(part, *row)[..], &[record]].concat())
                }
            }
        });
        settled.await.map(drop)
    }

    async fn failed(&self, part: u32, limit: usize) -> Result<Vec<Failed>> {
        let options = GetOptions::new().with_range(failed(part + 1, 0)).with_limit(limit as i64);
        let jobs = self.answer(self.client.kv_client().get(failed(part, 0), Some(options))).await?;
        let job = |it: &KeyValue| {
            let id = number(it.key().rsplit(|byte| *byte == b'/').next()?)?;
            let (attempts, error, _) = postcard::from_bytes::<Record>(it.value()).ok()?;
            Some(Failed { id, attempts, error })
        };
        Ok(jobs.kvs().iter().filter_map(job).collect())
    }

    async fn retry(&self, part: u32, ids: &[u64], deadline: u64) -> Result<u64> {
        let mut jobs = Vec::new();
        for id in ids {
            let found = self.answer(self.client.kv_client().get(failed(part, *id), None)).await?;
            let record = found.kvs().first().and_then(|it| postcard::from_bytes::<Record>(it.value()).ok());
            jobs.extend(record.map(|(_, _, payload)| Job { part, id: *id, deadline, payload }));
        }
        self.insert(&jobs, true).await
    }

    async fn leases(&self) -> Result<Vec<Lease>> {
        let options = GetOptions::new().with_prefix();
        let leases = self.answer(self.client.kv_client().get(LEASES, Some(options))).await?;
        Ok(leases.kvs().iter().filter_map(|it| postcard::from_bytes(it.value()).ok()).collect())
    }

    async fn lease(&self, wanted: &[Lease]) -> Result<Vec<bool>> {
        let written = self.each(wanted, |lease| {
            let key = format!("{LEASES}{}", lease.key);
            // The version of a key is the number of its changes.
            let txn = Txn::new().when([Compare::version(key.clone(), CompareOp::Equal, lease.epoch as i64 - 1)]);
            txn.and_then([put(key, postcard::to_stdvec(&lease).unwrap_or_default())])
        });
        Ok(written.await?.into_iter().map(|(done, _)| done).collect())
    }

    async fn news(&self) -> Result<BoxStream<'static, News>> {
        // A node that is behind would tell of what was before.
        let now = self.answer(self.client.kv_client().get(LAYOUT, None)).await?;
        let next = now.header().map_or(0, |header| header.revision() + 1);
        let options = WatchOptions::new().with_prefix().with_start_revision(next);
        let mut watch = self.answer(self.client.watch_client().watch(POSITIONS, Some(options))).await?;
        if !self.answer(watch.message()).await?.is_some_and(|first| first.created()) {
            return Err(Error::Store("no watch".to_owned()));
        }
        let news = |event: &Event| {
            let (part, row) = parse(event.kv()?.key())?;
            let is_put = event.event_type() == EventType::Put;
            Some(if is_put { News::Inserted(part, row) } else { News::Removed(part, row) })
        };
        // etcd cancels a watch that is so far behind that what it is to tell was compacted.
        let told = watch.take_while(|told| ready(told.as_ref().is_ok_and(|told| !told.canceled())));
        let all = move |told: std::result::Result<WatchResponse, Fault>| -> Vec<News> {
            told.iter().flat_map(|told| told.events()).filter_map(news).collect()
        };
        Ok(told.flat_map(move |told| stream::iter(all(told))).boxed())
    }

    async fn count(&self, part: u32) -> Result<(u64, u64)> {
        let count = async |from: String, to: String| {
            let all = GetOptions::new().with_range(to).with_count_only();
            Ok::<_, Error>(self.answer(self.client.kv_client().get(from, Some(all))).await?.count() as u64)
        };
        let waiting = count(position(part, (0, 0)), position(part + 1, (0, 0))).await?;
        Ok((waiting, count(failed(part, 0), failed(part + 1, 0)).await?))
    }
}
