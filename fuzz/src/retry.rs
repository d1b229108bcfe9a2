//! A retry queue and its model.

#[path = "../../tests/retry_queue/script.rs"]
pub(crate) mod script;

#[path = "../../tests/retry_queue/world.rs"]
pub(crate) mod world;
