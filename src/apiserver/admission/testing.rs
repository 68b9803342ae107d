//! A bench for one plugin: what the plugins' tests share, and those of the exercise that writes one.

use std::rc::Rc;

use serde_json::Value;

use super::{Attributes, Mutate};
use crate::authorization::Authorizer;
use object::random::Random;
use object::reader::Reader;
use object::{Kind, Object, Status};
use wire::{Body, Options, Request, Subresource, User, Verb};

/// Objects to read, in a list.
#[derive(Default)]
pub struct Objects(Vec<Object>);

impl Objects {
    /// A store that holds these objects.
    pub fn of(objects: Vec<Object>) -> Objects {
        Objects(objects)
    }

    /// The objects of these manifests.
    pub fn parse(manifests: &[Value]) -> Objects {
        Objects(manifests.iter().cloned().map(object).collect())
    }
}

impl Reader for Objects {
    fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Object> {
        self.0.iter().find(|o| o.kind() == kind && o.namespace() == namespace && o.name() == name).cloned()
    }

    fn list(&self, kind: Kind, namespace: &str) -> Vec<Object> {
        let inside = |o: &&Object| o.kind() == kind && (namespace.is_empty() || o.namespace() == namespace);
        self.0.iter().filter(inside).cloned().collect()
    }
}

/// The object of a manifest with apiVersion and kind.
pub fn object(manifest: Value) -> Object {
    let word = |field: &str| manifest[field].as_str().unwrap_or_default().to_owned();
    let kind = Kind::from_manifest(&word("apiVersion"), &word("kind")).expect("a manifest of a known kind");
    kind.decode(manifest).expect("the manifest decodes")
}

/// A request about `object`.
pub fn request(user: User, verb: Verb, subresource: Option<Subresource>, object: &Object) -> Request {
    let name = if verb == Verb::Create { "" } else { object.name() };
    Request {
        connection: None,
        user: Rc::new(user),
        verb,
        kind: object.kind(),
        subresource,
        namespace: object.namespace().to_owned(),
        name: name.to_owned(),
        body: Body::None,
        options: Options::default(),
    }
}

/// Runs one plugin on a create by the administrator.
pub fn create(plugin: Mutate, objects: &Objects, manifest: Value) -> Result<Object, Status> {
    let mut new = object(manifest);
    let request = request(User::admin(), Verb::Create, None, &new);
    with(&request, None, objects, |attributes| plugin(attributes, &mut new)).map(|()| new)
}

/// Has `act` done with the attributes of a request over these objects.
pub fn with<T>(
    request: &Request,
    old: Option<&Object>,
    objects: &Objects,
    act: impl FnOnce(&mut Attributes<'_>) -> T,
) -> T {
    let (authorizer, mut random) = (Authorizer::new(), Random::new(1));
    act(&mut Attributes { request, old, reader: objects, authorizer: &authorizer, random: &mut random })
}
