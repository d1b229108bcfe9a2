//! Jobs in a file of redb, which one process has open. What others may ask of that process is a service.

mod tables;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use redb::{
    Database, DatabaseError, Error as Fault, ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata,
};
use tarpc::context::Context;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use self::tables::*;
use super::backlog::Backlog;
use super::shared::Jobs;
use super::{Claim, End, Failed, Job, Layout, Lease, News, Row};
use crate::error::{Error, Result};

/// How much of the file is kept in memory, at most.
const CACHE: usize = 64 << 20;

/// How many requests share a transaction, at most, so that the first of them does not wait for long.
const GROUP: usize = 256;

type Work = Box<dyn FnOnce(&mut Tables<'_>) -> Faulty<()> + Send>;
type Asked = (Work, oneshot::Sender<Result<()>>);

/// The open file, and the thread that writes to it.
#[derive(Clone)]
pub(super) struct File {
    database: Arc<Database>,
    layout: Layout,
    writes: mpsc::Sender<Asked>,
    news: Backlog,
    /// After a fault redb answers nothing more until the file is opened anew.
    pub(super) broken: CancellationToken,
}

/// Asks redb, which panics where a file is damaged.
fn guarded<T, E: std::error::Error>(ask: impl FnOnce() -> std::result::Result<T, E>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(ask)) {
        Ok(answer) => answer.map_err(Error::store),
        Err(_) => Err(Error::Refused("the file is damaged".to_owned())),
    }
}

impl File {
    /// Opens the file, or makes it. `None` if another process has it open.
    pub(super) fn open(path: &Path, layout: Layout) -> Result<Option<Self>> {
        let opened = guarded(|| Ok::<_, Fault>(Database::builder().set_cache_size(CACHE).create(path)))?;
        let database = match opened {
            Ok(database) => Arc::new(database),
            Err(DatabaseError::DatabaseAlreadyOpen) => return Ok(None),
            Err(error) => return Err(Error::refused(error)),
        };
        let found = guarded(|| Ok::<_, Fault>(lay_out(&database, layout)))?.map_err(Error::refused)?;
        layout.check(&found)?;
        let (writes, asked) = mpsc::channel();
        let file = Self { database, layout, writes, news: Backlog::default(), broken: CancellationToken::new() };
        let (database, news, broken) = (Arc::clone(&file.database), file.news.clone(), file.broken.clone());
        thread::spawn(move || write_all(&database, &asked, &news, &broken));
        Ok(Some(file))
    }

    /// Does some work in a transaction that may have others, too. It is committed when this returns.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tables<'_>) -> Faulty<T> + Send + 'static,
    ) -> Result<T> {
        let ((answer, answered), (tell, told)) = (oneshot::channel(), oneshot::channel());
        let work = move |tables: &mut Tables<'_>| work(tables).map(|it| _ = answer.send(it));
        let _ = self.writes.send((Box::new(work), tell));
        told.await.map_err(Error::store)??;
        answered.await.map_err(Error::store)
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ReadTransaction) -> std::result::Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let database = Arc::clone(&self.database);
        let read = tokio::task::spawn_blocking(move || guarded(|| work(&database.begin_read()?)));
        let answer = read.await.map_err(Error::store)?;
        answer.inspect_err(|_| self.broken.cancel())
    }
}

/// Makes the tables and writes down the layout, if that was not done yet. Answers what is written there.
fn lay_out(database: &Database, layout: Layout) -> std::result::Result<String, Fault> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    let found = {
        let mut table = transaction.open_table(LAYOUT)?;
        if table.is_empty()? {
            table.insert((), layout.encode().as_str())?;
        }
        let found = table.get(())?.map_or_else(String::new, |found| found.value().to_owned());
        // Tables of another version have other types, and the caller says so.
        if layout.check(&found).is_ok() {
            Tables::open(&transaction)?;
        }
        found
    };
    transaction.commit()?;
    Ok(found)
}

/// Writes until nobody can ask any more. What was asked for meanwhile goes into one transaction.
fn write_all(database: &Database, asked: &mpsc::Receiver<Asked>, news: &Backlog, broken: &CancellationToken) {
    while let Ok(first) = asked.recv() {
        let others = asked.try_iter().take(GROUP - 1);
        let (works, tells): (Vec<_>, Vec<_>) = std::iter::once(first).chain(others).unzip();
        let written = guarded(|| write(database, works)).map(|told| news.tell(&told));
        let failed = written.is_err();
        tells.into_iter().for_each(|tell| _ = tell.send(written.clone()));
        if failed {
            broken.cancel();
        }
    }
}

fn write(database: &Database, works: Vec<Work>) -> std::result::Result<Vec<News>, Fault> {
    let mut transaction = database.begin_write()?;
    // The file is open again at once after a crash, however long it is.
    transaction.set_quick_repair(true);
    let news = {
        let mut tables = Tables::open(&transaction)?;
        works.into_iter().try_for_each(|work| work(&mut tables))?;
        tables.news
    };
    transaction.commit()?;
    Ok(news)
}

impl Jobs for File {
    async fn layout(self, _: Context) -> String {
        self.layout.encode()
    }

    async fn put(self, _: Context, jobs: Vec<Job>) -> Result<u64> {
        let insert = move |tables: &mut Tables<'_>| {
            let before = tables.news.len();
            for Job { part, id, deadline, payload } in jobs {
                if tables.job(part, id)?.is_none() {
                    tables.insert(part, (deadline, id), 0, &payload)?;
                    tables.news.push(News::Inserted(part, (deadline, id)));
                }
            }
            Ok((tables.news.len() - before) as u64)
        };
        self.write(insert).await
    }

    async fn cancel(self, _: Context, part: u32, id: u64) -> Result<bool> {
        let remove = move |tables: &mut Tables<'_>| {
            let Some((deadline, ..)) = tables.job(part, id)? else { return Ok(false) };
            tables.news.push(News::Removed(part, (deadline, id)));
            tables.remove(part, (deadline, id)).map(|()| true)
        };
        self.write(remove).await
    }

    async fn scan(self, _: Context, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>> {
        let first = after.map_or((part, 0, 0), |(deadline, id)| (part, deadline, id.saturating_add(1)));
        let scan = move |transaction: &ReadTransaction| {
            let rows = transaction.open_table(DUE)?.range(first..=(part, u64::MAX, u64::MAX))?.take(limit);
            rows.map(|row| row.map(|(row, _)| (row.value().1, row.value().2)).map_err(Fault::from)).collect()
        };
        self.read(scan).await
    }

    async fn claim(self, _: Context, part: u32, rows: Vec<Row>, until: u64) -> Result<Vec<Claim>> {
        self.write(move |tables| rows.into_iter().map(|row| tables.claim(part, row, until)).collect()).await
    }

    async fn settle(self, _: Context, part: u32, ends: Vec<(Row, End)>) -> Result<()> {
        self.write(move |tables| ends.into_iter().try_for_each(|(row, end)| tables.settle(part, row, end))).await
    }

    async fn failed(self, _: Context, part: u32, limit: usize) -> Result<Vec<Failed>> {
        let failed = move |transaction: &ReadTransaction| {
            let jobs = transaction.open_table(FAILED)?.range((part, 0)..=(part, u64::MAX))?.take(limit);
            let mut failed = Vec::new();
            for job in jobs {
                let (key, job) = job?;
                failed.push(Failed { id: key.value().1, attempts: job.value().0, error: job.value().1.to_owned() });
            }
            Ok(failed)
        };
        self.read(failed).await
    }

    async fn retry(self, _: Context, part: u32, ids: Vec<u64>, deadline: u64) -> Result<u64> {
        let retry = move |tables: &mut Tables<'_>| {
            ids.into_iter().try_fold(0, |all, id| Ok(all + u64::from(tables.retry(part, id, deadline)?)))
        };
        self.write(retry).await
    }

    async fn leases(self, _: Context) -> Result<Vec<Lease>> {
        let leases = |transaction: &ReadTransaction| {
            let mut leases = Vec::new();
            for lease in transaction.open_table(LEASES)?.iter()? {
                let (key, it) = lease?;
                let (owner, epoch, until, floor) = it.value();
                leases.push(Lease { key: key.value(), owner, epoch, until, floor });
            }
            Ok(leases)
        };
        self.read(leases).await
    }

    async fn lease(self, _: Context, wanted: Vec<Lease>) -> Result<Vec<bool>> {
        self.write(move |tables| wanted.into_iter().map(|lease| tables.lease(lease)).collect()).await
    }

    async fn count(self, _: Context, part: u32) -> Result<(u64, u64)> {
        let (due, failed) = ((part, 0, 0)..=(part, u64::MAX, u64::MAX), (part, 0)..=(part, u64::MAX));
        let count = |transaction: &ReadTransaction| {
            let failed = transaction.open_table(FAILED)?.range(failed)?.count();
            Ok((transaction.open_table(DUE)?.range(due)?.count() as u64, failed as u64))
        };
        self.read(count).await
    }

    async fn next_news(self, _: Context) -> u64 {
        self.news.next()
    }

    async fn news_since(self, _: Context, number: u64) -> Option<(u64, Vec<News>)> {
        self.news.since(number).await
    }
}
