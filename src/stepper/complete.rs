//! What Tab completes: a command's name, then names of components, objects and fields.
//!
//! Names are asked of the store by prefix, and only when Tab is pressed: a large cluster costs no more than a small one.

use debugger::Session;
use kinds::registry;
use object::{Kind, explain};

use super::commands;

/// So many candidates are told.
const CANDIDATES: usize = 100;

/// All lines that this one may become with its last word completed.
pub fn candidates(session: &Session, input: &str) -> Vec<String> {
    match input.rsplit_once(' ') {
        None if input.is_empty() => Vec::new(),
        None => commands::names().filter(|name| name.starts_with(input)).map(str::to_owned).collect(),
        Some((head, tail)) => {
            last_words(session, head, tail).into_iter().map(|word| format!("{head} {word}")).collect()
        }
    }
}

fn last_words(session: &Session, head: &str, tail: &str) -> Vec<String> {
    // `pod/we`: the kind is part of the word.
    if let Some((kind, name)) = tail.split_once('/')
        && let Some(known) = Kind::from_word(kind)
    {
        return objects(session, known, name).into_iter().map(|name| format!("{kind}/{name}")).collect();
    }
    if tail.is_empty() {
        return Vec::new();
    }
    let fields = if head.ends_with("explain") { fields(tail) } else { Vec::new() };
    if !fields.is_empty() {
        return fields;
    }
    let components = session.cluster.engine.actors().map(|(_, actor)| actor.name());
    let components: Vec<String> =
        components.filter(|name| name.starts_with(tail)).take(CANDIDATES).map(str::to_owned).collect();
    if !components.is_empty() {
        return components;
    }
    let kinds: Vec<Kind> = head.split(' ').filter_map(Kind::from_word).collect();
    let kinds = if kinds.is_empty() { Kind::ALL } else { kinds.as_slice() };
    kinds.iter().map(|kind| objects(session, *kind, tail)).find(|names| !names.is_empty()).unwrap_or_default()
}

/// `deploy.spec.rep`: the fields that go on like this.
fn fields(path: &str) -> Vec<String> {
    let Some((around, start)) = path.rsplit_once('.') else { return Vec::new() };
    let (kind, names) = around.split_once('.').unwrap_or((around, ""));
    let names: Vec<&str> = names.split('.').filter(|name| !name.is_empty()).collect();
    let explained = Kind::from_word(kind).and_then(|kind| explain::explain(kind, None, &names));
    let fields = explained.map(|explained| explained.fields.clone()).unwrap_or_default();
    let fitting = fields.iter().filter(|field| field.name.starts_with(start));
    fitting.map(|field| format!("{around}.{}", field.name)).collect()
}

/// The names of this kind with this prefix, in any namespace, each once.
fn objects(session: &Session, kind: Kind, prefix: &str) -> Vec<String> {
    let store = &session.cluster.engine.server.api.store;
    let within = |namespace: &str| {
        let from = format!("{}{prefix}", registry::list_prefix(kind, namespace));
        store.prefix(&from).take(CANDIDATES).map(|(_, entry)| entry.value.name().to_owned()).collect::<Vec<_>>()
    };
    if !kind.info().namespaced {
        return within("");
    }
    let namespaces = store.prefix(registry::prefix(Kind::Namespace)).map(|(_, entry)| entry.value.name());
    let mut names: Vec<String> = namespaces.flat_map(within).take(CANDIDATES).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster::scenario::Scenario;

    #[test]
    fn words_are_completed() {
        let session = Session::of(Scenario::default());
        for (input, completed) in [
            ("pend", Some("pending")),
            ("", None),
            ("cache kube-s", Some("cache kube-scheduler")),
            ("get node node-", Some("get node node-1")),
            ("break node/no", Some("break node/node-1")),
            ("get ns kube-p", Some("get ns kube-public")),
            ("get node ", None),
            ("get node zzz", None),
            ("get zzz/é", None),
            ("explain deploy.spec.rep", Some("explain deploy.spec.replicas")),
            ("kubectl explain pod.spec.containers.im", Some("kubectl explain pod.spec.containers.image")),
            ("explain pod.zzz.", None),
        ] {
            assert_eq!(candidates(&session, input).first().map(String::as_str), completed, "{input}");
        }
        let nodes = ["who node/node-1", "who node/node-2", "who node/node-3"];
        assert_eq!(candidates(&session, "who node/n"), nodes);
        assert_eq!(candidates(&session, "br"), ["branches", "break", "breakpoints"]);
    }
}
