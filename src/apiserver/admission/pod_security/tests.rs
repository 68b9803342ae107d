//! Levels, labels and messages, in tables.

use serde_json::{Value, json};

use super::super::testing::{Objects, object, request};
use super::*;
use object::random::Random;
use wire::{User, Verb};

fn namespace(labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": labels}})
}

fn pod(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": spec})
}

/// What is refused, and what is warned of.
fn asked(objects: &Objects, old: Option<Value>, new: Value) -> (String, Vec<String>) {
    let (new, old) = (object(new), old.map(object));
    let verb = if old.is_some() { Verb::Update } else { Verb::Create };
    let (request, mut random) = (request(User::admin(), verb, None, &new), Random::new(1));
    let attributes = Attributes {
        request: &request,
        old: old.as_ref(),
        reader: objects,
        authorizer: &crate::authorization::Authorizer::new(),
        random: &mut random,
    };
    let refused = validate(&attributes, &new).err().map(|status| status.message).unwrap_or_default();
    (refused, warnings(&attributes, &new))
}

#[test]
fn levels_refuse_what_they_should() {
    let one = |context: Value| json!({"containers": [{"name": "a", "securityContext": context}]});
    let good = json!({"allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"}});
    for (level, spec, expected) in [
        ("privileged", one(json!({"privileged": true})), ""),
        ("baseline", one(json!({})), ""),
        ("restricted", one(good.clone()), ""),
        (
            "restricted",
            one(json!({})),
            "allowPrivilegeEscalation != false (container \"a\" must set securityContext.allowPrivilegeEscalation=false), \
             unrestricted capabilities (container \"a\" must set securityContext.capabilities.drop=[\"ALL\"]), \
             runAsNonRoot != true (pod or container \"a\" must set securityContext.runAsNonRoot=true), \
             seccompProfile (pod or container \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \
             \"Localhost\")",
        ),
        (
            "baseline",
            one(json!({"privileged": true, "capabilities": {"add": ["NET_ADMIN", "CHOWN"]}})),
            "non-default capabilities (container \"a\" must not include \"NET_ADMIN\" in securityContext.capabilities.add), \
             privileged (container \"a\" must not set securityContext.privileged=true)",
        ),
        (
            "baseline",
            json!({"hostNetwork": true, "hostPID": true, "containers": [{"name": "a", "ports": [{"containerPort": 80,
                "hostPort": 80}]}], "volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
            "host namespaces (hostNetwork=true, hostPID=true), hostPath volumes (volume \"v\"), \
             hostPort (container \"a\" uses hostPort 80)",
        ),
        (
            "baseline",
            json!({"securityContext": {"seLinuxOptions": {"type": "foo", "user": "u"}, "appArmorProfile": {"type": "Unconfined"},
                "windowsOptions": {"hostProcess": true}}, "containers": [{"name": "a", "securityContext": {"seLinuxOptions":
                {"type": "container_t", "role": "r"}, "windowsOptions": {"hostProcess": true}}}]}),
            "forbidden AppArmor profile (pod must not set AppArmor profile type to \"Unconfined\"), \
             seLinuxOptions (pod and container \"a\" set forbidden securityContext.seLinuxOptions: type \"foo\"; user may not be \
             set; role may not be set), \
             hostProcess (pod and container \"a\" must not set securityContext.windowsOptions.hostProcess=true)",
        ),
        (
            "baseline",
            json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}, "containers": [{"name": "a", "securityContext":
                {"seccompProfile": {"type": "Unconfined"}}}]}),
            "seccompProfile (pod and container \"a\" must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
        // Root in a Pod with its own user namespace is not root on the node.
        (
            "baseline",
            json!({"hostUsers": false, "containers": [{"name": "a", "securityContext": {"procMount": "Unmasked"}}]}),
            "",
        ),
        (
            "restricted",
            json!({"hostUsers": false, "containers": [{"name": "a", "securityContext": {"allowPrivilegeEscalation": false,
                "runAsUser": 0, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}}]}),
            "",
        ),
        (
            "restricted",
            json!({"containers": [{"name": "a", "securityContext": good}], "volumes": [{"name": "v", "hostPath":
                {"path": "/"}}], "securityContext": {"runAsUser": 0}}),
            "restricted volume types (volume \"v\" uses restricted volume type \"hostPath\"), \
             runAsUser=0 (pod must not set runAsUser=0)",
        ),
    ] {
        let objects = Objects::parse(&[namespace(json!({"pod-security.kubernetes.io/enforce": level}))]);
        let (refused, told) = asked(&objects, None, pod(spec.clone()));
        let why = refused.split_once("is forbidden: ").map_or("", |(_, why)| why);
        let head = format!("violates PodSecurity \"{level}:latest\": ");
        assert_eq!(why.strip_prefix(&head).unwrap_or(why), expected, "{level} {spec}");
        assert_eq!(told.len(), usize::from(!expected.is_empty()), "warned of what is enforced: {told:?}");
    }
}

#[test]
fn workloads_and_levels_to_come_are_warned_of() {
    let template = json!({"metadata": {}, "spec": {"hostPID": true, "containers": [{"name": "a"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"},
        "spec": {"selector": {}, "template": template}});
    let told = |labels: Value| asked(&Objects::parse(&[namespace(labels)]), None, deployment.clone());
    let warning = || vec!["would violate PodSecurity \"baseline:v1.30\": host namespaces (hostPID=true)".to_owned()];
    assert_eq!(told(json!({})), (String::new(), Vec::new()));
    let labels = |mode: &str| {
        json!({format!("pod-security.kubernetes.io/{mode}"): "baseline",
            format!("pod-security.kubernetes.io/{mode}-version"): "v1.30"})
    };
    assert_eq!(told(labels("warn")), (String::new(), warning()));
    assert_eq!(told(labels("enforce")), (String::new(), warning()), "a workload is not refused");
    assert_eq!(told(labels("audit")), (String::new(), Vec::new()));

    let another = |name: &str, owner: Option<&str>| {
        let mut another = pod(template["spec"].clone());
        another["metadata"]["name"] = json!(name);
        if let Some(uid) = owner {
            another["metadata"]["ownerReferences"] =
                json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "d-1", "uid": uid, "controller": true}]);
        }
        another
    };
    let there = Objects::parse(&[another("p", None), another("q", Some("u")), another("r", Some("u"))]);
    let (refused, told) = asked(&there, Some(namespace(json!({}))), namespace(labels("enforce")));
    assert_eq!(refused, "");
    assert_eq!(
        told,
        [
            "existing pods in namespace \"n\" violate the new PodSecurity enforce level \"baseline:v1.30\"",
            "p (and 2 other pods): host namespaces"
        ]
    );
}

#[test]
fn labels_that_are_no_levels_are_refused() {
    for (key, value, expected) in [
        ("enforce", "strict", "must be one of privileged, baseline, restricted"),
        ("warn-version", "1.30", "must be \"latest\" or \"v1.x\""),
        ("warn-version", "v1.30", ""),
    ] {
        let label = format!("pod-security.kubernetes.io/{key}");
        let (refused, _) = asked(&Objects::default(), None, namespace(json!({(&label): value})));
        let full =
            format!("Namespace \"n\" is invalid: metadata.labels[{label}]: Invalid value: {value:?}: {expected}");
        assert_eq!(refused, if expected.is_empty() { String::new() } else { full });
    }
}
