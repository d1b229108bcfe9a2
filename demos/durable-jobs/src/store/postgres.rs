//! Jobs in PostgreSQL. Each request is one statement or two, and each statement is a transaction.

pub mod sql;
pub mod value;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Manager, Object, Pool, PoolError};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Config, NoTls, Row as Record};

use self::sql::*;
use self::value::*;
use super::{Claim, End, Failed, Job, Layout, Lease, News, Options, Row, Store, password};
use crate::error::{Error, Result};

/// How many statements this process has sent, for comparison.
pub static STATEMENTS: AtomicU64 = AtomicU64::new(0);

/// How many connections a process has to a server, and one more for the news.
const CONNECTIONS: usize = 4;

/// How many of them may scan at a time: claims are not to wait for scans.
const SCANS: usize = 2;

/// How often the patience is doubled at most, where a server is slow rather than silent.
const DOUBLINGS: u32 = 3;

/// How long a server may take for what visits all rows.
pub const LONG: Duration = Duration::from_secs(3_600);

pub struct Postgres {
    config: Config,
    pool: Pool,
    options: Options,
    /// What happened to the claims, and whatever else is short, and what to the scans.
    claims: Pace,
    scans: Pace,
    scanning: Semaphore,
    /// If there are news, the two statements notify in their transaction.
    put: String,
    cancel: String,
    retry: String,
}

/// How often the patience is doubled at present.
#[derive(Default)]
struct Pace(AtomicU32);

impl Postgres {
    pub async fn open(url: &str, layout: Layout, options: &Options) -> Result<Self> {
        let mut config: Config = url.parse().map_err(Error::refused)?;
        if let Some(password) = password::find(&config).filter(|_| config.get_password().is_none()) {
            config.password(password);
        }
        let pool = Pool::builder(Manager::new(config.clone(), NoTls)).max_size(CONNECTIONS).build();
        let [put, cancel, retry] =
            [(PUT, '+'), (CANCEL, '-'), (RETRY, '+')].map(|(sql, sign)| counted(sql, sign, options.news));
        let (claims, scans, scanning) = (Pace::default(), Pace::default(), Semaphore::new(SCANS));
        let (pool, options) = (pool.map_err(Error::store)?, options.clone());
        let store = Self { config, pool, options, claims, scans, scanning, put, cancel, retry };
        if store.options.makes_tables {
            store.make_tables(layout).await?;
        }
        // A look, and not CREATE TABLE IF NOT EXISTS: that takes locks and rights where all is there.
        let found = store.run("SELECT layout FROM durable_layout", &[]).await?;
        layout.check(found.first().map_or("", |found| found.get(0)))?;
        Ok(store)
    }

    async fn make_tables(&self, layout: Layout) -> Result<()> {
        let client = self.client().await?;
        // Another process may make the tables at the same time, and then this one's attempt fails.
        let mut again = 0..2;
        while let Err(error) = client.batch_execute(TABLES).await {
            again.next().ok_or_else(|| Error::refused(error))?;
        }
        let insert = "INSERT INTO durable_layout VALUES (1, $1) ON CONFLICT (one) DO NOTHING";
        self.run(insert, &[&layout.encode()]).await.map(drop)
    }

    async fn client(&self) -> Result<Object> {
        self.pool.get().await.map_err(|error| match error {
            // Such as a wrong password, or no such database. While it starts or stops it refuses, too.
            PoolError::Backend(error) if error.code().is_some_and(|code| !code.code().starts_with("57")) => {
                Error::refused(error)
            }
            PoolError::Backend(error) => Error::store(error),
            error => Error::store(error),
        })
    }

    /// Runs a short statement.
    pub async fn run(&self, sql: &str, parameters: &[&dyn Parameter]) -> Result<Vec<Record>> {
        self.at(&self.claims, sql, parameters).await
    }

    /// Runs a statement with the patience of a pace, which is doubled when it ends, so that a server that is slow is waited
    /// for in the end.
    async fn at(&self, pace: &Pace, sql: &str, parameters: &[&dyn Parameter]) -> Result<Vec<Record>> {
        let doublings = pace.0.load(Ordering::Relaxed);
        let answer = self.within(self.options.patience * (1 << doublings), sql, parameters).await;
        let is_slow = matches!(&answer, Err(Error::Store(why)) if why.starts_with(SILENT));
        pace.0.store(if is_slow { DOUBLINGS.min(doublings + 1) } else { 0 }, Ordering::Relaxed);
        answer
    }

    /// Runs a statement and waits for the answer for so long. After that this connection is given up, and all that are idle.
    pub async fn within(&self, patience: Duration, sql: &str, parameters: &[&dyn Parameter]) -> Result<Vec<Record>> {
        STATEMENTS.fetch_add(1, Ordering::Relaxed);
        let typed: Vec<_> = parameters.iter().map(|parameter| parameter.typed()).collect();
        let mut client = None;
        let work = async {
            let client = client.insert(self.client().await?);
            let answer = if self.options.prepares {
                let values: Vec<_> = typed.iter().map(|typed| typed.0).collect();
                async { client.query(&client.prepare_cached(sql).await?, &values).await }.await
            } else {
                client.query_typed(sql, &typed).await
            };
            answer.map_err(faulty)
        };
        let answer = timeout(patience, work).await;
        answer.unwrap_or_else(|_| {
            drop(client.map(Object::take));
            self.pool.retain(|_, _| false);
            Err(Error::Store(format!("{SILENT} {patience:?}")))
        })
    }
}

const SILENT: &str = "no answer within";

fn faulty(error: tokio_postgres::Error) -> Error {
    match error.code() {
        Some(&SqlState::UNDEFINED_TABLE) => {
            Error::Refused("its tables are missing: make them with `durable-jobs migrate`".to_owned())
        }
        Some(&(SqlState::INVALID_SQL_STATEMENT_NAME | SqlState::DUPLICATE_PSTATEMENT)) => Error::Refused(
            "the server forgets prepared statements: behind PgBouncer in transaction mode use --no-prepare --no-news"
                .to_owned(),
        ),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Error::refused(error),
        _ => Error::store(error),
    }
}

/// News as a notification has it: a sign, the partition, the deadline, the id.
fn parse(text: &str) -> Option<News> {
    let mut numbers = text.get(1..)?.split(' ').map(|number| number.parse::<u64>().ok());
    let (part, row) = (u32::try_from(numbers.next()??).ok()?, (numbers.next()??, numbers.next()??));
    Some(if text.starts_with('-') { News::Removed(part, row) } else { News::Inserted(part, row) })
}

#[async_trait]
impl Store for Postgres {
    async fn put(&self, jobs: &[Job]) -> Result<u64> {
        let parts: Vec<i32> = jobs.iter().map(|job| job.part as i32).collect();
        let (deadlines, ids) = integers(jobs.iter().map(|job| (job.deadline, job.id)));
        let payloads: Vec<&[u8]> = jobs.iter().map(|job| &job.payload[..]).collect();
        let patience = self.options.patience * (1 << DOUBLINGS); // for ten thousand rows
        let records = self.within(patience, &self.put, &[&parts, &ids, &deadlines, &payloads]).await?;
        Ok(number(&records[0], 0))
    }

    async fn cancel(&self, part: u32, id: u64) -> Result<bool> {
        let records = self.run(&self.cancel, &[&(part as i32), &integer(id)]).await?;
        Ok(number(&records[0], 0) > 0)
    }

    async fn scan(&self, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>> {
        let (deadline, id) = after.map_or((-1, -1), |(deadline, id)| (integer(deadline), integer(id)));
        let _turn = self.scanning.acquire().await.map_err(Error::store)?;
        let records = self.at(&self.scans, SCAN, &[&(part as i32), &deadline, &id, &(limit as i64)]).await?;
        Ok(records.iter().map(|row| (number(row, 0), number(row, 1))).collect())
    }

    async fn claim(&self, part: u32, rows: &[Row], until: u64) -> Result<Vec<Claim>> {
        let (deadlines, ids) = integers(rows.iter().copied());
        let taken = self.run(CLAIM, &[&(part as i32), &integer(until), &deadlines, &ids]).await?;
        let claim = |row: &Record| {
            let (attempt, payload) = (row.get::<_, i32>(1) as u32, row.get(2));
            (number(row, 0), Claim::Taken { attempt, payload })
        };
        let mut claims: HashMap<u64, Claim> = taken.iter().map(claim).collect();
        if claims.len() < rows.len() {
            for found in self.run(FIND, &[&(part as i32), &ids]).await? {
                let (id, deadline) = (number(&found, 0), number(&found, 1));
                claims.entry(id).or_insert(Claim::Moved((deadline, id)));
            }
        }
        Ok(rows.iter().map(|row| claims.remove(&row.1).unwrap_or(Claim::Gone)).collect())
    }

    async fn settle(&self, part: u32, ends: &[(Row, End)]) -> Result<()> {
        let part = part as i32;
        let (deadlines, ids) = integers(ends.iter().filter(|end| end.1 == End::Done).map(|end| end.0));
        if !ids.is_empty() {
            self.run(REMOVE, &[&part, &deadlines, &ids]).await?;
        }
        let (mut moved, mut failed, mut later, mut errors) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (row, end) in ends {
            match end {
                End::Done => {}
                End::Later(deadline) => {
                    moved.push(*row);
                    later.push(integer(*deadline));
                }
                End::Failed(error) => {
                    failed.push(*row);
                    errors.push(error.replace('\0', "\\0")); // a letter that PostgreSQL does not have
                }
            }
        }
        if !moved.is_empty() {
            let (deadlines, ids) = integers(moved.into_iter());
            self.run(MOVE, &[&part, &deadlines, &ids, &later]).await?;
        }
        if !failed.is_empty() {
            let (deadlines, ids) = integers(failed.into_iter());
            self.run(FAIL, &[&part, &deadlines, &ids, &errors]).await?;
        }
        Ok(())
    }

    async fn failed(&self, part: u32, limit: usize) -> Result<Vec<Failed>> {
        let failed = self.within(LONG, FAILED, &[&(part as i32), &(limit as i64)]).await?;
        let job =
            |row: &Record| Failed { id: number(row, 0), attempts: row.get::<_, i32>(1) as u32, error: row.get(2) };
        Ok(failed.iter().map(job).collect())
    }

    async fn retry(&self, part: u32, ids: &[u64], deadline: u64) -> Result<u64> {
        let ids: Vec<i64> = ids.iter().map(|id| integer(*id)).collect();
        Ok(number(&self.within(LONG, &self.retry, &[&(part as i32), &ids, &integer(deadline)]).await?[0], 0))
    }

    async fn leases(&self) -> Result<Vec<Lease>> {
        let lease = |row: &Record| {
            let [key, owner, epoch, until, floor] = [0, 1, 2, 3, 4].map(|column| number(row, column));
            Lease { key, owner, epoch, until, floor }
        };
        Ok(self.run(LEASES, &[]).await?.iter().map(lease).collect())
    }

    async fn lease(&self, wanted: &[Lease]) -> Result<Vec<bool>> {
        let (keys, owners) = integers(wanted.iter().map(|lease| (lease.key, lease.owner)));
        let (epochs, ends) = integers(wanted.iter().map(|lease| (lease.epoch, lease.until)));
        let floors: Vec<i64> = wanted.iter().map(|lease| integer(lease.floor)).collect();
        let written = self.run(LEASE, &[&keys, &owners, &epochs, &ends, &floors]).await?;
        let written: HashSet<u64> = written.iter().map(|row| number(row, 0)).collect();
        Ok(wanted.iter().map(|lease| written.contains(&lease.key)).collect())
    }

    async fn news(&self) -> Result<BoxStream<'static, News>> {
        if !self.options.news {
            return Ok(stream::pending().boxed()); // The windows are loaded anew every so often.
        }
        let patience = self.options.patience;
        let connecting = timeout(patience, self.config.connect(NoTls)).await.map_err(Error::store)?;
        let (client, mut connection) = connecting.map_err(Error::store)?;
        let (tell, told) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
            while let Some(Ok(message)) = messages.next().await {
                let AsyncMessage::Notification(note) = message else { continue };
                if !note.payload().split(',').all(|row| parse(row).is_some_and(|news| tell.send(news).is_ok())) {
                    return;
                }
            }
        });
        let listen = format!("LISTEN {CHANNEL}");
        timeout(patience, client.batch_execute(&listen)).await.map_err(Error::store)?.map_err(Error::store)?;
        // With the client, the connection ends. While nothing is told it may be silent for another reason, so it is asked.
        let news = stream::unfold((client, told, patience), async |(client, mut told, patience)| {
            loop {
                match timeout(patience, told.recv()).await {
                    Ok(news) => return Some((news?, (client, told, patience))),
                    Err(_) => timeout(patience, client.batch_execute("")).await.ok()?.ok()?,
                }
            }
        });
        Ok(news.boxed())
    }

    async fn count(&self, part: u32) -> Result<(u64, u64)> {
        let counted = &self.within(LONG, COUNT, &[&(part as i32)]).await?[0];
        Ok((number(counted, 0), number(counted, 1)))
    }
}
