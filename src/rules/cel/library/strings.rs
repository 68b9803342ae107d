//! Texts. Mirrors `common/stdlib`, `ext/strings.go` of cel-go (version 2) and `pkg/cel/library/regex.go`.
//!
//! Left out: `format`. Patterns are those of the crate `regex`, which are RE2's but for a few classes.

use regex::Regex;

use super::found::{Found, fails, ok};
use crate::cel::failure::{Budget, Failure, error};
use crate::cel::value::Value;

pub const DECLARED: &[&str] = &[
    "size(string) int",
    "size(bytes) int",
    "string.size() int",
    "bytes.size() int",
    "string.contains(string) bool",
    "string.startsWith(string) bool",
    "string.endsWith(string) bool",
    "string.matches(string) bool",
    "matches(string, string) bool",
    "string.charAt(int) string",
    "string.indexOf(string) int",
    "string.indexOf(string, int) int",
    "string.lastIndexOf(string) int",
    "string.lastIndexOf(string, int) int",
    "string.lowerAscii() string",
    "string.upperAscii() string",
    "string.trim() string",
    "string.replace(string, string) string",
    "string.replace(string, string, int) string",
    "string.split(string) list(string)",
    "string.split(string, int) list(string)",
    "string.substring(int) string",
    "string.substring(int, int) string",
    "list(string).join() string",
    "list(string).join(string) string",
    "string.find(string) string",
    "string.findAll(string) list(string)",
    "string.findAll(string, int) list(string)",
];

/// What making a pattern ready costs, for each byte of it.
const PATTERN_COST: u64 = 20;

pub fn call(name: &str, args: &[Value], budget: &mut Budget) -> Found {
    match (name, args) {
        ("size", [Value::String(text)]) => ok(Value::Int(text.chars().count() as i64)),
        ("size", [Value::Bytes(bytes)]) => ok(Value::Int(bytes.len() as i64)),
        ("matches" | "find" | "findAll", [Value::String(text), Value::String(pattern), rest @ ..]) => {
            Some(search(name, text, pattern, rest, budget))
        }
        ("join", [Value::List(parts), rest @ ..]) => join(parts, rest, budget),
        (_, [Value::String(text), rest @ ..]) => of_text(name, text, rest, budget),
        _ => None,
    }
}

fn search(name: &str, text: &str, pattern: &str, rest: &[Value], budget: &mut Budget) -> Result<Value, Failure> {
    budget.pay(PATTERN_COST * (1 + pattern.len() as u64))?;
    let read = Regex::new(pattern).map_err(|why| {
        let why = why.to_string();
        let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        if name == "matches" { error(last) } else { error(format!("Illegal regex: {last}")) }
    })?;
    Ok(match name {
        "matches" => Value::Bool(read.is_match(text)),
        "find" => Value::string(read.find(text).map_or("", |found| found.as_str())),
        _ => {
            let most = match rest {
                [Value::Int(most)] if *most >= 0 => usize::try_from(*most).unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            Value::list(read.find_iter(text).take(most).map(|found| Value::string(found.as_str())).collect())
        }
    })
}

fn join(parts: &[Value], rest: &[Value], budget: &mut Budget) -> Found {
    let between = match rest {
        [] => "",
        [Value::String(between)] => between,
        _ => return None,
    };
    let mut texts = Vec::with_capacity(parts.len());
    for part in parts {
        let Value::String(text) = part else { return fails("no such overload") };
        if let Err(cost) = budget.pay(1 + (text.len() + between.len()) as u64 / 10) {
            return Some(Err(cost));
        }
        texts.push(&**text);
    }
    ok(Value::string(texts.join(between)))
}

fn of_text(name: &str, text: &str, rest: &[Value], budget: &mut Budget) -> Found {
    let string = |text: String| ok(Value::string(text));
    match (name, rest) {
        ("contains", [Value::String(part)]) => ok(Value::Bool(text.contains(&**part))),
        ("startsWith", [Value::String(part)]) => ok(Value::Bool(text.starts_with(&**part))),
        ("endsWith", [Value::String(part)]) => ok(Value::Bool(text.ends_with(&**part))),
        ("lowerAscii", []) => string(text.to_ascii_lowercase()),
        ("upperAscii", []) => string(text.to_ascii_uppercase()),
        ("trim", []) => string(text.trim().to_owned()),
        ("charAt", [Value::Int(index)]) => char_at(text, *index),
        ("substring", [Value::Int(from)]) => substring(text, *from, None),
        ("substring", [Value::Int(from), Value::Int(to)]) => substring(text, *from, Some(*to)),
        ("indexOf" | "lastIndexOf", [Value::String(part)]) => index_of(name, text, part, None),
        ("indexOf" | "lastIndexOf", [Value::String(part), Value::Int(at)]) => index_of(name, text, part, Some(*at)),
        ("replace", [Value::String(from), Value::String(to)]) => replace(text, from, to, -1, budget),
        ("replace", [Value::String(from), Value::String(to), Value::Int(most)]) => {
            replace(text, from, to, *most, budget)
        }
        ("split", [Value::String(at)]) => split(text, at, -1),
        ("split", [Value::String(at), Value::Int(most)]) => split(text, at, *most),
        _ => None,
    }
}

fn out_of_range(index: i64) -> Found {
    fails(format!("index out of range: {index}"))
}

fn char_at(text: &str, index: i64) -> Found {
    let chars: Vec<char> = text.chars().collect();
    match usize::try_from(index) {
        Ok(index) if index < chars.len() => ok(Value::string(chars[index].to_string())),
        Ok(index) if index == chars.len() => ok(Value::string("")),
        _ => out_of_range(index),
    }
}

fn substring(text: &str, from: i64, to: Option<i64>) -> Found {
    let chars: Vec<char> = text.chars().collect();
    let length = chars.len() as i64;
    let to = match to {
        Some(to) if from > to => {
            return fails(format!("invalid substring range. start: {from}, end: {to}"));
        }
        Some(to) => to,
        None => length,
    };
    match (0..=length).contains(&from).then_some(to) {
        None => out_of_range(from),
        Some(to) if !(0..=length).contains(&to) => out_of_range(to),
        Some(to) => ok(Value::string(chars[from as usize..to as usize].iter().collect::<String>())),
    }
}

/// Counted in characters, as everything here.
fn index_of(name: &str, text: &str, part: &str, at: Option<i64>) -> Found {
    let starts: Vec<usize> = text.char_indices().map(|(start, _)| start).chain([text.len()]).collect();
    let at = match at {
        None => None,
        Some(at) => match usize::try_from(at).ok().filter(|at| *at < starts.len()) {
            Some(at) => Some(at),
            None => return out_of_range(at),
        },
    };
    let character = |byte: usize| starts.partition_point(|start| *start < byte) as i64;
    let found = if name == "indexOf" {
        let from = starts[at.unwrap_or(0)];
        text[from..].find(part).map(|found| from + found)
    } else {
        // A match may begin at `at` and end after it.
        let from = starts[at.unwrap_or(starts.len() - 1)];
        let end = text.len().min(from + part.len());
        let end = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
        text[..end].rfind(part).filter(|found| *found <= from)
    };
    ok(Value::Int(found.map_or(-1, character)))
}

fn replace(text: &str, from: &str, to: &str, most: i64, budget: &mut Budget) -> Found {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let times = text.matches(from).take(most).count() as u64;
    // Paid for before it is made: a few texts of the largest size can make one that no memory holds.
    match budget.pay(times.saturating_mul(to.len() as u64) / 10) {
        Err(cost) => Some(Err(cost)),
        Ok(()) => ok(Value::string(text.replacen(from, to, most))),
    }
}

fn split(text: &str, at: &str, most: i64) -> Found {
    let all = |parts: Vec<&str>| ok(Value::list(parts.into_iter().map(Value::string).collect()));
    match usize::try_from(most) {
        Ok(0) => all(Vec::new()),
        Ok(most) if !at.is_empty() => all(text.splitn(most, at).collect()),
        Err(_) if !at.is_empty() => all(text.split(at).collect()),
        // Nothing to split at: into characters.
        bounded => {
            let ends: Vec<usize> = text.char_indices().map(|(start, _)| start).chain([text.len()]).collect();
            let pieces = (ends.len() - 1).min(bounded.unwrap_or(usize::MAX));
            let end = |i: usize| if i + 1 == pieces { text.len() } else { ends[i + 1] };
            all((0..pieces).map(|i| &text[ends[i]..end(i)]).collect())
        }
    }
}
