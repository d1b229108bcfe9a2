//! Jobs in PostgreSQL. Each request is one statement or two, and each statement is a transaction.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{Manager, Object, Pool, PoolError, Runtime};
use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Config, NoTls, Row as Record};

use super::{Claim, Job, Layout, Lease, News, Options, Row, Store};
use crate::error::{Error, Result};

/// How many statements this process has sent, for comparison.
pub static STATEMENTS: AtomicU64 = AtomicU64::new(0);

/// How many connections a process has to a server, and one more for the news.
const CONNECTIONS: usize = 4;

/// How long a server may take to answer. After that the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a silent connection is tried out.
const PING: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS durable_layout (one INT PRIMARY KEY, layout TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS durable_lease (
        key BIGINT PRIMARY KEY, owner BIGINT NOT NULL, epoch BIGINT NOT NULL, until BIGINT NOT NULL);
    CREATE TABLE IF NOT EXISTS durable_job (
        part INT NOT NULL, id BIGINT NOT NULL, deadline BIGINT NOT NULL, attempts INT NOT NULL, payload BYTEA NOT NULL,
        PRIMARY KEY (part, id));
    CREATE INDEX IF NOT EXISTS durable_job_due ON durable_job (part, deadline, id)";

const PUT: &str = "INSERT INTO durable_job SELECT part, id, deadline, 0, payload
    FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bytea[]) AS new (part, id, deadline, payload)
    ON CONFLICT (part, id) DO NOTHING RETURNING part, deadline, id";
const CANCEL: &str = "DELETE FROM durable_job WHERE part = $1 AND id = $2 RETURNING part, deadline, id";
pub const SCAN: &str = "SELECT deadline, id FROM durable_job WHERE part = $1 AND (deadline, id) > ($2, $3)
    ORDER BY deadline, id LIMIT $4";
const CLAIM: &str = "UPDATE durable_job SET deadline = $2, attempts = attempts + 1
    FROM unnest($3::bigint[], $4::bigint[]) AS due (deadline, id)
    WHERE part = $1 AND durable_job.id = due.id AND durable_job.deadline = due.deadline
    RETURNING durable_job.id, attempts, payload";
const FIND: &str = "SELECT id, deadline FROM durable_job WHERE part = $1 AND id = ANY($2)";
const REMOVE: &str = "DELETE FROM durable_job USING unnest($2::bigint[], $3::bigint[]) AS done (deadline, id)
    WHERE part = $1 AND durable_job.id = done.id AND durable_job.deadline = done.deadline";
const MOVE: &str = "UPDATE durable_job SET deadline = later.later
    FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS later (deadline, id, later)
    WHERE part = $1 AND durable_job.id = later.id AND durable_job.deadline = later.deadline";
const LEASES: &str = "SELECT key, owner, epoch, until FROM durable_lease ORDER BY key";
const LEASE: &str =
    "INSERT INTO durable_lease SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
    ON CONFLICT (key) DO UPDATE SET owner = EXCLUDED.owner, epoch = EXCLUDED.epoch, until = EXCLUDED.until
    WHERE durable_lease.epoch = EXCLUDED.epoch - 1 RETURNING key";
const COUNT: &str = "SELECT count(*) FROM durable_job WHERE part = $1";

/// The channel of the news. A notification names up to [`TOLD`] rows, so that it has less than the 8,000 bytes that it may.
const CHANNEL: &str = "durable_job";
const TOLD: usize = 120;

pub struct Postgres {
    config: Config,
    pool: Pool,
    /// Whether there are news. The two statements then notify in their transaction.
    news: bool,
    put: String,
    cancel: String,
}

/// What answers how many rows a statement has changed, and tells of them with a sign.
fn counted(sql: &str, sign: &str, news: bool) -> String {
    let told = format!(
        ", numbered AS (SELECT '{sign}' || part || ' ' || deadline || ' ' || id AS row, row_number() OVER () / {TOLD} AS page
            FROM changed),
        told AS (SELECT pg_notify('{CHANNEL}', string_agg(row, ',')) FROM numbered GROUP BY page)
        SELECT count(*), (SELECT count(*) FROM told) FROM changed"
    );
    format!("WITH changed AS ({sql}) {}", if news { &told } else { "SELECT count(*) FROM changed" })
}

impl Postgres {
    pub async fn open(url: &str, layout: Layout, options: &Options) -> Result<Self> {
        let mut config: Config = url.parse().map_err(Error::refused)?;
        config.connect_timeout(PATIENCE).keepalives_idle(PING).keepalives_interval(PING).keepalives_retries(3);
        let pool = Pool::builder(Manager::new(config.clone(), NoTls)).max_size(CONNECTIONS);
        let pool = pool.runtime(Runtime::Tokio1).create_timeout(Some(PATIENCE)).build().map_err(Error::store)?;
        let news = options.news;
        let (put, cancel) = (counted(PUT, "+", news), counted(CANCEL, "-", news));
        let store = Self { config, pool, news, put, cancel };
        if options.makes_tables {
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
        client.execute(insert, &[&layout.encode()]).await.map(drop).map_err(Error::refused)
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

    /// Runs a statement, which is prepared the first time, and waits for the answer for so long only.
    pub async fn run(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Record>> {
        let client = self.client().await?;
        STATEMENTS.fetch_add(1, Ordering::Relaxed);
        let work = async { client.query(&client.prepare_cached(sql).await?, parameters).await };
        let Ok(answer) = timeout(PATIENCE, work).await else {
            drop(Object::take(client));
            return Err(Error::Store("no answer in time".to_owned()));
        };
        answer.map_err(|error| match error.code() {
            Some(&SqlState::UNDEFINED_TABLE) => {
                Error::Refused("its tables are missing: make them with `durable-jobs migrate`".to_owned())
            }
            Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Error::refused(error),
            _ => Error::store(error),
        })
    }
}

/// News as a notification has it: a sign, the partition, the deadline, the id.
fn parse(text: &str) -> Option<News> {
    let mut numbers = text.get(1..)?.split(' ').map(|number| number.parse::<u64>().ok());
    let (part, row) = (u32::try_from(numbers.next()??).ok()?, (numbers.next()??, numbers.next()??));
    Some(if text.starts_with('-') { News::Removed(part, row) } else { News::Inserted(part, row) })
}

/// What is larger than PostgreSQL's integers is refused where it comes from. Only sentinels are.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn integers(rows: impl Iterator<Item = Row>) -> (Vec<i64>, Vec<i64>) {
    rows.map(|row| (integer(row.0), integer(row.1))).unzip()
}

fn number(record: &Record, column: usize) -> u64 {
    record.get::<_, i64>(column) as u64
}

#[async_trait]
impl Store for Postgres {
    async fn put(&self, jobs: &[Job]) -> Result<u64> {
        let parts: Vec<i32> = jobs.iter().map(|job| job.part as i32).collect();
        let (deadlines, ids) = integers(jobs.iter().map(|job| (job.deadline, job.id)));
        let payloads: Vec<&[u8]> = jobs.iter().map(|job| &job.payload[..]).collect();
        let records = self.run(&self.put, &[&parts, &ids, &deadlines, &payloads]).await?;
        Ok(number(&records[0], 0))
    }

    async fn cancel(&self, part: u32, id: u64) -> Result<bool> {
        let records = self.run(&self.cancel, &[&(part as i32), &integer(id)]).await?;
        Ok(number(&records[0], 0) > 0)
    }

    async fn scan(&self, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>> {
        let (deadline, id) = after.map_or((-1, -1), |(deadline, id)| (integer(deadline), integer(id)));
        let records = self.run(SCAN, &[&(part as i32), &deadline, &id, &(limit as i64)]).await?;
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

    async fn settle(&self, part: u32, ends: &[(Row, Option<u64>)]) -> Result<()> {
        let (deadlines, ids) = integers(ends.iter().filter(|end| end.1.is_none()).map(|end| end.0));
        if !ids.is_empty() {
            self.run(REMOVE, &[&(part as i32), &deadlines, &ids]).await?;
        }
        let (deadlines, ids) = integers(ends.iter().filter(|end| end.1.is_some()).map(|end| end.0));
        let later: Vec<i64> = ends.iter().filter_map(|end| end.1.map(integer)).collect();
        if !ids.is_empty() {
            self.run(MOVE, &[&(part as i32), &deadlines, &ids, &later]).await?;
        }
        Ok(())
    }

    async fn leases(&self) -> Result<Vec<Lease>> {
        let lease = |row: &Record| {
            let [key, owner, epoch, until] = [0, 1, 2, 3].map(|column| number(row, column));
            Lease { key, owner, epoch, until }
        };
        Ok(self.run(LEASES, &[]).await?.iter().map(lease).collect())
    }

    async fn lease(&self, wanted: &[Lease]) -> Result<Vec<bool>> {
        let (keys, owners) = integers(wanted.iter().map(|lease| (lease.key, lease.owner)));
        let (epochs, ends) = integers(wanted.iter().map(|lease| (lease.epoch, lease.until)));
        let written = self.run(LEASE, &[&keys, &owners, &epochs, &ends]).await?;
        let written: HashSet<u64> = written.iter().map(|row| number(row, 0)).collect();
        Ok(wanted.iter().map(|lease| written.contains(&lease.key)).collect())
    }

    async fn news(&self) -> Result<BoxStream<'static, News>> {
        if !self.news {
            return Ok(stream::pending().boxed()); // The windows are loaded anew every so often.
        }
        let (client, mut connection) = self.config.connect(NoTls).await.map_err(Error::store)?;
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
        client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(Error::store)?;
        // With the client, the connection ends.
        let news =
            stream::unfold((client, told), async |(client, mut told)| Some((told.recv().await?, (client, told))));
        Ok(news.boxed())
    }

    async fn count(&self, part: u32) -> Result<u64> {
        Ok(number(&self.run(COUNT, &[&(part as i32)]).await?[0], 0))
    }
}
