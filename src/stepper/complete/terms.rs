//! Breakpoints and expressions.

use debugger::breakpoint::parse::{KEYS, VERBS};
use debugger::expression::{Root, cel};
use debugger::facts::Class;
use object::Kind;

use super::{Around, fitting};

/// What expressions have beside paths.
const FUNCTIONS: &[&str] = &["changed(", "len("];

/// A term behind those before it; or a part of what stands after `if`.
pub fn term(around: &Around<'_>, words: &[&str], namespace: Option<&str>, tail: &str) -> Vec<String> {
    if words.contains(&"if") && !words.contains(&"print") && !words.contains(&"do") {
        let kinds = words.iter().take_while(|word| **word != "if");
        let kinds: Vec<Kind> = kinds.filter_map(|word| around.names.kind(word.split('/').next()?)).collect();
        let cel = if words.last() == Some(&"if") { fitting([cel::BEGIN], tail) } else { Vec::new() };
        return [cel, value(around, &kinds, tail)].concat();
    }
    if words.contains(&"print") || words.contains(&"do") {
        return Vec::new();
    }
    if let Some((key, start)) = tail.split_once('=') {
        let values = match key {
            "ns" | "namespace" => fitting(around.names.namespaces(), start),
            "from" | "to" | "component" => fitting(around.session().cluster.component_names(), start),
            "kind" => fitting(around.names.kinds(), start),
            "verb" => fitting(VERBS, start),
            _ => Vec::new(),
        };
        return values.into_iter().map(|value| format!("{key}={value}")).collect();
    }
    if tail.contains('/') {
        let components = fitting(around.session().cluster.component_names(), tail);
        return [components, around.names.kind_or_object(namespace, tail)].concat();
    }
    let classes = Class::ALL.iter().map(|(name, _)| *name);
    let words = classes.chain(VERBS.iter().copied()).chain(KEYS.split(' ')).chain(around.names.kinds());
    let mut found = fitting(words.chain(if tail.is_empty() { None } else { Some("if") }), tail);
    found.extend(fitting(around.session().cluster.component_names(), tail));
    found
}

/// `deploy/web.status.rep`: an object, then its fields.
pub fn watched(around: &Around<'_>, namespace: Option<&str>, tail: &str) -> Vec<String> {
    let Some((kind, rest)) = tail.split_once('/') else { return around.names.kind_or_object(namespace, tail) };
    let objects = around.names.kind_or_object(namespace, tail);
    if !objects.is_empty() {
        return objects.into_iter().map(|object| if object == tail { format!("{object}.") } else { object }).collect();
    }
    // A name may have dots; the path begins with one of the fields that its kind has.
    let path = around.names.fields_of(kind, "").into_iter().find_map(|field| {
        let at = rest.find(&format!(".{field}"))?;
        Some(&rest[at + 1..])
    });
    let path = path.or_else(|| rest.rsplit_once('.').map(|(_, start)| start)).unwrap_or_default();
    let head = &tail[..tail.len() - path.len()];
    fields(around, kind, path).into_iter().map(|path| format!("{head}{path}")).collect()
}

/// The last path of an expression. What is known of the kinds that are meant says which fields there are; without any, the
/// object of the present step does.
pub fn value(around: &Around<'_>, kinds: &[Kind], tail: &str) -> Vec<String> {
    let start = tail.rfind(['(', '!', ',', '=', '<', '>', ':']).map_or(0, |at| at + 1);
    let (head, path) = tail.split_at(start);
    let Some((root, path)) = path.split_once('.') else {
        let roots = Root::ALL.iter().map(|(name, _)| *name).chain(FUNCTIONS.iter().copied());
        let mut found = fitting(roots, path);
        found.extend(if head.ends_with("changed(") { relative(around, kinds, path) } else { Vec::new() });
        return found.into_iter().map(|word| format!("{head}{word}")).collect();
    };
    let found = match Root::ALL.iter().find(|(name, _)| *name == root) {
        Some((_, Root::Event)) => fitting(debugger::facts::EVENT_FIELDS, path),
        Some(_) => relative(around, kinds, path),
        None if head.ends_with("changed(") => {
            return relative(around, kinds, &format!("{root}.{path}"))
                .into_iter()
                .map(|p| format!("{head}{p}"))
                .collect();
        }
        None => Vec::new(),
    };
    found.into_iter().map(|path| format!("{head}{root}.{path}")).collect()
}

/// A path in an object of one of these kinds.
fn relative(around: &Around<'_>, kinds: &[Kind], path: &str) -> Vec<String> {
    let of_step = || around.session().stop().and_then(|stop| Kind::from_word(stop.change?.object.split(' ').next()?));
    let kinds: Vec<Kind> = if kinds.is_empty() { of_step().into_iter().collect() } else { kinds.to_vec() };
    kinds.iter().flat_map(|kind| fields(around, &kind.info().singular(), path)).collect()
}

/// `status.ph` of `pod`: the paths that go on like this.
fn fields(around: &Around<'_>, kind: &str, path: &str) -> Vec<String> {
    let whole = around.names.fields(&format!("{kind}.{path}"));
    whole.iter().filter_map(|field| field.strip_prefix(kind)?.strip_prefix('.')).map(str::to_owned).collect()
}
