//! Schedules: `*/5 9-17 * * MON-FRI`, `@daily`, `@every 90m`.
//!
//! Five fields: minute, hour, day of the month, month, day of the week. A field is a list of numbers, ranges and steps.
//! One oddity is old: where both days are restricted, either of them is enough. Mirrors the standard parser of
//! `robfig/cron` v3, which Kubernetes uses, with its complaints.
//!
//! Where clocks are set back or forward, a time that is there twice counts once, the first time; one that is not there
//! counts as long after the gap as it would have been in it.

use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// When something happens again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// At these times.
    At(Box<Fields>),
    /// After so long each time, in whole seconds.
    Every(Duration),
}

/// The numbers that each field allows, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether the days of the month or of the week are left open.
    any_day: bool,
}

/// One field: its least and its greatest number, and names for numbers.
struct Bounds {
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds { min: 0, max: 59, names: &[] };
const HOURS: Bounds = Bounds { min: 0, max: 23, names: &[] };
const DAYS: Bounds = Bounds { min: 1, max: 31, names: &[] };
const MONTHS: Bounds = Bounds {
    min: 1,
    max: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAYS: Bounds = Bounds { min: 0, max: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

/// Names for whole schedules.
const DESCRIPTORS: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl Schedule {
    /// Reads a schedule. The error is a sentence.
    pub fn parse(text: &str) -> Result<Schedule, String> {
        if text.is_empty() {
            return Err("empty spec string".into());
        }
        if let Some(every) = text.strip_prefix("@every ") {
            let duration = parse_duration(every).ok_or_else(|| format!("failed to parse duration {text}"))?;
            return Ok(Schedule::Every(Duration::from_secs(duration.as_secs().max(1))));
        }
        let plain = DESCRIPTORS.iter().find(|(name, _)| *name == text).map(|(_, plain)| *plain);
        if plain.is_none() && text.starts_with('@') {
            return Err(format!("unrecognized descriptor: {text}"));
        }
        let fields: Vec<&str> = plain.unwrap_or(text).split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
        };
        let open = |field: &str| field.split(',').any(|part| part.starts_with(['*', '?']));
        Ok(Schedule::At(Box::new(Fields {
            minutes: MINUTES.read(minute)?,
            hours: HOURS.read(hour)?,
            days: DAYS.read(day)?,
            months: MONTHS.read(month)?,
            weekdays: WEEKDAYS.read(weekday)?,
            any_day: open(day) || open(weekday),
        })))
    }

    /// The next time after `after`, by the clocks of `zone`. None if there is none for five years.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let fields = match self {
            Schedule::Every(interval) => {
                let whole = Timestamp::from_second(after.as_second()).ok()?;
                return whole.checked_add(SignedDuration::try_from(*interval).ok()?).ok();
            }
            Schedule::At(fields) => fields,
        };
        let local = zone.to_datetime(after);
        let mut at = local.with().second(0).subsec_nanosecond(0).build().ok()?;
        let limit = at.checked_add(5.years()).ok()?;
        loop {
            at = fields.first_from(at.checked_add(1.minute()).ok()?, limit)?;
            let instant = zone.to_ambiguous_timestamp(at).compatible().ok()?;
            if instant > after {
                return Some(instant);
            }
        }
    }
}

impl Fields {
    /// The first time that fits, from `at` on.
    fn first_from(&self, mut at: DateTime, limit: DateTime) -> Option<DateTime> {
        while at < limit {
            if !has(self.months, at.month() as u32) || !self.allows_day(at.date()) {
                at = at.date().tomorrow().ok()?.at(0, 0, 0, 0);
            } else if !has(self.hours, at.hour() as u32) {
                at = at.with().minute(0).build().ok()?.checked_add(1.hour()).ok()?;
            } else if !has(self.minutes, at.minute() as u32) {
                at = at.checked_add(1.minute()).ok()?;
            } else {
                return Some(at);
            }
        }
        None
    }

    fn allows_day(&self, date: Date) -> bool {
        let day = has(self.days, date.day() as u32);
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset() as u32);
        if self.any_day { day && weekday } else { day || weekday }
    }
}

fn has(bits: u64, number: u32) -> bool {
    bits & (1 << number) != 0
}

impl Bounds {
    /// `1,5-9,*/15`
    fn read(&self, field: &str) -> Result<u64, String> {
        field.split(',').filter(|part| !part.is_empty()).try_fold(0, |bits, part| Ok(bits | self.range(part)?))
    }

    /// `5`, `5-9`, `5-9/2`, `*/2`, `5/2`
    fn range(&self, text: &str) -> Result<u64, String> {
        let mut parts = text.split('/');
        let range = parts.next().unwrap_or_default();
        let step = parts.next();
        if parts.next().is_some() {
            return Err(format!("too many slashes: {text}"));
        }
        let (first, mut last) = if matches!(range, "*" | "?") {
            (self.min, self.max)
        } else {
            let mut ends = range.split('-');
            let first = self.number(ends.next().unwrap_or_default())?;
            let last = ends.next().map_or(Ok(first), |end| self.number(end))?;
            if ends.next().is_some() {
                return Err(format!("too many hyphens: {text}"));
            }
            (first, last)
        };
        let step = match step {
            None => 1,
            Some(step) => {
                // `5/2` goes on to the end.
                if !range.contains('-') {
                    last = self.max;
                }
                integer(step)?
            }
        };
        match () {
            () if first < self.min => Err(format!("beginning of range ({first}) below minimum ({}): {text}", self.min)),
            () if last > self.max => Err(format!("end of range ({last}) above maximum ({}): {text}", self.max)),
            () if first > last => Err(format!("beginning of range ({first}) beyond end of range ({last}): {text}")),
            () if step == 0 => Err(format!("step of range should be a positive number: {text}")),
            () => Ok((first..=last).step_by(step as usize).fold(0, |bits, number| bits | 1 << number)),
        }
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        match self.names.iter().position(|name| text.eq_ignore_ascii_case(name)) {
            Some(place) => Ok(self.min + place as u32),
            None => integer(text),
        }
    }
}

fn integer(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))
}

/// `1h30m`, as Go writes durations; of units only hours, minutes and seconds.
fn parse_duration(text: &str) -> Option<Duration> {
    let (mut total, mut number) = (0, String::new());
    for c in text.chars() {
        let unit = match c {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            digit => {
                number.push(digit);
                continue;
            }
        };
        total += unit * number.parse::<u64>().ok()?;
        number.clear();
    }
    (number.is_empty() && !text.is_empty()).then(|| Duration::from_secs(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str, zone: &str) -> String {
        let zone = super::super::zone::named(zone).unwrap();
        let found = Schedule::parse(schedule).unwrap().next(after.parse().unwrap(), &zone);
        found.map_or_else(|| "never".to_owned(), |time| time.to_string())
    }

    #[test]
    fn the_next_time() {
        for (schedule, after, want) in [
            ("*/5 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"),
            ("*/5 * * * *", "2026-01-01T00:04:59Z", "2026-01-01T00:05:00Z"),
            ("30 4 1,15 * *", "2026-01-01T05:00:00Z", "2026-01-15T04:30:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("59 23 31 2 *", "2026-01-01T00:00:00Z", "never"),
            ("0 9-17/4 * * mon-FRI", "2026-01-02T14:00:00Z", "2026-01-02T17:00:00Z"),
            ("0 9 * * 1-5", "2026-01-02T14:00:00Z", "2026-01-05T09:00:00Z"),
            // Both days restricted: either is enough. 2026-01-04 is a Sunday.
            ("0 0 13 * 0", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
            ("0 0 3 * 0", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z"),
            ("50/3 * * * *", "2026-01-01T00:51:00Z", "2026-01-01T00:53:00Z"),
            ("@hourly", "2026-01-01T00:00:01Z", "2026-01-01T01:00:00Z"),
            ("@every 1h30m", "2026-01-01T00:00:01Z", "2026-01-01T01:30:01Z"),
        ] {
            assert_eq!(next(schedule, after, "UTC"), want, "{schedule} after {after}");
        }
    }

    #[test]
    fn clocks_of_a_zone() {
        for (schedule, after, want) in [
            ("0 8 * * *", "2026-01-01T08:00:00Z", "2026-01-02T07:00:00Z"),
            ("0 8 * * *", "2026-07-01T08:00:00Z", "2026-07-02T06:00:00Z"),
            // 02:30 is not there on this day.
            ("30 2 29 3 *", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"),
        ] {
            assert_eq!(next(schedule, after, "Europe/Berlin"), want, "{schedule} after {after}");
        }
    }

    #[test]
    fn what_is_no_schedule() {
        for (schedule, want) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("@never", "unrecognized descriptor: @never"),
        ] {
            assert_eq!(Schedule::parse(schedule), Err(want.to_owned()), "{schedule}");
        }
    }
}
