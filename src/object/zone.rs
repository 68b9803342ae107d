//! Time zones by name, for CronJobs: `Europe/Berlin`.
//!
//! A real cluster has the whole database of time zones and its history. Here each zone is the rule by which its clocks
//! have been set of late, in the notation of POSIX: enough for schedules of today, and the same on every machine.

use jiff::tz::TimeZone;

/// Zones, and the rules of their clocks.
const RULES: &[(&str, &str)] = &[
    ("Africa/Cairo", "EET-2EEST,M4.5.5/0,M10.5.4/24"),
    ("Africa/Johannesburg", "SAST-2"),
    ("Africa/Lagos", "WAT-1"),
    ("Africa/Nairobi", "EAT-3"),
    ("America/Anchorage", "AKST9AKDT,M3.2.0,M11.1.0"),
    ("America/Argentina/Buenos_Aires", "<-03>3"),
    ("America/Bogota", "<-05>5"),
    ("America/Chicago", "CST6CDT,M3.2.0,M11.1.0"),
    ("America/Denver", "MST7MDT,M3.2.0,M11.1.0"),
    ("America/Halifax", "AST4ADT,M3.2.0,M11.1.0"),
    ("America/Los_Angeles", "PST8PDT,M3.2.0,M11.1.0"),
    ("America/Mexico_City", "CST6"),
    ("America/New_York", "EST5EDT,M3.2.0,M11.1.0"),
    ("America/Phoenix", "MST7"),
    ("America/Sao_Paulo", "<-03>3"),
    ("America/Toronto", "EST5EDT,M3.2.0,M11.1.0"),
    ("Asia/Bangkok", "<+07>-7"),
    ("Asia/Dubai", "<+04>-4"),
    ("Asia/Hong_Kong", "HKT-8"),
    ("Asia/Jakarta", "WIB-7"),
    ("Asia/Karachi", "PKT-5"),
    ("Asia/Kolkata", "IST-5:30"),
    ("Asia/Seoul", "KST-9"),
    ("Asia/Shanghai", "CST-8"),
    ("Asia/Singapore", "<+08>-8"),
    ("Asia/Tokyo", "JST-9"),
    ("Atlantic/Reykjavik", "GMT0"),
    ("Australia/Brisbane", "AEST-10"),
    ("Australia/Perth", "AWST-8"),
    ("Australia/Sydney", "AEST-10AEDT,M10.1.0,M4.1.0/3"),
    ("Etc/GMT", "GMT0"),
    ("Etc/UTC", "UTC0"),
    ("Europe/Amsterdam", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Europe/Athens", "EET-2EEST,M3.5.0/3,M10.5.0/4"),
    ("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Europe/Dublin", "GMT0IST,M3.5.0/1,M10.5.0"),
    ("Europe/Helsinki", "EET-2EEST,M3.5.0/3,M10.5.0/4"),
    ("Europe/Istanbul", "<+03>-3"),
    ("Europe/Kyiv", "EET-2EEST,M3.5.0/3,M10.5.0/4"),
    ("Europe/Lisbon", "WET0WEST,M3.5.0/1,M10.5.0"),
    ("Europe/London", "GMT0BST,M3.5.0/1,M10.5.0"),
    ("Europe/Madrid", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Europe/Moscow", "MSK-3"),
    ("Europe/Paris", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Europe/Rome", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Europe/Stockholm", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Europe/Vienna", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Europe/Warsaw", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Europe/Zurich", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("Pacific/Auckland", "NZST-12NZDT,M9.5.0,M4.1.0/3"),
    ("Pacific/Honolulu", "HST10"),
    ("UTC", "UTC0"),
];

/// The zone of this name. The error is a sentence.
pub fn named(name: &str) -> Result<TimeZone, String> {
    let rule = RULES.iter().find(|(there, _)| *there == name).map(|(_, rule)| *rule);
    let zone = rule.and_then(|rule| TimeZone::posix(rule).ok());
    zone.ok_or_else(|| format!("unknown time zone {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn every_rule_can_be_read() {
        for (name, _) in RULES {
            assert!(named(name).is_ok(), "{name}");
        }
        assert_eq!(named("Mars/Olympus").err().as_deref(), Some("unknown time zone Mars/Olympus"));
    }

    #[test]
    fn clocks_are_set() {
        for (name, time, hour) in [
            ("Europe/Berlin", "2026-01-01T12:00:00Z", 13),
            ("Europe/Berlin", "2026-07-01T12:00:00Z", 14),
            ("America/New_York", "2026-07-01T12:00:00Z", 8),
            ("Asia/Tokyo", "2026-07-01T12:00:00Z", 21),
            ("Australia/Sydney", "2026-01-01T12:00:00Z", 23),
        ] {
            let time: Timestamp = time.parse().unwrap();
            assert_eq!(named(name).unwrap().to_datetime(time).hour(), hour, "{name}");
        }
    }
}
