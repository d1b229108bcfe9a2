//! Serialized wheels.

use timer_wheel::{Geometry, Wheel};

use crate::geometries::Lopsided;
use crate::script::Road;

/// Through JSON and back.
pub(crate) fn reload<G: Geometry>(wheel: Wheel<u64, G>, road: Road) -> Wheel<u64, G> {
    let json = serde_json::to_string(&wheel).expect("numbers serialize");
    let json = match road {
        Road::Straight => json,
        Road::Detour => {
            let other: Wheel<u64, Lopsided> = serde_json::from_str(&json).expect("a whole wheel");
            other.check_invariants();
            serde_json::to_string(&other).expect("numbers serialize")
        }
    };
    serde_json::from_str(&json).expect("a whole wheel")
}
