//! KYAML as kubectl prints it: YAML in which nothing hangs on white space and every text is in quotes.
//!
//! Mirrors the encoder of `sigs.k8s.io/yaml/kyaml`: braces and brackets always, lists of objects without a line between the
//! brackets, a text of several lines folded. Only a key that something else could be read from is in quotes.
//! Left out: the escapes of rare characters that cannot be printed.

use serde_json::Value;

use object::go_types::{Ordered, Tree};

/// `value` as a KYAML document.
pub fn print(value: &Value) -> String {
    in_order(&Ordered::object("any", value))
}

/// The same of an object that kubectl holds in its Go struct: fields come as that declares them, as in JSON.
pub fn in_order(object: &Ordered) -> String {
    let mut out = "---\n".to_owned();
    node(&mut out, &object.tree(), 0);
    out.push('\n');
    out
}

/// A value whose own brackets stand at `indent`.
fn node(out: &mut String, value: &Tree, indent: usize) {
    match value {
        Tree::Map(fields) if fields.is_empty() => out.push_str("{}"),
        Tree::Map(fields) => {
            out.push_str("{\n");
            for (key, value) in fields {
                pad(out, indent + 1);
                match is_plain(key) {
                    true => out.push_str(key),
                    false => in_quotes(out, key),
                }
                out.push_str(": ");
                node(out, &value.tree(), indent + 1);
                out.push_str(",\n");
            }
            pad(out, indent);
            out.push('}');
        }
        Tree::List(items) => list(out, &items.iter().map(Ordered::tree).collect::<Vec<_>>(), indent),
        Tree::Leaf(Value::String(text)) if text.contains('\n') => folded(out, text, indent + 1),
        Tree::Leaf(Value::String(text)) => in_quotes(out, text),
        Tree::Leaf(other) => out.push_str(&other.to_string()),
    }
}

fn list(out: &mut String, items: &[Tree], indent: usize) {
    let one_a_line = items.iter().any(|item| matches!(item, Tree::Leaf(_)));
    out.push_str(if one_a_line { "[\n" } else { "[" });
    for (i, item) in items.iter().enumerate() {
        if one_a_line {
            pad(out, indent + 1);
            node(out, item, indent + 1);
            out.push_str(",\n");
        } else {
            out.push_str(if i > 0 { ", " } else { "" });
            node(out, item, indent);
        }
    }
    if one_a_line {
        pad(out, indent);
    }
    out.push(']');
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n("  ", indent));
}

fn in_quotes(out: &mut String, text: &str) {
    out.push('"');
    text.chars().for_each(|c| escaped(out, c));
    out.push('"');
}

/// A text of several lines, one a line. White space that a line begins with has a backslash before it, or it would be lost.
fn folded(out: &mut String, text: &str, indent: usize) {
    out.push_str("\"\\\n");
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        if is_last && line.is_empty() {
            break;
        }
        pad(out, indent);
        out.push(if line.starts_with(char::is_whitespace) { '\\' } else { ' ' });
        line.chars().for_each(|c| escaped(out, c));
        out.push_str(if is_last { "\\\n" } else { "\\n\\\n" });
    }
    pad(out, indent);
    out.push('"');
}

fn escaped(out: &mut String, c: char) {
    match c {
        '"' | '\\' => out.extend(['\\', c]),
        '\r' => out.push_str("\\r"),
        '\u{1b}' => out.push_str("\\e"),
        '\0' => out.push_str("\\0"),
        c if c.is_control() && c != '\t' => out.push_str(&format!("\\x{:02x}", c as u32)),
        c => out.push(c),
    }
}

/// Whether a key needs no quotes: it is made of harmless characters, and is no number, date, or word such as `no`.
fn is_plain(key: &str) -> bool {
    let last = key.chars().count().saturating_sub(1);
    let is_harmless =
        |(i, c): (usize, char)| c.is_alphanumeric() || c == '_' || (matches!(c, '-' | '.' | '/') && i > 0 && i < last);
    !key.is_empty() && key.chars().enumerate().all(is_harmless) && !is_ambiguous(key)
}

fn is_ambiguous(key: &str) -> bool {
    const WORDS: &[&str] = &["null", "true", "false", "t", "f", "y", "yes", "on", "n", "no", "off"];
    let lower = key.to_ascii_lowercase();
    let digits = lower.replace('_', "");
    let in_base = |prefix: &str, base: u32| {
        digits.strip_prefix(prefix).is_some_and(|digits| i64::from_str_radix(digits, base).is_ok())
    };
    let of_date: Vec<&str> = key.split('-').collect();
    let is_date = of_date.len() == 3
        && of_date[0].len() == 4
        && of_date.iter().all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
    WORDS.contains(&lower.as_str())
        || digits.parse::<f64>().is_ok()
        || in_base("0x", 16)
        || in_base("0o", 8)
        || in_base("0b", 2)
        || is_date
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_printed_with_braces() {
        let pod = json!({
            "kind": "Pod",
            "metadata": {"labels": {"no": "y", "1": "x", "app.kubernetes.io/name": "a\"b"}, "annotations": {}},
            "spec": {"containers": [{"args": ["a", "b"], "tty": true}, {"name": "c"}], "grace": 30, "volumes": []},
        });
        let printed = "\
---
{
  kind: \"Pod\",
  metadata: {
    annotations: {},
    labels: {
      \"1\": \"x\",
      app.kubernetes.io/name: \"a\\\"b\",
      \"no\": \"y\",
    },
  },
  spec: {
    containers: [{
      args: [
        \"a\",
        \"b\",
      ],
      tty: true,
    }, {
      name: \"c\",
    }],
    grace: 30,
    volumes: [],
  },
}
";
        assert_eq!(print(&pod), printed);
    }

    #[test]
    fn a_text_of_several_lines_is_folded() {
        let map = json!({"data": {"a": "one\n  two\n", "b": "x\ny"}});
        let printed = "\
---
{
  data: {
    a: \"\\
       one\\n\\
      \\  two\\n\\
      \",
    b: \"\\
       x\\n\\
       y\\
      \",
  },
}
";
        assert_eq!(print(&map), printed);
    }

    #[test]
    fn a_key_is_quoted_if_it_could_be_something_else() {
        for plain in ["app", "f1", "a-b", "kubectl.kubernetes.io/x", "not"] {
            assert!(is_plain(plain), "{plain}");
        }
        for quoted in ["", "on", "No", "0x1F", "1_000", "1.5", "f:metadata", ".", "a.", "2026-01-01", "t", ".inf"] {
            assert!(!is_plain(quoted), "{quoted}");
        }
    }
}
