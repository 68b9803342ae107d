//! JSONPath templates: text with expressions in braces. Mirrors `k8s.io/client-go/util/jsonpath`.
//!
//! `{.items[0].metadata.name}`, `{range .items[*]}{.metadata.name}{"\n"}{end}`,
//! `{.status.conditions[?(@.type=="Ready")].status}`. A field that is not there prints nothing.
//! Left out: unions of fields (`['a','b']`), arithmetic steps in slices.

use serde_json::Value;

/// A template, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(Vec<Node>);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Text(String),
    Path(Vec<Part>),
    Range(Vec<Part>, Vec<Node>),
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// `$` or `@` alone: where we stand; `$` in a range is still the whole.
    Root,
    Field(String),
    /// `*`, `[*]`
    All,
    /// `..name`: at any depth.
    Deep(String),
    /// `[2]`, `[-1]`
    Index(i64),
    /// `[1:3]`
    Slice(Option<i64>, Option<i64>),
    /// `[?(@.a.b=="c")]`
    Filter(Vec<Part>, Option<(String, Operand)>),
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Literal(Value),
    Path(Vec<Part>),
}

impl Template {
    /// Reads a template. The error says what kubectl would not accept.
    pub fn parse(text: &str) -> Result<Template, String> {
        let mut rest = text;
        let nodes = parse_nodes(&mut rest, text, false)?;
        Ok(Template(nodes))
    }

    /// The template filled in from `value`.
    pub fn print(&self, value: &Value) -> Result<String, String> {
        let mut out = String::new();
        print_nodes(&self.0, value, value, &mut out)?;
        Ok(out)
    }
}

/// The values at one path, without braces: `.metadata.creationTimestamp`, as `--sort-by` has it.
pub fn find<'a>(path: &str, value: &'a Value) -> Result<Vec<&'a Value>, String> {
    let path = path.trim_start_matches('{').trim_end_matches('}');
    let parts = parse_path(&format!(".{}", path.trim_start_matches('.')))?;
    walk(&parts, value, value)
}

fn parse_nodes(rest: &mut &str, whole: &str, inside: bool) -> Result<Vec<Node>, String> {
    let mut nodes = Vec::new();
    loop {
        let Some(open) = rest.find('{') else {
            if inside {
                return Err(format!("error parsing jsonpath {whole}, not in range, unexpected end"));
            }
            push_text(&mut nodes, rest);
            return Ok(nodes);
        };
        push_text(&mut nodes, &rest[..open]);
        let close =
            closing_brace(&rest[open..]).ok_or_else(|| format!("error parsing jsonpath {whole}, unclosed action"))?;
        let action = rest[open + 1..open + close].trim();
        *rest = &rest[open + close + 1..];
        if action == "end" {
            return if inside {
                Ok(nodes)
            } else {
                Err(format!("error parsing jsonpath {whole}, not in range, nothing to end"))
            };
        }
        match action.strip_prefix("range").filter(|path| path.starts_with([' ', '.', '[', '$', '@'])) {
            Some(path) => nodes.push(Node::Range(parse_path(path.trim())?, parse_nodes(rest, whole, true)?)),
            None => parse_action(action, &mut nodes)?,
        }
    }
}

fn push_text(nodes: &mut Vec<Node>, text: &str) {
    if !text.is_empty() {
        nodes.push(Node::Text(text.to_owned()));
    }
}

/// Where the action that `text` begins with ends; braces in quotes do not count.
fn closing_brace(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(q), c) if q == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '}') => return Some(i),
            _ => {}
        }
    }
    None
}

fn parse_action(action: &str, nodes: &mut Vec<Node>) -> Result<(), String> {
    match action.chars().next() {
        Some(quote @ ('"' | '\'')) => nodes.push(Node::Text(unquote(action, quote)?)),
        Some(_) => nodes.push(Node::Path(parse_path(action)?)),
        None => {}
    }
    Ok(())
}

fn unquote(text: &str, quote: char) -> Result<String, String> {
    let inner = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
    let inner = inner.ok_or_else(|| format!("unterminated quoted string: {text}"))?;
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            }),
            c => out.push(c),
        }
    }
    Ok(out)
}

fn parse_path(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            '$' | '@' => {
                if first == '$' {
                    parts.push(Part::Root);
                }
                rest = &rest[1..];
            }
            '.' if rest.starts_with("..") => parts.push(Part::Deep(field_name(&mut rest, 2)?)),
            '.' if rest.len() == 1 => rest = "",
            '.' if rest[1..].starts_with('[') => rest = &rest[1..],
            '.' => parts.push(match field_name(&mut rest, 1)?.as_str() {
                "*" => Part::All,
                name => Part::Field(name.to_owned()),
            }),
            '[' => parts.push(parse_brackets(&mut rest)?),
            c if c.is_alphanumeric() && parts.is_empty() => parts.push(Part::Field(field_name(&mut rest, 0)?)),
            c => return Err(format!("unrecognized character in action: U+{:04X} '{c}'", c as u32)),
        }
    }
    Ok(parts)
}

/// A field's name, after `skip` dots. A dot that belongs to the name has a backslash before it.
fn field_name(rest: &mut &str, skip: usize) -> Result<String, String> {
    let mut name = String::new();
    let mut end = rest.len();
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(skip) {
        match c {
            _ if escaped => {
                escaped = false;
                name.push(c);
            }
            '\\' => escaped = true,
            '.' | '[' | ' ' | '=' | '!' | '<' | '>' | ')' => {
                end = i;
                break;
            }
            c => name.push(c),
        }
    }
    if name.is_empty() {
        return Err(format!("a field name is missing in {rest:?}"));
    }
    *rest = &rest[end..];
    Ok(name)
}

fn parse_brackets(rest: &mut &str) -> Result<Part, String> {
    if let Some(filter) = rest.strip_prefix("[?(") {
        let end = filter.find(")]").ok_or("unterminated filter")?;
        *rest = &filter[end + 2..];
        return parse_filter(&filter[..end]);
    }
    let end = rest.find(']').ok_or("unterminated array")?;
    let inside = rest[1..end].trim();
    *rest = &rest[end + 1..];
    if inside == "*" {
        return Ok(Part::All);
    }
    if let Some(quote) = inside.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        return Ok(Part::Field(unquote(inside, quote)?));
    }
    let number = |text: &str| text.parse::<i64>().map_err(|_| format!("invalid array index {inside}"));
    match inside.split_once(':') {
        None => Ok(Part::Index(number(inside)?)),
        Some((from, to)) => {
            let bound = |text: &str| if text.is_empty() { Ok(None) } else { number(text).map(Some) };
            Ok(Part::Slice(bound(from)?, bound(to)?))
        }
    }
}

fn parse_filter(text: &str) -> Result<Part, String> {
    const OPERATORS: &[&str] = &["==", "!=", "<=", ">=", "<", ">"];
    let found = text.char_indices().find_map(|(i, _)| {
        let operator = OPERATORS.iter().find(|op| text[i..].starts_with(**op))?;
        Some((i, *operator))
    });
    let Some((i, operator)) = found else { return Ok(Part::Filter(parse_path(text.trim())?, None)) };
    let right = text[i + operator.len()..].trim();
    let operand = match right.chars().next() {
        Some(quote @ ('"' | '\'')) => Operand::Literal(Value::String(unquote(right, quote)?)),
        Some('@' | '.' | '$') => Operand::Path(parse_path(right)?),
        _ => Operand::Literal(serde_json::from_str(right).map_err(|_| format!("unrecognized value {right:?}"))?),
    };
    Ok(Part::Filter(parse_path(text[..i].trim())?, Some((operator.to_owned(), operand))))
}

fn print_nodes(nodes: &[Node], root: &Value, here: &Value, out: &mut String) -> Result<(), String> {
    for node in nodes {
        match node {
            Node::Text(text) => out.push_str(text),
            Node::Path(parts) => {
                let shown: Vec<String> = walk(parts, root, here)?.into_iter().map(show).collect();
                out.push_str(&shown.join(" "));
            }
            Node::Range(parts, body) => {
                for value in walk(parts, root, here)? {
                    print_nodes(body, root, value, out)?;
                }
            }
        }
    }
    Ok(())
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn walk<'a>(parts: &[Part], root: &'a Value, here: &'a Value) -> Result<Vec<&'a Value>, String> {
    let mut values = vec![here];
    for part in parts {
        let mut next = Vec::new();
        for value in values {
            step(part, root, value, &mut next)?;
        }
        values = next;
    }
    Ok(values)
}

fn step<'a>(part: &Part, root: &'a Value, value: &'a Value, next: &mut Vec<&'a Value>) -> Result<(), String> {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    match part {
        Part::Root => next.push(root),
        Part::Field(name) => next.extend(value.get(name)),
        Part::All => match value {
            Value::Object(fields) => next.extend(fields.values()),
            _ => next.extend(items),
        },
        Part::Deep(name) => deep(name, value, next),
        Part::Index(i) => {
            let place = if *i < 0 { items.len() as i64 + i } else { *i };
            match usize::try_from(place).ok().and_then(|place| items.get(place)) {
                Some(item) => next.push(item),
                None if value.is_array() => {
                    return Err(format!("array index out of bounds: index {i}, length {}", items.len()));
                }
                None => {}
            }
        }
        Part::Slice(from, to) => {
            let place = |bound: i64| {
                let place = if bound < 0 { items.len() as i64 + bound } else { bound };
                usize::try_from(place.max(0)).unwrap_or(0).min(items.len())
            };
            let (from, to) = (from.map_or(0, place), to.map_or(items.len(), place));
            next.extend(items.get(from..to.max(from)).unwrap_or_default());
        }
        Part::Filter(left, test) => {
            if value.is_null() {
                return Err("<nil> is not array or slice and cannot be filtered".to_owned());
            }
            for item in items {
                if holds(left, test.as_ref(), root, item)? {
                    next.push(item);
                }
            }
        }
    }
    Ok(())
}

fn deep<'a>(name: &str, value: &'a Value, next: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            next.extend(fields.get(name));
            fields.values().for_each(|value| deep(name, value, next));
        }
        Value::Array(items) => items.iter().for_each(|value| deep(name, value, next)),
        _ => {}
    }
}

fn holds(left: &[Part], test: Option<&(String, Operand)>, root: &Value, item: &Value) -> Result<bool, String> {
    let left = walk(left, root, item)?.first().copied();
    let Some((operator, operand)) = test else { return Ok(left.is_some()) };
    let right = match operand {
        Operand::Literal(value) => Some(value),
        Operand::Path(parts) => walk(parts, root, item)?.first().copied(),
    };
    let (Some(left), Some(right)) = (left, right) else { return Ok(false) };
    let order = match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
        _ => show(left).partial_cmp(&show(right)),
    };
    Ok(order.is_some_and(|order| match operator.as_str() {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        ">" => order.is_gt(),
        "<=" => order.is_le(),
        _ => order.is_ge(),
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_are_filled_in() {
        let value = json!({"items": [
            {"metadata": {"name": "a", "labels": {"app.io/x": "1"}}, "n": 1, "on": true},
            {"metadata": {"name": "b", "owners": [{"kind": "ReplicaSet"}]}, "n": 2},
        ], "null": null, "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]}});
        #[rustfmt::skip]
        let cases = [
            ("{.items[0].metadata.name}", "a"), ("{.items[-1].metadata.name}", "b"), ("{.items[*].metadata.name}", "a b"),
            ("{.items[0:1].n}", "1"), ("{.items[1].metadata.owners}", r#"[{"kind":"ReplicaSet"}]"#), ("{.nothing}", ""),
            ("{.null} {.null[*].n}{.null.n}", "null "),
            (r#"{range .items[*]}{.metadata.name}{"\t"}{.n}{"\n"}{end}"#, "a\t1\nb\t2\n"),
            (r#"{range.items[*]}{.metadata.name}{end}"#, "ab"),
            (r#"{.status.conditions[?(@.type=="Ready")].status}"#, "True"),
            (r#"{.items[?(@.n>1)].metadata.name}"#, "b"), ("{.items[?(@.on)].n}", "1"),
            (r"{.items[0].metadata.labels.app\.io/x}", "1"), ("{.items[0].metadata.labels['app\\.io/x']}", "1"),
            ("{..name}", "a b"), ("name={.items[0].metadata['name']}!", "name=a!"), ("plain", "plain"),
        ];
        for (template, want) in cases {
            assert_eq!(Template::parse(template).and_then(|t| t.print(&value)).unwrap(), want, "{template}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for wrong in
            ["{.a", "{.a[}", "{range .a}", "{end}", "{.a[x]}", "{.a[?(@.b]}", "{\"a}", "{.}}{", "{.a[?(@.b==c)]}"]
        {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
        let value = json!({"a": []});
        let error = Template::parse("{.a[0].b}").unwrap().print(&value).unwrap_err();
        assert_eq!(error, "array index out of bounds: index 0, length 0");
        let error = Template::parse("{.a[?(@.b)]}").unwrap().print(&json!({"a": null})).unwrap_err();
        assert_eq!(error, "<nil> is not array or slice and cannot be filtered");
    }
}
