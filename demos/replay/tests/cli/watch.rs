//! Watching: a terminal is needed, and is given back however it ends.

#![cfg(unix)]

use std::io::{Read, Write};
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::command::Folder;

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// How long anything may be waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, watching a short trace in a terminal.
struct Watching {
    folder: Folder,
    child: Box<dyn Child + Send + Sync>,
    terminal: Box<dyn MasterPty + Send>,
    mode_before: String,
    keyboard: Box<dyn Write + Send>,
    output: mpsc::Receiver<Vec<u8>>,
    written: String,
    /// How much of that has been waited for.
    seen: usize,
}

impl Watching {
    /// Starts it, and waits until it draws.
    fn begin() -> Self {
        let folder = Folder::new();
        let pair = native_pty_system().openpty(size(24, 80)).unwrap();
        let mode_before = mode(pair.master.as_ref());
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_replay"));
        command.args(["--watch", "--requests", "50000", "--ttl", "3s"]);
        command.cwd(folder.path("."));
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, output) = mpsc::channel();
        thread::spawn(move || {
            let mut part = [0; 4096];
            // On Linux, reading from a terminal whose other end is closed is an error.
            while let Ok(count @ 1..) = reader.read(&mut part) {
                if sender.send(part[..count].to_vec()).is_err() {
                    break; // nobody listens any more
                }
            }
        });
        let mut watching = Self {
            folder,
            child,
            keyboard: pair.master.take_writer().unwrap(),
            terminal: pair.master,
            mode_before,
            output,
            written: String::new(),
            seen: 0,
        };
        watching.wait_for("level 3");
        watching
    }

    /// Waits until it has written something, after all that was waited for before.
    fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(place) = self.written[self.seen..].find(text) {
                self.seen += place + text.len();
                return;
            }
            assert!(
                self.read_until(deadline),
                "it ends before {text:?}: {:?}",
                self.written
            );
        }
    }

    /// Reads on, and says whether there was something: nothing comes after the program's end.
    fn read_until(&mut self, deadline: Instant) -> bool {
        // It draws all the time, so that there is always something to read.
        let now = Instant::now();
        assert!(now < deadline, "waited in vain: {:?}", self.written);
        match self.output.recv_timeout(deadline - now) {
            Ok(part) => self.written += &String::from_utf8_lossy(&part),
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => panic!("it is silent: {:?}", self.written),
        }
        true
    }

    fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for its end, makes sure that it has left the terminal as it was, and gives back its exit
    /// status and what it has written since then.
    fn end(mut self) -> (u32, String) {
        let deadline = Instant::now() + PATIENCE;
        while self.read_until(deadline) {}
        let status = self.child.wait().unwrap().exit_code();
        let mode = mode(self.terminal.as_ref());
        assert_eq!(mode, self.mode_before, "raw mode is left on");
        assert!(self.folder.list(".").is_empty(), "it left files behind");
        let written = self.written;
        let last = |text| {
            written
                .rfind(text)
                .unwrap_or_else(|| panic!("no {text:?}: {written:?}"))
        };
        assert!(last(ENTER) < last(LEAVE), "{written:?}");
        assert!(last(HIDE_CURSOR) < last(SHOW_CURSOR), "{written:?}");
        (status, written[last(LEAVE)..].to_owned())
    }
}

/// The terminal's mode, as far as it shows.
fn mode(terminal: &dyn MasterPty) -> String {
    format!("{:?}", terminal.get_termios().unwrap())
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

#[test]
fn key_q_ends_the_watch_with_a_summary() {
    let mut watching = Watching::begin();
    watching.type_keys("s+w-q");
    let (status, after) = watching.end();
    assert_eq!(status, 0);
    assert!(
        after.contains("watched   00:00:") && after.contains("scheduled"),
        "{after}"
    );
}

#[test]
fn escape_closes_the_help_first_and_then_ends_the_watch() {
    let mut watching = Watching::begin();
    watching.type_keys("?");
    watching.wait_for("what is what");
    watching.type_keys("\x1b");
    watching.wait_for("vel 1"); // the part of a label that was behind the help
    watching.type_keys("\x1b");
    assert_eq!(watching.end().0, 0);
}

/// Whether it stops is up to its shell, of which there is none here; it is told to go on at once.
#[test]
fn control_z_gives_the_terminal_back_until_it_goes_on() {
    let mut watching = Watching::begin();
    watching.type_keys("\x1a");
    watching.wait_for(LEAVE);
    watching.wait_for(ENTER);
    watching.type_keys("q");
    assert_eq!(watching.end().0, 0);
}

#[test]
fn control_c_ends_the_watch_as_an_interrupt() {
    let mut watching = Watching::begin();
    watching.type_keys("\x03");
    let (status, after) = watching.end();
    assert_eq!(status, 130);
    assert!(after.contains("interrupted"), "{after}");
}

#[test]
fn signal_ends_the_watch_as_an_interrupt() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let watching = Watching::begin();
        let process = watching.child.process_id().unwrap().to_string();
        let sent = Command::new("kill").args([signal, &process]).status();
        assert!(sent.unwrap().success());
        assert_eq!(watching.end().0, 130, "{signal}");
    }
}

/// As when its window is closed.
#[test]
fn terminal_that_goes_away_ends_the_watch() {
    let Watching {
        folder,
        mut child,
        terminal,
        keyboard,
        output,
        ..
    } = Watching::begin();
    drop((terminal, keyboard, output));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it goes on without a terminal");
        }
        thread::yield_now();
    };
    // By the signal or by what it can no longer write to.
    assert!(!status.success());
    assert!(folder.list(".").is_empty(), "it left files behind");
}

#[test]
fn terminal_that_is_resized_is_drawn_anew() {
    let mut watching = Watching::begin();
    watching.terminal.resize(size(3, 20)).unwrap();
    watching.wait_for("needs");
    watching.terminal.resize(size(30, 100)).unwrap();
    watching.wait_for("level 3");
    watching.type_keys("q");
    assert_eq!(watching.end().0, 0);
}

/// Whether it learns of both at once depends on when it looks, hence so often.
#[test]
fn key_typed_while_the_terminal_is_resized_counts() {
    let mut watching = Watching::begin();
    for cols in 80..110 {
        watching.terminal.resize(size(24, cols)).unwrap();
        watching.type_keys("\x1a");
        watching.wait_for(LEAVE);
        watching.wait_for(ENTER);
    }
    watching.type_keys("q");
    assert_eq!(watching.end().0, 0);
}

#[test]
fn watch_without_a_terminal_is_refused() {
    let folder = Folder::new();
    let output = Command::new(env!("CARGO_BIN_EXE_replay"))
        .current_dir(folder.path("."))
        .arg("--watch")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("--watch: stdout is not a terminal"),
        "{stderr}"
    );
    assert!(output.stdout.is_empty() && folder.list(".").is_empty());
}
