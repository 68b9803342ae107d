//! A request as authorizers see it.

use std::borrow::Cow;

use object::{Kind, metrics};
use wire::{About, Body, Request, Subresource, User, Verb};

/// A request as rules see it. Mirrors `authorizer.Attributes`.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a User,
    /// For what.
    pub verb: &'a str,
    /// API group, empty for core.
    pub group: &'a str,
    /// The plural, with the subresource after a slash.
    pub resource: Cow<'a, str>,
    /// Empty: cluster-scoped, or all namespaces.
    pub namespace: &'a str,
    /// Empty: none named.
    pub name: &'a str,
    /// What is asked for if it is no resource: `/healthz`. Else empty.
    pub path: &'a str,
}

impl<'a> Attributes<'a> {
    /// What a request asks for. Mirrors `RequestInfoFactory.NewRequestInfo`: a list or watch of one name counts as
    /// naming it, and the URL of a namespace is inside that namespace.
    pub fn of(request: &'a Request) -> Attributes<'a> {
        let info = request.kind.info();
        let (user, verb) = (&*request.user, request.verb.as_str());
        let bare = Attributes { user, verb, group: "", resource: "".into(), namespace: "", name: "", path: "" };
        match &request.body {
            Body::Path(target) => {
                let path = target.split_once('?').map_or(target.as_str(), |(path, _)| path);
                return Attributes { path, ..bare };
            }
            Body::Refused(refused) => match &refused.about {
                About::Kind => {}
                About::Path(path) => return Attributes { path, ..bare },
                About::Resource(group, resource) => {
                    let (namespace, name) = (&*request.namespace, &*request.name);
                    return Attributes { group, resource: resource.into(), namespace, name, ..bare };
                }
            },
            _ => {}
        }
        let group = if request.subresource == Some(Subresource::Metrics) { metrics::GROUP } else { info.group };
        let resource = match request.subresource {
            None | Some(Subresource::Metrics) => info.plural.into(),
            Some(subresource) => [info.plural, "/", subresource.as_str()].concat().into(),
        };
        let name = match (request.verb, request.name.as_str()) {
            (Verb::List | Verb::Watch | Verb::DeleteCollection, "") => {
                exact_term(&request.options.field_selector, "metadata.name").unwrap_or_default()
            }
            (_, name) => name,
        };
        let namespace = if request.kind == Kind::Namespace { name } else { &request.namespace };
        Attributes { group, resource, namespace, name, ..bare }
    }
}

/// The value that a field selector demands of a field, if it demands one exactly.
pub(super) fn exact_term<'a>(selector: &'a str, field: &str) -> Option<&'a str> {
    let value = selector.split(',').find_map(|term| term.strip_prefix(field)?.strip_prefix('='))?;
    Some(value.strip_prefix('=').unwrap_or(value))
}
