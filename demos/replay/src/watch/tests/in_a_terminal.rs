//! A panic while the terminal is taken over. How the whole program leaves it is tested in `tests/cli`.

use std::io::Read;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::super::Terminal;

#[test]
fn panic_gives_the_terminal_back_before_its_message() {
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let before = pair.master.get_termios();
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    let test = "watch::tests::in_a_terminal::watch_that_panics";
    command.args(["--ignored", "--exact", "--nocapture", test]);
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let (mut written, mut part) = (Vec::new(), [0; 4096]);
    // On Linux, reading from a terminal whose other end is closed is an error.
    while let Ok(count @ 1..) = reader.read(&mut part) {
        written.extend_from_slice(&part[..count]);
    }
    assert!(child.wait().unwrap().success());
    let written = String::from_utf8_lossy(&written);
    let [entered, left, message] = ["\x1b[?1049h", "\x1b[?1049l", "on purpose"].map(|text| {
        written
            .find(text)
            .unwrap_or_else(|| panic!("no {text:?}: {written:?}"))
    });
    assert!(entered < left && left < message, "{written:?}");
    assert!(
        written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l"),
        "the cursor is hidden"
    );
    assert_eq!(pair.master.get_termios(), before, "raw mode is left on");
}

#[test]
#[ignore = "needs a terminal, which the test above gives to it"]
#[should_panic(expected = "on purpose")]
fn watch_that_panics() {
    let mut terminal = Terminal::open().unwrap();
    terminal.draw(|_| {}).unwrap();
    terminal.draw(|_| panic!("on purpose")).unwrap();
}
