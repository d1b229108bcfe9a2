//! Jobs in PostgreSQL. Each request is one statement or two, and each statement is a transaction.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Row as Record, Statement};

use super::{Claim, Count, Job, Layout, Lease, News, Reach, Row, Store, Tell};
use crate::error::{Error, Result};

/// How many statements this process has sent, for comparison.
pub static STATEMENTS: AtomicU64 = AtomicU64::new(0);

/// How long a server may take to answer. After that the connection is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often the connection of the news is tried out.
const PING: Duration = Duration::from_secs(5);

/// Before a lost connection is made again.
const PAUSE: Duration = Duration::from_millis(100);

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
const LEASES: &str = "SELECT key, owner, epoch, until FROM durable_lease";
const TAKE: &str = "INSERT INTO durable_lease VALUES ($1, $2, $3, $4) ON CONFLICT (key) DO NOTHING RETURNING key";
const CHANGE: &str = "UPDATE durable_lease SET owner = $2, epoch = $3, until = $4
    WHERE key = $1 AND owner = $5 AND epoch = $6 AND until = $7 RETURNING key";
const DROP: &str =
    "DELETE FROM durable_lease WHERE key = $1 AND owner = $2 AND epoch = $3 AND until = $4 RETURNING key";
const COUNT: &str = "SELECT part, count(*), min(deadline) FROM durable_job GROUP BY part";

/// What queues on PostgreSQL do instead of a window.
const POLL: &str = "UPDATE durable_job SET deadline = $3, attempts = attempts + 1 WHERE part = $1 AND id IN (
        SELECT id FROM durable_job WHERE part = $1 AND deadline <= $2
        ORDER BY deadline, id LIMIT $4 FOR UPDATE SKIP LOCKED)
    RETURNING id, attempts, payload";
const BURY: &str = "INSERT INTO durable_job SELECT 0, id, 1, 0, '' FROM generate_series(0, $1::bigint - 1) AS id";

/// The channel of the news. A notification names up to [`TOLD`] rows, so that it has less than the 8,000 bytes that it may.
const CHANNEL: &str = "durable_job";
const TOLD: usize = 120;

pub struct Postgres {
    config: Config,
    layout: Layout,
    /// What inserts, and what cancels: with a notification in the same transaction, if the server knows any.
    put: String,
    cancel: String,
    pool: Vec<Mutex<Option<Arc<Connection>>>>,
}

struct Connection {
    client: Client,
    prepared: Lock<HashMap<String, Statement>>,
}

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Connection {
    /// Runs a statement, which is prepared the first time.
    async fn run(
        &self,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> std::result::Result<Vec<Record>, tokio_postgres::Error> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        let statement = match prepared {
            Some(statement) => statement,
            None => {
                let statement = self.client.prepare(sql).await?;
                let mut all = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
                all.insert(sql.to_owned(), statement.clone());
                statement
            }
        };
        STATEMENTS.fetch_add(1, Ordering::Relaxed);
        self.client.query(&statement, parameters).await
    }
}

impl Postgres {
    pub async fn open(url: &str, layout: Layout, reach: Reach) -> Result<Self> {
        let refuse = |error: &dyn Display| Error::Refused(format!("{}: {error}", without_password(url)));
        let mut config: Config = url.parse().map_err(|error| refuse(&error))?;
        config.connect_timeout(PATIENCE);
        let telling = |sql: &str, sign: &str| {
            match reach.news {
            false => sql.to_owned(),
            true => format!(
                "WITH changed AS ({sql}),
                numbered AS (SELECT '{sign}' || part || ' ' || deadline || ' ' || id AS row, row_number() OVER () / {TOLD} AS page
                    FROM changed),
                told AS (SELECT pg_notify('{CHANNEL}', string_agg(row, ',')) FROM numbered GROUP BY page)
                SELECT (SELECT count(*) FROM changed), (SELECT count(*) FROM told)"
            ),
        }
        };
        let pool = (0..reach.connections.max(1)).map(|_| Mutex::default()).collect();
        let store = Self { config, layout, put: telling(PUT, "+"), cancel: telling(CANCEL, "-"), pool };
        let client = store.connect().await?;
        // Another process may make the tables at the same time, and then this one's attempt fails.
        let mut made = Ok(());
        for _ in 0..3 {
            made = client.batch_execute(TABLES).await;
            if made.is_ok() {
                break;
            }
        }
        made.map_err(|error| refuse(&said(&error)))?;
        let lay_out = "INSERT INTO durable_layout VALUES (1, $1) ON CONFLICT (one) DO NOTHING";
        client.execute(lay_out, &[&layout.encode()]).await.map_err(|error| refuse(&said(&error)))?;
        let found =
            client.query_one("SELECT layout FROM durable_layout", &[]).await.map_err(|error| refuse(&said(&error)))?;
        layout.check(&without_password(url), found.get(0))?;
        Ok(store)
    }

    /// Takes the jobs that are due, up to `limit`: their ids, attempts and payloads. For comparison.
    pub async fn poll(&self, part: u32, now: u64, until: u64, limit: usize) -> Result<Vec<(u64, u32, Vec<u8>)>> {
        let records = self.run(0, POLL, &[&(part as i32), &integer(now), &integer(until), &(limit as i64)]).await?;
        Ok(records.iter().map(|row| (number(row, 0), row.get::<_, i32>(1) as u32, row.get(2))).collect())
    }

    /// Inserts and deletes rows that were due first, while a transaction that could see them is open until the client is
    /// dropped. For comparison.
    pub async fn bury(&self, rows: u64) -> Result<Client> {
        self.run(0, BURY, &[&integer(rows)]).await?;
        let client = self.connect().await?;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM durable_job LIMIT 1";
        client.batch_execute(begin).await.map_err(|error| Error::Store(said(&error)))?;
        self.run(0, "DELETE FROM durable_job WHERE part = 0 AND deadline = 1", &[]).await?;
        Ok(client)
    }

    /// The process of the server, if it runs on this machine.
    pub async fn server(&self) -> Result<Option<u32>> {
        let record = self.run(0, "SELECT pg_backend_pid()", &[]).await?;
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", record[0].get::<_, i32>(0))).unwrap_or_default();
        let is_postgres = status.starts_with("Name:\tpostgres");
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:\t")?.parse().ok());
        Ok(parent.filter(|_| is_postgres))
    }

    async fn connect(&self) -> Result<Client> {
        let (client, connection) = self.config.connect(NoTls).await.map_err(|error| match error.as_db_error() {
            // Such as a wrong password, or no such database. While it starts or stops it refuses, too.
            Some(refusal) if !refusal.code().code().starts_with("57") => Error::Refused(said(&error)),
            _ => Error::Store(said(&error)),
        })?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Runs a statement on the connection of a partition, and waits for the answer for so long only.
    async fn run(&self, key: u64, sql: &str, parameters: Parameters<'_>) -> Result<Vec<Record>> {
        let slot = &self.pool[key as usize % self.pool.len()];
        let work = async {
            let connection = {
                let mut slot = slot.lock().await;
                match &*slot {
                    Some(connection) if !connection.client.is_closed() => Arc::clone(connection),
                    _ => {
                        let (client, prepared) = (self.connect().await?, Lock::default());
                        Arc::clone(slot.insert(Arc::new(Connection { client, prepared })))
                    }
                }
            };
            connection.run(sql, parameters).await.map_err(|error| Error::Store(said(&error)))
        };
        match timeout(PATIENCE, work).await {
            Ok(answer) => answer,
            Err(_) => {
                *slot.lock().await = None;
                Err(Error::store("no answer in time"))
            }
        }
    }

    /// Connects for the news. The task ends when the connection is lost, or with true if nobody wants to know any more.
    async fn subscribe(&self, tell: &Arc<Tell>) -> Result<(Client, JoinHandle<bool>)> {
        let (client, mut connection) = self.config.connect(NoTls).await.map_err(|error| Error::Store(said(&error)))?;
        let tell = Arc::clone(tell);
        let reading = tokio::spawn(async move {
            let mut messages = stream::poll_fn(move |context| connection.poll_message(context));
            while let Some(Ok(message)) = messages.next().await {
                let AsyncMessage::Notification(note) = message else { continue };
                if !note.payload().split(',').all(|row| tell(parse(row).unwrap_or(News::Lost))) {
                    return true;
                }
            }
            false
        });
        let listening = client.batch_execute(&format!("LISTEN {CHANNEL}")).await;
        listening.map(|()| (client, reading)).map_err(|error| Error::Store(said(&error)))
    }
}

/// News as a notification has it: a sign, the partition, the deadline, the id.
fn parse(text: &str) -> Option<News> {
    let mut numbers = text.get(1..)?.split(' ').map(|number| number.parse::<u64>().ok());
    let (part, row) = (u32::try_from(numbers.next()??).ok()?, (numbers.next()??, numbers.next()??));
    Some(if text.starts_with('-') { News::Removed(part, row) } else { News::Inserted(part, row) })
}

/// An error with its cause, in one line.
fn said(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(refusal), _) => refusal.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}").replace('\n', " "),
        (None, None) => error.to_string(),
    }
}

fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((kind, _)), Some((_, place))) => format!("{kind}://{place}"),
        _ => url.to_owned(),
    }
}

/// What is larger than PostgreSQL's integers is refused where it comes from. Only sentinels are.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn integers(rows: &[Row]) -> (Vec<i64>, Vec<i64>) {
    rows.iter().map(|row| (integer(row.0), integer(row.1))).unzip()
}

fn number(record: &Record, column: usize) -> u64 {
    record.get::<_, i64>(column) as u64
}

#[async_trait]
impl Store for Postgres {
    async fn put(&self, jobs: &[Job]) -> Result<u64> {
        let parts: Vec<i32> = jobs.iter().map(|job| job.part as i32).collect();
        let ids: Vec<i64> = jobs.iter().map(|job| integer(job.id)).collect();
        let deadlines: Vec<i64> = jobs.iter().map(|job| integer(job.deadline)).collect();
        let payloads: Vec<&[u8]> = jobs.iter().map(|job| &job.payload[..]).collect();
        let records = self.run(0, &self.put, &[&parts, &ids, &deadlines, &payloads]).await?;
        Ok(if self.put == PUT { records.len() as u64 } else { number(&records[0], 0) })
    }

    async fn cancel(&self, part: u32, id: u64) -> Result<bool> {
        let records = self.run(part.into(), &self.cancel, &[&(part as i32), &integer(id)]).await?;
        Ok(if self.cancel == CANCEL { !records.is_empty() } else { number(&records[0], 0) > 0 })
    }

    async fn scan(&self, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>> {
        let (deadline, id) = after.map_or((-1, -1), |(deadline, id)| (integer(deadline), integer(id)));
        let records = self.run(part.into(), SCAN, &[&(part as i32), &deadline, &id, &(limit as i64)]).await?;
        Ok(records.iter().map(|row| (number(row, 0), number(row, 1))).collect())
    }

    async fn claim(&self, part: u32, rows: &[Row], until: u64) -> Result<Vec<Claim>> {
        let (deadlines, ids) = integers(rows);
        let key = u64::from(part);
        let taken = self.run(key, CLAIM, &[&(part as i32), &integer(until), &deadlines, &ids]).await?;
        let claim = |row: Record| {
            let (attempt, payload) = (row.get::<_, i32>(1) as u32, row.get(2));
            (number(&row, 0), Claim::Taken { attempt, payload })
        };
        let mut claims: HashMap<u64, Claim> = taken.into_iter().map(claim).collect();
        if claims.len() < rows.len() {
            for found in self.run(key, FIND, &[&(part as i32), &ids]).await? {
                let (id, deadline) = (number(&found, 0), number(&found, 1));
                claims.entry(id).or_insert(Claim::Moved((deadline, id)));
            }
        }
        Ok(rows.iter().map(|row| claims.remove(&row.1).unwrap_or(Claim::Gone)).collect())
    }

    async fn settle(&self, part: u32, ends: &[(Row, Option<u64>)]) -> Result<()> {
        let done: Vec<Row> = ends.iter().filter(|end| end.1.is_none()).map(|end| end.0).collect();
        let (later, to): (Vec<Row>, Vec<i64>) = ends.iter().filter_map(|end| Some((end.0, integer(end.1?)))).unzip();
        if !done.is_empty() {
            let (deadlines, ids) = integers(&done);
            self.run(part.into(), REMOVE, &[&(part as i32), &deadlines, &ids]).await?;
        }
        if !later.is_empty() {
            let (deadlines, ids) = integers(&later);
            self.run(part.into(), MOVE, &[&(part as i32), &deadlines, &ids, &to]).await?;
        }
        Ok(())
    }

    async fn leases(&self) -> Result<Vec<Lease>> {
        let lease = |row: &Record| {
            let [key, owner, epoch, until] = [0, 1, 2, 3].map(|column| number(row, column));
            Lease { key, owner, epoch, until }
        };
        Ok(self.run(0, LEASES, &[]).await?.iter().map(lease).collect())
    }

    async fn lease(&self, changes: &[(Option<Lease>, Option<Lease>)]) -> Result<Vec<bool>> {
        let numbers = |lease: Lease| [lease.key, lease.owner, lease.epoch, lease.until].map(integer);
        let mut changed = Vec::new();
        for change in changes {
            let records = match (change.0.map(numbers), change.1.map(numbers)) {
                (Some([key, owner, epoch, until]), Some([_, to, next, end])) => {
                    self.run(0, CHANGE, &[&key, &to, &next, &end, &owner, &epoch, &until]).await?
                }
                (None, Some([key, owner, epoch, until])) => self.run(0, TAKE, &[&key, &owner, &epoch, &until]).await?,
                (Some([key, owner, epoch, until]), None) => self.run(0, DROP, &[&key, &owner, &epoch, &until]).await?,
                (None, None) => Vec::new(),
            };
            changed.push(!records.is_empty());
        }
        Ok(changed)
    }

    async fn count(&self) -> Result<Vec<Count>> {
        let records = self.run(0, COUNT, &[]).await?;
        let found: HashMap<u32, (u64, u64)> =
            records.iter().map(|row| (row.get::<_, i32>(0) as u32, (number(row, 1), number(row, 2)))).collect();
        let count = |part| match found.get(&part) {
            Some((jobs, first)) => Count { part, jobs: *jobs, first: Some(*first) },
            None => Count { part, jobs: 0, first: None },
        };
        Ok(self.layout.parts().map(count).collect())
    }

    async fn news(&self, tell: Tell) -> Result<()> {
        if self.put == PUT {
            return Ok(()); // The windows are loaded anew every so often.
        }
        let (put, cancel) = Default::default();
        let store = Self { config: self.config.clone(), layout: self.layout, put, cancel, pool: Vec::new() };
        let tell = Arc::new(tell);
        let (mut client, mut reading) = store.subscribe(&tell).await?;
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    is_over = &mut reading => if is_over.unwrap_or(false) { return },
                    () = sleep(PING) => match timeout(PING, client.batch_execute("")).await {
                        Ok(Ok(())) => continue,
                        _ => reading.abort(), // The server is gone without a word.
                    }
                }
                (client, reading) = loop {
                    match store.subscribe(&tell).await {
                        Ok(link) => break link,
                        Err(_) => sleep(PAUSE).await,
                    }
                };
                if !tell(News::Lost) {
                    return;
                }
            }
        });
        Ok(())
    }
}
