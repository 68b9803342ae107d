//! Points in time and durations. Mirrors `common/types/{duration,timestamp}.go` of cel-go.
//!
//! Left out: the time zone that a method of a timestamp may be given; all is UTC.

use jiff::tz::TimeZone;

use super::found::{Found, ok};
use crate::cel::duration::SECOND;
use crate::cel::value::Value;

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
