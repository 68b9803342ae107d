//! Names of what there is in a cluster.

use debugger::{Session, explain};
use kinds::registry;
use object::{Discovery, Kind, Object};

use super::{CANDIDATES, fitting};

/// Asks a session for names.
pub struct Names<'a> {
    session: &'a Session,
    discovery: Discovery,
}

impl<'a> Names<'a> {
    pub fn of(session: &'a Session) -> Names<'a> {
        let store = &session.cluster.engine.server.api.store;
        let definitions = store.prefix(registry::prefix(Kind::CustomResourceDefinition));
        let definitions: Vec<Object> = definitions.map(|(_, entry)| entry.value.clone()).collect();
        Names { session, discovery: Discovery::of(&definitions) }
    }

    /// The kind that a word names, of those that are kept.
    pub fn kind(&self, word: &str) -> Option<Kind> {
        self.discovery.from_word(word).filter(|kind| kind.is_kept())
    }

    /// All kinds that have objects, as kubectl lists them.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> {
        Kind::ALL.iter().copied().chain(self.discovery.custom()).map(|kind| kind.info().plural)
    }

    pub fn namespaces(&self) -> Vec<String> {
        self.within(Kind::Namespace, "", "")
    }

    /// The names of this kind with this prefix: in a namespace, or that of kubectl's context.
    pub fn objects(&self, kind: Kind, namespace: Option<&str>, prefix: &str) -> Vec<String> {
        let namespace = namespace.unwrap_or(&self.session.cluster.kubectl.namespace);
        self.within(kind, if kind.info().namespaced { namespace } else { "" }, prefix)
    }

    fn within(&self, kind: Kind, namespace: &str, prefix: &str) -> Vec<String> {
        let store = &self.session.cluster.engine.server.api.store;
        let from = format!("{}{prefix}", registry::list_prefix(kind, namespace));
        store.prefix(&from).take(CANDIDATES).map(|(_, entry)| entry.value.name().to_owned()).collect()
    }

    /// `de` goes on as a kind, `deploy/w` and `deploy/shop/w` as an object.
    pub fn kind_or_object(&self, namespace: Option<&str>, tail: &str) -> Vec<String> {
        let Some((word, name)) = tail.split_once('/') else { return fitting(self.kinds(), tail) };
        let Some(kind) = self.kind(word) else { return Vec::new() };
        match name.split_once('/') {
            Some((namespace, name)) => {
                let names = self.objects(kind, Some(namespace), name).into_iter();
                names.map(|name| format!("{word}/{namespace}/{name}")).collect()
            }
            None => self.objects(kind, namespace, name).into_iter().map(|name| format!("{word}/{name}")).collect(),
        }
    }

    /// The containers of a Pod.
    pub fn containers(&self, pod: &str, namespace: Option<&str>) -> Vec<String> {
        let pod = pod.trim_start_matches("pods/").trim_start_matches("pod/");
        let namespace = namespace.unwrap_or(&self.session.cluster.kubectl.namespace);
        let entry = self.session.cluster.engine.server.api.store.get(&registry::key(Kind::Pod, namespace, pod));
        let json = entry.map(|entry| entry.value.to_json()).unwrap_or_default();
        let of = |field: &str| {
            let containers = json.pointer(field).and_then(|list| list.as_array()).cloned().unwrap_or_default();
            containers.iter().filter_map(|one| Some(one.get("name")?.as_str()?.to_owned())).collect::<Vec<_>>()
        };
        [of("/spec/containers"), of("/spec/initContainers")].concat()
    }

    /// `dep` goes on as a kind, `deploy.spec.rep` as a field.
    pub fn fields(&self, path: &str) -> Vec<String> {
        match path.rsplit_once('.') {
            Some((around, start)) => {
                self.fields_of(around, start).into_iter().map(|name| format!("{around}.{name}")).collect()
            }
            None => fitting(self.kinds(), path),
        }
    }

    /// The fields of `deploy.spec` that begin so.
    pub fn fields_of(&self, around: &str, start: &str) -> Vec<String> {
        let explained = explain::explain(self.session, around);
        fitting(explained.into_iter().flat_map(|explained| explained.fields).map(|field| field.name), start)
    }
}
