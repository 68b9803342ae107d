//! Paths: `/api/v1/namespaces/default/pods/web/status`. Mirrors `RequestInfoFactory.NewRequestInfo` and the routes
//! that `installer.go` registers.

use super::options::{Query, decode_percent};
use kinds::strategy;
use object::{Discovery, Kind, metrics, versions};
use wire::{Subresource, Verb};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The kind that it names.
    pub kind: Kind,
    /// Empty: cluster-scoped, or all namespaces.
    pub namespace: String,
    /// Empty: all of them.
    pub name: String,
    /// Which part of it.
    pub subresource: Option<Subresource>,
}

impl Shape {
    /// Reads a path; what follows after `/proxy` belongs to another server. None if nothing is served there, as far as is known of kinds that users define.
    pub fn parse(path: &str, known: &Discovery) -> Option<Shape> {
        let path = split_proxy(path).map_or(path, |(path, _)| path);
        let segments: Vec<String> =
            path.strip_prefix('/')?.trim_end_matches('/').split('/').map(decode_percent).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, version, rest) = match segments[..] {
            ["api", version, ref rest @ ..] => ("", version, rest),
            ["apis", group, version, ref rest @ ..] => (group, version, rest),
            _ => return None,
        };
        if (group, version) == (metrics::GROUP, metrics::VERSION) {
            return of_metrics(rest);
        }
        let kind_of = |plural: &str| known.at(group, version, plural);
        let (kind, namespace, name, subresource) = match *rest {
            // A namespace is an object too; below it lie the objects in it.
            ["namespaces", name] => (Kind::Namespace, "", name, ""),
            ["namespaces", name, part @ ("status" | "finalize")] => (Kind::Namespace, "", name, part),
            ["namespaces", namespace, plural] => (kind_of(plural)?, namespace, "", ""),
            ["namespaces", namespace, plural, name] => (kind_of(plural)?, namespace, name, ""),
            ["namespaces", namespace, plural, name, part] => (kind_of(plural)?, namespace, name, part),
            [plural] => (kind_of(plural)?, "", "", ""),
            [plural, name] => (kind_of(plural)?, "", name, ""),
            [plural, name, part] => (kind_of(plural)?, "", name, part),
            _ => return None,
        };
        let namespaced = kind.info().namespaced;
        let wrong_scope = if namespace.is_empty() { namespaced && !name.is_empty() } else { !namespaced };
        if wrong_scope || (kind == Kind::Namespace && (group, version) != ("", "v1")) {
            return None;
        }
        // Of what is never kept there is none to be named, but for the components of the control plane.
        let is_named = !name.is_empty() && kind != Kind::ComponentStatus;
        if !kind.is_kept() && (is_named || namespaced && namespace.is_empty()) {
            return None;
        }
        let subresource = match subresource {
            "" => None,
            part => Some(served_subresource(kind, part)?),
        };
        Some(Shape { kind, namespace: namespace.to_owned(), name: name.to_owned(), subresource })
    }

    /// The verb of a method here; none if it is not allowed.
    pub fn verb(&self, method: &str, query: &Query) -> Option<Verb> {
        let one = !self.name.is_empty();
        match (self.kind, method) {
            (Kind::ComponentStatus, "GET") if one => return Some(Verb::Get),
            (Kind::ComponentStatus, "GET") if query.flag("watch") => return Some(Verb::Watch),
            (Kind::ComponentStatus, "GET") => return Some(Verb::List),
            (Kind::ComponentStatus, _) => return None,
            (kind, method) if !kind.is_kept() => return (method == "POST").then_some(Verb::Create),
            _ => {}
        }
        let everywhere = self.kind.info().namespaced && self.namespace.is_empty();
        match (method, self.subresource) {
            ("GET", Some(Subresource::Metrics)) => Some(if one { Verb::Get } else { Verb::List }),
            ("GET", None) if !one => Some(if query.flag("watch") { Verb::Watch } else { Verb::List }),
            (_, None) if everywhere => None,
            ("GET", Some(Subresource::Log)) => Some(Verb::Get),
            (method, Some(Subresource::Proxy)) => proxied(method),
            ("GET", Some(part)) if part.is_connection() => Some(Verb::Get),
            ("POST", Some(part)) if part.is_connection() => Some(Verb::Create),
            ("GET", part) if is_written(part) => Some(Verb::Get),
            ("POST", None) if !one => Some(Verb::Create),
            ("PUT", part) if one && is_written(part) => Some(Verb::Update),
            ("PUT", Some(Subresource::Finalize)) => Some(Verb::Update),
            ("PATCH", part) if one && is_written(part) => Some(Verb::Patch),
            ("DELETE", None) if one => Some(Verb::Delete),
            // Namespaces are deleted one by one.
            ("DELETE", None) if self.kind != Kind::Namespace => Some(Verb::DeleteCollection),
            ("POST", Some(Subresource::Binding | Subresource::Eviction | Subresource::Token)) => Some(Verb::Create),
            _ => None,
        }
    }
}

/// The path of what is watched at `/api/v1/watch/namespaces/a/pods/web`, which was how to ask for it once, and the name of the
/// object if it is one. Mirrors the verb `watch` of `RequestInfoFactory.NewRequestInfo`.
pub fn watched(path: &str) -> Option<(String, String)> {
    let segments: Vec<&str> = path.strip_prefix('/')?.trim_end_matches('/').split('/').collect();
    let at = match segments[..] {
        ["api", _, "watch", ..] => 2,
        ["apis", _, _, "watch", ..] => 3,
        _ => return None,
    };
    let (root, rest) = (&segments[..at], &segments[at + 1..]);
    let len = if matches!(rest, ["namespaces", _, _, ..]) { 3 } else { 1 };
    let (collection, name) = rest.split_at_checked(len)?;
    let name = match *name {
        [] => "",
        [name] => name,
        _ => return None,
    };
    Some((format!("/{}/{}", root.join("/"), collection.join("/")), decode_percent(name)))
}

/// A path at which a request is proxied, up to `/proxy`, and what follows there.
pub fn split_proxy(path: &str) -> Option<(&str, &str)> {
    let namespaced = path.strip_prefix("/api/v1/namespaces/").map(|rest| (rest, 3));
    let (rest, parts) = namespaced.or_else(|| path.strip_prefix("/api/v1/nodes/").map(|rest| (rest, 1)))?;
    // The parts before it: a namespace, a resource and a name, or a name alone.
    let start = path.len() - rest.len();
    let end = rest.match_indices('/').nth(parts - 1)?.0 + start;
    let behind = path[end..].strip_prefix("/proxy").filter(|behind| behind.is_empty() || behind.starts_with('/'))?;
    Some((&path[..path.len() - behind.len()], behind))
}

/// What follows a proxy, as the server behind it is asked for it. Mirrors `JoinPreservingTrailingSlash`.
pub(super) fn cleaned(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let parts: String = parts.iter().map(|part| format!("/{part}")).collect();
    if path.ends_with('/') || (parts.is_empty() && !path.is_empty()) { parts + "/" } else { parts }
}

/// The verb of a method whose request goes on to another server.
fn proxied(method: &str) -> Option<Verb> {
    match method {
        "GET" | "OPTIONS" => Some(Verb::Get),
        "POST" => Some(Verb::Create),
        "PUT" => Some(Verb::Update),
        "PATCH" => Some(Verb::Patch),
        "DELETE" => Some(Verb::Delete),
        _ => None,
    }
}

/// What a path may be that names no kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unserved {
    /// A resource, as rules name it.
    Resource {
        /// Its API group.
        group: String,
        /// Its plural, with a part after a slash.
        resource: String,
        /// Empty: none named.
        namespace: String,
        /// Empty: none named.
        name: String,
    },
    /// Where it is told which kinds there are, or which version this is: such paths are only read.
    Discovery,
    /// Any other.
    Page,
}

impl Unserved {
    /// Mirrors `RequestInfoFactory.NewRequestInfo`, which knows no kinds.
    pub fn parse(path: &str) -> Unserved {
        let segments: Vec<String> = path.trim_matches('/').split('/').map(decode_percent).collect();
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (group, rest) = match segments[..] {
            ["api", _, ref rest @ ..] if !rest.is_empty() => ("", rest),
            ["apis", group, _, ref rest @ ..] if !rest.is_empty() => (group, rest),
            ["version"] | ["api", ..] | ["apis", _, ..] => return Unserved::Discovery,
            _ => return Unserved::Page,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let part = |at: usize| rest.get(at).copied().unwrap_or_default();
        let (plural, name, part) = (part(0), part(1), part(2));
        let resource = if part.is_empty() { plural.to_owned() } else { format!("{plural}/{part}") };
        let [group, namespace, name] = [group, namespace, name].map(str::to_owned);
        Unserved::Resource { group, resource, namespace, name }
    }
}

/// Whether the server itself has kinds in this group: below it there is an answer for every path.
pub fn is_served_group(group: &str) -> bool {
    Kind::built_in().chain(versions::others()).any(|kind| kind.info().group == group)
}

/// Whether an object, or this part of it, is read and written like any other.
fn is_written(part: Option<Subresource>) -> bool {
    part.is_none_or(|part| part.is_of_object() || part == Subresource::Scale)
}

/// What is used by whom, in the aggregated API.
fn of_metrics(rest: &[&str]) -> Option<Shape> {
    let (kind, namespace, name) = match *rest {
        ["nodes"] => (Kind::Node, "", ""),
        ["nodes", name] => (Kind::Node, "", name),
        ["pods"] => (Kind::Pod, "", ""),
        ["namespaces", namespace, "pods"] => (Kind::Pod, namespace, ""),
        ["namespaces", namespace, "pods", name] => (Kind::Pod, namespace, name),
        _ => return None,
    };
    let subresource = Some(Subresource::Metrics);
    Some(Shape { kind, namespace: namespace.to_owned(), name: name.to_owned(), subresource })
}

/// Whether objects of a built-in kind have this part.
pub fn is_served(kind: Kind, part: Subresource) -> bool {
    part == Subresource::Metrics || served_subresource(kind, part.as_str()) == Some(part)
}

/// The part of this name that objects of a kind have.
pub fn served_subresource(kind: Kind, part: &str) -> Option<Subresource> {
    let name = kind.info().kind;
    match part {
        _ if !kind.is_kept() => None,
        "scale" if versions::stored_as(kind) != kind => None,
        "scale" if matches!(kind, Kind::Custom(_)) => Some(Subresource::Scale),
        "status" if strategy::has_status(versions::stored_as(kind)) && name != "Event" => Some(Subresource::Status),
        "scale" if matches!(name, "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet") => {
            Some(Subresource::Scale)
        }
        "binding" if name == "Pod" => Some(Subresource::Binding),
        "ephemeralcontainers" if name == "Pod" => Some(Subresource::EphemeralContainers),
        "resize" if name == "Pod" => Some(Subresource::Resize),
        "eviction" if name == "Pod" => Some(Subresource::Eviction),
        "log" if name == "Pod" => Some(Subresource::Log),
        "exec" if name == "Pod" => Some(Subresource::Exec),
        "attach" if name == "Pod" => Some(Subresource::Attach),
        "portforward" if name == "Pod" => Some(Subresource::PortForward),
        "proxy" if matches!(name, "Pod" | "Service" | "Node") => Some(Subresource::Proxy),
        "finalize" if name == "Namespace" => Some(Subresource::Finalize),
        "approval" if name == "CertificateSigningRequest" => Some(Subresource::Approval),
        "token" if name == "ServiceAccount" => Some(Subresource::Token),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_proxy_is_another_servers() {
        for (path, expected) in [
            ("/api/v1/namespaces/a/pods/web:80/proxy/x/y", Some(("/api/v1/namespaces/a/pods/web:80/proxy", "/x/y"))),
            ("/api/v1/namespaces/a/services/s/proxy", Some(("/api/v1/namespaces/a/services/s/proxy", ""))),
            ("/api/v1/nodes/n/proxy/", Some(("/api/v1/nodes/n/proxy", "/"))),
            ("/api/v1/nodes/n/proxying", None),
            ("/api/v1/nodes/n", None),
            ("/api/v1/namespaces/proxy/pods/proxy", None),
        ] {
            assert_eq!(split_proxy(path), expected, "{path}");
        }
        for (path, asked) in [("", ""), ("//", "/"), ("/a//b", "/a/b"), ("/a/./../b/", "/b/"), ("/..", "/")] {
            assert_eq!(cleaned(path), asked, "{path}");
        }
        let shape = Shape::parse("/api/v1/namespaces/a/pods/http:web:80/proxy/x/", &Discovery::default());
        let shape = shape.expect("it is served");
        assert_eq!((shape.name.as_str(), shape.subresource), ("http:web:80", Some(Subresource::Proxy)));
        assert_eq!(shape.verb("DELETE", &Query::default()), Some(Verb::Delete));
    }

    #[test]
    fn a_watch_may_stand_in_the_path() {
        for (path, expected) in [
            ("/api/v1/watch/pods", Some(("/api/v1/pods", ""))),
            ("/api/v1/watch/namespaces/a", Some(("/api/v1/namespaces", "a"))),
            ("/apis/apps/v1/watch/namespaces/a/deployments/", Some(("/apis/apps/v1/namespaces/a/deployments", ""))),
            ("/api/v1/watch/namespaces/a/pods/web", Some(("/api/v1/namespaces/a/pods", "web"))),
            ("/api/v1/watch/namespaces/a/pods/web/status", None),
            ("/api/v1/watch", None),
            ("/api/v1/pods", None),
        ] {
            let expected = expected.map(|(path, name): (&str, &str)| (path.to_owned(), name.to_owned()));
            assert_eq!(watched(path), expected, "{path}");
        }
    }

    #[test]
    fn paths_name_kinds() {
        #[rustfmt::skip]
        let cases = [
            ("/api/v1/pods", "Pod  ", None), ("/api/v1/namespaces/a/pods/b", "Pod a b", None),
            ("/api/v1/namespaces", "Namespace  ", None), ("/api/v1/namespaces/a", "Namespace  a", None),
            ("/api/v1/namespaces/a/status", "Namespace  a", Some(Subresource::Status)), ("/api/v1/nodes/n/", "Node  n", None),
            ("/api/v1/namespaces/a/finalize", "Namespace  a", Some(Subresource::Finalize)),
            ("/apis/apps/v1/namespaces/a/deployments/b/scale", "Deployment a b", Some(Subresource::Scale)),
            ("/api/v1/namespaces/a/pods/b/binding", "Pod a b", Some(Subresource::Binding)),
            ("/apis/metrics.k8s.io/v1beta1/namespaces/a/pods", "Pod a ", Some(Subresource::Metrics)),
            ("/apis/metrics.k8s.io/v1beta1/nodes/n", "Node  n", Some(Subresource::Metrics)),
            ("/api/v1/namespaces/a%20b/pods", "Pod a b ", None),
        ];
        for (path, want, subresource) in cases {
            let shape = Shape::parse(path, &Discovery::default()).unwrap_or_else(|| panic!("{path} is served"));
            let got = format!("{} {} {}", shape.kind, shape.namespace, shape.name);
            assert_eq!((got.as_str(), shape.subresource), (want, subresource), "{path}");
        }
    }

    #[test]
    fn other_paths_are_not_served() {
        #[rustfmt::skip]
        let paths = [
            "/", "", "/api", "/api/v1", "/api/v2/pods", "/apis/extensions/v1beta1/deployments", "/api/v1/podz", "/api/v1/pods/a",
            "/api/v1/namespaces/a/nodes/b", "/api/v1/namespaces/a/pods/b/zap", "/apis/apps/v1/namespaces/a", "/api/v1/pods/a/b/c/d/e",
            "/api/v1/namespaces/a/configmaps/b/status", "/api/v1/namespaces/a/pods/b/finalize",
            "/api/v1/bindings", "/api/v1/namespaces/a/bindings/b", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews/a", "/api/v1/componentstatuses/a/status",
        ];
        for path in paths {
            assert_eq!(Shape::parse(path, &Discovery::default()), None, "{path}");
        }
    }

    #[test]
    fn methods_are_verbs() {
        let verb = |method: &str, path: &str, query: &str| {
            Shape::parse(path, &Discovery::default())?.verb(method, &Query::parse(query))
        };
        #[rustfmt::skip]
        let cases = [
            ("GET", "/api/v1/pods", "", Some(Verb::List)), ("GET", "/api/v1/pods", "watch=1", Some(Verb::Watch)),
            ("GET", "/api/v1/pods", "watch=false", Some(Verb::List)), ("POST", "/api/v1/pods", "", None),
            ("POST", "/api/v1/namespaces/a/pods/b", "", None), ("DELETE", "/api/v1/namespaces", "", None),
            ("DELETE", "/api/v1/namespaces/a/pods", "", Some(Verb::DeleteCollection)), ("PUT", "/api/v1/namespaces/a/pods", "", None),
            ("PATCH", "/api/v1/nodes/a/status", "", Some(Verb::Patch)), ("GET", "/api/v1/namespaces/a/pods/b/binding", "", None),
            ("PUT", "/api/v1/namespaces/a/finalize", "", Some(Verb::Update)), ("GET", "/api/v1/namespaces/a/finalize", "", None),
            ("PATCH", "/api/v1/namespaces/a/finalize", "", None), ("BREW", "/api/v1/pods", "", None),
            ("POST", "/api/v1/namespaces/a/bindings", "", Some(Verb::Create)), ("GET", "/api/v1/namespaces/a/bindings", "", None),
            ("GET", "/api/v1/namespaces/a/pods/b/exec", "", Some(Verb::Get)), ("POST", "/api/v1/namespaces/a/pods/b/attach", "", Some(Verb::Create)),
            ("PUT", "/api/v1/namespaces/a/pods/b/portforward", "", None),
            ("GET", "/api/v1/componentstatuses", "", Some(Verb::List)), ("GET", "/api/v1/componentstatuses/b", "", Some(Verb::Get)),
            ("POST", "/api/v1/componentstatuses", "", None), ("DELETE", "/api/v1/componentstatuses/b", "", None),
            ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", Some(Verb::Create)),
            ("GET", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", None),
        ];
        for (method, path, query, want) in cases {
            assert_eq!(verb(method, path, query), want, "{method} {path}?{query}");
        }
    }
}
