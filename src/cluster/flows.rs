//! Objects that an API server makes for itself: the servers of its groups, and what it says of the flows of its requests.
//! Mirrors `pkg/controlplane/apiserver/aggregator.go` and `pkg/registry/flowcontrol/rest`.

use std::rc::Rc;

use serde_json::{Value, json};

use apiserver::host::Engine;
use object::{Kind, Object};
use wire::{Body, Patch, Request, Subresource, User, Verb};

/// Each group and version that the server itself serves, with the priorities of both.
const SERVED: [(&str, &str, i32, i32); 21] = [
    ("", "v1", 18000, 1),
    ("admissionregistration.k8s.io", "v1", 16700, 15),
    ("apiextensions.k8s.io", "v1", 16700, 15),
    ("apps", "v1", 17800, 15),
    ("authentication.k8s.io", "v1", 17700, 15),
    ("authorization.k8s.io", "v1", 17600, 15),
    ("autoscaling", "v1", 17500, 15),
    ("batch", "v1", 17400, 15),
    ("certificates.k8s.io", "v1", 17300, 15),
    ("coordination.k8s.io", "v1", 16500, 15),
    ("discovery.k8s.io", "v1", 16200, 15),
    ("events.k8s.io", "v1", 17750, 15),
    ("flowcontrol.apiserver.k8s.io", "v1", 16100, 21),
    ("networking.k8s.io", "v1", 17200, 15),
    ("node.k8s.io", "v1", 16300, 15),
    ("policy", "v1", 17100, 15),
    ("rbac.authorization.k8s.io", "v1", 17000, 15),
    ("resource.k8s.io", "v1", 16200, 21),
    ("scheduling.k8s.io", "v1", 16600, 15),
    ("storage.k8s.io", "v1", 16800, 15),
    ("autoscaling", "v2", 17500, 30),
];

/// The APIServices of the server's own groups.
pub(super) fn api_services() -> Vec<Object> {
    let service = |(group, version, minimum, priority): (&str, &str, i32, i32)| {
        let labels = json!({"kube-aggregator.kubernetes.io/automanaged": "onstart"});
        let spec =
            json!({"group": group, "version": version, "groupPriorityMinimum": minimum, "versionPriority": priority});
        decode(
            Kind::APIService,
            &json!({"metadata": {"name": format!("{version}.{group}"), "labels": labels}, "spec": spec}),
        )
    };
    SERVED.into_iter().map(service).collect()
}

/// The level of each flow is there. Mirrors the controller of `k8s.io/apiserver/pkg/util/flowcontrol`.
pub(super) fn found(engine: &Engine, flow: &Object) -> Option<Request> {
    let Object::FlowSchema(schema) = flow else { return None };
    let level = &schema.spec.as_ref()?.priority_level_configuration.name;
    let message =
        format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?} and it exists");
    let condition = json!({"type": "Dangling", "status": "False", "reason": "Found", "message": message,
        "lastTransitionTime": engine.now().time()});
    let applied = json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
        "metadata": {"name": flow.name()}, "status": {"conditions": [condition]}});
    let (user, body) = (Rc::new(User::loopback()), Body::Patch(Patch::Apply(applied)));
    let mut request = Request::new(user, Verb::Patch, Kind::FlowSchema, "", flow.name(), body);
    request.subresource = Some(Subresource::Status);
    request.options.field_manager = "api-priority-and-fairness-config-consumer-v1".to_owned();
    request.options.force = true;
    Some(request)
}

fn decode(kind: Kind, object: &Value) -> Object {
    kind.decode(object.clone()).expect("a literal object is whole")
}
