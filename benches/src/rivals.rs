//! Queues of others, driven by the traits of [`queue`](crate::queue); each type says what it is and how far it
//! goes.

mod bitwheel;
mod delay_queue;
mod heap;
mod hhwt;
mod ora_timer;
mod priority_queue;
mod slab;
pub mod ticks;

pub use bitwheel::BitWheel;
pub use delay_queue::Delays;
pub use heap::Heap;
pub use hhwt::HashWheel;
pub use ora_timer::Ora;
pub use priority_queue::Indexed;
pub use slab::BareSlab;
