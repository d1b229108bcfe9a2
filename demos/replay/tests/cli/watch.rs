//! Watching: a terminal is needed, and is given back however the watch ends.

#![cfg(unix)]

use std::io::{Read, Write};
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// How long the program may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, watching a short trace in a terminal.
struct Watching {
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
        let pair = native_pty_system().openpty(size(24, 80)).unwrap();
        let mode_before = mode(pair.master.as_ref());
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_replay"));
        command.args(["--watch", "--requests", "50000", "--ttl", "3s", "--geometry", "compact"]);
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
        while !self.written[self.seen..].contains(text) {
            assert!(self.reads_on(), "it ends before {text:?}: {:?}", self.written);
        }
        self.seen += self.written[self.seen..].find(text).unwrap() + text.len();
    }

    /// Reads on. Returns whether there was something: nothing comes after the program's end.
    fn reads_on(&mut self) -> bool {
        // It draws all the time, so there is always something to read.
        match self.output.recv_timeout(PATIENCE) {
            Ok(part) => self.written += &String::from_utf8_lossy(&part),
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => panic!("it is silent: {:?}", self.written),
        }
        true
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for its end and makes sure that it has left the terminal as it was. Returns its exit status and what it
    /// has written since then.
    fn end(mut self) -> (u32, String) {
        while self.reads_on() {}
        let status = self.child.wait().unwrap().exit_code();
        assert_eq!(mode(self.terminal.as_ref()), self.mode_before, "raw mode is left on");
        // Onto the alternate screen and off it, the cursor hidden and shown.
        let written = self.written;
        let last = |text| written.rfind(text).unwrap_or_else(|| panic!("no {text:?}: {written:?}"));
        let leave = last("\x1b[?1049l");
        assert!(last("\x1b[?1049h") < leave && last("\x1b[?25l") < last("\x1b[?25h"), "{written:?}");
        (status, written[leave..].to_owned())
    }
}

/// The terminal's mode, as far as it shows.
fn mode(terminal: &dyn MasterPty) -> String {
    format!("{:?}", terminal.get_termios().unwrap())
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, ..PtySize::default() }
}

#[test]
fn watch_ends_by_key_or_signal_and_gives_the_terminal_back() {
    for (keys, expected, said) in
        [("s+w-q", 0, "watched   00:00:"), ("\x1b", 0, "inserted"), ("\x03", 130, "interrupted")]
    {
        let mut watching = Watching::begin();
        watching.press(keys);
        let (status, after) = watching.end();
        assert_eq!(status, expected, "{keys}");
        assert!(after.contains(said), "{keys}: {after}");
    }
    for signal in ["-INT", "-TERM", "-HUP"] {
        let watching = Watching::begin();
        let process = watching.child.process_id().unwrap().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
        assert_eq!(watching.end().0, 130, "{signal}");
    }
}

/// As when its window is closed.
#[test]
fn terminal_that_goes_away_ends_the_watch() {
    let Watching { mut child, terminal, keyboard, output, .. } = Watching::begin();
    drop((terminal, keyboard, output));
    let status = child.wait().unwrap();
    // By the signal or by what it can no longer write to.
    assert!(!status.success());
}

/// Whether it learns of a key and a new size at once depends on when it looks, hence so often.
#[test]
fn terminal_that_is_resized_is_drawn_anew_and_loses_no_key() {
    let mut watching = Watching::begin();
    watching.terminal.resize(size(3, 20)).unwrap();
    watching.wait_for("needs");
    for cols in 80..110 {
        watching.terminal.resize(size(24, cols)).unwrap();
        watching.press(" ");
        watching.wait_for(if cols % 2 == 0 { " paused " } else { " running " });
    }
    watching.press("q");
    assert_eq!(watching.end().0, 0);
}
