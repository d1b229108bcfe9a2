//! The program as its users meet it: files in, figures, files and an exit status out.

mod bad_input;
mod command;
mod interrupt;
mod result;
mod traces;
mod watch;
