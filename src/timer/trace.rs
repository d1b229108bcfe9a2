//! What is told to `tracing`, with that feature.

#[cfg(feature = "tracing")]
pub(super) use self::told::{late, panicked, started, stopped};

#[cfg(not(feature = "tracing"))]
pub(super) use self::untold::{late, panicked, started, stopped};

#[cfg(feature = "tracing")]
mod told {
    use std::any::Any;
    use std::time::Duration;

    /// The target of all events.
    const TARGET: &str = "timer_wheel";

    pub(in super::super) fn started() {
        tracing::debug!(target: TARGET, "timer started");
    }

    pub(in super::super) fn stopped(unrun: usize) {
        tracing::debug!(target: TARGET, unrun, "timer stopped");
    }

    pub(in super::super) fn late(lateness_ns: u64, threshold_ns: u64) {
        let lateness = Duration::from_nanos(lateness_ns);
        let threshold = Duration::from_nanos(threshold_ns);
        tracing::warn!(target: TARGET, ?lateness, ?threshold, "job is late");
    }

    pub(in super::super) fn panicked(payload: &(dyn Any + Send)) {
        let reason = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("not a text");
        tracing::error!(target: TARGET, reason, "job panicked");
    }
}

#[cfg(not(feature = "tracing"))]
mod untold {
    use std::any::Any;

    pub(in super::super) fn started() {}

    pub(in super::super) fn stopped(_: usize) {}

    pub(in super::super) fn late(_: u64, _: u64) {}

    pub(in super::super) fn panicked(_: &(dyn Any + Send)) {}
}
