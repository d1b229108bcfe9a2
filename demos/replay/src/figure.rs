//! Numbers as people read them: grouped digits, times, pauses.

use indicatif::HumanCount;

pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// A count with its digits in groups of three: `1,234,567`.
pub(crate) fn grouped(count: u64) -> String {
    HumanCount(count).to_string()
}

/// A span of trace time in its two largest units, or with three digits: `15m 50s`, `1.05 ms`.
pub(crate) fn span(ns: u64) -> String {
    let seconds = ns / NS_PER_S;
    let [minutes, hours, days] = [seconds / 60, seconds / 3_600, seconds / 86_400];
    match seconds {
        0..60 => pause(ns as f64),
        60..3_600 => format!("{minutes}m {}s", seconds % 60),
        3_600..86_400 => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

/// A point in trace time, to the microsecond: `00:15:50.000000`, or `3d 00:15:50.000000`.
pub(crate) fn time_of_day(ns: u64) -> String {
    let seconds = ns / NS_PER_S;
    let [hours, minutes] = [seconds / 3_600 % 24, seconds / 60 % 60];
    let micros = ns % NS_PER_S / 1_000;
    let time = format!("{hours:02}:{minutes:02}:{:02}.{micros:06}", seconds % 60);
    match seconds / 86_400 {
        0 => time,
        days => format!("{days}d {time}"),
    }
}

/// A pause with three digits in the unit that suits it: `12.3 µs`.
pub(crate) fn pause(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A number with about three digits: `0.12`, `1.23`, `12.3`, `123`.
pub(crate) fn three_digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let spans = [0, 1_500_000_000, 950 * NS_PER_S, 7_260 * NS_PER_S, 4_500_000 * NS_PER_S].map(span);
        assert_eq!(spans, ["0.00 ns", "1.50 s", "15m 50s", "2h 1m", "52d 2h"]);
        let times = [0, 950 * NS_PER_S + 1_048_576, 90_000 * NS_PER_S].map(time_of_day);
        assert_eq!(times, ["00:00:00.000000", "00:15:50.001048", "1d 01:00:00.000000"]);
        let pauses = [41.0, 12_345.0, 1_234_567.0, 2e9].map(pause);
        assert_eq!(pauses, ["41.0 ns", "12.3 µs", "1.23 ms", "2.00 s"]);
    }
}
