//! Figures as people read them: grouped digits, spans of time, pauses.

/// Nanoseconds in a second.
pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// A count with its digits in groups of three: `1,234,567`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A span of trace time in its two largest units: `15m 50s`.
pub(crate) fn span(ns: u64) -> String {
    let seconds = ns / NS_PER_S;
    let [days, hours, minutes] = [seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60];
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{:.3}s", ns as f64 / NS_PER_S as f64),
        (0, 0, m) => format!("{m}m {}s", seconds % 60),
        (0, h, m) => format!("{h}h {m}m"),
        (d, h, _) => format!("{d}d {h}h"),
    }
}

/// A point in trace time, to the microsecond: `00:15:50.000000`, or `3d 00:15:50.000000`.
pub(crate) fn time_of_day(ns: u64) -> String {
    let seconds = ns / NS_PER_S;
    let time = format!(
        "{:02}:{:02}:{:02}.{:06}",
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
        ns % NS_PER_S / 1_000
    );
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
    fn grouped_any_length_puts_a_comma_every_three_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn span_shows_its_two_largest_units() {
        assert_eq!(span(0), "0.000s");
        assert_eq!(span(1_500_000_000), "1.500s");
        assert_eq!(span(950 * NS_PER_S), "15m 50s");
        assert_eq!(span(7_200 * NS_PER_S), "2h 0m");
        assert_eq!(span(90_000 * NS_PER_S), "1d 1h");
    }

    #[test]
    fn time_of_day_counts_days_and_microseconds() {
        assert_eq!(time_of_day(0), "00:00:00.000000");
        assert_eq!(time_of_day(950 * NS_PER_S + 1_048_576), "00:15:50.001048");
        assert_eq!(time_of_day(90_000 * NS_PER_S), "1d 01:00:00.000000");
    }

    #[test]
    fn pause_picks_the_unit_that_suits_it() {
        assert_eq!(pause(41.0), "41.0 ns");
        assert_eq!(pause(12_345.0), "12.3 µs");
        assert_eq!(pause(1_234_567.0), "1.23 ms");
        assert_eq!(pause(2e9), "2.00 s");
    }
}
