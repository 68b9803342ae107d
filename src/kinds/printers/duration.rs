//! Ages. Mirrors `k8s.io/apimachinery/pkg/util/duration`.

use jiff::Timestamp;
use serde_json::Value;

use crate::printers::fields;
/// How long ago the time at `path` was, or `<unknown>`.
pub fn age(now: Timestamp, value: &Value, path: &str) -> String {
    match fields::time(value, path) {
        None => "<unknown>".to_owned(),
        Some(time) => since(now, time),
    }
}

/// How long ago `time` was.
pub fn since(now: Timestamp, time: Timestamp) -> String {
    // Go cuts the duration, not the two times, to whole seconds.
    human((now.as_millisecond() - time.as_millisecond()).div_euclid(1000))
}

/// Two units at most, and only one where the second would not matter. Mirrors `HumanDuration`.
pub fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let two = |big: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{part}"),
    };
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 2 * 60 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 3 * 60 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => two(hours / 24, "d", hours % 24, "h"),
        () if hours < 24 * 365 * 2 => format!("{}d", hours / 24),
        () if hours < 24 * 365 * 8 => two(hours / 24 / 365, "y", hours / 24 % 365, "d"),
        () => format!("{}y", hours / 24 / 365),
    }
}

/// `1m30s`, `90s`, `2h`, `-1.5s` as Go's `time.ParseDuration` reads them, in milliseconds; else its words about them.
pub fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {text:?}");
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut total = 0.0;
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let digits = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| invalid())?;
        rest = &rest[digits..];
        let unit = rest.find(is_number).unwrap_or(rest.len());
        total += number
            * match &rest[..unit] {
                "ns" => 0.000_001,
                "us" | "µs" | "μs" => 0.001,
                "ms" => 1.0,
                "s" => 1_000.0,
                "m" => 60_000.0,
                "h" => 3_600_000.0,
                "" => return Err(format!("time: missing unit in duration {text:?}")),
                unit => return Err(format!("time: unknown unit {unit:?} in duration {text:?}")),
            };
        rest = &rest[unit..];
    }
    // Go counts nanoseconds.
    if total < i64::MAX as f64 / 1e6 { Ok((sign * total) as i64) } else { Err(invalid()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        const DAY: i64 = 24 * 3600;
        #[rustfmt::skip]
        let cases = [
            (-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (380, "6m20s"), (600, "10m"),
            (3 * 3600, "3h"), (3 * 3600 + 60, "3h1m"), (8 * 3600 + 60, "8h"), (2 * DAY, "2d"), (2 * DAY + 3600, "2d1h"),
            (8 * DAY + 3600, "8d"), (730 * DAY, "2y"), (731 * DAY, "2y1d"), (3000 * DAY, "8y"),
        ];
        for (seconds, want) in cases {
            assert_eq!(human(seconds), want, "{seconds}");
        }
    }

    #[test]
    fn durations_are_gos() {
        for (text, want) in [("60s", 60_000), ("1m30s", 90_000), ("1.5s", 1_500), ("0", 0), ("-2s", -2_000), ("5us", 0)]
        {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
        for (text, why) in [
            ("5", "missing unit in duration \"5\""),
            ("1m5", "missing unit in duration \"1m5\""),
            ("5x", "unknown unit \"x\" in duration \"5x\""),
            ("", "invalid duration \"\""),
            ("s", "invalid duration \"s\""),
            ("1..s", "invalid duration \"1..s\""),
            ("9999999h", "invalid duration \"9999999h\""),
        ] {
            assert_eq!(parse(text), Err(format!("time: {why}")));
        }
    }
}
