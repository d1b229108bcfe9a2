//! An executor on one thread, with `mio` for epoll or its like, whose tasks read a socket, sleep and time out.
//!
//! In a package next to the checkout:
//! `cargo add timer-wheel --path ../timer-wheel --features local && cargo add mio@1 --features os-poll,net`

use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use mio::net::UdpSocket;
use mio::{Events, Interest, Token};
use timer_wheel::local::{LocalTimer, TurnClock};
use timer_wheel::{Budget, Clock, SystemClock};

const MS: Duration = Duration::from_millis(1);

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Queues the number of its task.
struct TaskWaker(usize, Sender<usize>);

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        _ = self.1.send(self.0);
    }
}

/// Runs the tasks until all have ended. The token of a socket is the number of the task that reads it.
fn run(poll: &mut mio::Poll, timer: &LocalTimer<TurnClock>, tasks: Vec<Task>) -> io::Result<()> {
    let (system, mut events) = (SystemClock::since_epoch(), Events::with_capacity(64));
    let (sender, woken) = channel();
    let wakers: Vec<Waker> = (0..tasks.len()).map(|task| Arc::new(TaskWaker(task, sender.clone())).into()).collect();
    wakers.iter().for_each(Waker::wake_by_ref);
    let mut tasks: Vec<Option<Task>> = tasks.into_iter().map(Some).collect();
    loop {
        // Before the tasks are polled, because a new `TurnClock` shows 0.
        timer.clock().set(system.now());
        // At most a thousand tasks, so that the sockets are looked at again soon.
        timer.fire(timer.clock().now(), &mut Budget::of_fires(1_000));
        for number in woken.try_iter() {
            let Some(task) = &mut tasks[number] else { continue };
            if task.as_mut().poll(&mut Context::from_waker(&wakers[number])).is_ready() {
                tasks[number] = None;
            }
        }
        if tasks.iter().all(Option::is_none) {
            return Ok(());
        }
        // Does not wait if sleeps are left from the last turn.
        match poll.poll(&mut events, timer.wake_at().map(|at| system.until(at))) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            result => result?,
        }
        events.iter().for_each(|event| wakers[event.token().0].wake_by_ref());
    }
}

/// Waits for a datagram.
async fn receive(socket: &UdpSocket) -> io::Result<usize> {
    poll_fn(|_| match socket.recv(&mut [0; 16]) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Poll::Pending,
        result => Poll::Ready(result),
    })
    .await
}

fn main() -> io::Result<()> {
    let mut poll = mio::Poll::new()?;
    let mut server = UdpSocket::bind("127.0.0.1:0".parse().expect("an address"))?;
    let address = server.local_addr()?;
    poll.registry().register(&mut server, Token(0), Interest::READABLE)?;

    let (began, timer) = (Instant::now(), LocalTimer::new(TurnClock::new()));
    let (patient, slow) = (timer.clone(), timer.clone());
    let serve = async move {
        let mut given_up = 0;
        let bytes = loop {
            match patient.timeout(10 * MS, receive(&server)).await {
                Ok(received) => break received.expect("a datagram"),
                Err(_) => given_up += 1,
            }
        };
        println!("{bytes} bytes, after {given_up} timeouts");
        assert!(bytes == 5 && given_up >= 1, "the sender waits longer than a timeout");
    };
    let send = async move {
        slow.sleep(25 * MS).await;
        assert!(began.elapsed() >= 25 * MS, "no sleep ends early");
        let client = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
        client.send_to(b"hello", address).expect("it is sent");
    };
    run(&mut poll, &timer, vec![Box::pin(serve), Box::pin(send)])?;
    assert!(timer.is_empty(), "the tasks have left the timer");
    Ok(())
}
