//! A server on tokio that ends a connection when it hears nothing from it, over real sockets, with a graceful end.
//!
//! As in MQTT, a client says first how long it may be silent: a number of milliseconds on a line of its own. Each
//! further line is a message, which the server sends back, and which moves the deadline of the connection. At its end
//! the server accepts no more connections, says good-bye on those that are open, and shuts the timer down without
//! blocking the runtime. It does without the feature `time` of tokio.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features timer && cargo add tokio@1 --features io-util,macros,net,rt,sync`

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use timer_wheel::{Job, Shutdown, Timer};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};

/// A client has this time to say how long it may be silent.
const HELLO: Duration = Duration::from_secs(10);

/// A client has this time to take an answer, and at the end of the server to take the good-bye.
const GRACE: Duration = Duration::from_secs(10);

/// A longer line is an error, so that no client fills the memory.
const LONGEST_LINE: u64 = 1_024;

/// How a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// The client has closed it.
    Closed,
    /// The client was silent for too long.
    Silent,
    /// The server ends.
    Stopped,
    /// The client broke the rules, or the network failed.
    Failed,
}

struct Connection {
    stream: BufReader<TcpStream>,
    timer: Timer,
    stop: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(mut self) -> End {
        match self.answer_all().await {
            Ok(end) => end,
            Err(error) => {
                println!("a connection has failed: {error}");
                End::Failed
            }
        }
    }

    /// Answers until the connection ends, or the server does.
    async fn answer_all(&mut self) -> io::Result<End> {
        let mut allowed = None;
        let mut silence = self.timer.sleep(HELLO);
        loop {
            let line = tokio::select! {
                line = read_line(&mut self.stream) => line?,
                over = &mut silence => {
                    // An error if the timer was shut down, which this program does last, or is full: this one has no
                    // limit.
                    over.map_err(io::Error::other)?;
                    self.send("silent for too long").await?;
                    return Ok(End::Silent);
                }
                () = stopped(&mut self.stop) => {
                    self.send("good-bye").await?;
                    return Ok(End::Stopped);
                }
            };
            let allowed = match (line, allowed) {
                (Some(message), Some(allowed)) => {
                    self.send(&message).await?;
                    allowed
                }
                (Some(hello), None) => *allowed.insert(Duration::from_millis(hello.parse().map_err(io::Error::other)?)),
                (None, _) => return Ok(End::Closed),
            };
            // The deadline moves with each message. After the first message, this takes no lock and no allocation.
            let deadline = Instant::now().checked_add(allowed);
            silence.reset(deadline.ok_or_else(|| io::Error::other("nobody may be silent for so long"))?);
        }
    }

    /// Sends a line. A client that reads nothing does not hold the server up.
    async fn send(&mut self, line: &str) -> io::Result<()> {
        let line = format!("{line}\n");
        let sent = self.timer.timeout(GRACE, self.stream.write_all(line.as_bytes()));
        sent.await.map_err(io::Error::other)?
    }
}

/// The next line without its end, or `None` when the other side has closed the connection.
async fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = String::new();
    if stream.take(LONGEST_LINE).read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    match line.strip_suffix('\n') {
        Some(line) => Ok(Some(line.to_owned())),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "a line that is too long, or has no end")),
    }
}

/// Waits until the server stops.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    _ = stop.wait_for(|is_over| *is_over).await;
}

/// Accepts connections until the server stops, then waits for the open ones. Returns how each has ended.
async fn listen(listener: TcpListener, timer: Timer, mut stop: watch::Receiver<bool>) -> io::Result<Vec<End>> {
    let (mut connections, mut ends) = (JoinSet::new(), Vec::new());
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                let (stream, timer, stop) = (BufReader::new(stream), timer.clone(), stop.clone());
                connections.spawn(Connection { stream, timer, stop }.serve());
            }
            Some(end) = connections.join_next() => ends.push(end?),
            () = stopped(&mut stop) => break,
        }
    }
    drop(listener);
    // Each ends within the time that it has for its last answer and the good-bye.
    while let Some(end) = connections.join_next().await {
        ends.push(end?);
    }
    Ok(ends)
}

struct Client(BufReader<TcpStream>);

impl Client {
    async fn connect(server: SocketAddr, hello: &str) -> io::Result<Self> {
        let mut client = Self(BufReader::new(TcpStream::connect(server).await?));
        client.say(hello).await?;
        Ok(client)
    }

    async fn say(&mut self, line: &str) -> io::Result<()> {
        self.0.write_all(format!("{line}\n").as_bytes()).await
    }

    async fn ask(&mut self, message: &str) -> io::Result<Option<String>> {
        self.say(message).await?;
        read_line(&mut self.0).await
    }

    /// Waits until the server has closed the connection.
    async fn wait_for_end(&mut self) {
        while let Ok(Some(_)) = read_line(&mut self.0).await {}
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let timer = Timer::new()?;
    timer.schedule_after(Duration::from_secs(3_600), || println!("the report that is made each hour"))?;
    let listener = TcpListener::bind("127.0.0.1:0").await?; // any port that is free
    let server = listener.local_addr()?;
    let (stop, is_over) = watch::channel(false);
    let listening = tokio::spawn(listen(listener, timer.clone(), is_over));

    // Two clients that may be silent for a minute. One of them leaves.
    let mut staying = Client::connect(server, "60000").await?;
    let mut leaving = Client::connect(server, "60000").await?;
    for message in ["one", "two"] {
        assert_eq!(staying.ask(message).await?.as_deref(), Some(message));
        assert_eq!(leaving.ask(message).await?.as_deref(), Some(message));
    }
    leaving.0.shutdown().await?;
    leaving.wait_for_end().await;

    // One that may be silent for 60 ms, and speaks every 20 ms for a while.
    let allowed = Duration::from_millis(60);
    let (mut last, mut answers) = (Instant::now(), 0);
    let mut falling_silent = Client::connect(server, "60").await?;
    for _ in 0..5 {
        timer.sleep(allowed / 3).await?;
        let asked = Instant::now();
        // On a busy machine a message may come too late, and then has another answer or none.
        match falling_silent.ask("I am here").await {
            Ok(Some(answer)) if answer == "I am here" => (last, answers) = (asked, answers + 1),
            _ => break,
        }
    }
    falling_silent.wait_for_end().await;
    println!("ended {:?} after the last of {answers} messages", last.elapsed());
    assert!(last.elapsed() >= allowed, "each message has moved the deadline");

    // One that does not keep to the rules. The others do not notice.
    Client::connect(server, "for ever").await?.wait_for_end().await;
    assert_eq!(staying.ask("three").await?.as_deref(), Some("three"));

    // The end: first the connections, then the timer that they use.
    stop.send(true)?;
    assert_eq!(read_line(&mut staying.0).await?.as_deref(), Some("good-bye"));
    let mut ends = listening.await??;
    ends.sort_unstable();
    assert_eq!(ends, [End::Closed, End::Silent, End::Stopped, End::Failed]);
    // A shutdown waits for the timer's thread, so it is called on a thread that runs no tasks.
    let unrun = spawn_blocking(move || timer.shutdown(Shutdown::Drain)).await??;
    assert_eq!(unrun.len(), 1, "timeouts and sleeps are no jobs");
    unrun.into_iter().for_each(Job::run);
    Ok(())
}
