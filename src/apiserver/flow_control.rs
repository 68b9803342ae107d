//! API priority and fairness: whose request goes first when there are too many.
//!
//! A server that takes whatever comes can be brought down by one client that asks too often. So it handles a limited
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
//! The headers with the objects' uids. The objects themselves (`flowcontrol.apiserver.k8s.io/v1`) are kept, and nothing here
//! reads them: the shipped configuration is all there is.

use std::fmt;

use wire::{MASTERS, Request, Subresource};

use super::authorization::Attributes;

/// What makes requests of one schema different flows. Mirrors `FlowDistinguisherMethodType`.
#[derive(Clone, Copy)]
enum Flows {
    /// Nothing does.
    Same,
    ByUser,
    ByNamespace,
}

/// Who asks.
enum Subject {
    User(&'static str),
    Group(&'static str),
}

/// What is asked: these verbs on these resources of a group, outside namespaces and of all of them only where that is
/// said (`clusterScope`); or on these paths.
struct Rule {
    verbs: &'static [&'static str],
    group: &'static str,
    resources: &'static [&'static str],
    cluster_scope: bool,
    paths: &'static [&'static str],
}

/// What leader election by an object comes to.
const ELECTING: &[&str] = &["get", "create", "update"];
const LEASES: Rule = electing("coordination.k8s.io", &["leases"]);
const HEARTBEATS: Rule = Rule { verbs: &["*"], ..LEASES };
const NODE_STATUS: Rule = Rule { verbs: &["*"], cluster_scope: true, ..electing("", &["nodes", "nodes/status"]) };
const PROBES: Rule = Rule { verbs: &["get"], paths: &["/healthz", "/readyz", "/livez"], ..electing("", &[]) };

const fn electing(group: &'static str, resources: &'static [&'static str]) -> Rule {
    Rule { verbs: ELECTING, group, resources, cluster_scope: false, paths: &[] }
}

const CONTROLLER_MANAGER: Subject = Subject::User("system:kube-controller-manager");
const SCHEDULER: Subject = Subject::User("system:kube-scheduler");
const NODES: Subject = Subject::Group("system:nodes");
const SYSTEM_ACCOUNTS: Subject = Subject::Group("system:serviceaccounts:kube-system");
const EVERYBODY: &[Subject] = &[Subject::Group("system:unauthenticated"), Subject::Group("system:authenticated")];

/// A FlowSchema: its name, its level, its `matchingPrecedence`, whose requests it takes, and which of them: no rule, all.
type FlowSchema = (&'static str, &'static str, u16, Flows, &'static [Subject], &'static [Rule]);

/// The shipped FlowSchemas, in the order in which they are tried.
const SCHEMAS: &[FlowSchema] = {
    use Flows::{ByNamespace, ByUser, Same};
    &[
        ("exempt", "exempt", 1, Same, &[Subject::Group(MASTERS)], &[]),
        ("probes", "exempt", 2, Same, EVERYBODY, &[PROBES]),
        ("system-leader-election", "leader-election", 100, ByUser, ELECTED, &[LEASES]),
        ("system-node-high", "node-high", 400, ByUser, &[NODES], &[NODE_STATUS, HEARTBEATS]),
        ("system-nodes", "system", 500, ByUser, &[NODES], &[]),
        ("kube-controller-manager", "workload-high", 800, ByNamespace, &[CONTROLLER_MANAGER], &[]),
        ("kube-scheduler", "workload-high", 800, ByNamespace, &[SCHEDULER], &[]),
        ("kube-system-service-accounts", "workload-high", 900, ByNamespace, &[SYSTEM_ACCOUNTS], &[]),
        ("service-accounts", "workload-low", 9000, ByUser, &[Subject::Group("system:serviceaccounts")], &[]),
        ("global-default", "global-default", 9900, ByUser, EVERYBODY, &[]),
        CATCH_ALL,
    ]
};
const ELECTED: &[Subject] = &[CONTROLLER_MANAGER, SCHEDULER, SYSTEM_ACCOUNTS];
const CATCH_ALL: FlowSchema = ("catch-all", "catch-all", 10000, Flows::ByUser, EVERYBODY, &[]);

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
    let stays_open = |part: Subresource| part == Subresource::Log || part.is_connection();
    let long_running = request.subresource.is_some_and(stays_open);
    (!long_running).then(|| of(&Attributes::of(request)))
}

fn of(attributes: &Attributes) -> Classification {
    let (schema, level, _, flows, ..) =
        *SCHEMAS.iter().find(|schema| matches(schema, attributes)).unwrap_or(&CATCH_ALL);
    let flow = match flows {
        Flows::Same => None,
        Flows::ByUser => Some(attributes.user.name.clone()),
        Flows::ByNamespace => Some(attributes.namespace.to_owned()),
    };
    Classification { schema, level, flow }
}

/// Mirrors `matchesFlowSchema`.
fn matches((.., subjects, rules): &FlowSchema, attributes: &Attributes) -> bool {
    let user = attributes.user;
    let is_meant = |subject: &Subject| match subject {
        Subject::User(name) => user.name == *name,
        Subject::Group(name) => user.groups.iter().any(|group| group == name),
    };
    subjects.iter().any(is_meant) && (rules.is_empty() || rules.iter().any(|rule| rule.covers(attributes)))
}

impl Rule {
    fn covers(&self, attributes: &Attributes) -> bool {
        if !self.verbs.iter().any(|verb| [attributes.verb, "*"].contains(verb)) {
            return false;
        }
        if !attributes.path.is_empty() {
            return self.paths.contains(&attributes.path);
        }
        self.group == attributes.group
            && self.resources.contains(&&*attributes.resource)
            && (self.cluster_scope || !attributes.namespace.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use object::Kind;
    use wire::{Body, User, Verb};

    #[test]
    fn schemas_are_tried_in_order() {
        assert!(SCHEMAS.is_sorted_by_key(|schema| (schema.2, schema.0)));
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
