//! Serialized wheels: what comes back is the same wheel, in any geometry, and damaged input is an
//! error or a valid wheel, never a panic.
//!
//! Nothing here knows the format. JSON is taken apart as JSON, whatever it says.

use serde_json::Value;
use timer_wheel::inspect::Stats;
use timer_wheel::{Caffeine, Compact, Geometry, Micros, Millis, TimerKey, Verdict, Wheel};

use crate::geometries::{Lopsided, Tiny, Widest};
use crate::script::{Road, spans};

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

fn to_json<G: Geometry>(wheel: &Wheel<u64, G>) -> String {
    serde_json::to_string(wheel).expect("numbers serialize")
}

fn from_json<G: Geometry>(json: &str) -> Wheel<u64, G> {
    serde_json::from_str(json).expect("a whole wheel deserializes")
}

/// Everything of a wheel that can be asked for.
type Contents = (u64, Vec<(TimerKey, u64, u64)>);

fn contents<G: Geometry>(wheel: &Wheel<u64, G>) -> Contents {
    let timers = wheel.ascending();
    let timers = timers.map(|timer| (timer.key, timer.deadline, *timer.value));
    (wheel.now(), timers.collect())
}

/// Wheels in all kinds of states, with the keys that are stale in them.
fn wheels<G: Geometry>() -> Vec<(Wheel<u64, G>, Vec<TimerKey>)> {
    let spans = spans::<G>();
    let mut wheels = vec![
        (Wheel::with_geometry(0), Vec::new()),
        (Wheel::with_geometry(u64::MAX), Vec::new()),
    ];
    for (now, budget) in [(0, 0), (1, 0), (3, 1), (3, 9), (3, 40), (4, 1_000)] {
        let mut wheel: Wheel<u64, G> = Wheel::with_geometry(spans[1] / 3);
        let mut keys = Vec::new();
        for n in 0..60 {
            let span = spans[n as usize % 5];
            let deadline = wheel.now().saturating_add(span).saturating_add(n % 4);
            keys.push(wheel.schedule(deadline, n));
        }
        keys.push(wheel.schedule(u64::MAX, 60));
        keys.push(wheel.schedule(0, 61));
        for &key in keys.iter().step_by(9) {
            let later = wheel
                .deadline(key)
                .expect("it lives")
                .saturating_add(spans[2]);
            wheel.reschedule(key, later);
        }
        for &key in keys.iter().skip(3).step_by(11) {
            wheel.cancel(key);
        }
        // A backlog, or items taken and the rest left.
        let to = spans[3].saturating_mul(now);
        let mut advance = wheel.advance_with_budget(to, budget);
        while advance.next().is_some() {}
        let stale = keys.iter().filter(|&&key| !wheel.contains(key));
        let stale = stale.copied().collect();
        wheels.push((wheel, stale));
    }
    wheels
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
    assert!(
        wheel.stats().bytes <= bytes,
        "the set of free slots was made"
    );
}

#[test]
fn reloaded_wheel_is_the_same_in_every_geometry() {
    fn check<G: Geometry, H: Geometry>() {
        for (mut wheel, stale) in wheels::<G>() {
            let json = to_json(&wheel);
            let mut reloaded: Wheel<u64, H> = from_json(&json);
            reloaded.check_invariants();
            assert_eq!(contents(&reloaded), contents(&wheel));
            assert_eq!(reloaded.next_deadline(), wheel.next_deadline());
            assert!(stale.iter().all(|&key| !reloaded.contains(key)));
            let delay = reloaded.expiration_delay();
            let exact = wheel
                .next_deadline()
                .map(|at| at.saturating_sub(wheel.now()));
            assert_eq!(delay.is_some(), exact.is_some());
            assert!(delay <= exact);

            // And it goes on as the other does.
            let live: Vec<TimerKey> = wheel.iter().map(|timer| timer.key).collect();
            for (nth, &key) in live.iter().enumerate() {
                let to = wheel.now().saturating_add((nth as u64) << 18);
                match nth % 4 {
                    0 => assert_eq!(wheel.cancel(key), reloaded.cancel(key)),
                    1 => assert_eq!(wheel.reschedule(key, to), reloaded.reschedule(key, to)),
                    _ => {}
                }
            }
            for n in 0..70 {
                let new = reloaded.schedule(0, n);
                let seen = stale.contains(&new) || live.contains(&new);
                assert!(!seen, "a key from before the reload was given out again");
                assert_eq!(reloaded.cancel(new), Some(n));
            }
            reloaded.check_invariants();
            for now in [wheel.now(), wheel.now() / 2 + u64::MAX / 2, u64::MAX] {
                let fired: Vec<_> = wheel
                    .advance(now)
                    .map(|item| (item.key, item.deadline, item.value))
                    .collect();
                let also: Vec<_> = reloaded
                    .advance(now)
                    .map(|item| (item.key, item.deadline, item.value))
                    .collect();
                assert_eq!(fired, also);
            }
        }
    }
    check::<Millis, Millis>();
    check::<Millis, Caffeine>();
    check::<Caffeine, Tiny>();
    check::<Tiny, Widest>();
    check::<Compact, Micros>();
    check::<Micros, Compact>();
    check::<Lopsided, Millis>();
    check::<Widest, Lopsided>();
}

/// Stored twice, the same text; stored, loaded and stored, the same text again.
#[test]
fn serialized_form_is_stable() {
    for (wheel, _) in wheels::<Millis>() {
        let first = to_json(&wheel);
        assert_eq!(first, to_json(&wheel));
        let reloaded: Wheel<u64> = from_json(&first);
        let second = to_json(&reloaded);
        let again: Wheel<u64> = from_json(&second);
        assert_eq!(second, to_json(&again));
    }
}

#[test]
fn limit_set_after_a_reload_counts_the_reloaded() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    wheel.schedule(1, 1);
    let mut wheel = reload(wheel, Road::Straight);
    wheel.set_limit(2);
    assert!(wheel.try_schedule(2, 2).is_ok());
    assert!(wheel.try_schedule(3, 3).is_err());
}

/// A shrink drops slots and must remember how far their keys went; a reload must as well.
#[test]
fn keys_gone_before_a_shrink_and_a_reload_stay_stale() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let mut gone: Vec<TimerKey> = Vec::new();
    for round in 0..5 {
        let keys: Vec<TimerKey> = (0..10 + round).map(|n| wheel.schedule(n, n)).collect();
        assert!(keys.iter().all(|key| !gone.contains(key)), "a key twice");
        assert!(gone.iter().all(|&key| !wheel.contains(key)));
        assert!(keys.iter().all(|&key| wheel.cancel(key).is_some()));
        gone.extend(keys);
        wheel.shrink_to_fit();
        wheel = reload(wheel, Road::Straight);
    }
}

#[test]
fn statistics_come_back_as_they_went() {
    for (wheel, _) in wheels::<Millis>() {
        let stats = wheel.stats();
        let json = serde_json::to_value(stats).expect("numbers serialize");
        assert_eq!(json["timers"], stats.timers);
        assert_eq!(serde_json::from_value::<Stats>(json).unwrap(), stats);
    }
}

#[test]
fn keys_come_back_as_they_went() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let keys: Vec<TimerKey> = (0..300).map(|n| wheel.schedule(n, n)).collect();
    for key in &keys {
        let json = serde_json::to_string(key).expect("it serializes");
        let back: TimerKey = serde_json::from_str(&json).expect("it deserializes");
        assert_eq!(back, *key);
    }
}

/// Values of any serializable kind, not numbers alone.
#[test]
fn values_that_own_memory_come_back() {
    type Owning = (String, Vec<Option<i8>>);
    let mut wheel: Wheel<Owning> = Wheel::new(5);
    let key = wheel.schedule(9, ("nine".to_owned(), vec![None, Some(-9)]));
    wheel.schedule(7, (String::new(), Vec::new()));
    let json = serde_json::to_string(&wheel).expect("it serializes");
    let back: Result<Wheel<Owning, Caffeine>, _> = serde_json::from_str(&json);
    let mut back = back.expect("it deserializes");
    assert_eq!(back.get(key), wheel.get(key));
    let fired: Vec<String> = back.advance(9).map(|item| item.value.0).collect();
    assert_eq!(fired, ["", "nine"]);
}

/// What was accepted, damaged or not, must be a wheel like any other.
fn exercise<G: Geometry>(mut wheel: Wheel<u64, G>) {
    wheel.check_invariants();
    let live: Vec<TimerKey> = wheel.ascending().map(|timer| timer.key).collect();
    assert_eq!(live.len(), wheel.len());
    assert_eq!(wheel.iter().count(), wheel.len());
    assert_eq!(wheel.descending().count(), wheel.len());
    assert_eq!(wheel.expiration_delay().is_none(), wheel.is_empty());
    assert!(live.iter().all(|&key| wheel.contains(key)));
    let mut seen = live.clone();
    for round in 0..3 {
        for n in 0..10 {
            let key = wheel.schedule(n << 20, n);
            assert!(!seen.contains(&key), "a key was given out again");
            seen.push(key);
        }
        for &key in seen.iter().rev().take(10 - round) {
            assert!(wheel.cancel(key).is_some());
        }
        wheel.shrink_to_fit();
        wheel.check_invariants();
    }
    if let Some(&key) = live.first() {
        assert!(wheel.reschedule(key, u64::MAX));
        assert!(wheel.reschedule(key, 1));
    }
    let middle = wheel.now() / 2 + u64::MAX / 2;
    let some = wheel.advance_with(middle, 20, |_, at, _| match at % 3 {
        0 => Verdict::Rearm(u64::MAX),
        _ => Verdict::Remove,
    });
    assert!(some.fired <= 20);
    wheel.check_invariants();
    let expected = contents(&wheel).1;
    let fired: Vec<(TimerKey, u64, u64)> = wheel
        .advance(u64::MAX)
        .map(|item| (item.key, item.deadline, item.value))
        .collect();
    assert_eq!(fired, expected, "what is seen ahead is what fires");
    assert!(wheel.is_empty());
    wheel.check_invariants();
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

/// Tries the value with every one of `others` in every place, and says how many were refused.
fn refused_with(json: &Value, others: &[Value]) -> usize {
    let mut found = Vec::new();
    places(json, "", &mut found);
    let mut refused = 0;
    for place in &found {
        for other in others {
            let mut damaged = json.clone();
            if let Some(spot) = damaged.pointer_mut(place) {
                *spot = other.clone();
            }
            refused += usize::from(!is_accepted(&damaged.to_string()));
        }
    }
    refused
}

fn json_of(wheel: &Wheel<u64>) -> Value {
    serde_json::to_value(wheel).expect("numbers serialize")
}

#[test]
fn numbers_out_of_place_are_an_error_or_a_valid_wheel() {
    let small = (0_u64..8).map(Value::from);
    let near = [
        1 << 20,
        u64::from(u32::MAX >> 1),
        u64::from(u32::MAX) - 2,
        u64::from(u32::MAX) - 1,
        u64::from(u32::MAX),
        u64::from(u32::MAX) + 1,
        (1 << 47) - 1,
        1 << 47,
        (1 << 48) - 1,
        1 << 63,
        u64::MAX - 1,
        u64::MAX,
    ];
    let numbers: Vec<Value> = small.chain(near.map(Value::from)).collect();
    for json in [json_of(&small_wheel()), json_of(&Wheel::new(7))] {
        assert!(is_accepted(&json.to_string()));
        refused_with(&json, &numbers);
    }
}

#[test]
fn wrong_types_are_refused() {
    let others = [
        Value::Null,
        Value::from(true),
        Value::from(-1),
        Value::from(0.5),
        Value::from(1e300),
        Value::from(""),
        Value::from("7"),
        serde_json::json!([]),
        serde_json::json!({}),
        serde_json::json!([[]]),
        serde_json::json!([0, 0, 0, 0]),
    ];
    let json = json_of(&small_wheel());
    let refused = refused_with(&json, &others);
    assert!(refused > 0, "nothing was refused");
    for text in [
        "",
        "null",
        "0",
        "[]",
        "{}",
        "\"wheel\"",
        "[null]",
        "{\"\":0}",
    ] {
        assert!(!is_accepted(text), "{text:?} was taken for a wheel");
    }
}

/// Each part in the place of each other: the same index twice, one timer's sequence as another's.
#[test]
fn parts_exchanged_are_an_error_or_a_valid_wheel() {
    let json = json_of(&small_wheel());
    let mut found = Vec::new();
    places(&json, "", &mut found);
    let parts: Vec<Value> = found
        .iter()
        .filter_map(|place| json.pointer(place).cloned())
        .collect();
    let refused = refused_with(&json, &parts);
    assert!(refused > 0, "nothing was refused");
}

/// Arrays with items missing, doubled and in another order; objects with fields missing and more.
#[test]
fn items_missing_doubled_and_reordered_are_an_error_or_a_valid_wheel() {
    let json = json_of(&small_wheel());
    let mut found = Vec::new();
    places(&json, "", &mut found);
    let mut tried = 0;
    let mut try_with = |place: &str, change: &dyn Fn(&mut Value)| {
        let mut damaged = json.clone();
        if let Some(spot) = damaged.pointer_mut(place) {
            change(spot);
        }
        is_accepted(&damaged.to_string());
        tried += 1;
    };
    for place in &found {
        match json.pointer(place) {
            Some(Value::Array(items)) => {
                for nth in 0..items.len() {
                    try_with(place, &|spot| {
                        spot.as_array_mut().expect("an array").remove(nth);
                    });
                    try_with(place, &|spot| {
                        let items = spot.as_array_mut().expect("an array");
                        items.push(items[nth].clone());
                    });
                    try_with(place, &|spot| {
                        spot.as_array_mut().expect("an array").swap(0, nth);
                    });
                    try_with(place, &|spot| {
                        spot.as_array_mut().expect("an array").truncate(nth);
                    });
                }
            }
            Some(Value::Object(fields)) => {
                for name in fields.keys() {
                    try_with(place, &|spot| {
                        spot.as_object_mut().expect("an object").remove(name);
                    });
                }
                try_with(place, &|spot| spot["unheard of"] = Value::from(1));
            }
            _ => {}
        }
    }
    assert!(
        tried > 20,
        "{tried} changes: the format holds nothing to damage"
    );
}

#[test]
fn truncated_text_is_refused() {
    for (wheel, _) in wheels::<Millis>().into_iter().take(4) {
        let json = to_json(&wheel);
        for length in 0..json.len() {
            if json.is_char_boundary(length) {
                assert!(!is_accepted(&json[..length]), "cut off at {length}");
            }
        }
        assert!(is_accepted(&json));
    }
}

/// Bytes changed, taken out and put in, the same ones in every run.
#[test]
fn fuzzed_bytes_are_an_error_or_a_valid_wheel() {
    const BYTES: &[u8] = b"0123456789-,:[]{}\"en. ";
    let json = to_json(&small_wheel()).into_bytes();
    let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut below = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % bound
    };
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut damaged = json.clone();
        for _ in 0..=below(3) {
            let (at, byte) = (below(damaged.len()), BYTES[below(BYTES.len())]);
            match below(4) {
                0 => damaged.insert(at, byte),
                1 => drop(damaged.splice(at..(at + below(5)).min(damaged.len()), [])),
                _ => damaged[at] = byte,
            }
        }
        let damaged = String::from_utf8(damaged).expect("only ASCII goes in");
        accepted += usize::from(is_accepted(&damaged));
    }
    assert!(accepted > 0, "none survived: too much was damaged");
}

/// A generation that no timer ever has would match a slot that is vacant.
#[test]
fn key_of_an_even_generation_is_refused() {
    let mut wheel: Wheel<u64> = Wheel::new(0);
    let key = wheel.schedule(10, 1);
    let json = serde_json::to_string(&key).unwrap();
    assert_eq!(json, "[0,1]");
    assert_eq!(serde_json::from_str::<TimerKey>(&json).unwrap(), key);
    for damaged in [
        "[0,0]",
        "[0,2]",
        "[0,4294967294]",
        "[4294967296,1]",
        "[0]",
        "7",
    ] {
        assert!(
            serde_json::from_str::<TimerKey>(damaged).is_err(),
            "{damaged}"
        );
    }
}

/// Slots made later would start worn out, and leave a slot behind for every timer.
#[test]
fn first_generation_near_its_end_is_refused() {
    let starting_at = |generation: u32| {
        is_accepted(&format!(
            r#"{{"now":0,"limit":9,"first_generation":{generation},"slots":[]}}"#
        ))
    };
    assert!(starting_at(1 << 31), "half of the generations are left");
    assert!(!starting_at((1 << 31) + 2) && !starting_at(u32::MAX - 1));
    let slot = r#"{"now":0,"limit":9,"first_generation":0,
        "slots":[{"generation":4294967294,"timer":null}]}"#;
    let mut wheel: Wheel<u64> = serde_json::from_str(slot).unwrap();
    for _ in 0..1_000 {
        let key = wheel.schedule(10, 1);
        assert_eq!(wheel.cancel(key), Some(1));
        wheel.shrink_to_fit();
    }
    assert!(wheel.stats().slots <= 2);
}
