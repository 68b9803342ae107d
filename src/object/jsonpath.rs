//! JSONPath templates: text with expressions in braces. Mirrors `k8s.io/client-go/util/jsonpath`.
//!
//! `{.items[0].metadata.name}`, `{range .items[*]}{.metadata.name}{"\n"}{end}`,
//! `{.status.conditions[?(@.type=="Ready")].status}`. A field that is not there prints nothing, and a range without an end
//! goes to the end of the text. `$` is where we stand, in a range too, as there. `[]` is the first item, and there is no
//! `||` and no `&&`.

use std::cmp::Ordering;

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
    /// `[?(@.a.b=="c")]`, `[?(@.a)]`
    Filter(Vec<Part>, Option<(String, Vec<Part>)>),
    /// `"text"`, `3`, `true`: itself, regardless of what it stands behind.
    Literal(Value),
    /// `name`, without a dot: nothing that can be printed.
    Identifier(String),
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
pub fn find(path: &str, value: &Value) -> Result<Vec<Value>, String> {
    let path = path.trim_start_matches('{').trim_end_matches('}');
    let parts = parse_path(&format!(".{}", path.trim_start_matches('.')))?;
    Ok(walk(&parts, value)?.into_iter().cloned().collect())
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
        match action.strip_prefix("range").filter(|path| path.is_empty() || path.starts_with(TERMINATORS)) {
            Some(path) => nodes.push(Node::Range(parse_path(path.trim())?, parse_nodes(rest, true)?)),
            None if action == "end" && inside => return Ok(nodes),
            None if action == "end" => nodes.push(Node::End),
            None if action.is_empty() => {}
            None => nodes.push(Node::Path(parse_path(action)?)),
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

/// What ends a name.
const TERMINATORS: [char; 9] = ['.', ',', '[', ']', '$', '@', '{', '}', ' '];

fn parse_path(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            '$' | '@' | ' ' => rest = &rest[1..],
            '.' if rest.starts_with("..") => parts.push(Part::Deep(field_name(&mut rest, 2)?)),
            '.' if rest.len() == 1 || rest[1..].starts_with(TERMINATORS) => rest = &rest[1..],
            '.' => parts.push(match field_name(&mut rest, 1)?.as_str() {
                "*" => Part::All,
                name => Part::Field(name.to_owned()),
            }),
            '[' => parts.extend(parse_brackets(&mut rest)?),
            '"' | '\'' => parts.push(Part::Literal(Value::String(quoted(&mut rest, first)?))),
            '+' | '-' => parts.push(Part::Literal(number(&mut rest)?)),
            c if c.is_ascii_digit() => parts.push(Part::Literal(number(&mut rest)?)),
            c if c.is_alphanumeric() || c == '_' => parts.push(match take(&mut rest, |c| TERMINATORS.contains(&c)) {
                "true" => Part::Literal(true.into()),
                "false" => Part::Literal(false.into()),
                word => Part::Identifier(word.to_owned()),
            }),
            c => return Err(format!("unrecognized character in action: U+{:04X} '{c}'", c as u32)),
        }
    }
    Ok(parts)
}

/// Takes off what stands before the first character that ends it.
fn take<'a>(rest: &mut &'a str, ends: impl FnMut(char) -> bool) -> &'a str {
    let (taken, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
    *rest = after;
    taken
}

fn quoted(rest: &mut &str, quote: char) -> Result<String, String> {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == quote && !escaped;
        escaped = *c == '\\';
        ends
    });
    let (end, _) = end.ok_or("unterminated quoted string")?;
    let inner = &rest[1..end];
    *rest = &rest[end + 1..];
    Ok(unescaped(inner))
}

fn unescaped(inner: &str) -> String {
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
    out
}

fn number(rest: &mut &str) -> Result<Value, String> {
    let mut sign = true;
    let text = take(rest, |c| !(c == '.' || c.is_ascii_digit() || std::mem::take(&mut sign) && matches!(c, '+' | '-')));
    let whole = text.parse::<i64>().map(Value::from).ok();
    let number = whole.or_else(|| serde_json::Number::from_f64(text.parse().ok()?).map(Value::Number));
    number.ok_or_else(|| format!("cannot parse number {text}"))
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
            c if TERMINATORS.contains(&c) => {
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
        let end = closing_bracket(filter).ok_or("unterminated filter")?;
        *rest = filter[end + 1..].strip_prefix(']').ok_or("unclosed array expect ]")?;
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
    match inside {
        "*" => return Ok(vec![Part::Slice([None; 3])]),
        "" => return Ok(vec![Part::Index(0)]),
        _ => {}
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

/// Where the bracket of a filter closes: the first one outside the first pair of quotes.
fn closing_bracket(filter: &str) -> Option<usize> {
    let (mut opened, mut closed, mut before) = (None, false, '\0');
    for (i, c) in filter.char_indices() {
        match c {
            '"' | '\'' if opened.is_none() => opened = Some(c),
            '"' | '\'' if opened == Some(c) && before != '\\' => closed = true,
            ')' if opened.is_some() == closed => return Some(i),
            _ => {}
        }
        before = c;
    }
    None
}

fn parse_filter(text: &str) -> Result<Part, String> {
    const SIGNS: [char; 4] = ['!', '<', '>', '='];
    let mut right = text;
    let left = take(&mut right, |c| SIGNS.contains(&c));
    let operator = take(&mut right, |c| !SIGNS.contains(&c));
    match left.is_empty() || operator.is_empty() || right.is_empty() {
        true => Ok(Part::Filter(parse_path(text)?, None)),
        false => Ok(Part::Filter(parse_path(left)?, Some((operator.to_owned(), parse_path(right)?)))),
    }
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

fn walk<'a>(parts: &'a [Part], here: &'a Value) -> Result<Vec<&'a Value>, String> {
    let mut values = vec![here];
    for part in parts {
        let mut next = Vec::new();
        match part {
            Part::Union(paths) => {
                for value in paths.iter().map(|path| walk_all(path, &values)) {
                    next.extend(value?);
                }
            }
            Part::Literal(value) => next.push(value),
            Part::Identifier(name) => return Err(format!("unrecognized identifier {name}")),
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
fn walk_all<'a>(path: &'a [Part], values: &[&'a Value]) -> Result<Vec<&'a Value>, String> {
    let found: Vec<Vec<&Value>> = values.iter().map(|value| walk(path, value)).collect::<Result<_, _>>()?;
    Ok(found.concat())
}

fn step<'a>(part: &'a Part, value: &'a Value, next: &mut Vec<&'a Value>) -> Result<(), String> {
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
        Part::Union(_) | Part::Literal(_) | Part::Identifier(_) => {
            unreachable!("they are about all values, and not about one")
        }
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

/// Whether a filter keeps an item. Mirrors `evalFilter`: only values of one type are compared.
fn holds(left: &[Part], test: Option<&(String, Vec<Part>)>, item: &Value) -> Result<bool, String> {
    let Some((operator, right)) = test else { return Ok(walk(left, item).is_ok_and(|found| !found.is_empty())) };
    let (Some(left), Some(right)) = (only(walk(left, item)?)?, only(walk(right, item)?)?) else { return Ok(false) };
    let equal = matches!(operator.as_str(), "==" | "!=");
    let order = match (left, right) {
        (Value::String(a), Value::String(b)) => a.partial_cmp(b),
        (Value::Bool(a), Value::Bool(b)) if equal => a.partial_cmp(b),
        (Value::Number(a), Value::Number(b)) if a.is_f64() == b.is_f64() => a.as_f64().partial_cmp(&b.as_f64()),
        (Value::Bool(_), Value::Bool(_)) => return Err("invalid type for comparison".to_owned()),
        (Value::Null | Value::Array(_) | Value::Object(_), _)
        | (_, Value::Null | Value::Array(_) | Value::Object(_)) => {
            return Err("invalid type for comparison".to_owned());
        }
        _ => return Err("incompatible types for comparison".to_owned()),
    };
    let tells = |holds: fn(Ordering) -> bool| Ok(order.is_some_and(holds));
    match operator.as_str() {
        "==" => tells(Ordering::is_eq),
        "!=" => tells(Ordering::is_ne),
        "<" => tells(Ordering::is_lt),
        ">" => tells(Ordering::is_gt),
        "<=" => tells(Ordering::is_le),
        ">=" => tells(Ordering::is_ge),
        other => Err(format!("unrecognized filter operator {other}")),
    }
}

fn only(found: Vec<&Value>) -> Result<Option<&Value>, String> {
    match found.len() {
        0 | 1 => Ok(found.first().copied()),
        _ => Err("can only compare one element at a time".to_owned()),
    }
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
            ("{.items[].metadata.name}", "a"), ("{.items[*].metadata.owners[].kind}", "ReplicaSet"),
            (r#"{.items[?(@.metadata.name=='b')].n}"#, "2"), (r#"{.items[?(@.metadata.name != "(a)")].n}"#, "1 2"),
            ("{.items[?(@.on==true)].n}", "1"), ("{.items[?(2==@.n)].n}", "2"), (r#"{.n "x" }{1} {-1.5} {true}"#, "x1 -1.5 true"),
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
            (r#"{.a[?(@.b=="c"||@.b=="d")]}"#, "unrecognized character in action: U+007C '|'"),
            ("{.a[?(@.b==1 && @.c)]}", "unrecognized character in action: U+0026 '&'"),
            ("{.a[?(@.b) ]}", "unclosed array expect ]"),
            ("{.a | .b}", "unrecognized character in action: U+007C '|'"),
            ("{1.2.3}", "cannot parse number 1.2.3"),
        ] {
            assert_eq!(Template::parse(wrong).unwrap_err(), why, "{wrong}");
        }
        let value = json!({"a": [], "b": {}, "c": [{"n": 1, "s": "1", "many": [1, 2]}]});
        for (template, why) in [
            ("{.a[0].b}", "array index out of bounds: index 0, length 0"),
            ("{.a[0:2]}", "array index out of bounds: index 0, length 0"),
            ("{.b[0]}", "map[string]interface {} is not array or slice"),
            ("{.b[*]}", "map[string]interface {} is not array or slice"),
            ("{end}", "not in range, nothing to end"),
            ("{name}", "unrecognized identifier name"),
            ("{items[0].name}", "unrecognized identifier items"),
            ("{.a[]}", "array index out of bounds: index 0, length 0"),
            ("{.c[?(@.n==c)]}", "unrecognized identifier c"),
            ("{.c[?(@.n==\"1\")]}", "incompatible types for comparison"),
            ("{.c[?(@.s>0)]}", "incompatible types for comparison"),
            ("{.c[?(@.many==1)]}", "invalid type for comparison"),
            ("{.c[?(@.many[*]==1)]}", "can only compare one element at a time"),
            ("{.c[?(@.n=1)]}", "unrecognized filter operator ="),
        ] {
            assert_eq!(Template::parse(template).unwrap().print(&value).unwrap_err(), why, "{template}");
        }
        let error = Template::parse("{.a[?(@.b)]}").unwrap().print(&json!({"a": null})).unwrap_err();
        assert_eq!(error, "<nil> is not array or slice and cannot be filtered");
    }
}
