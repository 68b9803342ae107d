//! Ages. Mirrors `k8s.io/apimachinery/pkg/util/duration`.

use jiff::Timestamp;
use serde_json::Value;

use super::fields;

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

/// `1m30s`, `90s`, `2h`, `1.5s` as Go's `time.ParseDuration` reads them, in milliseconds.
pub fn parse(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0.0;
    if text == "0" {
        return Some(0);
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += number
            * match &rest[..unit] {
                "ms" => 1.0,
                "s" => 1_000.0,
                "m" => 60_000.0,
                "h" => 3_600_000.0,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    (!text.is_empty() && total < 1e15).then_some(total as u64)
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
        let cases = [("60s", Some(60_000)), ("1m30s", Some(90_000)), ("1.5s", Some(1_500)), ("0", Some(0))];
        for (text, want) in cases.into_iter().chain([("5", None), ("", None), ("5x", None), ("s", None)]) {
            assert_eq!(parse(text), want, "{text}");
        }
    }
}
