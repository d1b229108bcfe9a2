//! The program as its users meet it: files in, figures, files and an exit status out.

mod bad_input;
mod command;
mod formats;
mod interrupt;
mod result;
mod watch;
