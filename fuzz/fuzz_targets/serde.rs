//! Bytes in the place of a serialized wheel, as JSON and as postcard: an error, or the wheel that
//! they say, which then goes through a script with its model.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::stored::Input;

fuzz_target!(|input: Input| input.run());
