//! Jobs in a file of redb, which one process has open. What is asked of it is a `Request`, so that it can come from
//! another process too.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, ReadableTableMetadata, Table, TableDefinition};
use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, oneshot};

use crate::error::{Error, Result};
use crate::store::{Claim, Count, Job, Layout, Lease, News, Row};

/// By partition and id: the deadline, the attempts, and the payload.
const JOBS: TableDefinition<'_, (u32, u64), (u64, u32, &[u8])> = TableDefinition::new("jobs");

/// The same jobs in the order of their partition, deadline and id.
const DUE: TableDefinition<'_, (u32, u64, u64), ()> = TableDefinition::new("due");

/// By key: the owner, the epoch, and the end.
const LEASES: TableDefinition<'_, u64, (u64, u64, u64)> = TableDefinition::new("leases");

const LAYOUT: TableDefinition<'_, (), &str> = TableDefinition::new("layout");

/// How much of the file is kept in memory, at most.
const CACHE: usize = 64 << 20;

/// How many requests share a transaction, at most, so that the first of them does not wait for long.
const GROUP: usize = 256;

/// How many news a slow reader may be behind before it loses some, and is told so.
const BACKLOG: usize = 1 << 14;

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Hello(Layout),
    News,
    Put(Vec<Job>),
    Cancel(u32, u64),
    Claim(u32, Vec<Row>, u64),
    Settle(u32, Vec<(Row, Option<u64>)>),
    Lease(Vec<(Option<Lease>, Option<Lease>)>),
    Scan(u32, Option<Row>, usize),
    Leases,
    Count,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Number(u64),
    Claims(Vec<Claim>),
    Flags(Vec<bool>),
    Rows(Vec<Row>),
    Leases(Vec<Lease>),
    Counts(Vec<Count>),
    News(News),
    Refused(String),
    Failed(String),
}

type Asked = (Request, oneshot::Sender<Reply>);
type Fault = Box<dyn std::error::Error + Send + Sync>;

/// The open file, and the thread that writes to it.
pub(super) struct File {
    database: Arc<Database>,
    layout: Layout,
    writes: mpsc::Sender<Asked>,
    pub(super) news: broadcast::Sender<News>,
}

impl File {
    /// Opens the file, or creates it. `None` if another process has it open.
    pub(super) fn open(path: &Path, layout: Layout) -> Result<Option<Arc<Self>>> {
        let refuse = |error: &dyn std::fmt::Display| Error::Refused(format!("{}: {error}", path.display()));
        let database = match Database::builder().set_cache_size(CACHE).create(path) {
            Ok(database) => Arc::new(database),
            Err(DatabaseError::DatabaseAlreadyOpen) => return Ok(None),
            Err(error) => return Err(refuse(&error)),
        };
        let found = lay_out(&database, layout).map_err(|error| refuse(&error))?;
        layout.check(&path.display().to_string(), &found)?;
        let (writes, asked) = mpsc::channel();
        let (news, _) = broadcast::channel(BACKLOG);
        let (writer_database, writer_news) = (Arc::clone(&database), news.clone());
        thread::spawn(move || write_all(&writer_database, &asked, &writer_news));
        Ok(Some(Arc::new(Self { database, layout, writes, news })))
    }

    pub(super) async fn ask(&self, request: Request) -> Reply {
        if matches!(request, Request::Scan(..) | Request::Leases | Request::Count) {
            let (database, layout) = (Arc::clone(&self.database), self.layout);
            let read = tokio::task::spawn_blocking(move || read(&database, layout, &request));
            return match read.await {
                Ok(Ok(reply)) => reply,
                Ok(Err(error)) => Reply::Failed(error.to_string()),
                Err(panic) => Reply::Failed(panic.to_string()),
            };
        }
        let (tell, told) = oneshot::channel();
        let _ = self.writes.send((request, tell));
        told.await.unwrap_or_else(|_| Reply::Failed("its writer has stopped".to_owned()))
    }
}

/// Makes the tables and writes down the layout, if that was not done yet. Answers what is written there.
fn lay_out(database: &Database, layout: Layout) -> std::result::Result<String, Fault> {
    let transaction = database.begin_write()?;
    let found = {
        let mut table = transaction.open_table(LAYOUT)?;
        if table.is_empty()? {
            table.insert((), layout.encode().as_str())?;
        }
        transaction.open_table(JOBS)?;
        transaction.open_table(DUE)?;
        transaction.open_table(LEASES)?;
        table.get(())?.map_or_else(String::new, |found| found.value().to_owned())
    };
    transaction.commit()?;
    Ok(found)
}

/// Writes until nobody can ask any more. What was asked for meanwhile goes into one transaction.
fn write_all(database: &Database, asked: &mpsc::Receiver<Asked>, news: &broadcast::Sender<News>) {
    while let Ok(first) = asked.recv() {
        let mut group = vec![first];
        group.extend(asked.try_iter().take(GROUP - 1));
        match write(database, &group) {
            Ok((replies, told)) => {
                told.into_iter().for_each(|it| _ = news.send(it));
                for ((_, tell), reply) in group.into_iter().zip(replies) {
                    let _ = tell.send(reply);
                }
            }
            Err(error) => group.into_iter().for_each(|(_, tell)| _ = tell.send(Reply::Failed(error.to_string()))),
        }
    }
}

fn write(database: &Database, group: &[Asked]) -> std::result::Result<(Vec<Reply>, Vec<News>), Fault> {
    let mut transaction = database.begin_write()?;
    // The file is open again at once after a crash, however long it is.
    transaction.set_quick_repair(true);
    let (mut replies, mut news) = (Vec::new(), Vec::new());
    {
        let mut jobs = Jobs { jobs: transaction.open_table(JOBS)?, due: transaction.open_table(DUE)? };
        let mut leases = transaction.open_table(LEASES)?;
        for (request, _) in group {
            replies.push(match request {
                Request::Put(wanted) => {
                    let before = news.len();
                    for job in wanted {
                        if jobs.insert(job)? {
                            news.push(News::Inserted(job.part, (job.deadline, job.id)));
                        }
                    }
                    Reply::Number((news.len() - before) as u64)
                }
                Request::Cancel(part, id) => {
                    let found = jobs.deadline(*part, *id)?;
                    if let Some(deadline) = found {
                        jobs.remove(*part, (deadline, *id))?;
                        news.push(News::Removed(*part, (deadline, *id)));
                    }
                    Reply::Flags(vec![found.is_some()])
                }
                Request::Claim(part, rows, until) => {
                    Reply::Claims(rows.iter().map(|row| jobs.claim(*part, *row, *until)).collect::<Faulty<_>>()?)
                }
                Request::Settle(part, ends) => {
                    for (row, later) in ends {
                        match later {
                            _ if jobs.deadline(*part, row.1)? != Some(row.0) => {}
                            None => jobs.remove(*part, *row)?,
                            Some(later) => _ = jobs.set(*part, *row, *later, 0)?,
                        }
                    }
                    Reply::Flags(Vec::new())
                }
                Request::Lease(changes) => {
                    let changed = changes.iter().map(|(seen, wanted)| change_lease(&mut leases, *seen, *wanted));
                    Reply::Flags(changed.collect::<Faulty<_>>()?)
                }
                other => Reply::Failed(format!("not a write: {other:?}")),
            });
        }
    }
    transaction.commit()?;
    Ok((replies, news))
}

type Faulty<T> = std::result::Result<T, redb::StorageError>;

/// The two tables of jobs, which hold the same positions.
struct Jobs<'a> {
    jobs: Table<'a, (u32, u64), (u64, u32, &'static [u8])>,
    due: Table<'a, (u32, u64, u64), ()>,
}

impl Jobs<'_> {
    fn insert(&mut self, job: &Job) -> Faulty<bool> {
        if self.deadline(job.part, job.id)?.is_some() {
            return Ok(false);
        }
        self.jobs.insert((job.part, job.id), (job.deadline, 0, &job.payload[..]))?;
        self.due.insert((job.part, job.deadline, job.id), ())?;
        Ok(true)
    }

    fn deadline(&self, part: u32, id: u64) -> Faulty<Option<u64>> {
        Ok(self.jobs.get((part, id))?.map(|job| job.value().0))
    }

    fn remove(&mut self, part: u32, row: Row) -> Faulty<()> {
        self.jobs.remove((part, row.1))?;
        self.due.remove((part, row.0, row.1))?;
        Ok(())
    }

    /// Moves a job that is at this position. Answers its attempts and payload.
    fn set(&mut self, part: u32, row: Row, deadline: u64, more_attempts: u32) -> Faulty<(u32, Vec<u8>)> {
        let job = self.jobs.get((part, row.1))?.map(|job| (job.value().1, job.value().2.to_vec()));
        let (attempts, payload) = job.unwrap_or_default();
        let attempts = attempts.saturating_add(more_attempts);
        self.jobs.insert((part, row.1), (deadline, attempts, &payload[..]))?;
        self.due.remove((part, row.0, row.1))?;
        self.due.insert((part, deadline, row.1), ())?;
        Ok((attempts, payload))
    }

    fn claim(&mut self, part: u32, row: Row, until: u64) -> Faulty<Claim> {
        Ok(match self.deadline(part, row.1)? {
            None => Claim::Gone,
            Some(deadline) if deadline != row.0 => Claim::Moved((deadline, row.1)),
            Some(_) => {
                let (attempt, payload) = self.set(part, row, until, 1)?;
                Claim::Taken { attempt, payload }
            }
        })
    }
}

fn change_lease(
    leases: &mut Table<'_, u64, (u64, u64, u64)>,
    seen: Option<Lease>,
    wanted: Option<Lease>,
) -> Faulty<bool> {
    let Some(key) = seen.or(wanted).map(|lease| lease.key) else { return Ok(true) };
    let there = leases.get(key)?.map(|it| it.value());
    if there != seen.map(|it| (it.owner, it.epoch, it.until)) {
        return Ok(false);
    }
    match wanted {
        Some(it) => leases.insert(key, (it.owner, it.epoch, it.until))?.is_some(),
        None => leases.remove(key)?.is_some(),
    };
    Ok(true)
}

fn read(database: &Database, layout: Layout, request: &Request) -> std::result::Result<Reply, Fault> {
    let transaction = database.begin_read()?;
    let due = transaction.open_table(DUE)?;
    Ok(match request {
        Request::Scan(part, after, limit) => {
            let after = after.map_or((*part, 0, 0), |(deadline, id)| (*part, deadline, id.saturating_add(1)));
            let rows = due.range(after..=(*part, u64::MAX, u64::MAX))?.take(*limit);
            let rows = rows.map(|row| row.map(|(row, _)| (row.value().1, row.value().2)));
            Reply::Rows(rows.collect::<Faulty<_>>()?)
        }
        Request::Leases => {
            let table = transaction.open_table(LEASES)?;
            let leases = table.iter()?.map(|lease| {
                let (key, it) = lease?;
                let (owner, epoch, until) = it.value();
                Ok(Lease { key: key.value(), owner, epoch, until })
            });
            Reply::Leases(leases.collect::<Faulty<_>>()?)
        }
        _ => {
            let count = |part| {
                let mut rows = due.range((part, 0, 0)..=(part, u64::MAX, u64::MAX))?;
                let first = rows.next().transpose()?.map(|(row, _)| row.value().1);
                Ok(Count { part, first, jobs: u64::from(first.is_some()) + rows.count() as u64 })
            };
            Reply::Counts(layout.parts().map(count).collect::<Faulty<_>>()?)
        }
    })
}
