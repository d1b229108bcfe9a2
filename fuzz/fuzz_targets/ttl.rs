//! TTL queues, replicas around a log, and retry queues against the models of the test suite.

#![no_main]

use libfuzzer_sys::fuzz_target;
use timer_wheel_fuzz::ttl::Case;

fuzz_target!(|case: Case| case.run());
