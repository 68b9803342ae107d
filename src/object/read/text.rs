//! Texts with a format of their own: times and base64. The checks find what Go's own parsers would complain about.

/// The layout of `time.RFC3339`, cut where Go's parser cuts it.
const RFC3339: [&str; 12] = ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00"];

/// Six digits of a fraction, which a `MicroTime` has to have.
const MICROSECONDS: &str = ".000000";

/// Checks a time as `time.Parse(time.RFC3339, …)` does.
pub fn check_time(text: &str) -> Result<(), String> {
    check_layout(text, &RFC3339)
}

/// Checks a time as `time.Parse(metav1.RFC3339Micro, …)` does: it has six digits of a fraction, no more and no fewer.
pub fn check_micro_time(text: &str) -> Result<(), String> {
    let (zone, before) = RFC3339.split_last().unwrap_or((&"", &[]));
    check_layout(text, &[before, &[MICROSECONDS, zone]].concat())
}

fn check_layout(text: &str, parts: &[&str]) -> Result<(), String> {
    let layout = parts.concat();
    let has_fraction = parts.contains(&MICROSECONDS);
    let wrong =
        |rest: &str, part: &str| format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}");
    let mut rest = text;
    for part in parts.iter().copied() {
        let after = match part {
            "2006" => number(rest, 4),
            "01" | "02" | "04" | "05" => number(rest, 2),
            // Go takes one digit for the hour, too.
            "15" => number(rest, 2).or_else(|| number(rest, 1)),
            MICROSECONDS => rest.strip_prefix(['.', ',']).and_then(|rest| number(rest, 6)),
            "Z07:00" => zone(rest),
            mark => rest.strip_prefix(mark),
        };
        let after = after.ok_or_else(|| wrong(rest, part))?;
        let value: u32 = rest[..rest.len() - after.len()].parse().unwrap_or(0);
        let range = match part {
            "01" => Some(("month", 1..=12)),
            "02" => Some(("day", 1..=31)),
            "15" => Some(("hour", 0..=23)),
            "04" => Some(("minute", 0..=59)),
            "05" => Some(("second", 0..=59)),
            _ => None,
        };
        if let Some((name, range)) = range
            && !range.contains(&value)
        {
            return Err(format!("parsing time {text:?}: {name} out of range"));
        }
        rest = if part == "05" && !has_fraction { skip_fraction(after) } else { after };
    }
    if rest.is_empty() { Ok(()) } else { Err(format!("parsing time {text:?}: extra text: {rest:?}")) }
}

fn number(text: &str, digits: usize) -> Option<&str> {
    let head = text.as_bytes().get(..digits)?;
    head.iter().all(u8::is_ascii_digit).then(|| &text[digits..])
}

fn zone(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some(rest);
    }
    let rest = text.strip_prefix(['+', '-'])?;
    number(number(rest, 2)?.strip_prefix(':')?, 2)
}

fn skip_fraction(text: &str) -> &str {
    match text.strip_prefix(['.', ',']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            rest.trim_start_matches(|c: char| c.is_ascii_digit())
        }
        _ => text,
    }
}

/// Takes line breaks out of base64 and checks it as Go's `base64.StdEncoding` does.
pub fn clean_base64(text: &str) -> Result<String, String> {
    let corrupt = |at: usize| format!("illegal base64 data at input byte {at}");
    let mut out = String::with_capacity(text.len());
    // How many characters of the group of four have been read, and where padding ended it.
    let (mut in_group, mut padding) = (0, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\r' | b'\n' => continue,
            _ if padding > 0 && in_group == 0 => return Err(corrupt(at)),
            b'=' if in_group < 2 => return Err(corrupt(at)),
            b'=' => padding += 1,
            _ if padding > 0 => return Err(corrupt(at)),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => {}
            _ => return Err(corrupt(at)),
        }
        out.push(char::from(byte));
        in_group = (in_group + 1) % 4;
    }
    match in_group {
        0 => Ok(out),
        // A group that padding began ends too early at the end of the text; any other is short where it began.
        _ if padding > 0 => Err(corrupt(text.len())),
        _ => Err(corrupt(text.len() - in_group)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for good in ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123+02:00", "2026-01-02T3:04:05-07:30"] {
            assert_eq!(check_time(good), Ok(()), "{good}");
        }
        let as_layout = "as \"2006-01-02T15:04:05Z07:00\": cannot parse";
        #[rustfmt::skip]
        let cases = [
            ("", format!("parsing time \"\" {as_layout} \"\" as \"2006\"")),
            ("2026-01-02", format!("parsing time \"2026-01-02\" {as_layout} \"\" as \"T\"")),
            ("2026-01-02T03:04:05", format!("parsing time \"2026-01-02T03:04:05\" {as_layout} \"\" as \"Z07:00\"")),
            ("2026-13-02T03:04:05Z", "parsing time \"2026-13-02T03:04:05Z\": month out of range".to_owned()),
            ("2026-01-02T03:04:05Z!", "parsing time \"2026-01-02T03:04:05Z!\": extra text: \"!\"".to_owned()),
        ];
        for (text, want) in cases {
            assert_eq!(check_time(text), Err(want), "{text}");
        }
    }

    #[test]
    fn times_to_the_microsecond() {
        assert_eq!(check_micro_time("2026-01-02T03:04:05.123456Z"), Ok(()));
        for (text, rest, part) in [
            ("yesterday", "yesterday", "2006"),
            ("2026-01-02T03:04:05Z", "Z", ".000000"),
            ("2026-01-02T03:04:05.123Z", ".123Z", ".000000"),
            ("2026-01-02T03:04:05.1234567Z", "7Z", "Z07:00"),
        ] {
            let layout = "2006-01-02T15:04:05.000000Z07:00";
            let want = format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}");
            assert_eq!(check_micro_time(text), Err(want), "{text}");
        }
    }

    #[test]
    fn base64() {
        for (text, want) in [("", ""), ("YQ==", "YQ=="), ("YWJj\nZA==\n", "YWJjZA==")] {
            assert_eq!(clean_base64(text).as_deref(), Ok(want), "{text}");
        }
        for (text, at) in [("a", 0), ("YWJjZ", 4), ("Y===", 1), ("YQ=", 3), ("YQ==YQ==", 4), ("Y!==", 1), ("YQ=a", 3)] {
            assert_eq!(clean_base64(text), Err(format!("illegal base64 data at input byte {at}")), "{text}");
        }
    }
}
