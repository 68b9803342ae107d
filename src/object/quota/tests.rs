//! What objects cost, in tables.

use serde_json::{Value, json};

use super::*;

fn object(kind: Kind, value: Value) -> Object {
    kind.decode(value).expect("the object decodes")
}

#[test]
fn a_pod_costs_what_it_asks_for_until_it_has_ended() {
    let pod = |meta: Value, phase: &str| {
        object(
            Kind::Pod,
            json!({"metadata": meta, "status": {"phase": phase}, "spec": {"containers": [{"name": "a", "resources":
                {"requests": {"cpu": "500m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}}]}}),
        )
    };
    let deleted = json!({"deletionTimestamp": "2030-01-01T00:00:10Z", "deletionGracePeriodSeconds": 30});
    const FULL: &str =
        "count/pods=1,cpu=500m,limits.memory=128Mi,memory=64Mi,pods=1,requests.cpu=500m,requests.memory=64Mi";
    let at = |seconds: u64| Instant::default() + std::time::Duration::from_secs(seconds);
    let epoch = Instant::from_time(&serde_json::from_value(json!("2030-01-01T00:00:00Z")).expect("a time"));
    for (meta, phase, now, expected) in [
        (json!({}), "Pending", at(0), FULL),
        (json!({}), "Running", at(0), FULL),
        (json!({}), "Succeeded", at(0), "count/pods=1"),
        (json!({}), "Failed", at(0), "count/pods=1"),
        (deleted.clone(), "Running", epoch + std::time::Duration::from_secs(40), FULL),
        (deleted.clone(), "Running", epoch + std::time::Duration::from_secs(41), "count/pods=1"),
    ] {
        assert_eq!(shown(&usage(&pod(meta.clone(), phase), now)), expected, "{meta} {phase}");
    }
}

/// For quotas, and for its QoS class.
#[test]
fn what_is_said_of_a_pod_as_a_whole_its_containers_need_not_say() {
    let whole = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}});
    for (resources, missing, class) in
        [(whole, None, "Guaranteed"), (json!({}), Some("must specify limits.cpu for: a"), "BestEffort")]
    {
        let pod = object(Kind::Pod, json!({"spec": {"resources": resources, "containers": [{"name": "a"}]}}));
        let Object::Pod(pod) = pod else { unreachable!("a Pod was decoded") };
        assert_eq!(pod::left_unspecified(&pod, &["limits.cpu", "pods"]).as_deref(), missing);
        assert_eq!(crate::pod::qos_class(&pod), class);
    }
}

#[test]
fn other_kinds_cost_their_number_and_more() {
    for (kind, value, expected) in [
        (Kind::Deployment, json!({}), "count/deployments.apps=1"),
        (Kind::ConfigMap, json!({}), "configmaps=1,count/configmaps=1"),
        (
            Kind::Service,
            json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}),
            "count/services=1,services=1,services.loadbalancers=1,services.nodeports=1",
        ),
        (
            Kind::Service,
            json!({"spec": {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": [{"port": 80}]}}),
            "count/services=1,services=1,services.loadbalancers=1,services.nodeports=0",
        ),
        (
            Kind::PersistentVolumeClaim,
            json!({"spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1Gi"}}}}),
            "count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,\
             gold.storageclass.storage.k8s.io/requests.storage=1Gi,persistentvolumeclaims=1,requests.storage=1Gi",
        ),
    ] {
        assert_eq!(shown(&usage(&object(kind, value.clone()), Instant(0))), expected, "{value}");
    }
}

#[test]
fn a_quota_is_about_what_is_in_all_its_scopes() {
    let pod = |spec: Value| {
        let mut spec = spec;
        spec["containers"] = json!([{"name": "a"}]);
        object(Kind::Pod, json!({"spec": spec}))
    };
    let scope = |name: &str| json!({"scopes": [name]});
    let selector = |operator: &str, values: Value| {
        json!({"scopeSelector": {"matchExpressions":
            [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}})
    };
    let near = json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        [{"topologyKey": "zone", "namespaces": ["other"]}]}}});
    for (spec, of, expected) in [
        (json!({}), json!({}), true),
        (scope("BestEffort"), json!({}), true),
        (scope("NotBestEffort"), json!({}), false),
        (scope("Terminating"), json!({"activeDeadlineSeconds": 5}), true),
        (scope("NotTerminating"), json!({"activeDeadlineSeconds": 5}), false),
        (json!({"scopes": ["BestEffort", "Terminating"]}), json!({}), false),
        (scope("CrossNamespacePodAffinity"), near, true),
        (scope("CrossNamespacePodAffinity"), json!({}), false),
        (scope("PriorityClass"), json!({"priorityClassName": "high"}), true),
        (scope("PriorityClass"), json!({}), false),
        (selector("In", json!(["high"])), json!({"priorityClassName": "high"}), true),
        (selector("In", json!(["high"])), json!({"priorityClassName": "low"}), false),
        (selector("NotIn", json!(["high"])), json!({}), true),
        (selector("DoesNotExist", json!([])), json!({}), true),
    ] {
        let quota: ResourceQuota = serde_json::from_value(json!({"spec": spec})).expect("a quota");
        assert_eq!(is_about(&quota, &pod(of.clone())), expected, "{spec} {of}");
    }
    let quota: ResourceQuota = serde_json::from_value(json!({"spec": scope("BestEffort")})).expect("a quota");
    assert!(!is_about(&quota, &object(Kind::ConfigMap, json!({}))), "only Pods are in that scope");
}

#[test]
fn a_quota_of_an_attributes_class_is_about_claims_that_name_it_anywhere() {
    let wanted = |class: &str| json!({"spec": {"volumeAttributesClassName": class}});
    let current = json!({"status": {"currentVolumeAttributesClassName": "gold"}});
    let target = json!({"spec": {"volumeAttributesClassName": "tin"}, "status": {"modifyVolumeStatus":
        {"status": "InProgress", "targetVolumeAttributesClassName": "gold"}}});
    let gold = json!(["gold"]);
    for (operator, values, claim, expected) in [
        ("In", &gold, wanted("gold"), true),
        ("In", &gold, wanted("tin"), false),
        ("In", &gold, json!({}), false),
        ("In", &gold, current.clone(), true),
        ("In", &gold, target.clone(), true),
        ("NotIn", &gold, target, true),
        ("NotIn", &gold, current, false),
        ("NotIn", &gold, json!({}), true),
        ("Exists", &Value::Null, wanted("tin"), true),
        ("Exists", &Value::Null, wanted(""), false),
        ("DoesNotExist", &Value::Null, json!({}), true),
    ] {
        let quota = json!({"spec": {"scopeSelector": {"matchExpressions":
            [{"scopeName": "VolumeAttributesClass", "operator": operator, "values": values}]}}});
        let quota: ResourceQuota = serde_json::from_value(quota).expect("a quota");
        let claim_object = object(Kind::PersistentVolumeClaim, claim.clone());
        assert_eq!(is_about(&quota, &claim_object), expected, "{operator} {values} {claim}");
        assert!(!is_about(&quota, &object(Kind::Pod, json!({"spec": {"containers": []}}))), "no Pod has such a class");
    }
}
