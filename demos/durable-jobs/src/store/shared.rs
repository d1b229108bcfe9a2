//! A file of redb that several processes share. redb lets one process open a file. The first one that comes does so, and
//! serves the others over a socket next to the file. When it dies, the file's lock goes with it, and one of the others takes
//! its place.

use std::fs;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use tarpc::client::{Config, NewClient, RpcError};
use tarpc::context::current;
use tarpc::serde_transport::unix;
use tarpc::server::{BaseChannel, Channel};
use tarpc::tokio_serde::formats::Json;
use tarpc::{ClientMessage, Response, Transport};
use tokio::sync::Mutex;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::redb::File;
use super::{Claim, End, Failed, Job, Layout, Lease, News, Row, Store};
use crate::error::{Error, Result};

/// How long a new owner of the file may take to come forward.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks whether there is one.
const GLANCE: Duration = Duration::from_millis(20);

/// The longest message: a hundred claims with their payloads are below.
const MAX_MESSAGE: usize = 64 << 20;

/// As [`Store`](super::Store) has it, but for the news.
#[tarpc::service]
pub(super) trait Jobs {
    async fn layout() -> String;
    async fn put(jobs: Vec<Job>) -> Result<u64>;
    async fn cancel(part: u32, id: u64) -> Result<bool>;
    async fn scan(part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>>;
    async fn claim(part: u32, rows: Vec<Row>, until: u64) -> Result<Vec<Claim>>;
    async fn settle(part: u32, ends: Vec<(Row, End)>) -> Result<()>;
    async fn failed(part: u32, limit: usize) -> Result<Vec<Failed>>;
    async fn retry(part: u32, ids: Vec<u64>, deadline: u64) -> Result<u64>;
    async fn leases() -> Result<Vec<Lease>>;
    async fn lease(wanted: Vec<Lease>) -> Result<Vec<bool>>;
    async fn count(part: u32) -> Result<(u64, u64)>;
    async fn next_news() -> u64;
    async fn news_since(number: u64) -> Option<(u64, Vec<News>)>;
}

pub struct Shared {
    path: PathBuf,
    layout: Layout,
    link: Mutex<Option<Link>>,
}

/// How this process reaches the file.
struct Link {
    client: JobsClient,
    /// What carries the requests. It ends with the process that has the file.
    carrier: AbortHandle,
    /// If the file is open here, what serves it to all.
    _serving: Option<AbortOnDropHandle<()>>,
}

impl Link {
    fn new<T>(process: T, serving: Option<AbortOnDropHandle<()>>) -> Self
    where
        T: Transport<ClientMessage<JobsRequest>, Response<JobsResponse>> + Send + 'static,
        T::Error: Send + Sync,
    {
        let NewClient { client, dispatch } = JobsClient::new(Config::default(), process);
        Self { client, carrier: tokio::spawn(dispatch).abort_handle(), _serving: serving }
    }
}

impl Shared {
    pub async fn open(path: &Path, layout: Layout) -> Result<Self> {
        let shared = Self { path: path.to_owned(), layout, link: Mutex::default() };
        shared.client().await?;
        Ok(shared)
    }

    /// The client of whoever has the file, or is about to.
    async fn client(&self) -> Result<JobsClient> {
        let mut link = self.link.lock().await;
        if let Some(link) = link.as_ref().filter(|link| !link.carrier.is_finished()) {
            return Ok(link.client.clone());
        }
        let end = Instant::now() + PATIENCE;
        loop {
            match self.connect().await {
                // Whoever has the file may be about to serve it, or about to die.
                Err(Error::Store(_)) if Instant::now() < end => sleep(GLANCE).await,
                connected => return Ok(link.insert(connected?).client.clone()),
            }
        }
    }

    async fn connect(&self) -> Result<Link> {
        let mut socket = self.path.clone().into_os_string();
        socket.push(".sock");
        let (path, layout) = (self.path.clone(), self.layout);
        let opened = tokio::task::spawn_blocking(move || File::open(&path, layout)).await.map_err(Error::store)?;
        let Some(file) = opened? else {
            let mut guest = unix::connect(socket, Json::default);
            guest.config_mut().max_frame_length(MAX_MESSAGE);
            let link = Link::new(guest.await.map_err(Error::store)?, None);
            layout.check(&link.client.layout(current()).await.map_err(Error::store)?)?;
            return Ok(link);
        };
        // The lock is this process's, so nobody listens at a socket that is left there.
        let _ = fs::remove_file(&socket);
        let mut listener = unix::listen(socket, Json::default).await.map_err(Error::refused)?;
        listener.config_mut().max_frame_length(MAX_MESSAGE);
        let (near, far) = tarpc::transport::channel::unbounded();
        let serving = tokio::spawn(async move {
            let guests = listener.filter_map(|guest| ready(guest.ok()));
            let guests = guests.for_each_concurrent(None, |guest| serve(file.clone(), guest));
            tokio::select! {
                _ = async { tokio::join!(serve(file.clone(), far), guests) } => {}
                () = file.broken.cancelled() => {} // whoever asks next opens the file
            }
        });
        Ok(Link::new(near, Some(AbortOnDropHandle::new(serving))))
    }
}

fn taken<T>(answer: std::result::Result<Result<T>, RpcError>) -> Result<T> {
    answer.map_err(Error::store)?
}

/// Serves one process, until it or the task ends.
async fn serve<T>(file: File, process: T)
where
    T: Transport<Response<JobsResponse>, ClientMessage<JobsRequest>> + Send + 'static,
    T::Error: Send + Sync,
{
    BaseChannel::with_defaults(process).execute(file.serve()).for_each_concurrent(None, |answer| answer).await;
}

#[async_trait]
impl Store for Shared {
    async fn put(&self, jobs: &[Job]) -> Result<u64> {
        taken(self.client().await?.put(current(), jobs.to_vec()).await)
    }

    async fn cancel(&self, part: u32, id: u64) -> Result<bool> {
        taken(self.client().await?.cancel(current(), part, id).await)
    }

    async fn scan(&self, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>> {
        taken(self.client().await?.scan(current(), part, after, limit).await)
    }

    async fn claim(&self, part: u32, rows: &[Row], until: u64) -> Result<Vec<Claim>> {
        taken(self.client().await?.claim(current(), part, rows.to_vec(), until).await)
    }

    async fn settle(&self, part: u32, ends: &[(Row, End)]) -> Result<()> {
        taken(self.client().await?.settle(current(), part, ends.to_vec()).await)
    }

    async fn failed(&self, part: u32, limit: usize) -> Result<Vec<Failed>> {
        taken(self.client().await?.failed(current(), part, limit).await)
    }

    async fn retry(&self, part: u32, ids: &[u64], deadline: u64) -> Result<u64> {
        taken(self.client().await?.retry(current(), part, ids.to_vec(), deadline).await)
    }

    async fn leases(&self) -> Result<Vec<Lease>> {
        taken(self.client().await?.leases(current()).await)
    }

    async fn lease(&self, wanted: &[Lease]) -> Result<Vec<bool>> {
        taken(self.client().await?.lease(current(), wanted.to_vec()).await)
    }

    async fn count(&self, part: u32) -> Result<(u64, u64)> {
        // It visits all rows.
        let mut context = current();
        context.deadline = std::time::Instant::now() + Duration::from_secs(3_600);
        taken(self.client().await?.count(context, part).await)
    }

    async fn news(&self) -> Result<BoxStream<'static, News>> {
        let end = Instant::now() + PATIENCE;
        let begun = loop {
            let client = self.client().await?;
            match client.next_news(current()).await {
                Ok(next) => break (client, next),
                Err(error) if Instant::now() > end => return Err(Error::store(error)),
                Err(_) => sleep(GLANCE).await, // the process that has the file has just died
            }
        };
        let news = stream::unfold(begun, async |(client, next)| {
            let (next, news) = client.news_since(current(), next).await.ok()??;
            Some((stream::iter(news), (client, next)))
        });
        Ok(news.flatten().boxed())
    }
}
