//! The instructions of an update to another TTL by its handle; see `wheel.rs`.

mod counted;
mod steady;

use counted::counted;

type Ttls = timer_wheel_bench::queue::Applied<timer_wheel::ttl::TtlSet<u32>>;

counted!(ttl_set, Ttls: reschedule_to_later from with_random at most 103_300);
