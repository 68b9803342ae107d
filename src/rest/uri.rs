//! The URL of a request, as a client over HTTP would have written it. The way back from [`super::path`].
//!
//! Left out: what only says how the answer is wanted (`timeoutSeconds`, `pretty`).

use std::fmt::Write as _;

use object::{Kind, metrics};
use wire::{FieldValidation, Request, Subresource, Verb};

/// `/apis/apps/v1/namespaces/default/deployments/web/status?fieldManager=…`.
pub fn of(request: &Request) -> String {
    let (path, query) = (path(request), query(request));
    if query.is_empty() { path } else { format!("{path}?{query}") }
}

fn path(request: &Request) -> String {
    let info = request.kind.info();
    if let Some(target) = request.target() {
        return target.to_owned();
    }
    let (group, version, plural) = match request.subresource {
        Some(Subresource::Metrics) => (metrics::GROUP, metrics::VERSION, info.plural),
        _ => (info.group, info.version, info.plural),
    };
    let mut path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let mut segment = |text: &str| {
        path.push('/');
        path.push_str(&escaped(text));
    };
    if request.kind != Kind::Namespace && !request.namespace.is_empty() {
        segment("namespaces");
        segment(&request.namespace);
    }
    segment(plural);
    if !request.name.is_empty() && !matches!(request.verb, Verb::List | Verb::Watch | Verb::DeleteCollection) {
        segment(&request.name);
    }
    match request.subresource {
        None | Some(Subresource::Metrics) => {}
        Some(part) => segment(part.as_str()),
    }
    path
}

/// The parameters in the order of their names, as Go writes them.
fn query(request: &Request) -> String {
    let options = &request.options;
    let flag = |on: bool| if on { "true" } else { "" };
    let limit = if options.limit > 0 { options.limit.to_string() } else { String::new() };
    let validation = match options.field_validation {
        FieldValidation::Strict => "Strict",
        FieldValidation::Ignore => "Ignore",
        FieldValidation::Warn => "",
    };
    let parameters = [
        ("allowWatchBookmarks", flag(options.allow_watch_bookmarks)),
        ("continue", &options.continue_token),
        ("dryRun", if options.dry_run { "All" } else { "" }),
        ("fieldManager", &options.field_manager),
        ("fieldSelector", &options.field_selector),
        ("fieldValidation", if request.verb.writes() { validation } else { "" }),
        ("force", flag(options.force)),
        ("labelSelector", &options.label_selector),
        ("limit", &limit),
        ("resourceVersion", &options.resource_version),
        ("resourceVersionMatch", &options.resource_version_match),
        ("sendInitialEvents", options.send_initial_events.map_or("", |on| if on { "true" } else { "false" })),
        ("watch", flag(request.verb == Verb::Watch)),
    ];
    let said = parameters.iter().filter(|(_, value)| !value.is_empty());
    said.map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join("&")
}

/// What may stand neither in a segment of a path nor in a parameter as it is, in percent.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::options::{self, Query};
    use super::super::path::Shape;
    use wire::Body;

    use super::*;
    use object::Discovery;
    use wire::{Options, Patch, User};

    #[test]
    fn what_is_written_is_read_again() {
        let status = Some(Subresource::Status);
        #[rustfmt::skip]
        let cases = [
            (Verb::Get, Kind::Pod, None, "default", "web", "/api/v1/namespaces/default/pods/web"),
            (Verb::Create, Kind::Deployment, None, "default", "", "/apis/apps/v1/namespaces/default/deployments"),
            (Verb::Patch, Kind::Pod, status, "a", "b", "/api/v1/namespaces/a/pods/b/status"),
            (Verb::Update, Kind::Namespace, Some(Subresource::Finalize), "", "a", "/api/v1/namespaces/a/finalize"),
            (Verb::Delete, Kind::ClusterRole, None, "", "a:b c", "/apis/rbac.authorization.k8s.io/v1/clusterroles/a:b%20c"),
            (Verb::List, Kind::Node, None, "", "", "/api/v1/nodes"),
            (Verb::List, Kind::Pod, Some(Subresource::Metrics), "", "", "/apis/metrics.k8s.io/v1beta1/pods"),
        ];
        for (verb, kind, subresource, namespace, name, path) in cases {
            let user = Rc::new(User::admin());
            let request = Request { subresource, ..Request::new(user, verb, kind, namespace, name, Body::None) };
            assert_eq!(of(&request), path);
            let shape = Shape::parse(path, &Discovery::default()).expect(path);
            let (namespace, name) = (namespace.to_owned(), name.to_owned());
            assert_eq!(shape, Shape { kind, namespace, name, subresource });
        }
    }

    #[test]
    fn parameters_too() {
        let user = Rc::new(User::admin());
        let mut request = Request::new(user, Verb::Watch, Kind::Pod, "", "", Body::None);
        request.options = Options {
            field_selector: "spec.nodeName=node-1".into(),
            label_selector: "app in (a,b)".into(),
            resource_version: "7".into(),
            allow_watch_bookmarks: true,
            ..Options::default()
        };
        let url = of(&request);
        let want = "/api/v1/pods?allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Dnode-1&\
                    labelSelector=app%20in%20%28a%2Cb%29&resourceVersion=7&watch=true";
        assert_eq!(url, want);
        let query = Query::parse(url.split_once('?').expect("there are parameters").1);
        let read = options::parse(&query, Verb::Watch, false).expect("they are right");
        assert_eq!(read.field_selector, request.options.field_selector);
        assert_eq!(read.label_selector, request.options.label_selector);

        let user = Rc::new(User::admin());
        let config = Body::Patch(Patch::Apply(serde_json::json!({})));
        let mut request = Request::new(user, Verb::Patch, Kind::ConfigMap, "default", "web", config);
        request.options = Options { force: true, field_manager: "kubectl".into(), ..Options::default() };
        let url = of(&request);
        assert!(url.ends_with("/configmaps/web?fieldManager=kubectl&force=true"), "{url}");
    }
}
