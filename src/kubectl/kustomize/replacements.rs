//! `replacements`: a field of one object is copied into fields of others. Mirrors `api/filters/replacement`.

use regex::Regex;
use serde_json::{Map, Value, json};

use super::files::{Files, Root};
use super::id::Id;
use super::kustomization::{id, selector};
use super::read::{Fields, whole};
use super::resource::Resource;
use super::set::{Matcher, Selector, Set};
use crate::manifest;

/// What is copied whereto.
#[derive(Debug, Default)]
pub struct Replacement {
    /// A file with replacements, instead of what follows.
    path: String,
    source: Option<Source>,
    /// A text that is copied, instead of a field.
    text: Option<String>,
    targets: Vec<Target>,
}

#[derive(Debug)]
struct Source {
    id: Id,
    field: String,
    options: Options,
}

#[derive(Debug)]
struct Target {
    select: Option<Selector>,
    reject: Vec<Selector>,
    fields: Vec<String>,
    options: Options,
}

/// Which part of a text is meant, and whether a field is made.
#[derive(Clone, Debug, Default)]
struct Options {
    delimiter: String,
    index: i64,
    create: bool,
}

/// Reads an entry of `replacements`.
///
/// # Errors
/// A field is wrong.
pub fn read(fields: &mut Fields) -> Result<Replacement, String> {
    Ok(Replacement { path: fields.text("path")?, ..inline(fields)? })
}

fn inline(fields: &mut Fields) -> Result<Replacement, String> {
    let text = fields.take("sourceValue");
    Ok(Replacement {
        path: String::new(),
        source: fields.one("source", "SourceSelector", |fields| {
            Ok(Source { id: id(fields)?, field: fields.text("fieldPath")?, options: options(fields)? })
        })?,
        text: text.map(|text| text.as_str().map_or_else(|| text.to_string(), str::to_owned)),
        targets: fields.list("targets", "TargetSelector", |fields| {
            Ok(Target {
                select: fields.one("select", "Selector", selector)?,
                reject: fields.list("reject", "Selector", selector)?,
                fields: fields.texts("fieldPaths")?,
                options: options(fields)?,
            })
        })?,
    })
}

fn options(fields: &mut Fields) -> Result<Options, String> {
    let read = fields.one("options", "FieldOptions", |fields| {
        // It means nothing there, either.
        fields.text("encoding")?;
        Ok(Options {
            delimiter: fields.text("delimiter")?,
            index: fields.number("index")?,
            create: fields.flag("create")?,
        })
    });
    read.map(Option::unwrap_or_default)
}

/// Copies what an entry says.
///
/// # Errors
/// There is no such object or field, or more than one.
pub fn replace(set: &mut Set, entry: &Replacement, files: &Files<'_>, root: &Root) -> Result<(), String> {
    if entry.path.is_empty() {
        return apply(set, entry);
    }
    if entry.source.is_some() || !entry.targets.is_empty() {
        return Err("cannot specify both path and inline replacement".to_owned());
    }
    let text = String::from_utf8_lossy(&files.load(root, &entry.path)?).into_owned();
    let values = manifest::values(&entry.path, &text).map_err(|error| error.message)?;
    let items = match values.into_iter().next() {
        Some(Value::Array(items)) => items,
        Some(value @ Value::Object(_)) => vec![value],
        _ => return Err("unsupported replacement type encountered within replacement path: invalid".to_owned()),
    };
    items.into_iter().try_for_each(|item| apply(set, &whole(item, "Replacement", "", inline)?))
}

fn apply(set: &mut Set, entry: &Replacement) -> Result<(), String> {
    if (entry.source.is_none() && entry.text.is_none()) || entry.targets.is_empty() {
        return Err("replacements must specify a source and at least one target".to_owned());
    }
    let value = match (&entry.source, &entry.text) {
        (Some(_), Some(_)) => return Err("value and resource selectors are mutually exclusive".to_owned()),
        (Some(source), None) => taken(set, source)?,
        (None, text) => json!(text),
    };
    entry.targets.iter().try_for_each(|target| put(set, target, &value))
}

/// The value that is copied.
fn taken(set: &Set, source: &Source) -> Result<Value, String> {
    let wanted = &source.id;
    let is = |id: &Id| {
        (wanted.name.is_empty() || wanted.name == id.name)
            && (wanted.namespace.is_empty() || wanted.effective_namespace() == id.effective_namespace())
            && id.gvk.is_selected(&wanted.gvk)
    };
    let field = if source.field.is_empty() { "metadata.name" } else { &source.field };
    let name = format!("{wanted}:{field}");
    let mut found = set.0.iter().filter(|resource| resource.ids().any(|id| is(&id)));
    let resource = match (found.next(), found.next()) {
        (Some(one), None) => one,
        (Some(_), Some(_)) => return Err(format!("multiple matches for selector {name}")),
        (None, _) => return Err(format!("nothing selected by {name}")),
    };
    let mut copy = resource.object.clone();
    let mut value = None;
    visit(&mut copy, &parts(field), None, &mut |node| {
        value.get_or_insert_with(|| node.clone());
        Ok(())
    })?;
    let is_something = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    let missing = || format!("fieldPath `{field}` is missing for replacement source {wanted}");
    let value = value.filter(is_something).ok_or_else(missing)?;
    if source.options.delimiter.is_empty() {
        return Ok(value);
    }
    let whole = scalar(&value).ok_or("delimiter option can only be used with scalar nodes")?;
    let part = usize::try_from(source.options.index).ok().and_then(|at| whole.split(&source.options.delimiter).nth(at));
    let beyond = || format!("options.index {} is out of bounds for value {whole}", source.options.index);
    part.map(|part| json!(part)).ok_or_else(beyond)
}

fn put(set: &mut Set, target: &Target, value: &Value) -> Result<(), String> {
    let select = target.select.as_ref().ok_or("target must specify resources to select")?;
    let select = Matcher::of(select)?;
    let rejects = target.reject.iter().map(|reject| Ok((Matcher::of(reject)?, reject)));
    let rejects: Vec<(Matcher, &Selector)> = rejects.collect::<Result<_, String>>()?;
    let is_rejected = |resource: &Resource| {
        rejects.iter().any(|(matcher, said)| {
            let by_marks = !(said.labels.is_empty() && said.annotations.is_empty()) && matcher.is_marked(resource);
            by_marks || (said.id != Id::default() && resource.ids().any(|id| is_meant(matcher, &id)))
        })
    };
    let usual = ["metadata.name".to_owned()];
    let fields = if target.fields.is_empty() { &usual[..] } else { &target.fields };
    for resource in &mut set.0 {
        let is_selected = select.is_marked(resource) && resource.ids().any(|id| is_meant(&select, &id));
        if !is_selected || is_rejected(resource) {
            continue;
        }
        for field in fields {
            let mut count = 0;
            let create = target.options.create.then_some(value);
            visit(&mut resource.object, &parts(field), create, &mut |node| {
                count += 1;
                set_value(node, value, &target.options)
            })?;
            if count == 0 {
                let or_create = if target.options.create { " or create" } else { "" };
                return Err(format!("unable to find{or_create} field {field:?} in replacement target"));
            }
        }
    }
    Ok(())
}

fn is_meant(matcher: &Matcher, id: &Id) -> bool {
    matcher.gvk(&id.gvk) && matcher.name(&id.name) && matcher.namespace(&id.namespace)
}

/// A text within a text is replaced, or put before or behind it. A number stays a number if it can.
fn set_value(node: &mut Value, value: &Value, options: &Options) -> Result<(), String> {
    let mut new = value.clone();
    if !options.delimiter.is_empty() {
        const SCALARS: &str = "delimiter option can only be used with scalar nodes";
        // One that has just been made is empty.
        let old = if node.is_null() { String::new() } else { scalar(node).ok_or(SCALARS)? };
        let part = scalar(value).ok_or(SCALARS)?;
        let mut all: Vec<&str> = old.split(&options.delimiter).collect();
        match usize::try_from(options.index) {
            Err(_) => all.insert(0, &part),
            Ok(at) if at >= all.len() => all.push(&part),
            Ok(at) => all[at] = &part,
        }
        new = json!(all.join(&options.delimiter));
    }
    *node = match (&*node, &new) {
        (Value::Number(_), Value::String(text)) => serde_json::from_str(text).unwrap_or(new),
        (Value::String(_), other) => scalar(other).map_or(new.clone(), |text| json!(text)),
        _ => new,
    };
    Ok(())
}

/// The text of a value that is a text, a number, or a yes or no.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// `a.[b.c].[name=x].0`: parts of a path. Brackets keep what is in them together.
fn parts(path: &str) -> Vec<String> {
    let (mut parts, mut part, mut depth, mut escaped) = (Vec::new(), String::new(), 0, false);
    for c in path.chars() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '.' if depth == 0 && !escaped => parts.push(std::mem::take(&mut part)),
            c => {
                depth += i32::from(c == '[' && part.is_empty()) - i32::from(c == ']' && depth > 0);
                part.push(c);
            }
        }
        escaped = false;
    }
    parts.push(part);
    let plain = |part: String| match part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) {
        Some(key) if !part.contains('=') => key.to_owned(),
        _ => part,
    };
    parts.into_iter().map(plain).collect()
}

/// Goes to every field that a path names: `*` is every item, a number one of them, `[name=web]` those that match.
fn visit(
    node: &mut Value,
    path: &[String],
    create: Option<&Value>,
    set: &mut dyn FnMut(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else { return set(node) };
    if create.is_some() && node.is_null() {
        *node = if first.starts_with('[') { json!([]) } else { json!({}) };
    }
    match node {
        Value::Array(items) if first == "*" => items.iter_mut().try_for_each(|item| visit(item, rest, create, set)),
        Value::Array(items) if first.starts_with('[') => {
            let (key, pattern) = first[1..].trim_end_matches(']').split_once('=').unwrap_or_default();
            let matches = Regex::new(pattern).map_err(|_| format!("{pattern:?} is no regular expression"))?;
            let is = |item: &Value| {
                let field = if key.is_empty() { Some(item) } else { item.get(key) };
                field.and_then(scalar).is_some_and(|text| matches.is_match(&text))
            };
            if create.is_some() && !items.iter().any(is) {
                let item = if key.is_empty() { json!(pattern) } else { json!({key: pattern}) };
                items.push(item);
            }
            items.iter_mut().filter(|item| is(item)).try_for_each(|item| visit(item, rest, create, set))
        }
        Value::Array(items) => {
            let Ok(at) = first.parse::<usize>() else { return Ok(()) };
            let count = items.len();
            match items.get_mut(at) {
                Some(item) => visit(item, rest, create, set),
                None => Err(format!("index {at} specified but only {count} elements found")),
            }
        }
        Value::Object(fields) => {
            if create.is_some() {
                make(fields, first);
            }
            fields.get_mut(first).map_or(Ok(()), |field| visit(field, rest, create, set))
        }
        _ => Ok(()),
    }
}

fn make(fields: &mut Map<String, Value>, name: &str) {
    fields.entry(name).or_insert(Value::Null);
}
