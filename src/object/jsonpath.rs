//! JSONPath templates: text with expressions in braces. Mirrors `k8s.io/client-go/util/jsonpath`.
//!
//! `{.items[0].metadata.name}`, `{range .items[*]}{.metadata.name}{"\n"}{end}`,
//! `{.status.conditions[?(@.type=="Ready")].status}`. A field that is not there prints nothing, and a range that nobody ends
//! goes to the end of the text. `$` is where we stand, in a range too, as there. Left out: numbers and truth values alone.

use serde_json::Value;

/// A template, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(Vec<Node>);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Text(String),
    Path(Vec<Part>),
    Range(Vec<Part>, Vec<Node>),
    /// `{end}` with nothing to end.
    End,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Field(String),
    /// `.*`
    All,
    /// `..name`: at any depth.
    Deep(String),
    /// `[2]`, `[-1]`
    Index(i64),
    /// `[1:3]`, `[::2]`, `[*]`
    Slice([Option<i64>; 3]),
    /// `['a','b.c']`, `[0,2]`
    Union(Vec<Vec<Part>>),
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
        let nodes = parse_nodes(&mut rest, false)?;
        Ok(Template(nodes))
    }

    /// The template filled in from `value`.
    pub fn print(&self, value: &Value) -> Result<String, String> {
        let mut out = String::new();
        print_nodes(&self.0, value, &mut out)?;
        Ok(out)
    }
}

/// The values at one path, without braces: `.metadata.creationTimestamp`, as `--sort-by` has it.
pub fn find<'a>(path: &str, value: &'a Value) -> Result<Vec<&'a Value>, String> {
    let path = path.trim_start_matches('{').trim_end_matches('}');
    let parts = parse_path(&format!(".{}", path.trim_start_matches('.')))?;
    walk(&parts, value)
}

fn parse_nodes(rest: &mut &str, inside: bool) -> Result<Vec<Node>, String> {
    let mut nodes = Vec::new();
    loop {
        let Some(open) = rest.find('{') else {
            push_text(&mut nodes, std::mem::take(rest));
            return Ok(nodes);
        };
        push_text(&mut nodes, &rest[..open]);
        let close = closing_brace(&rest[open..]).ok_or_else(|| unclosed(&rest[open..]))?;
        let action = rest[open + 1..open + close].trim();
        *rest = &rest[open + close + 1..];
        match action.strip_prefix("range").filter(|path| path.starts_with([' ', '.', '[', '$', '@'])) {
            Some(path) => nodes.push(Node::Range(parse_path(path.trim())?, parse_nodes(rest, true)?)),
            None if action == "end" && inside => return Ok(nodes),
            None if action == "end" => nodes.push(Node::End),
            None => parse_action(action, &mut nodes)?,
        }
    }
}

/// What an action that does not end is missing first.
fn unclosed(text: &str) -> &'static str {
    let quotes = |quote| text.matches(quote).count() % 2 == 1;
    match text.rfind('[').filter(|open| !text[*open..].contains(']')) {
        Some(open) if text[open..].starts_with("[?(") => "unterminated filter",
        Some(_) => "unterminated array",
        None if quotes('"') || quotes('\'') => "unterminated quoted string",
        None => "unclosed action",
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
            '$' | '@' | ' ' => rest = &rest[1..],
            '.' if rest.starts_with("..") => parts.push(Part::Deep(field_name(&mut rest, 2)?)),
            '.' if rest.len() == 1 => rest = "",
            '.' if rest[1..].starts_with('[') => rest = &rest[1..],
            '.' => parts.push(match field_name(&mut rest, 1)?.as_str() {
                "*" => Part::All,
                name => Part::Field(name.to_owned()),
            }),
            '[' => parts.extend(parse_brackets(&mut rest)?),
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

/// What one pair of brackets says. A quoted name is read as a path: its dots part, unless a backslash stands before them.
fn parse_brackets(rest: &mut &str) -> Result<Vec<Part>, String> {
    if let Some(filter) = rest.strip_prefix("[?(") {
        let end = filter.find(")]").ok_or("unterminated filter")?;
        *rest = &filter[end + 2..];
        return Ok(vec![parse_filter(&filter[..end])?]);
    }
    let end = rest.find(']').ok_or("unterminated array")?;
    let inside = &rest[1..end];
    *rest = &rest[end + 1..];
    match inside.contains(',') {
        true => {
            Ok(vec![Part::Union(inside.split(',').map(|one| parse_bracket(one.trim())).collect::<Result<_, _>>()?)])
        }
        false => parse_bracket(inside),
    }
}

fn parse_bracket(inside: &str) -> Result<Vec<Part>, String> {
    if inside == "*" {
        return Ok(vec![Part::Slice([None; 3])]);
    }
    if let Some(name) = inside.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')) {
        return parse_path(&format!(".{name}"));
    }
    let number = |text: &str| text.parse::<i64>().map_err(|_| format!("invalid array index {inside}"));
    let bounds: Vec<&str> = inside.split(':').collect();
    match bounds.as_slice() {
        [one] => Ok(vec![Part::Index(number(one)?)]),
        [_, _] | [_, _, _] => {
            let mut all = [None; 3];
            for (bound, text) in all.iter_mut().zip(&bounds).filter(|(_, text)| !text.is_empty()) {
                *bound = Some(number(text)?);
            }
            Ok(vec![Part::Slice(all)])
        }
        _ => Err(format!("invalid array index {inside}")),
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
        _ => Operand::Literal(serde_json::from_str(right).map_err(|_| format!("unrecognized identifier {right}"))?),
    };
    Ok(Part::Filter(parse_path(text[..i].trim())?, Some((operator.to_owned(), operand))))
}

fn print_nodes(nodes: &[Node], here: &Value, out: &mut String) -> Result<(), String> {
    for node in nodes {
        match node {
            Node::Text(text) => out.push_str(text),
            Node::Path(parts) => {
                let shown: Vec<String> = walk(parts, here)?.into_iter().map(show).collect();
                out.push_str(&shown.join(" "));
            }
            Node::Range(parts, body) => {
                for value in walk(parts, here)? {
                    print_nodes(body, value, out)?;
                }
            }
            Node::End => return Err("not in range, nothing to end".to_owned()),
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

fn walk<'a>(parts: &[Part], here: &'a Value) -> Result<Vec<&'a Value>, String> {
    let mut values = vec![here];
    for part in parts {
        let mut next = Vec::new();
        match part {
            Part::Union(paths) => {
                for value in paths.iter().map(|path| walk_all(path, &values)) {
                    next.extend(value?);
                }
            }
            part => {
                for value in values {
                    step(part, value, &mut next)?;
                }
            }
        }
        values = next;
    }
    Ok(values)
}

/// One path from each of several values: a union gives the first path's finds before the second's.
fn walk_all<'a>(path: &[Part], values: &[&'a Value]) -> Result<Vec<&'a Value>, String> {
    let found: Vec<Vec<&Value>> = values.iter().map(|value| walk(path, value)).collect::<Result<_, _>>()?;
    Ok(found.concat())
}

fn step<'a>(part: &Part, value: &'a Value, next: &mut Vec<&'a Value>) -> Result<(), String> {
    match part {
        Part::Field(name) => next.extend(value.get(name)),
        Part::All => match value {
            Value::Object(fields) => next.extend(fields.values()),
            _ => next.extend(value.as_array().map_or(&[][..], Vec::as_slice)),
        },
        Part::Deep(name) => deep(name, value, next),
        Part::Index(_) | Part::Slice(_) if value.is_null() => {}
        Part::Index(i) => {
            let items = items(value)?;
            let place = if *i < 0 { i + length(items) } else { *i };
            next.push(&items[within(place, items)?]);
        }
        Part::Slice([from, to, step]) => {
            let items = items(value)?;
            let bound = |bound: i64| if bound < 0 { bound + length(items) } else { bound };
            let (from, to) = (from.map_or(0, bound), to.map_or(length(items), bound));
            if from == to {
                return Ok(());
            }
            let (first, last) = (within(from, items)?, within(to - 1, items)?);
            if first > last {
                return Err(format!("starting index {from} is greater than ending index {to}"));
            }
            let step = step.map_or(Some(1), |step| usize::try_from(step).ok()).filter(|step| *step > 0);
            next.extend(items[first..=last].iter().step_by(step.ok_or("step must be > 0")?));
        }
        Part::Filter(left, test) => {
            if value.is_null() {
                return Err("<nil> is not array or slice and cannot be filtered".to_owned());
            }
            for item in value.as_array().map_or(&[][..], Vec::as_slice) {
                if holds(left, test.as_ref(), item)? {
                    next.push(item);
                }
            }
        }
        Part::Union(_) => unreachable!("it is about all values, and not about one"),
    }
    Ok(())
}

fn items(value: &Value) -> Result<&[Value], String> {
    let go_type = match value {
        Value::Array(items) => return Ok(items),
        Value::Object(_) => "map[string]interface {}",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        _ => "int64",
    };
    Err(format!("{go_type} is not array or slice"))
}

fn length(items: &[Value]) -> i64 {
    i64::try_from(items.len()).unwrap_or(i64::MAX)
}

fn within(place: i64, items: &[Value]) -> Result<usize, String> {
    let found = usize::try_from(place).ok().filter(|place| *place < items.len());
    found.ok_or_else(|| format!("array index out of bounds: index {place}, length {}", items.len()))
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

fn holds(left: &[Part], test: Option<&(String, Operand)>, item: &Value) -> Result<bool, String> {
    let left = walk(left, item)?.first().copied();
    let Some((operator, operand)) = test else { return Ok(left.is_some()) };
    let right = match operand {
        Operand::Literal(value) => Some(value),
        Operand::Path(parts) => walk(parts, item)?.first().copied(),
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
            ("{.items[*]['metadata.name', 'n']}", "a b 1 2"), ("{.items[0,1].n}", "1 2"), ("{.items[::2].n}", "1"),
            ("{range .items[*]}{$.n}{end}", "12"), ("{range .items[*]}{.n}", "12"), ("{.null[0]}", ""),
        ];
        for (template, want) in cases {
            assert_eq!(Template::parse(template).and_then(|t| t.print(&value)).unwrap(), want, "{template}");
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for (wrong, why) in [
            ("{.a", "unclosed action"),
            ("{.a[}", "unterminated array"),
            ("{.a[*", "unterminated array"),
            ("{.a[x]}", "invalid array index x"),
            ("{.a[\"x\"]}", "invalid array index \"x\""),
            ("{.a[?(@.b]}", "unterminated filter"),
            ("{\"a}", "unterminated quoted string"),
            ("{.}}{", "unclosed action"),
            ("{.a[?(@.b==c)]}", "unrecognized identifier c"),
        ] {
            assert_eq!(Template::parse(wrong).unwrap_err(), why, "{wrong}");
        }
        let value = json!({"a": [], "b": {}});
        for (template, why) in [
            ("{.a[0].b}", "array index out of bounds: index 0, length 0"),
            ("{.a[0:2]}", "array index out of bounds: index 0, length 0"),
            ("{.b[0]}", "map[string]interface {} is not array or slice"),
            ("{.b[*]}", "map[string]interface {} is not array or slice"),
            ("{end}", "not in range, nothing to end"),
        ] {
            assert_eq!(Template::parse(template).unwrap().print(&value).unwrap_err(), why, "{template}");
        }
        let error = Template::parse("{.a[?(@.b)]}").unwrap().print(&json!({"a": null})).unwrap_err();
        assert_eq!(error, "<nil> is not array or slice and cannot be filtered");
    }
}
