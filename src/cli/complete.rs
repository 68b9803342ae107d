//! What Tab completes: a command's name, then names of components, objects and fields.
//!
//! Names are asked of the store by prefix, and only when Tab is pressed: a large cluster costs no more than a small one.

use crate::apiserver::registry;
use crate::debugger::Session;
use crate::object::{Kind, explain};

use super::commands;

/// The line with its last word completed; None if nothing fits.
pub fn complete(session: &Session, input: &str) -> Option<String> {
    match input.rsplit_once(' ') {
        None if input.is_empty() => None,
        None => commands::names().find(|name| name.starts_with(input)).map(str::to_owned),
        Some((head, tail)) => last_word(session, head, tail).map(|word| format!("{head} {word}")),
    }
}

fn last_word(session: &Session, head: &str, tail: &str) -> Option<String> {
    // `pod/we`: the kind is part of the word.
    if let Some((kind, name)) = tail.split_once('/')
        && let Some(known) = Kind::from_word(kind)
    {
        return object(session, known, name).map(|name| format!("{kind}/{name}"));
    }
    if tail.is_empty() {
        return None;
    }
    if head.ends_with("explain")
        && let Some(path) = field(tail)
    {
        return Some(path);
    }
    let components = session.cluster.engine.actors().map(|(_, actor)| actor.name());
    if let Some(name) = components.into_iter().find(|name| name.starts_with(tail)) {
        return Some(name.to_owned());
    }
    let kinds: Vec<Kind> = head.split(' ').filter_map(Kind::from_word).collect();
    let kinds = if kinds.is_empty() { Kind::ALL } else { kinds.as_slice() };
    kinds.iter().find_map(|kind| object(session, *kind, tail))
}

/// `deploy.spec.rep`: the first field that goes on like this.
fn field(path: &str) -> Option<String> {
    let (around, start) = path.rsplit_once('.')?;
    let (kind, names) = around.split_once('.').unwrap_or((around, ""));
    let names: Vec<&str> = names.split('.').filter(|name| !name.is_empty()).collect();
    let place = explain::place(Kind::from_word(kind)?, None, &names)?;
    place.fields.iter().find(|field| field.name.starts_with(start)).map(|field| format!("{around}.{}", field.name))
}

/// The first name of this kind with this prefix, in any namespace.
fn object(session: &Session, kind: Kind, prefix: &str) -> Option<String> {
    let store = &session.cluster.engine.api.store;
    let first = |namespace: &str| {
        let from = format!("{}{prefix}", registry::list_prefix(kind, namespace));
        store.prefix(&from).next().map(|(_, entry)| entry.value.name().to_owned())
    };
    if !kind.info().namespaced {
        return first("");
    }
    let namespaces = store.prefix(registry::prefix(Kind::Namespace)).map(|(_, entry)| entry.value.name());
    namespaces.into_iter().find_map(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::scenario::Scenario;

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
            assert_eq!(complete(&session, input).as_deref(), completed, "{input}");
        }
    }
}
