//! A wheel through its serialized form and back.

use timer_wheel::{Geometry, Wheel};

use crate::geometries::Lopsided;
use crate::script::Road;

/// Through JSON and back.
pub(crate) fn reload<G: Geometry>(wheel: Wheel<u64, G>, road: Road) -> Wheel<u64, G> {
    let json = to_json(&wheel);
    match road {
        Road::Straight => from_json(&json),
        Road::Detour => {
            let other: Wheel<u64, Lopsided> = from_json(&json);
            other.check_invariants();
            from_json(&to_json(&other))
        }
    }
}

pub(crate) fn to_json<G: Geometry>(wheel: &Wheel<u64, G>) -> String {
    serde_json::to_string(wheel).expect("numbers serialize")
}

pub(crate) fn from_json<G: Geometry>(json: &str) -> Wheel<u64, G> {
    serde_json::from_str(json).expect("a whole wheel deserializes")
}
