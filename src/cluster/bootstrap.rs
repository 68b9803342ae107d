//! What is in the store before anything runs.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use super::{Account, flows};
use apiserver::host::Engine;
use apiserver::{flow_control, own_service};
use controllers::root_ca::CERTIFICATE;
use controllers::{TABLE, clusterrole_aggregation};
use object::time::Instant;
use object::well_known::{KUBERNETES, RBAC};
use object::{Accessor, Kind, Object};
use wire::{Body, Patch, Request, Subresource, User, Verb};

/// What the API server writes into an empty store. Mirrors its post-start hooks: system namespaces, priority classes,
/// RBAC bootstrap policy, priority levels and flows, APIServices. Then comes what is installed with operators.
///
/// `is_managed`: there are controllers.
pub(super) fn bootstrap(engine: &mut Engine, operators: &[Account], is_managed: bool) {
    // One object more or less here must not change the names of all that comes later.
    let apart = engine.server.api.fork_random();
    let later = engine.server.api.swap_random(apart);
    write_as_server(engine, bootstrap_objects());
    write_as_server(engine, own_config_maps(engine.now()));
    write_as_server(engine, vec![service_addresses(is_managed)]);
    say_ready(engine);
    write_as_server(engine, own_service::objects().into_iter().chain(accounts()).collect());
    if is_managed {
        gather_rules(engine);
    }
    write_as_server(engine, flows::api_services());
    let levels_and_flows = flow_control::bootstrap();
    write_as_server(engine, levels_and_flows.to_vec());
    levels_and_flows.iter().for_each(|flow| flows::found(engine, flow).iter().for_each(|found| send(engine, found)));
    write_as_server(engine, operators.iter().flat_map(of_operator).collect());
    engine.server.api.swap_random(later);
}

/// Objects that are there before anything runs.
pub(super) fn write_as_server(engine: &mut Engine, objects: Vec<Object>) {
    for object in objects {
        send(engine, &Request::create(Rc::new(User::loopback()), object));
    }
}

fn send(engine: &mut Engine, request: &Request) {
    let answer = engine.server.api.handle(request, None, engine.now()).answer;
    assert!(answer.result.is_ok(), "{}: {:?}", request.line(), answer.result);
}

fn bootstrap_objects() -> Vec<Object> {
    let named = |name: &str| ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespaces = ["kube-system", "kube-public", "kube-node-lease", "default"];
    let namespaces = namespaces.map(|n| Namespace { metadata: named(n), ..Namespace::default() });
    let classes = [
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
    ];
    let classes = classes.map(|(name, value, description)| PriorityClass {
        metadata: named(name),
        value: Some(value),
        description: Some(description.to_owned()),
        ..Default::default()
    });
    let mut objects: Vec<Object> = namespaces.map(|n| Object::Namespace(Arc::new(n))).into();
    objects.extend(classes.map(|c| Object::PriorityClass(Arc::new(c))));
    objects.extend(apiserver::authorization::bootstrap::objects().iter().cloned().map(without_gathered_rules));
    objects
}

/// A role that gathers rules has none before its controller has run.
fn without_gathered_rules(object: Object) -> Object {
    match object {
        Object::ClusterRole(role) if role.aggregation_rule.is_some() => {
            Object::ClusterRole(Arc::new(ClusterRole { rules: None, ..ClusterRole::clone(&role) }))
        }
        object => object,
    }
}

/// What the clusterrole-aggregation controller writes, the cluster's first time: what roles have gathered.
fn gather_rules(engine: &mut Engine) {
    for object in apiserver::authorization::bootstrap::objects() {
        let Object::ClusterRole(role) = object else { continue };
        if role.aggregation_rule.is_some() {
            let name = role.metadata.name();
            let gathered = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
                "rules": role.rules});
            apply(engine, Kind::ClusterRole, None, gathered, clusterrole_aggregation::REGISTRATION.name);
        }
    }
}

/// Server-side apply of a controller's that is told of with a few fields.
fn apply(engine: &mut Engine, kind: Kind, part: Option<Subresource>, fields: Value, manager: &str) {
    let name = fields["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let (user, body) = (Rc::new(User::loopback()), Body::Patch(Patch::Apply(fields)));
    let mut request = Request::new(user, Verb::Patch, kind, "", &name, body);
    request.subresource = part;
    request.options.field_manager = manager.to_owned();
    request.options.force = true;
    send(engine, &request);
}

/// Controllers that are left out here. Their accounts are not.
const LEFT_OUT: &[&str] = &[
    "device-taint-eviction-controller",
    "legacy-service-account-token-cleaner",
    "resource-claim-controller",
    "service-cidrs-controller",
];

/// What the API server tells other servers and controllers of itself. Mirrors `pkg/controlplane/controller/clusterauthenticationtrust`
/// and `legacytokentracking`.
fn own_config_maps(now: Instant) -> Vec<Object> {
    let config_map = |name: &str, data: Value| {
        decode(Kind::ConfigMap, json!({"metadata": {"name": name, "namespace": "kube-system"}, "data": data}))
    };
    let since = now.timestamp().strftime("%Y-%m-%d").to_string();
    vec![
        config_map("kube-apiserver-legacy-service-account-token-tracking", json!({"since": since})),
        config_map("extension-apiserver-authentication", json!({"client-ca-file": CERTIFICATE})),
    ]
}

/// The accounts that controllers act as. kube-controller-manager makes each when its controller begins, the cluster's first
/// time. Mirrors `k8s.io/controller-manager/pkg/clientbuilder`.
fn accounts() -> impl Iterator<Item = Object> {
    let names: BTreeSet<&str> = TABLE.iter().filter_map(|row| row.account).chain(LEFT_OUT.iter().copied()).collect();
    names.into_iter().map(|name| {
        let (name, namespace) = (Some(name.to_owned()), Some("kube-system".to_owned()));
        let metadata = ObjectMeta { name, namespace, ..ObjectMeta::default() };
        Object::ServiceAccount(Arc::new(ServiceAccount { metadata, ..ServiceAccount::default() }))
    })
}

/// What is installed with an operator: its account, and what that may do.
fn of_operator(Account { name, rules }: &Account) -> [Object; 3] {
    let list = |words: &str| words.split(',').map(str::to_owned).collect::<Vec<_>>();
    let rule = |(verbs, groups, resources): &(&str, &str, &str)| json!({"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)});
    let rules: Vec<Value> = rules.iter().map(rule).collect();
    let role = json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": name});
    let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": "default"});
    [
        decode(Kind::ServiceAccount, json!({"metadata": {"name": name, "namespace": "default"}})),
        decode(Kind::ClusterRole, json!({"metadata": {"name": name}, "rules": rules})),
        decode(Kind::ClusterRoleBinding, json!({"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})),
    ]
}

/// The range that Services take their addresses from, with the finalizer that its controller in kube-controller-manager gives
/// it, if there is one. Mirrors `pkg/controlplane/controller/defaultservicecidr` and `pkg/controller/servicecidrs`.
fn service_addresses(is_managed: bool) -> Object {
    let finalizers = if is_managed { json!(["networking.k8s.io/service-cidr-finalizer"]) } else { json!(null) };
    let metadata = json!({"name": KUBERNETES, "finalizers": finalizers});
    decode(Kind::ServiceCIDR, json!({"metadata": metadata, "spec": {"cidrs": ["10.96.0.0/16"]}}))
}

/// The second write of the same controller: its range is ready. Mirrors `syncStatus`.
fn say_ready(engine: &mut Engine) {
    let ready = json!({"type": "Ready", "status": "True", "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": engine.now().time()});
    let range = json!({"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": KUBERNETES},
        "status": {"conditions": [ready]}});
    apply(engine, Kind::ServiceCIDR, Some(Subresource::Status), range, "kubernetes-service-cidr-controller");
}

fn decode(kind: Kind, object: Value) -> Object {
    kind.decode(object).expect("a literal object is whole")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Cluster, Config};

    #[test]
    fn the_range_of_services_is_ready_with_its_second_version() {
        let cluster = Cluster::start(Config::default());
        let range = cluster.engine.server.api.store.get("/registry/servicecidrs/kubernetes").unwrap();
        assert_eq!((range.version, range.mod_revision), (2, range.create_revision + 1));
        let status = &range.value.to_json()["status"];
        assert_eq!(status["conditions"][0]["message"], json!("Kubernetes default Service CIDR is ready"));
    }
}
