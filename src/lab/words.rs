//! A case and its answers in words: the few fields that matter, as a person writes them down.
//!
//! What is short stands in one line, as in YAML: `labels: {app: web}`. What is not has a line for each of its parts.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

/// No line of a case has more columns: with the margin of a verdict it fits into a terminal of eighty.
pub const WIDTH: usize = 78;
/// More parts that differ are only counted.
const MOST: usize = 3;
/// More items than these are only counted: a wrong answer can be as long as it likes.
const ITEMS: usize = 12;
/// Of a longer text the beginning is shown.
const LONG: usize = 240;
/// And of one that is an item among others.
const LONG_ITEM: usize = 80;
/// Items of no more run on in a line.
const SHORT_ITEM: usize = 30;
/// A column that is wider is none: `step 1234` is one.
const FIRST_COLUMN: usize = 10;
/// So many equal lines, one after another, are shown as one.
const ALIKE: usize = 4;

/// A part of an answer: what the function did (`gave`), and what that is.
pub type Part = (String, Value);

/// A part of an answer.
pub fn part(did: impl Into<String>, what: impl Into<Value>) -> Part {
    (did.into(), what.into())
}

/// What yours did, and what was right: of several parts those that differ.
pub fn apart(did: &[Part], right: &[Part]) -> String {
    let at = |parts: &[Part], name: &str| parts.iter().find(|(did, _)| did == name).map(|(_, what)| what.clone());
    let both = right.iter().filter_map(|(name, right)| Some((name, at(did, name)?, right.clone())));
    let mut differ: Vec<(&String, Value, Value)> = both.filter(|(_, did, right)| did != right).collect();
    if differ.is_empty() {
        let missing = right.iter().filter(|(name, _)| at(did, name).is_none());
        differ.extend(missing.map(|(name, right)| (name, Value::Null, right.clone())));
        let needless = did.iter().filter(|(name, _)| at(right, name).is_none());
        differ.extend(needless.map(|(name, did)| (name, did.clone(), Value::Null)));
    }
    let more = differ.len().saturating_sub(MOST);
    let mut lines: Vec<String> =
        differ.into_iter().take(MOST).map(|(name, did, right)| beside(name, &did, &right)).collect();
    lines.extend((more > 0).then(|| format!("and {more} more differ")));
    lines.join("\n")
}

/// One below the other, both in the same way, so that the eye finds what differs.
fn beside(name: &str, did: &Value, right: &Value) -> String {
    let name = format!("yours {name}");
    let in_lines =
        [(&*name, did), ("right was", right)].into_iter().any(|(name, value)| field(name, value).contains('\n'));
    let width = if in_lines { 0 } else { WIDTH };
    format!("{}\n{}", block(&name, did, width), block("right was", right, width))
}

/// A thing by its name, with a line for each field that is there.
pub fn object<'a>(name: &str, fields: impl IntoIterator<Item = (&'a str, Value)>) -> String {
    let there: Vec<_> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
    if there.is_empty() {
        return format!("{name}: says nothing");
    }
    there.iter().fold(format!("{name}:"), |text, (name, value)| text + "\n" + &indented(&block(name, value, WIDTH - 2)))
}

/// `NAME: VALUE`: in one line if it fits, else with a line for each part.
pub fn field(name: &str, value: &Value) -> String {
    block(name, value, WIDTH)
}

fn block(name: &str, value: &Value, width: usize) -> String {
    let line = format!("{name}: {}", flow(value));
    match value {
        _ if line.chars().count() <= width => line,
        Value::Array(items) if items.iter().any(|item| item.is_object() || flow(item).len() > SHORT_ITEM) => {
            let more = items.len().saturating_sub(ITEMS);
            let items = items.iter().take(ITEMS).map(|item| format!("\n  - {}", nested(item)));
            let rest = if more > 0 { format!("\n  - and {more} more") } else { String::new() };
            format!("{name}:{}{rest}", items.collect::<String>())
        }
        Value::Object(fields) if is_there(value) && fields.len() <= ITEMS => {
            let fields = fields.iter().filter(|(_, value)| is_there(value));
            let lines = fields.map(|(name, value)| indented(&block(name, value, WIDTH - 2)));
            format!("{name}:\n{}", lines.collect::<Vec<_>>().join("\n"))
        }
        _ => line,
    }
}

/// A value in one line. What is not there, or empty, is `none`.
pub fn flow(value: &Value) -> String {
    match value {
        value if !is_there(value) => "none".to_owned(),
        Value::String(text) => plain(text, LONG),
        Value::Array(items) => format!("[{}]", listed(items.iter().map(nested))),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| is_there(value));
            format!("{{{}}}", listed(fields.map(|(name, value)| format!("{name}: {}", nested(value)))))
        }
        other => other.to_string(),
    }
}

/// A value inside another: a text that could be taken for more than itself is quoted.
fn nested(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() || text.contains(", ") || text.contains(": ") => {
            format!("\"{}\"", plain(text, LONG_ITEM))
        }
        Value::String(text) => plain(text, LONG_ITEM),
        other => flow(other),
    }
}

fn is_there(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.values().any(is_there),
        _ => true,
    }
}

/// The texts, or as many as one can read.
pub fn listed(texts: impl Iterator<Item = String>) -> String {
    let mut texts: Vec<String> = texts.collect();
    let more = texts.len().saturating_sub(ITEMS);
    if more > 0 {
        texts.truncate(ITEMS);
        texts.push(format!("and {more} more"));
    }
    texts.join(", ")
}

/// A text in one line, not longer than this.
fn plain(text: &str, long: usize) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    let mut out: String = text.chars().take(long).map(escaped).collect();
    if text.chars().nth(long).is_some() {
        out.push('…');
    }
    out
}

/// Lines with their numbers. Many equal ones stand in one.
pub fn numbered(lines: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<(usize, String)> = (1..).zip(lines).collect();
    let alike = lines.chunk_by(|(_, one), (_, other)| one == other);
    let shown = alike.flat_map(|alike| match alike {
        [(first, text), .., (last, _)] if alike.len() >= ALIKE => vec![format!("{first} to {last}. {text}")],
        few => few.iter().map(|(n, text)| format!("{n}. {text}")).collect(),
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// What tells an owner.
pub fn owner(owner: &OwnerReference) -> Value {
    let OwnerReference { kind, name, uid, controller, .. } = owner;
    json!({"kind": kind, "name": name, "uid": uid, "controller": controller})
}

/// The lines of a text, none with more columns than these: broken between words, and what follows stands in by two more, or
/// below the second column.
pub fn fitting(text: &str, width: usize) -> String {
    text.lines().map(|line| broken(line, width) + "\n").collect()
}

fn broken(line: &str, width: usize) -> String {
    let width = width.max(20);
    let margin = margin(line).min(width / 2);
    let (mut out, mut rest) = (String::new(), line.to_owned());
    while let Some((end, next)) = rest.char_indices().nth(width) {
        let at = if next == ' ' { end } else { rest[..end].rfind(' ').filter(|at| *at >= margin).unwrap_or(end) };
        out += rest[..at].trim_end();
        out.push('\n');
        rest = " ".repeat(margin) + rest[at..].trim_start();
    }
    out + &rest
}

/// Where the lines after the first begin.
fn margin(line: &str) -> usize {
    let text = line.trim_start();
    let margin = line.len() - text.len();
    let second = text.find("  ").filter(|gap| *gap <= FIRST_COLUMN);
    second.map_or(margin + 2, |gap| margin + gap + (text.len() - gap - text[gap..].trim_start().len()))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_stands_in_a_line_and_what_is_long_in_several() {
        let short = json!({"labels": {"app": "web"}, "owners": [], "text": "a, b", "n": 1, "gone": null});
        assert_eq!(field("Pod", &short), "Pod: {labels: {app: web}, n: 1, text: \"a, b\"}");
        assert_eq!(field("taints", &json!([])), "taints: none");
        let (long, name) = ("x".repeat(50), "y".repeat(50));
        assert_eq!(field("a", &json!([long, name])), format!("a:\n  - {long}\n  - {name}"));
        assert_eq!(field("a", &json!({"one": long, "two": name})), format!("a:\n  one: {long}\n  two: {name}"));
        assert_eq!(object("Pod web", [("uid", json!("1")), ("left", Value::Null)]), "Pod web:\n  uid: 1");
        assert_eq!(object("node", [("capacity", Value::Null)]), "node: says nothing");
    }

    #[test]
    fn of_several_parts_those_that_differ_are_shown() {
        let all = |last: &str| vec![part("called", "get"), part("gave", last)];
        assert_eq!(apart(&all("1"), &all("2")), "yours gave: 1\nright was: 2");
        assert_eq!(apart(&all("1")[..1], &all("1")), "yours gave: none\nright was: 1");
        let many = |n: usize| (0..9).map(|at| part(at.to_string(), n)).collect::<Vec<_>>();
        assert!(apart(&many(1), &many(2)).ends_with("yours 2: 1\nright was: 2\nand 6 more differ"));
    }

    #[test]
    fn many_equal_lines_stand_in_one() {
        let lines = ["a", "a", "b", "b", "b", "b", "c"].map(str::to_owned);
        assert_eq!(numbered(lines), "1. a\n2. a\n3 to 6. b\n7. c");
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(fitting("  one two three four five", 20), "  one two three four\n    five\n");
        assert_eq!(fitting(&"x".repeat(30), 20), format!("{}\n  {}\n", "x".repeat(20), "x".repeat(10)));
        assert_eq!(fitting("  a\nb", 20), "  a\nb\n");
        assert_eq!(fitting("step 9   one two three", 20), "step 9   one two\n         three\n");
    }

    #[test]
    fn no_answer_is_longer_than_one_can_read() {
        let endless = json!(vec!["a\n".repeat(1_000); 1_000]);
        let shown = fitting(&apart(&[part("gave", endless)], &[part("gave", json!([]))]), WIDTH);
        assert!(shown.lines().count() < 50 && shown.ends_with("  - and 988 more\nright was: none\n"), "{shown}");
    }
}
