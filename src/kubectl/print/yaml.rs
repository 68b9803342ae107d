//! YAML as kubectl prints it: keys in order, lists not indented, quotes only where YAML would read something else.
//! Mirrors `sigs.k8s.io/yaml` over goyaml, which quotes differently from most writers.

use std::cmp::Ordering;

use serde_json::Value;

/// `value` as a YAML document.
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => block(&mut out, value, 0),
        Value::Array(items) if !items.is_empty() => block(&mut out, value, 0),
        _ => {
            out.push_str(&scalar(value, 0, 0));
            out.push('\n');
        }
    }
    out
}

/// The lines of a non-empty object or list, each starting at `indent`.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by(|(a, _), (b, _)| order(a, b));
            for (i, (key, value)) in fields.into_iter().enumerate() {
                // The first line may stand behind a list item's dash.
                if i > 0 || !out.ends_with("- ") {
                    pad(out, indent);
                }
                out.push_str(&text(key, indent, None));
                out.push(':');
                after_key(out, value, indent);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                if i > 0 || !out.ends_with("- ") {
                    pad(out, indent);
                }
                out.push_str("- ");
                match is_block(item) {
                    true => block(out, item, indent + 2),
                    false => {
                        out.push_str(&scalar(item, indent + 2, column(out)));
                        out.push('\n');
                    }
                }
            }
        }
        _ => {}
    }
}

/// Keys in the order of goyaml: what is no letter before letters, and numbers by their values. Mirrors `keyList.Less`.
fn order(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(a, b)| a != b) else { return a.len().cmp(&b.len()) };
    let is_letter = [a[at], b[at]].map(char::is_alphabetic);
    match is_letter {
        [true, true] => a[at].cmp(&b[at]),
        // Behind a number a letter comes first.
        [true, false] | [false, true] => {
            let behind_number = at > 0 && a[at - 1].is_ascii_digit();
            if is_letter[0] == behind_number { Ordering::Less } else { Ordering::Greater }
        }
        [false, false] => number(&a, at).cmp(&number(&b, at)).then(a[at].cmp(&b[at])),
    }
}

/// The number that begins or goes on there: how many digits are left of it without zeros before them, and these.
fn number(text: &[char], at: usize) -> (usize, String) {
    let begin = text[..at].iter().rposition(|c| !c.is_ascii_digit()).map_or(0, |before| before + 1);
    let digits: String = text[begin..].iter().take_while(|c| c.is_ascii_digit()).collect();
    let digits = digits.trim_start_matches('0').to_owned();
    (digits.len(), digits)
}

fn after_key(out: &mut String, value: &Value, indent: usize) {
    match value {
        _ if !is_block(value) => {
            out.push(' ');
            out.push_str(&scalar(value, indent + 2, column(out)));
            out.push('\n');
        }
        Value::Array(_) => {
            out.push('\n');
            block(out, value, indent);
        }
        _ => {
            out.push('\n');
            block(out, value, indent + 2);
        }
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Where in the line the next character will stand.
fn column(out: &str) -> usize {
    out[out.rfind('\n').map_or(0, |end| end + 1)..].chars().count()
}

fn scalar(value: &Value, indent: usize, column: usize) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(string) => text(string, indent, Some(column)),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        other => other.to_string(),
    }
}

/// A string; where one may go on in the next line, the column in which it begins is given.
fn text(text: &str, indent: usize, column: Option<usize>) -> String {
    let written = in_one_line(text, indent);
    match column {
        Some(column) if !written.contains('\n') => folded(&written, indent, column),
        _ => written,
    }
}

/// The widest line that a word is not moved into the next for. goyaml's `best_width`.
const WIDTH: usize = 80;

/// Goes on in the next line at the first single space behind the width. Mirrors `yaml_emitter_write_plain_scalar` and its like.
fn folded(written: &str, indent: usize, mut column: usize) -> String {
    let quote = written.chars().next().filter(|c| matches!(c, '"' | '\''));
    let chars: Vec<char> = written.chars().collect();
    let mut out = String::with_capacity(written.len());
    for (i, c) in chars.iter().enumerate() {
        let space = |i: usize| chars.get(i) == Some(&' ');
        // Of a quoted text neither the first character nor the last is left out.
        let inner = quote.is_none() || (i > 1 && i + 2 < chars.len());
        let alone = i > 0 && !space(i - 1) && (quote == Some('"') || !space(i + 1));
        if *c == ' ' && column > WIDTH && inner && alone {
            out.push('\n');
            pad(&mut out, indent);
            column = indent;
            if space(i + 1) {
                out.push('\\');
                column += 1;
            }
            continue;
        }
        out.push(*c);
        column += 1;
    }
    out
}

fn in_one_line(text: &str, indent: usize) -> String {
    let control = |c: char| c.is_control() && c != '\n';
    if text.chars().any(control) || text.starts_with('\n') && text.len() == 1 {
        return serde_json::to_string(text).unwrap_or_default();
    }
    if text.contains('\n') {
        return literal(text, indent);
    }
    if reads_as_something_else(text) {
        return format!("\"{text}\"");
    }
    if needs_quotes(text) { format!("'{}'", text.replace('\'', "''")) } else { text.to_owned() }
}

/// `|` and the lines; `|-` if the last line does not end.
fn literal(text: &str, indent: usize) -> String {
    let ends = text.ends_with('\n');
    let mut out = String::from(match (ends, text.ends_with("\n\n")) {
        (false, _) => "|-",
        (true, false) => "|",
        (true, true) => "|+",
    });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(&mut out, indent);
            out.push_str(line);
        }
    }
    out
}

/// Plain, this would be a number, a boolean, a null or a time.
fn reads_as_something_else(text: &str) -> bool {
    const WORDS: &[&str] = &["", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "<<", "="];
    let word = text.to_ascii_lowercase();
    let number = word.trim_start_matches(['+', '-']);
    let digits = number.replace('_', "");
    WORDS.contains(&word.as_str())
        || (number.starts_with(|c: char| c.is_ascii_digit() || c == '.') && digits.parse::<f64>().is_ok())
        || ["0x", "0o", "0b"].iter().any(|p| number.strip_prefix(p).is_some_and(|n| u64::from_str_radix(n, 16).is_ok()))
        || matches!(number, ".inf" | ".nan")
        || is_time(text)
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() })
        && (bytes.len() == 10 || matches!(bytes[10], b'T' | b't' | b' '))
}

fn needs_quotes(text: &str) -> bool {
    const FIRST: &[char] =
        &['!', '&', '*', '{', '}', '[', ']', ',', '#', '|', '>', '@', '`', '"', '\'', '%', ' ', '\t'];
    let dash = |c: char| text.starts_with(c) && (text.len() == 1 || text[1..].starts_with(' '));
    text.starts_with(FIRST)
        || ['-', '?', ':'].into_iter().any(dash)
        || text.starts_with("---")
        || text.ends_with([' ', ':'])
        || text.contains(": ")
        || text.contains(" #")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_go_on_in_the_next_line() {
        let plugin = "LimitRanger plugin set: cpu request for init container i; cpu limit for init container i";
        let words = "word ".repeat(20);
        let value =
            json!({"metadata": {"annotations": {"kubernetes.io/limit-ranger": plugin}}, "list": [words.trim_end()]});
        let want = "\
list:
- word word word word word word word word word word word word word word word word
  word word word word
metadata:
  annotations:
    kubernetes.io/limit-ranger: 'LimitRanger plugin set: cpu request for init container
      i; cpu limit for init container i'
";
        assert_eq!(print(&value), want);
        let again: Value = serde_yaml::from_str(want).unwrap();
        assert_eq!(again, value);
    }

    #[test]
    fn yaml_is_kubectls() {
        let value = json!({
            "metadata": {"annotations": {"a/ttl": "0", "on": "true"}, "creationTimestamp": "2026-11-21T03:45:11Z"},
            "spec": {"podCIDRs": ["10.244.9.0/24"], "empty": {}, "none": [], "replicas": 2,
                "containers": [{"name": "a", "args": ["-c", "sleep 1; exit 3", "x: y", "- z"]}, {"name": "b"}]},
            "data": {"file": "one\n\ntwo\n", "open": "one\ntwo"},
        });
        let want = r#"data:
  file: |
    one

    two
  open: |-
    one
    two
metadata:
  annotations:
    a/ttl: "0"
    "on": "true"
  creationTimestamp: "2026-11-21T03:45:11Z"
spec:
  containers:
  - args:
    - -c
    - sleep 1; exit 3
    - 'x: y'
    - '- z'
    name: a
  - name: b
  empty: {}
  none: []
  podCIDRs:
  - 10.244.9.0/24
  replicas: 2
"#;
        assert_eq!(print(&value), want);
        let again: Value = serde_yaml::from_str(&print(&value)).unwrap();
        assert_eq!(again, value);
    }

    #[test]
    fn keys_stand_in_the_order_of_goyaml() {
        let keys = ["A_FIRST", "ANOTHER", "a-1", "a.b", "a/b", "a2", "a10", "aB", "ab", "b1c", "b1-"];
        let object = keys.iter().rev().map(|key| ((*key).to_owned(), Value::from(1))).collect();
        let printed = print(&Value::Object(object));
        let shown: Vec<&str> = printed.lines().map(|line| line.trim_end_matches(": 1")).collect();
        assert_eq!(shown, keys);
    }
}
