//! Serialized wheels: what comes back is the same wheel, in any geometry, and damaged input is an
//! error or a valid wheel, never a panic.
//!
//! JSON is taken apart as JSON, whatever it says; only the last tests know the format.

use serde_json::{Value, json};
use timer_wheel::{Caffeine, Compact, DueTimer, Geometry, Micros, Millis, TimerKey, Wheel};

use crate::decoding::Mixed;
use crate::geometries::{Lopsided, Tiny, Widest};
use crate::pair::Pair;
use crate::random::script;
use crate::script::Road;
use crate::serialized::{from_json, reload, to_json};

/// Everything of a wheel that can be asked for.
fn contents<G: Geometry>(wheel: &Wheel<u64, G>) -> (u64, Vec<(TimerKey, u64, u64)>) {
    let timers = wheel.ascending();
    let timers = timers.map(|timer| (timer.key, timer.deadline, *timer.value));
    (wheel.now(), timers.collect())
}

/// Wheels in all kinds of states: what random scripts have left of them.
fn wheels<G: Geometry>() -> impl Iterator<Item = Wheel<u64, G>> {
    (1..=12).map(|seed| {
        let script = script::<Mixed, G>(seed, 60);
        let mut pair = Pair::<G>::new(script.start);
        script.ops.iter().for_each(|op| pair.apply(op));
        pair.wheel
    })
}

/// A wheel that was loaded, damaged before or not, is a wheel like any other.
fn exercise<G: Geometry>(wheel: Wheel<u64, G>) {
    wheel.check_invariants();
    let seed = wheel.len() as u64 * 2 + 1;
    let ops = script::<Mixed, G>(seed, 12).ops;
    Pair::resume(wheel).run(&ops);
}

#[test]
fn reloaded_wheel_is_the_same_in_every_geometry_and_goes_on_as_a_wheel_does() {
    fn check<G: Geometry, H: Geometry>() {
        for wheel in wheels::<G>() {
            let json = to_json(&wheel);
            assert_eq!(json, to_json(&wheel), "the same text each time");
            let reloaded: Wheel<u64, H> = from_json(&json);
            assert_eq!(contents(&reloaded), contents(&wheel));
            let again: Wheel<u64, G> = from_json(&to_json(&reloaded));
            assert_eq!(to_json(&again), to_json(&reloaded));
            exercise(reloaded);
        }
    }
    check::<Millis, Millis>();
    check::<Millis, Caffeine>();
    check::<Caffeine, Tiny>();
    check::<Tiny, Widest>();
    check::<Compact, Micros>();
    check::<Micros, Compact>();
    check::<Widest, Lopsided>();
}

/// C15: else the first cancels of a large wheel would make the set of its free slots, all at once.
#[test]
fn loaded_wheel_has_room_to_free_its_slots() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..10_000).map(|n| wheel.schedule(n << 20, n)).collect();
    let mut wheel = reload(wheel, Road::Straight);
    let bytes = wheel.stats().bytes;
    for key in [keys[9_999], keys[9_998], keys[0]] {
        assert!(wheel.cancel(key).is_some());
    }
    assert!(wheel.stats().bytes <= bytes, "the free set was made");
}

/// The lowest free slot is kept apart, and a page that came back left it behind when that was on it: with no free slot below,
/// as all are taken or used up.
#[test]
fn loaded_wheel_gives_no_page_back_that_has_the_lowest_free_slot() {
    let slot = |n: u64| match n {
        0..768 => json!({ "generation": 0, "timer": null }),
        768..1_024 => json!({ "generation": 1, "timer": { "deadline": n << 30, "sequence": n, "value": n } }),
        _ => json!({ "generation": 2, "timer": null }),
    };
    let slots: Vec<Value> = (0..1_280).map(slot).collect();
    let mut wheel: Wheel<u64> = from_json(&json!({ "now": 0, "first_generation": 0, "slots": slots }).to_string());
    for now in 1..4 {
        assert_eq!(wheel.advance(now).count(), 0);
        wheel.check_invariants();
    }
    wheel.schedule(900 << 30, 0);
    assert_eq!(wheel.advance(u64::MAX).count(), 257);
}

/// Tries text that may be anything. True when it was taken for a wheel.
fn is_accepted(json: &str) -> bool {
    let wheel: Result<Wheel<u64, Compact>, _> = serde_json::from_str(json);
    let Ok(wheel) = wheel else { return false };
    exercise(wheel);
    if let Ok(wheel) = serde_json::from_str::<Wheel<u64, Tiny>>(json) {
        exercise(wheel);
    }
    true
}

/// A wheel with little in it, but with everything: free slots, timers of equal deadlines, one that
/// is due, one postponed.
fn small_wheel() -> Wheel<u64> {
    let mut wheel: Wheel<u64> = Wheel::new(1_000);
    let keys: Vec<TimerKey> = [900, 5_000, 5_000, 1 << 40, u64::MAX, 2_000]
        .iter()
        .zip(0..)
        .map(|(&deadline, value)| wheel.schedule(deadline, value))
        .collect();
    wheel.reschedule(keys[3], 1 << 45);
    wheel.cancel(keys[1]);
    wheel.cancel(keys[5]);
    wheel
}

/// The places in a JSON value at which something stands.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{nth}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                places(field, &format!("{at}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// Rng out of place, wrong types, and each part in the place of each other: the same index twice, one timer's
/// sequence as another's. Then arrays with items missing, doubled and in another order, and objects with fields missing
/// and more.
#[test]
fn anything_in_any_place_is_an_error_or_a_valid_wheel() {
    let near = [20, 31, 32, 47, 48, 63].map(|bits| 1_u64 << bits);
    let near = near.into_iter().flat_map(|number| [number - 1, number]);
    let near = near.chain([u64::from(u32::MAX) - 1, u64::MAX - 1, u64::MAX]);
    let others = json!([null, true, -1, 0.5, 1e300, "", "7", [], {}, [[]], [0, 0, 0, 0]]);
    let json = serde_json::to_value(small_wheel()).expect("numbers serialize");
    assert!(is_accepted(&json.to_string()));
    let mut found = Vec::new();
    places(&json, "", &mut found);
    let parts = found.iter().filter_map(|place| json.pointer(place).cloned());
    let numbers = (0..8).chain(near).map(Value::from);
    let wrong = others.as_array().expect("it is one").iter().cloned();
    let others: Vec<Value> = parts.chain(numbers).chain(wrong).collect();
    let (mut accepted, mut refused) = (0, 0);
    for place in &found {
        let mut attempt = |other: Value| {
            let mut damaged = json.clone();
            *damaged.pointer_mut(place).expect("it was found") = other;
            let is_accepted = is_accepted(&damaged.to_string());
            *(if is_accepted { &mut accepted } else { &mut refused }) += 1;
            is_accepted
        };
        others.iter().for_each(|other| _ = attempt(other.clone()));
        match json.pointer(place) {
            Some(Value::Array(items)) => {
                for nth in 0..items.len() {
                    let changes: [fn(&mut Vec<Value>, usize); 4] = [
                        |items, nth| drop(items.remove(nth)),
                        |items, nth| items.push(items[nth].clone()),
                        |items, nth| items.swap(0, nth),
                        Vec::truncate,
                    ];
                    for change in changes {
                        let mut items = items.clone();
                        change(&mut items, nth);
                        attempt(items.into());
                    }
                }
            }
            Some(Value::Object(fields)) => {
                for name in fields.keys() {
                    let mut fields = fields.clone();
                    fields.remove(name);
                    assert!(!attempt(fields.into()) || name == "timer" || name == "held", "{name} is missing");
                }
                let mut fields = fields.clone();
                fields.insert("unheard of".to_owned(), Value::from(1));
                attempt(fields.into());
            }
            _ => {}
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted} and {refused}");
    for text in ["", "null", "0", "[]", "{}", "\"wheel\"", "[null]", "{\"\":0}"] {
        assert!(!is_accepted(text), "{text:?} was taken for a wheel");
    }
}

/// C14: what is stored can be loaded by every later version.
#[test]
fn serialized_form_is_what_it_was() {
    let mut wheel: Wheel<u64> = Wheel::new(7);
    let keys = [9, 9, 1 << 40].map(|deadline| wheel.schedule(deadline, 2 * deadline));
    wheel.cancel(keys[1]);
    assert_eq!(wheel.peek_expired(9).map(DueTimer::hold), Some(keys[0]));
    let text = concat!(
        r#"{"now":9,"first_generation":0,"slots":["#,
        r#"{"generation":1,"timer":{"deadline":9,"sequence":0,"held":true,"value":18}},"#,
        r#"{"generation":2,"timer":null},{"generation":1,"timer":"#,
        r#"{"deadline":1099511627776,"sequence":2,"held":false,"value":2199023255552}}]}"#,
    );
    assert_eq!(to_json(&wheel), text);
    assert_eq!(contents::<Compact>(&from_json(text)), contents(&wheel));
    assert!(from_json::<Compact>(text).release(keys[0]));
    // From before there were held timers.
    let old = text.replace(r#""held":true,"#, "").replace(r#""held":false,"#, "");
    assert_eq!(from_json::<Compact>(&old).ascending().len(), 2);
}

/// A generation that no timer ever has would match a slot that is vacant.
#[test]
fn key_of_an_even_generation_is_refused() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let key = wheel.schedule(10, 1);
    let json = serde_json::to_string(&key).unwrap();
    assert_eq!(json, "[0,1]");
    assert_eq!(serde_json::from_str::<TimerKey>(&json).unwrap(), key);
    for damaged in ["[0,0]", "[0,2]", "[0,4294967294]", "[4294967296,1]", "[0]", "7"] {
        assert!(serde_json::from_str::<TimerKey>(damaged).is_err(), "{damaged}");
    }
}

/// Slots made later would start worn out, and leave a slot behind for every timer.
#[test]
fn first_generation_near_its_end_is_refused() {
    let starting_at =
        |generation: u32| is_accepted(&format!(r#"{{"now":0,"first_generation":{generation},"slots":[]}}"#));
    assert!(starting_at(1 << 31), "half of the generations are left");
    assert!(!starting_at((1 << 31) + 2) && !starting_at(u32::MAX - 1));
}
