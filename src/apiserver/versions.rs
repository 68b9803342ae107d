//! Requests in a version of a built-in kind that is not the stored one: `autoscaling/v1`, `events.k8s.io/v1`.
//!
//! Only the edges of the pipeline know of it. A request is turned into one of the version that is stored and worked with,
//! what it carries is read in its own version and converted at once ([`rest::decode`]), and what is answered or told is converted back. See
//! [`object::versions`] for what becomes what.
//!
//! Mirrors the codecs of `k8s.io/apimachinery/pkg/runtime/serializer/versioning`.
//!
//! Left out: managedFields in the other version; they are told in that which is stored.

use std::borrow::Cow;

use object::{Kind, versions};
use wire::{Body, Patch, Request, Response};

/// The request as the pipeline works with it.
pub(super) fn internal(request: &Request) -> Cow<'_, Request> {
    let kind = versions::stored_as(request.kind);
    if kind == request.kind {
        return Cow::Borrowed(request);
    }
    let mut request = Request { kind, ..request.clone() };
    let converted = match &request.body {
        Body::Object(object) => versions::to_stored(kind, &object.to_json()).ok().map(Body::Object),
        Body::Patch(Patch::Apply(config)) => {
            versions::to_stored(kind, config).ok().map(|object| Body::Patch(Patch::Apply(object.to_json())))
        }
        _ => None,
    };
    request.body = converted.unwrap_or(request.body);
    Cow::Owned(request)
}

/// An answer to a client that speaks this version of the kind.
pub(super) fn answered_in(kind: Kind, response: Response) -> Response {
    match response {
        Response::Object(object) => Response::Object(object.in_version(kind)),
        Response::List { items, revision, continue_token, remaining } => {
            let items = items.into_iter().map(|object| object.in_version(kind)).collect();
            Response::List { items, revision, continue_token, remaining }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use serde_json::json;

    use super::*;
    use crate::ApiServer;
    use object::CustomKind;
    use object::time::Instant;
    use wire::{Subresource, User, Verb, WatchEvent, WatchId};

    fn thing(version: &str) -> Kind {
        Kind::Custom(CustomKind::new("example.com", version, "things", "Thing", false))
    }

    fn send(server: &mut ApiServer, request: &Request, watch: Option<WatchId>) -> Vec<String> {
        let handled = server.handle(request, watch, Instant(1_000_000_000));
        assert!(handled.answer.result.is_ok(), "{}: {:?}", request.line(), handled.answer.result);
        let told = |(id, event): (WatchId, WatchEvent)| {
            let object = event.object().map(|object| format!(" {} {}", object.kind().info().version, object.name()));
            format!("{} {}{}", id.0, event.type_str(), object.unwrap_or_default())
        };
        handled.fanout.into_iter().map(told).collect()
    }

    fn create(server: &mut ApiServer, name: &str) -> Vec<String> {
        let thing = thing("v1").decode(json!({"metadata": {"name": name}})).unwrap();
        send(server, &Request::create(Rc::new(User::admin()), thing), None)
    }

    fn watch(server: &mut ApiServer, id: u64, version: &str, since: &str) -> Vec<String> {
        let mut request = Request::new(Rc::new(User::admin()), Verb::Watch, thing(version), "", "", Body::None);
        request.options.resource_version = since.into();
        send(server, &request, Some(WatchId(id)))
    }

    /// A server of a kind in two versions; the second is the storage version.
    fn server() -> ApiServer {
        let mut server = ApiServer::new(1);
        let version = |name: &str, storage: bool| {
            let schema = json!({"openAPIV3Schema": {"type": "object"}});
            json!({"name": name, "served": true, "storage": storage, "schema": schema})
        };
        let definition = json!({"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Cluster",
            "names": {"plural": "things", "kind": "Thing"}, "versions": [version("v1", false), version("v2", true)]}});
        let definition = Kind::CustomResourceDefinition.decode(definition).unwrap();
        send(&mut server, &Request::create(Rc::new(User::admin()), definition), None);
        let condition = |name| json!({"type": name, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let status = json!({"status": {"conditions": [condition("NamesAccepted"), condition("Established")]}});
        let accepted = Request {
            verb: Verb::Patch,
            subresource: Some(Subresource::Status),
            body: Body::Patch(Patch::Merge(status)),
            name: "things.example.com".into(),
            ..Request::new(Rc::new(User::admin()), Verb::Patch, Kind::CustomResourceDefinition, "", "", Body::None)
        };
        send(&mut server, &accepted, None);
        server
    }

    #[test]
    fn a_watch_is_told_in_the_version_that_it_asks_for() {
        let mut server = server();
        create(&mut server, "a");
        let since = server.store.revision().to_string();
        create(&mut server, "b");
        for (id, version) in [(1, "v1"), (2, "v2")] {
            for start in ["", "0"] {
                let told = watch(&mut server, id, version, start);
                let want =
                    [format!("{id} ADDED {version} a"), format!("{id} ADDED {version} b"), format!("{id} BOOKMARK")];
                assert_eq!(told, want, "the state so far");
                server.close_watch(WatchId(id));
            }
            let told = watch(&mut server, id, version, &since);
            assert_eq!(told, [format!("{id} ADDED {version} b")], "what was missed");
        }
        assert_eq!(create(&mut server, "c"), ["1 ADDED v1 c", "2 ADDED v2 c"], "what comes later");
    }
}
