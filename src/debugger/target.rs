//! Objects as a user names them: `pod/web`, `pod web`, `pod/shop/web`, and globs that fit one object.

use std::collections::BTreeSet;
use std::fmt;

use cluster::fault::whose::listed;
use engine::Note;
use kinds::registry;
use object::{Key, Kind};

use super::Session;
use super::breakpoint::parse::without_namespace;
use super::expression::matches_glob;

/// One object, there or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its kind.
    pub kind: Kind,
    /// Its key.
    pub key: Key,
}

impl Target {
    /// The path of its value in etcd.
    pub fn etcd_key(&self) -> String {
        registry::key(self.kind, self.key.namespace(), self.key.name())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}

/// Reads an object's name. A glob must fit exactly one object, of those that are there and those that were.
pub fn find(session: &Session, words: &[&str]) -> Result<Target, String> {
    let usage = || "name an object as pod/web, pod web, or pod/NAMESPACE/web".to_owned();
    let (given, words) = without_namespace(words)?;
    if let [one] = words.as_slice()
        && let Some(target) = by_namespace(session, one)
    {
        return target;
    }
    let (kind_word, name) = match words.as_slice() {
        [one] => one.split_once('/').ok_or_else(|| unnamed(session, one).unwrap_or_else(usage))?,
        [kind, name] => (*kind, *name),
        _ => return Err(usage()),
    };
    let kind = Kind::from_word(kind_word).ok_or_else(|| format!("there is no kind {kind_word:?}; {}", usage()))?;
    let (namespace, name) = match (kind.info().namespaced, name.split_once('/')) {
        (false, _) => ("", name),
        (true, Some((namespace, name))) => (namespace, name),
        (true, None) => (given.unwrap_or(&session.cluster.kubectl.namespace), name),
    };
    let exact = Target { kind, key: Key::new(namespace, name) };
    if name.is_empty() {
        return Err(usage());
    }
    let known = known(session, kind, namespace);
    if known.contains(name) {
        return Ok(exact);
    }
    let fitting: Vec<&String> = known.iter().filter(|known| matches_glob(name, known)).collect();
    match fitting.as_slice() {
        [name] => Ok(Target { kind, key: Key::new(namespace, name) }),
        [] => Err(format!("there is no {exact}, and there was none{}", among(&known))),
        many => Err(format!("{name:?} fits {} objects{}", many.len(), among(&known))),
    }
}

/// Whether there is or was an object that `pod/web-*` or `pod/shop/web` means.
pub fn is_known(session: &Session, word: &str) -> bool {
    let Some((kind, name)) = word.split_once('/').and_then(|(kind, name)| Some((Kind::from_word(kind)?, name))) else {
        return false;
    };
    let (namespace, name) = match (kind.info().namespaced, name.split_once('/')) {
        (false, _) => ("", name),
        (true, Some((namespace, name))) => (namespace, name),
        // A breakpoint without a namespace means any.
        (true, None) => ("*", name),
    };
    let store = &session.cluster.engine.server.api.store;
    let namespaces: Vec<String> = match namespace {
        "*" => {
            store.prefix(registry::prefix(Kind::Namespace)).map(|(_, entry)| entry.value.name().to_owned()).collect()
        }
        one => vec![one.to_owned()],
    };
    namespaces.iter().any(|namespace| known(session, kind, namespace).iter().any(|known| matches_glob(name, known)))
}

/// `shop/web`, of a namespace that there is: the one object of that name in it; none of any other word.
fn by_namespace(session: &Session, word: &str) -> Option<Result<Target, String>> {
    let (namespace, name) = word.split_once('/')?;
    let store = &session.cluster.engine.server.api.store;
    if Kind::from_word(namespace).is_some() || store.get(&registry::key(Kind::Namespace, "", namespace)).is_none() {
        return None;
    }
    let named = |kind: &&Kind| kind.info().namespaced && known(session, **kind, namespace).contains(name);
    let kinds: Vec<Kind> = Kind::ALL.iter().filter(named).copied().collect();
    Some(match kinds.as_slice() {
        [kind] => Ok(Target { kind: *kind, key: Key::new(namespace, name) }),
        [] => Err(format!("there is nothing called {name} in the namespace {namespace}, and there was not")),
        several => {
            let written = several.iter().map(|kind| format!("{}/{namespace}/{name}", kind.info().singular()));
            Err(format!("write its kind too: {}", listed(written)))
        }
    })
}

/// What is said of a kind without a name, or of a name without its kind; none of any other word.
fn unnamed(session: &Session, word: &str) -> Option<String> {
    let meant = meant(session, word);
    match (Kind::from_word(word), meant.as_slice()) {
        (Some(kind), []) => Some(format!("there is no {kind} in {} yet", session.cluster.kubectl.namespace)),
        (Some(kind), _) => Some(format!("write which {kind}: {}", listed(meant.into_iter()))),
        (None, []) => None,
        (None, _) => Some(format!("write its kind too: {}", listed(meant.into_iter()))),
    }
}

/// The objects that a word may mean which is a kind or a name alone, as they are written: `deployment/web`.
pub fn meant(session: &Session, word: &str) -> Vec<String> {
    let namespace = &session.cluster.kubectl.namespace;
    let written = |kind: Kind, name: &str| format!("{}/{name}", kind.info().singular());
    let scope = |kind: Kind| if kind.info().namespaced { namespace.as_str() } else { "" };
    match Kind::from_word(word) {
        Some(kind) => known(session, kind, scope(kind)).iter().map(|name| written(kind, name)).collect(),
        None => {
            let named = |kind: &&Kind| known(session, **kind, scope(**kind)).contains(word);
            Kind::ALL.iter().filter(named).map(|kind| written(*kind, word)).collect()
        }
    }
}

/// The names that objects of this kind have or had in this namespace.
fn known(session: &Session, kind: Kind, namespace: &str) -> BTreeSet<String> {
    let prefix = registry::list_prefix(kind, namespace);
    let there = session.cluster.engine.server.api.store.prefix(&prefix).map(|(_, entry)| entry.value.name().to_owned());
    let mut names: BTreeSet<String> = there.collect();
    for note in session.history().iter().flat_map(|step| &step.notes) {
        if let Note::Stored { key, old: Some(old), new: None, .. } = note
            && key.starts_with(&prefix)
        {
            names.insert(old.name().to_owned());
        }
    }
    names
}

fn among(names: &BTreeSet<String>) -> String {
    const SHOWN: usize = 6;
    if names.is_empty() {
        return "; there are none of this kind".to_owned();
    }
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    let more = if names.len() > SHOWN { " …" } else { "" };
    format!("; there are {}{more}", shown.join(", "))
}
