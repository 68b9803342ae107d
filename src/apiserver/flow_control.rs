//! API priority and fairness: whose request goes first when there are too many.
//!
//! A server that takes every request can be brought down by one client that sends too many. So it handles a limited
//! number of requests at a time, and shares that number out among *priority levels*: kubelets' heartbeats never wait for
//! a Pod that asks for too much. A *FlowSchema* says which requests belong to which level. They are tried in the order of
//! their `matchingPrecedence`, and the first that matches wins. Inside a level, the requests of one *flow* (those of a
//! user, or those about a namespace) wait in queues of their own, so that no flow can starve another.
//!
//! [`classify`] finds the FlowSchema of a request, after it is known who asks and before it is asked whether they may.
//!
//! Mirrors `k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go`, `pkg/util/flowcontrol/rule.go`, and
//! `pkg/server/filters/priority-and-fairness.go`.
//!
//! Left out: the queues, and all numbers of the levels. Requests are handled one at a time here, so that none ever waits.
//! The headers with the objects' uids. The objects themselves (`flowcontrol.apiserver.k8s.io/v1`) are kept, and what a user
//! changes in them counts for nothing: the shipped configuration, with which they begin, is all there is.

use std::fmt;
use std::sync::{Arc, LazyLock};

use k8s_openapi::api::flowcontrol::v1::{FlowSchema, NonResourcePolicyRule, ResourcePolicyRule, Subject};
use serde::Deserialize as _;
use serde_json::{Value, json};

use object::{Accessor, Kind, Object};
use wire::{Request, Subresource};

use super::authorization::Attributes;

/// The levels and the flows that a server makes for itself, in the order in which it makes them.
const SHIPPED: &str = include_str!("flow_control.yaml");

/// The schema of a request that no schema takes.
const CATCH_ALL: &str = "catch-all";

/// The PriorityLevelConfigurations that a server makes for itself, and the FlowSchemas that lead to them.
pub fn bootstrap() -> &'static [Object] {
    static OBJECTS: LazyLock<Vec<Object>> = LazyLock::new(|| {
        let object = |document: serde_yaml::Deserializer| {
            let row = Value::deserialize(document).expect("the file is read whole by the tests");
            let kind = if row["kind"] == "FlowSchema" { Kind::FlowSchema } else { Kind::PriorityLevelConfiguration };
            let annotations = json!({"apf.kubernetes.io/autoupdate-spec": "true"});
            let metadata = json!({"name": row["name"], "annotations": annotations});
            kind.decode(json!({"metadata": metadata, "spec": row["spec"]}))
                .expect("the file is read whole by the tests")
        };
        serde_yaml::Deserializer::from_str(SHIPPED).map(object).collect()
    });
    &OBJECTS
}

/// The shipped FlowSchemas, in the order in which they are tried.
fn schemas() -> &'static [Arc<FlowSchema>] {
    static SCHEMAS: LazyLock<Vec<Arc<FlowSchema>>> = LazyLock::new(|| {
        let schema =
            |object: &Object| if let Object::FlowSchema(schema) = object { Some(schema.clone()) } else { None };
        let mut schemas: Vec<Arc<FlowSchema>> = bootstrap().iter().filter_map(schema).collect();
        let precedence = |schema: &FlowSchema| schema.spec.as_ref().and_then(|spec| spec.matching_precedence);
        schemas.sort_by(|a, b| (precedence(a), &a.metadata.name).cmp(&(precedence(b), &b.metadata.name)));
        schemas
    });
    &SCHEMAS
}

/// Where a request waits its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The FlowSchema's name.
    pub schema: &'static str,
    /// The PriorityLevelConfiguration's name.
    pub level: &'static str,
    /// The user or the namespace; none, if all requests of the schema are one flow.
    pub flow: Option<String>,
}

impl fmt::Display for Classification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.schema, self.level)?;
        self.flow.as_ref().map_or(Ok(()), |flow| write!(f, ", flow {flow:?}"))
    }
}

/// The level and the flow of a request. None: it is not counted, because its connection stays open for as long as a
/// command runs. Mirrors `BasicLongRunningRequestCheck`.
pub fn classify(request: &Request) -> Option<Classification> {
    let stays_open = |part: Subresource| matches!(part, Subresource::Log | Subresource::Proxy) || part.is_connection();
    let long_running = request.subresource.is_some_and(stays_open);
    (!long_running).then(|| of(&Attributes::of(request)))
}

fn of(attributes: &Attributes) -> Classification {
    let schemas = schemas();
    let catch_all = || schemas.iter().find(|schema| schema.metadata.name() == CATCH_ALL);
    let schema = schemas.iter().find(|schema| matches(schema, attributes)).or_else(catch_all);
    let spec = schema.and_then(|schema| schema.spec.as_ref());
    let by = spec.and_then(|spec| spec.distinguisher_method.as_ref()).map(|method| method.type_.as_str());
    Classification {
        schema: schema.map_or(CATCH_ALL, |schema| schema.metadata.name()),
        level: spec.map_or(CATCH_ALL, |spec| &spec.priority_level_configuration.name),
        flow: match by {
            Some("ByUser") => Some(attributes.user.name.clone()),
            Some("ByNamespace") => Some(attributes.namespace.to_owned()),
            _ => None,
        },
    }
}

/// Mirrors `matchesFlowSchema`.
fn matches(schema: &FlowSchema, attributes: &Attributes) -> bool {
    let rules = schema.spec.iter().flat_map(|spec| spec.rules.iter().flatten());
    { rules }.any(|rule| {
        rule.subjects.iter().any(|subject| means(subject, attributes))
            && match attributes.path {
                "" => rule.resource_rules.iter().flatten().any(|rule| covers(rule, attributes)),
                path => rule.non_resource_rules.iter().flatten().any(|rule| covers_path(rule, attributes.verb, path)),
            }
    })
}

/// Whether the one who asks is meant. Mirrors `matchesSubject`.
fn means(subject: &Subject, attributes: &Attributes) -> bool {
    let user = attributes.user;
    if let Some(account) = &subject.service_account {
        let name = user.name.strip_prefix("system:serviceaccount:").and_then(|name| name.split_once(':'));
        return name.is_some_and(|(namespace, name)| {
            namespace == account.namespace && ["*", name].contains(&account.name.as_str())
        });
    }
    let named = |name: &str, wanted: &str| wanted == "*" || wanted == name;
    subject.user.as_ref().is_some_and(|wanted| named(&user.name, &wanted.name))
        || subject.group.as_ref().is_some_and(|wanted| user.groups.iter().any(|group| named(group, &wanted.name)))
}

/// Mirrors `matchesAResourceRule`.
fn covers(rule: &ResourcePolicyRule, attributes: &Attributes) -> bool {
    let in_place = match attributes.namespace {
        "" => rule.cluster_scope == Some(true),
        namespace => has(rule.namespaces.as_deref().unwrap_or_default(), namespace),
    };
    in_place
        && has(&rule.verbs, attributes.verb)
        && has(&rule.api_groups, attributes.group)
        && has(&rule.resources, &attributes.resource)
}

/// Mirrors `matchesANonResourceRule`.
fn covers_path(rule: &NonResourcePolicyRule, verb: &str, path: &str) -> bool {
    let below = |url: &String| url.strip_suffix('*').is_some_and(|start| path.starts_with(start));
    has(&rule.verbs, verb) && (has(&rule.non_resource_urls, path) || rule.non_resource_urls.iter().any(below))
}

/// Whether a list has a word, or all words.
fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|there| there == word || there == "*")
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use wire::{Body, User, Verb};

    #[test]
    fn every_flow_leads_to_a_level() {
        let levels = bootstrap().iter().filter(|object| object.kind() == Kind::PriorityLevelConfiguration);
        let levels: Vec<&str> = levels.map(|level| level.name()).collect();
        let to = |schema: &Arc<FlowSchema>| schema.spec.clone().expect("it has one").priority_level_configuration.name;
        let leads: Vec<String> = schemas().iter().map(to).collect();
        assert_eq!((levels.len(), leads.len()), (8, 11));
        assert!(leads.iter().all(|level| levels.contains(&level.as_str())), "{leads:?}");
    }

    #[test]
    fn every_request_has_a_level() {
        let controller = |name: &str| User::service_account("kube-system", name, name);
        let manager = || User::component("system:kube-controller-manager", "kube-controller-manager");
        let (node, pod) = (|| User::node("node-1"), || User::service_account("shop", "default", "curl"));
        let (deployments, slices) = (|| controller("deployment-controller"), || controller("endpointslice-controller"));
        #[rustfmt::skip]
        let cases = [
            (User::admin(), Verb::Create, Kind::Pod, None, "shop", "exempt → exempt"),
            (User::component("eve", "user/kubectl"), Verb::List, Kind::Pod, None, "", r#"global-default → global-default, flow "eve""#),
            (manager(), Verb::Update, Kind::Lease, None, "kube-system",
                r#"system-leader-election → leader-election, flow "system:kube-controller-manager""#),
            (manager(), Verb::Watch, Kind::Lease, None, "", r#"kube-controller-manager → workload-high, flow """#),
            (manager(), Verb::Update, Kind::Endpoints, None, "shop",
                r#"kube-controller-manager → workload-high, flow "shop""#),
            (controller("endpoint-controller"), Verb::Create, Kind::Endpoints, None, "shop",
                r#"kube-system-service-accounts → workload-high, flow "shop""#),
            (slices(), Verb::Create, Kind::EndpointSlice, None, "shop",
                r#"kube-system-service-accounts → workload-high, flow "shop""#),
            (deployments(), Verb::Get, Kind::ConfigMap, None, "shop",
                r#"kube-system-service-accounts → workload-high, flow "shop""#),
            (node(), Verb::Patch, Kind::Node, Some(Subresource::Status), "",
                r#"system-node-high → node-high, flow "system:node:node-1""#),
            (node(), Verb::Update, Kind::Lease, None, "kube-node-lease",
                r#"system-node-high → node-high, flow "system:node:node-1""#),
            (node(), Verb::Patch, Kind::Pod, Some(Subresource::Status), "shop",
                r#"system-nodes → system, flow "system:node:node-1""#),
            (User::component("system:kube-scheduler", "kube-scheduler"), Verb::Create, Kind::Pod, Some(Subresource::Binding),
                "shop", r#"kube-scheduler → workload-high, flow "shop""#),
            (pod(), Verb::List, Kind::Pod, None, "shop",
                r#"service-accounts → workload-low, flow "system:serviceaccount:shop:default""#),
            (User { groups: Vec::new(), ..pod() }, Verb::List, Kind::Pod, None, "shop",
                r#"catch-all → catch-all, flow "system:serviceaccount:shop:default""#),
        ];
        for (user, verb, kind, subresource, namespace, want) in cases {
            let name = user.name.clone();
            let request = Request { subresource, ..Request::new(Rc::new(user), verb, kind, namespace, "", Body::None) };
            let got = classify(&request).expect("it is counted").to_string();
            assert_eq!(got, want, "{name}: {}", request.line());
        }
    }

    #[test]
    fn whoever_asks_for_the_health_does_not_wait() {
        for (path, want) in [("/livez", "probes → exempt"), ("/api", r#"global-default → global-default, flow "eve""#)]
        {
            let request = Request::path(Rc::new(User::component("eve", "user/kubectl")), path);
            assert_eq!(classify(&request).expect("it is counted").to_string(), want);
        }
    }

    #[test]
    fn what_stays_open_is_not_counted() {
        let user = Rc::new(User::admin());
        let request = Request::new(user, Verb::Create, Kind::Pod, "shop", "web", Body::None);
        assert_eq!(classify(&Request { subresource: Some(Subresource::Exec), ..request }), None);
    }
}
