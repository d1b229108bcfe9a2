//! A file of redb that several processes share. redb lets one process open a file. The first one that comes does so, and
//! serves the others over a socket next to the file. When it dies, the file's lock goes with it, and one of the others takes
//! its place.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{SinkExt, StreamExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Mutex, broadcast, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep};
use tokio_util::bytes::Bytes;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use super::redb::{File, Reply, Request};
use super::{Claim, Count, Job, Layout, Lease, News, Row, Store, Tell};
use crate::error::{Error, Result};

/// How long a new owner of the file may take to come forward.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks whether there is one.
const GLANCE: Duration = Duration::from_millis(20);

/// The longest message: a hundred claims with their payloads are far below.
const MAX_MESSAGE: usize = 64 << 20;

/// How many requests of one guest are under way at a time.
const IN_FLIGHT: usize = 1_024;

/// A reply to a request bears its number. News bears 0.
type Wire = Framed<UnixStream, LengthDelimitedCodec>;

#[derive(Clone)]
pub struct Shared {
    path: PathBuf,
    layout: Layout,
    link: Arc<Mutex<Option<Link>>>,
}

/// How this process reaches the file.
#[derive(Clone)]
enum Link {
    /// The file is open here, and others are served.
    Owner { file: Arc<File>, _serving: Arc<Abort> },
    /// Another process has it.
    Guest(mpsc::Sender<(Request, oneshot::Sender<Reply>)>, broadcast::Sender<News>),
}

/// Ends a task.
struct Abort(AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Link {
    async fn ask(&self, request: Request) -> Result<Reply> {
        let reply = match self {
            Self::Owner { file, .. } => Some(file.ask(request).await),
            Self::Guest(requests, _) => {
                let (tell, told) = oneshot::channel();
                let _ = requests.send((request, tell)).await;
                told.await.ok()
            }
        };
        match reply {
            None => Err(Error::store("the process that has the file is gone")),
            Some(Reply::Refused(why)) => Err(Error::Refused(why)),
            Some(Reply::Failed(why)) => Err(Error::Store(why)),
            Some(reply) => Ok(reply),
        }
    }
}

impl Shared {
    pub async fn open(path: &Path, layout: Layout) -> Result<Self> {
        let shared = Self { path: path.to_owned(), layout, link: Arc::default() };
        shared.link().await?;
        Ok(shared)
    }

    fn socket(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".sock");
        name.into()
    }

    /// The link, or a new one if the process at its other end is gone.
    async fn link(&self) -> Result<Link> {
        let mut link = self.link.lock().await;
        match &*link {
            Some(alive @ Link::Owner { .. }) => return Ok(alive.clone()),
            Some(alive @ Link::Guest(requests, _)) if !requests.is_closed() => return Ok(alive.clone()),
            _ => *link = None,
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let new = match self.connect().await {
                // Whoever has the file may be about to serve it, or about to die.
                Err(Error::Store(_)) if Instant::now() < end => {
                    sleep(GLANCE).await;
                    continue;
                }
                new => new?,
            };
            return Ok(link.insert(new).clone());
        }
    }

    async fn connect(&self) -> Result<Link> {
        let refuse = |error| Error::Refused(format!("{}: {error}", self.socket().display()));
        let (path, layout) = (self.path.clone(), self.layout);
        let opened = tokio::task::spawn_blocking(move || File::open(&path, layout)).await.map_err(Error::store)?;
        if let Some(file) = opened? {
            // The lock is this process's, so nobody listens at a socket that is left there.
            let _ = fs::remove_file(self.socket());
            let listener = UnixListener::bind(self.socket()).map_err(refuse)?;
            let task = tokio::spawn(serve(listener, Arc::clone(&file), layout));
            return Ok(Link::Owner { file, _serving: Arc::new(Abort(task.abort_handle())) });
        }
        let stream = UnixStream::connect(self.socket()).await.map_err(Error::store)?;
        let (requests, asked) = mpsc::channel(IN_FLIGHT);
        let (news, _) = broadcast::channel(1 << 14);
        tokio::spawn(be_guest(wire(stream), asked, news.clone()));
        let guest = Link::Guest(requests, news);
        guest.ask(Request::Hello(layout)).await?;
        Ok(guest)
    }

    async fn ask(&self, request: Request) -> Result<Reply> {
        self.link().await?.ask(request).await
    }

    /// Subscribes to the news of whoever has the file, or is about to.
    async fn subscribe(&self) -> Result<broadcast::Receiver<News>> {
        let end = Instant::now() + PATIENCE;
        loop {
            let link = self.link().await?;
            let (told, asked) = match &link {
                Link::Owner { file, .. } => (file.news.subscribe(), Ok(Reply::Number(0))),
                Link::Guest(_, news) => (news.subscribe(), link.ask(Request::News).await),
            };
            match asked {
                Ok(_) => return Ok(told),
                Err(Error::Store(_)) if Instant::now() < end => sleep(GLANCE).await,
                Err(error) => return Err(error),
            }
        }
    }
}

fn wire(stream: UnixStream) -> Wire {
    Framed::new(stream, LengthDelimitedCodec::builder().max_frame_length(MAX_MESSAGE).new_codec())
}

/// Carries requests to the owner, and replies and news back, until either end is gone. Requests still waiting then fail, as
/// the other halves of their channels are dropped. It reads also while it waits to write: if both ends only wrote, both would
/// wait for ever.
async fn be_guest(
    wire: Wire,
    mut asked: mpsc::Receiver<(Request, oneshot::Sender<Reply>)>,
    news: broadcast::Sender<News>,
) {
    let (mut to_owner, mut from_owner) = wire.split();
    let waiting = std::sync::Mutex::new(HashMap::new());
    let lock = || waiting.lock().unwrap_or_else(PoisonError::into_inner);
    let writing = async {
        let mut number = 0_u64;
        while let Some((request, tell)) = asked.recv().await {
            number += 1;
            lock().insert(number, tell);
            let Ok(bytes) = postcard::to_stdvec(&(number, request)) else { return };
            if to_owner.send(Bytes::from(bytes)).await.is_err() {
                return;
            }
        }
    };
    let reading = async {
        while let Some(Ok(frame)) = from_owner.next().await {
            match postcard::from_bytes::<(u64, Reply)>(&frame) {
                Ok((0, Reply::News(it))) => _ = news.send(it),
                Ok((number, reply)) => _ = lock().remove(&number).map(|tell: oneshot::Sender<_>| tell.send(reply)),
                Err(_) => return,
            }
        }
    };
    tokio::select! {
        () = writing => {}
        () = reading => {}
    }
}

/// Serves the file until the task is aborted, and all guests with it.
async fn serve(listener: UnixListener, file: Arc<File>, layout: Layout) {
    let mut guests = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => _ = guests.spawn(serve_guest(wire(stream), Arc::clone(&file), layout)),
                Err(_) => sleep(GLANCE).await, // too many files are open
            },
            _ = guests.join_next(), if !guests.is_empty() => {}
        }
    }
}

async fn serve_guest(mut wire: Wire, file: Arc<File>, layout: Layout) {
    let (mut replies, mut news) = (JoinSet::new(), None::<broadcast::Receiver<News>>);
    loop {
        let reply = tokio::select! {
            frame = wire.next(), if replies.len() < IN_FLIGHT => {
                let Some(Ok(frame)) = frame else { return };
                match postcard::from_bytes::<(u64, Request)>(&frame) {
                    Ok((number, Request::Hello(theirs))) => (number, match layout.check("the file", &theirs.encode()) {
                        Ok(()) => Reply::Number(0),
                        Err(_) => Reply::Refused(format!("this is \"{}\", not \"{}\"", layout.encode(), theirs.encode())),
                    }),
                    Ok((number, Request::News)) => {
                        news = Some(file.news.subscribe());
                        (number, Reply::Number(0))
                    }
                    Ok((number, request)) => {
                        let file = Arc::clone(&file);
                        replies.spawn(async move { (number, file.ask(request).await) });
                        continue;
                    }
                    Err(_) => return,
                }
            }
            Some(reply) = replies.join_next() => match reply {
                Ok(reply) => reply,
                Err(_) => return,
            },
            Some(told) = async { Some(news.as_mut()?.recv().await) } => match told {
                Ok(told) => (0, Reply::News(told)),
                Err(broadcast::error::RecvError::Lagged(_)) => (0, Reply::News(News::Lost)),
                Err(broadcast::error::RecvError::Closed) => return,
            },
        };
        let Ok(bytes) = postcard::to_stdvec(&reply) else { return };
        if wire.send(Bytes::from(bytes)).await.is_err() {
            return;
        }
    }
}

/// Takes the reply apart.
macro_rules! answer {
    ($store:ident, $request:expr, $variant:ident) => {
        match $store.ask($request).await? {
            Reply::$variant(it) => Ok(it),
            other => Err(Error::Store(format!("an answer to something else: {other:?}"))),
        }
    };
}

#[async_trait]
impl Store for Shared {
    async fn put(&self, jobs: &[Job]) -> Result<u64> {
        answer!(self, Request::Put(jobs.to_vec()), Number)
    }

    async fn cancel(&self, part: u32, id: u64) -> Result<bool> {
        let found: Result<Vec<bool>> = answer!(self, Request::Cancel(part, id), Flags);
        Ok(found? == [true])
    }

    async fn scan(&self, part: u32, after: Option<Row>, limit: usize) -> Result<Vec<Row>> {
        answer!(self, Request::Scan(part, after, limit), Rows)
    }

    async fn claim(&self, part: u32, rows: &[Row], until: u64) -> Result<Vec<Claim>> {
        answer!(self, Request::Claim(part, rows.to_vec(), until), Claims)
    }

    async fn settle(&self, part: u32, ends: &[(Row, Option<u64>)]) -> Result<()> {
        let settled: Result<Vec<bool>> = answer!(self, Request::Settle(part, ends.to_vec()), Flags);
        settled.map(drop)
    }

    async fn leases(&self) -> Result<Vec<Lease>> {
        answer!(self, Request::Leases, Leases)
    }

    async fn lease(&self, changes: &[(Option<Lease>, Option<Lease>)]) -> Result<Vec<bool>> {
        answer!(self, Request::Lease(changes.to_vec()), Flags)
    }

    async fn count(&self) -> Result<Vec<Count>> {
        answer!(self, Request::Count, Counts)
    }

    async fn news(&self, tell: Tell) -> Result<()> {
        let (shared, mut news) = (self.clone(), self.subscribe().await?);
        tokio::spawn(async move {
            loop {
                let goes_on = match news.recv().await {
                    Ok(told) => tell(told),
                    Err(broadcast::error::RecvError::Lagged(_)) => tell(News::Lost),
                    Err(broadcast::error::RecvError::Closed) => {
                        match shared.subscribe().await {
                            Ok(again) => news = again,
                            Err(_) => sleep(GLANCE).await,
                        }
                        tell(News::Lost)
                    }
                };
                if !goes_on {
                    return;
                }
            }
        });
        Ok(())
    }
}
