//! Points in time and durations. Mirrors `common/types/{duration,timestamp}.go` of cel-go.
//!
//! Left out: the time zone that a method of a timestamp may be given; all is UTC.

use jiff::tz::TimeZone;

use super::{Found, Value, ok};

pub const DECLARED: &[&str] = &[
    "timestamp.getFullYear() int",
    "timestamp.getMonth() int",
    "timestamp.getDate() int",
    "timestamp.getDayOfMonth() int",
    "timestamp.getDayOfWeek() int",
    "timestamp.getDayOfYear() int",
    "timestamp.getHours() int",
    "timestamp.getMinutes() int",
    "timestamp.getSeconds() int",
    "timestamp.getMilliseconds() int",
    "duration.getHours() int",
    "duration.getMinutes() int",
    "duration.getSeconds() int",
    "duration.getMilliseconds() int",
];

const SECOND: i64 = 1_000_000_000;
/// Units of a duration, from the largest.
const UNITS: [(&str, i64); 8] = [
    ("h", 3600 * SECOND),
    ("ms", SECOND / 1000),
    ("m", 60 * SECOND),
    ("us", 1000),
    ("µs", 1000),
    ("μs", 1000),
    ("ns", 1),
    ("s", SECOND),
];

pub fn call(name: &str, args: &[Value]) -> Found {
    let found = match args {
        [Value::Duration(nanos)] => match name {
            "getHours" => nanos / (3600 * SECOND),
            "getMinutes" => nanos / (60 * SECOND),
            "getSeconds" => nanos / SECOND,
            "getMilliseconds" => nanos % SECOND / (SECOND / 1000),
            _ => return None,
        },
        [Value::Timestamp(at)] => {
            let at = TimeZone::UTC.to_datetime(*at);
            match name {
                "getFullYear" => i64::from(at.year()),
                "getMonth" => i64::from(at.month()) - 1,
                "getDate" => i64::from(at.day()),
                "getDayOfMonth" => i64::from(at.day()) - 1,
                "getDayOfWeek" => i64::from(at.weekday().to_sunday_zero_offset()),
                "getDayOfYear" => i64::from(at.day_of_year()) - 1,
                "getHours" => i64::from(at.hour()),
                "getMinutes" => i64::from(at.minute()),
                "getSeconds" => i64::from(at.second()),
                "getMilliseconds" => i64::from(at.millisecond()),
                _ => return None,
            }
        }
        _ => return None,
    };
    ok(Value::Int(found))
}

/// `1h30m`, `-1.5s`, `300ms`, in nanoseconds. Mirrors `time.ParseDuration`.
pub fn parse_duration(text: &str) -> Option<i64> {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1 } else { 1 };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let (name, unit) = UNITS.iter().find(|(name, _)| after.starts_with(name))?;
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && part.is_empty() || part.contains('.') || whole.len() > 18 {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let digits = &part[..part.len().min(18)];
        let part = if digits.is_empty() { 0 } else { digits.parse::<i128>().ok()? };
        total += whole * i128::from(*unit) + part * i128::from(*unit) / 10_i128.pow(digits.len() as u32);
        rest = &after[name.len()..];
    }
    i64::try_from(total * sign).ok()
}

/// As a JSON text has it: `90s`, `0.5s`.
pub fn go_duration(nanos: i64) -> String {
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let (seconds, part) = (nanos / SECOND as u64, nanos % SECOND as u64);
    let part = if part == 0 { String::new() } else { format!(".{part:09}").trim_end_matches('0').to_owned() };
    format!("{sign}{seconds}{part}s")
}
