//! Objects with one thing wrong, and the sentence about it.

mod endpoints;
mod recorded;
mod refused;
mod storage;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{defaults, strategy};
use object::time::Instant;
use object::{Kind, Object, Status};

use crate::validation::{validate_create, validate_status_update, validate_update};

fn object(kind: Kind, value: Value) -> Object {
    let mut object = kind.decode(value).unwrap();
    defaults::set_defaults(&mut object);
    strategy::prepare_for_create(&mut object, None, Instant::default());
    object
}

fn message(object: &Object, causes: Vec<object::status::Cause>) -> String {
    if causes.is_empty() {
        return String::new();
    }
    let message = Status::invalid(object.kind(), "x", causes).message;
    message.split_once(" is invalid: ").map(|(_, text)| text.to_owned()).unwrap_or_default()
}

/// What is wrong with an object, as its 422 says it.
pub fn wrong(kind: Kind, value: Value) -> String {
    let object = object(kind, value);
    let causes = validate_create(&object, None);
    message(&object, causes)
}

/// What is wrong with a change, as its 422 says it.
fn changed(kind: Kind, old: Value, new: Value) -> String {
    let (old, new) = (object(kind, old), object(kind, new));
    let causes = validate_update(&new, &old, None);
    message(&new, causes)
}

fn pod(spec: Value) -> Value {
    json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec})
}

/// A Pod with a sound container, and more.
fn sound(more: Value) -> Value {
    let mut spec = json!({"containers": [{"name": "a", "image": "i:1"}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    pod(spec)
}

fn with_container(more: Value) -> Value {
    let mut container = json!({"name": "a", "image": "i:1"});
    container.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    pod(json!({"containers": [container]}))
}

#[test]
fn pods() {
    let cases = [
        (pod(json!({"containers": []})), "spec.containers: Required value"),
        (pod(json!({"containers": [{"name": "a"}]})), "spec.containers[0].image: Required value"),
        (
            sound(json!({"restartPolicy": "Maybe"})),
            "spec.restartPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", \"OnFailure\", \"Never\"",
        ),
        (
            pod(json!({"containers": [{"name": "a", "image": "i"}, {"name": "a", "image": "i"}]})),
            "spec.containers[1].name: Duplicate value: \"a\"",
        ),
        (
            with_container(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]})),
            "spec.containers[0].volumeMounts[0].name: Not found: \"v\"",
        ),
        (
            with_container(json!({"ports": [{"containerPort": 70000}]})),
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            with_container(json!({"livenessProbe": {}})),
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            with_container(json!({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}})),
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
        ),
        (
            sound(json!({"tolerations": [{"key": "a", "operator": "Exists", "effect": "Never"}]})),
            "spec.tolerations[0].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", \
             \"PreferNoSchedule\", \"NoExecute\"",
        ),
        (
            sound(json!({"volumes": [{"name": "v", "configMap": {"name": ""}}]})),
            "spec.volumes[0].configMap.name: Required value",
        ),
        (
            sound(json!({"nodeName": "n", "schedulingGates": [{"name": "g"}]})),
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
        (sound(json!({})), ""),
    ];
    for (value, want) in cases {
        assert_eq!(wrong(Kind::Pod, value.clone()), want, "{value}");
    }
}

fn deployment(more: Value) -> Value {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "i:1"}]}},
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec})
}

#[test]
fn deployments() {
    let cases = [
        (deployment(json!({})), ""),
        (deployment(json!({"replicas": -1})), "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        (
            deployment(json!({"selector": {"matchLabels": {"app": "b"}}})),
            "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
        ),
        (
            deployment(json!({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}})),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
        ),
        (
            deployment(json!({"strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}})),
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
        ),
        (
            deployment(json!({"progressDeadlineSeconds": 5, "minReadySeconds": 5})),
            "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
        ),
    ];
    for (value, want) in cases {
        assert_eq!(wrong(Kind::Deployment, value.clone()), want, "{value}");
    }
}

#[test]
fn files_of_variables_are_in_an_empty_dir() {
    let pod = |selector: Value| {
        json!({"metadata": {"name": "x", "namespace": "n"}, "spec": {
            "containers": [{"name": "a", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File",
                "env": [{"name": "A", "valueFrom": {"fileKeyRef": selector}}]}],
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "settings", "configMap": {"name": "s"}}],
            "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "serviceAccountName": "default"}})
    };
    const AT: &str = "spec.containers[0].env[0].valueFrom.fileKeyRef.";
    for (volume, path, key, want) in [
        ("data", "env", "", "key: Required value"),
        ("data", "", "K", "path: Required value"),
        ("data", "a/../b", "K", "path: Invalid value: \"a/../b\": must not contain '..'"),
        ("none", "env", "K", "volumeName: Not found: \"none\""),
        ("settings", "env", "K", "volumeName: Invalid value: \"settings\": referenced volume must be of type emptyDir"),
    ] {
        let wrong = wrong(Kind::Pod, pod(json!({"volumeName": volume, "path": path, "key": key})));
        assert_eq!(wrong, format!("{AT}{want}"));
    }
}

#[test]
fn other_kinds() {
    let named = |spec: Value| json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec});
    let cases = [
        (Kind::Service, named(json!({"ports": []})), "spec.ports: Required value"),
        (
            Kind::Service,
            named(json!({"ports": [{"port": 1}, {"port": 2, "name": "b"}]})),
            "spec.ports[0].name: Required value",
        ),
        (
            Kind::Service,
            named(json!({"ports": [{"port": 1, "nodePort": 30000}]})),
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            Kind::Node,
            json!({"metadata": {"name": "x", "namespace": "n"}}),
            "metadata.namespace: Forbidden: not allowed on this type",
        ),
        (
            Kind::ConfigMap,
            json!({"metadata": {"name": "x", "namespace": "n"}, "data": {"..": ""}}),
            "data[..]: Invalid value: \"..\": must not be '..'",
        ),
        (
            Kind::PriorityClass,
            json!({"metadata": {"name": "x"}, "value": 1000000001}),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        (
            Kind::PriorityClass,
            json!({"metadata": {"name": "system-x"}, "value": 1}),
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. \
             error: system-x is not a known system priority class",
        ),
        (
            Kind::Secret,
            json!({"metadata": {"name": "x", "namespace": "n"}, "type": "kubernetes.io/dockerconfigjson",
                "data": {".dockerconfigjson": "eA=="}}),
            "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'x' looking for \
             beginning of value",
        ),
        (
            Kind::ReplicaSet,
            named(json!({})),
            "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: null: `selector` does not \
             match template `labels`, spec.template.spec.containers: Required value]",
        ),
        (
            Kind::Role,
            json!({"metadata": {"name": "x", "namespace": "n"}, "rules": [{"verbs": ["get"], "apiGroups": [""]}]}),
            "rules[0].resources: Required value: resource rules must supply at least one resource",
        ),
        (
            Kind::Lease,
            named(json!({"leaseDurationSeconds": 0})),
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            Kind::Endpoints,
            json!({"metadata": {"name": "x", "namespace": "n"}, "subsets": [{"ports": [{"port": 0, "protocol": "TCP"}]}]}),
            "[subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`, \
             subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive]",
        ),
        (
            Kind::EndpointSlice,
            json!({"metadata": {"name": "x", "namespace": "n"}, "addressType": "IPv4",
                "endpoints": [{"addresses": ["127.0.0.1"]}, {"addresses": []}]}),
            "[endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range \
             (127.0.0.0/8, ::1/128), endpoints[1].addresses: Required value: must contain at least 1 address]",
        ),
        (
            Kind::IPAddress,
            json!({"metadata": {"name": "10.96.0"}, "spec": {"parentRef": {"resource": "services", "name": "a"}}}),
            "metadata.name: Invalid value: \"10.96.0\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
        (
            Kind::ServiceCIDR,
            json!({"metadata": {"name": "x"}, "spec": {"cidrs": ["10.96.0.0/40"]}}),
            "spec.cidrs[0]: Invalid value: \"10.96.0.0/40\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or \
             2001:db8::/64)",
        ),
    ];
    for (kind, value, want) in cases {
        assert_eq!(wrong(kind, value.clone()), want, "{kind} {value}");
    }
}

/// In Go a spec is a struct, which cannot be left out.
#[test]
fn what_has_no_spec_has_an_empty_one() {
    const LABELS: &str =
        "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`";
    const CONTAINERS: &str = "spec.template.spec.containers: Required value";
    let cases = [
        (Kind::Pod, "spec.containers: Required value".to_owned()),
        (Kind::Service, "spec.ports: Required value".to_owned()),
        (Kind::NetworkPolicy, String::new()),
        (Kind::Deployment, format!("[spec.selector: Required value, {LABELS}, {CONTAINERS}]")),
        (Kind::ReplicaSet, format!("[spec.selector: Required value, {LABELS}, {CONTAINERS}]")),
        (Kind::StatefulSet, format!("[spec.selector: Required value, {LABELS}, {CONTAINERS}]")),
        (Kind::DaemonSet, format!("[{LABELS}, {CONTAINERS}]")),
        (Kind::PodTemplate, "template.spec.containers: Required value".to_owned()),
        (
            Kind::ValidatingAdmissionPolicy,
            "[spec.matchConstraints: Required value, spec.validations: Required value: validations or auditAnnotations \
             must contain at least one item, spec.auditAnnotations: Required value: validations or auditAnnotations must \
             contain at least one item]"
                .to_owned(),
        ),
        (
            Kind::Job,
            format!(
                "[{CONTAINERS}, spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"]"
            ),
        ),
        (
            Kind::CronJob,
            "[spec.schedule: Required value, spec.jobTemplate.spec.template.spec.containers: Required value, \
             spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"]"
                .to_owned(),
        ),
        (
            Kind::PersistentVolumeClaim,
            "[spec.accessModes: Required value: at least 1 access mode is required, spec.resources[storage]: Required \
             value]"
                .to_owned(),
        ),
    ];
    for (kind, want) in cases {
        let mut metadata = json!({"name": "x", "uid": "u"});
        if kind.info().namespaced {
            metadata["namespace"] = json!("n");
        }
        assert_eq!(wrong(kind, json!({"metadata": metadata})), want, "{kind}");
    }
}

/// A StatefulSet's Pods mount what its claim templates make.
#[test]
fn the_pods_of_stateful_sets_have_volumes_of_their_claims() {
    let set = |pod: Value, more: Value| {
        let container = json!({"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]});
        let mut pod_spec = json!({"containers": [container], "hostname": "A_b"});
        pod_spec.as_object_mut().unwrap().extend(pod.as_object().unwrap().clone());
        let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        let mut spec = json!({"selector": {"matchLabels": {"a": "b"}}, "revisionHistoryLimit": -1,
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec})
    };
    const MODE: &str =
        "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required";
    const SIZE: &str = "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value";
    const MOUNT: &str = "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"data\"";
    let cases = [
        (json!({}), json!({}), String::new()),
        (
            json!({"restartPolicy": "Never"}),
            json!({}),
            "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"".to_owned(),
        ),
        (json!({}), json!({"volumeClaimTemplates": []}), MOUNT.to_owned()),
        (json!({"containers": []}), json!({}), "spec.template.spec.containers: Required value".to_owned()),
        (json!({}), json!({"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}), format!("[{MODE}, {SIZE}]")),
        (
            json!({"containers": []}),
            json!({"serviceName": "a.b", "selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}),
            "[spec.serviceName: Invalid value: \"a.b\": must not contain dots, \
             spec.selector.matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector operator, \
             spec.selector: Invalid value: {\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Like\"}]}]"
                .to_owned(),
        ),
    ];
    for (pod, more, want) in cases {
        assert_eq!(wrong(Kind::StatefulSet, set(pod.clone(), more.clone())), want, "{pod} {more}");
    }
    // What was stored before this was checked may stay.
    let old = object(Kind::StatefulSet, set(json!({"containers": []}), json!({"replicas": 1})));
    let new = object(Kind::StatefulSet, set(json!({"containers": []}), json!({"replicas": 2})));
    assert_eq!(message(&new, validate_update(&new, &old, None)), "");
}

/// While a Pod is gated it may ask for fewer nodes, never for others.
#[test]
fn changes_of_a_gated_pod() {
    let pod = |terms: Value, selector: Value| {
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
        let more = json!({"schedulingGates": [{"name": "g"}], "nodeSelector": selector,
            "affinity": {"nodeAffinity": required}});
        object(Kind::Pod, sound(more))
    };
    let term = |zones: &[&str]| {
        let zone = |zone: &&str| json!({"key": "zone", "operator": "NotIn", "values": [zone]});
        json!({"matchExpressions": zones.iter().map(zone).collect::<Vec<_>>()})
    };
    const AT: &str = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let old = pod(json!([term(&["a"])]), json!({"disk": "ssd"}));
    let other =
        "{\"MatchExpressions\":[{\"Key\":\"zone\",\"Operator\":\"NotIn\",\"Values\":[\"b\"]}],\"MatchFields\":null}";
    let cases = [
        (pod(json!([term(&["a", "b"])]), json!({"disk": "ssd", "cpu": "fast"})), String::new()),
        (
            pod(json!([term(&["a"])]), json!({"disk": "hdd"})),
            "spec.nodeSelector: Invalid value: {\"disk\":\"hdd\"}: only additions to spec.nodeSelector are allowed (no \
             mutations or deletions)"
                .to_owned(),
        ),
        (
            pod(json!([term(&["b"])]), json!({"disk": "ssd"})),
            format!("{AT}[0]: Invalid value: {other}: only additions are allowed (no mutations or deletions)"),
        ),
    ];
    for (new, want) in cases {
        assert_eq!(message(&new, validate_update(&new, &old, None)), want);
    }
}

#[test]
fn changes() {
    let pod = |more: Value| object(Kind::Pod, sound(more));
    let change = |new: &Object, old: &Object| message(new, validate_update(new, old, None));
    let old = pod(json!({}));
    assert_eq!(change(&old, &old), "");
    assert_eq!(
        change(&pod(json!({"containers": [{"name": "a", "image": "i:2", "imagePullPolicy": "IfNotPresent"}]})), &old),
        ""
    );
    let text = change(&pod(json!({"restartPolicy": "Never"})), &old);
    assert!(
        text.starts_with("spec: Forbidden: pod updates may not change fields other than `spec.containers"),
        "{text}"
    );
    assert!(text.contains("\n- \"RestartPolicy\": \"Always\""), "{text}");
    let text =
        change(&pod(json!({"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:1"}]})), &old);
    assert_eq!(text, "spec.containers: Forbidden: pod updates may not add or remove containers");
    let old = object(Kind::Deployment, deployment(json!({})));
    let new = deployment(json!({
        "selector": {"matchLabels": {"app": "b"}},
        "template": {"metadata": {"labels": {"app": "b"}}, "spec": {"containers": [{"name": "a", "image": "i:1"}]}},
    }));
    let text = change(&object(Kind::Deployment, new), &old);
    assert_eq!(text, "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable");
    let set = |app: &str, more: Value| {
        let pod = json!({"containers": [{"name": "a", "image": "i:1"}]});
        let mut spec = json!({"selector": {"matchLabels": {"app": app}},
            "template": {"metadata": {"labels": {"app": app}}, "spec": pod}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object(Kind::DaemonSet, json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec}))
    };
    assert_eq!(
        change(&set("b", json!({"minReadySeconds": -1})), &set("a", json!({}))),
        "[spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"b\"}}: field is immutable, spec.minReadySeconds: Invalid \
         value: -1: must be greater than or equal to 0]"
    );
    let service = |type_: &str, class: Value| {
        let spec = json!({"type": type_, "ports": [{"port": 80}], "loadBalancerClass": class});
        object(Kind::Service, json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec}))
    };
    const CLASS: &str = "spec.loadBalancerClass: Invalid value: \"a.io/b\": may not change once set";
    let balanced = |class: &str| service("LoadBalancer", json!(class));
    assert_eq!(change(&balanced("a.io/b"), &balanced("a.io/c")), CLASS);
    assert_eq!(change(&balanced("a.io/b"), &service("LoadBalancer", json!(null))), CLASS);
    assert_eq!(change(&balanced("a.io/b"), &service("ClusterIP", json!(null))), "");
}

#[test]
fn where_a_suspended_job_may_run_can_change_until_it_starts() {
    let job = |suspend: bool, pod: Value| {
        let mut template = json!({"containers": [{"name": "a", "image": "i:1"}], "restartPolicy": "Never"});
        template.as_object_mut().unwrap().extend(pod.as_object().unwrap().clone());
        let spec = json!({"suspend": suspend, "template": {"spec": template}});
        object(Kind::Job, json!({"metadata": {"name": "x", "namespace": "n", "uid": "u"}, "spec": spec}))
    };
    let node = json!({"nodeSelector": {"a": "b"}});
    let change = |new: &Object, old: &Object| message(new, validate_update(new, old, None));
    assert_eq!(change(&job(true, node.clone()), &job(true, json!({}))), "");
    let text = change(&job(false, node), &job(false, json!({})));
    assert!(
        text.starts_with("spec.template: Invalid value: {\"labels\":{\"batch.kubernetes.io/controller-uid\":\"u\"")
    );
    assert!(text.contains(",\"Spec\":{\"Volumes\":null,") && text.ends_with("field is immutable"), "{text}");
    let text = change(&job(true, json!({"hostNetwork": true})), &job(true, json!({})));
    assert!(text.starts_with("spec.template.spec: Invalid value: {\"Volumes\":null,"), "{text}");
    assert!(text.ends_with("field is immutable"), "{text}");
}

#[test]
fn the_labels_of_another_job_are_refused() {
    let job = |uid: &str, labels: Value, selector: Value| {
        let pod = json!({"containers": [{"name": "a", "image": "i:1"}], "restartPolicy": "Never"});
        let spec = json!({"template": {"metadata": {"labels": labels}, "spec": pod}, "selector": selector});
        json!({"metadata": {"name": "x", "namespace": "n", "uid": uid}, "spec": spec})
    };
    const ALL: &str = r#"{"batch.kubernetes.io/controller-uid":"v","batch.kubernetes.io/job-name":"x","controller-uid":"u","job-name":"y"}"#;
    let theirs = json!({"batch.kubernetes.io/controller-uid": "v", "job-name": "y"});
    let cases = [
        (job("u", json!({}), json!(null)), String::new()),
        (
            job("u", theirs, json!(null)),
            format!(
                "[spec.template.metadata.labels[job-name]: Invalid value: {ALL}: must be 'x', \
                 spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: Invalid value: {ALL}: must be 'u', \
                 spec.template.metadata.labels: Invalid value: {ALL}: `selector` does not match template `labels`]"
            ),
        ),
        (
            job("u", json!({"a": "b"}), json!({"matchLabels": {"a": "b"}})),
            "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u\"}}: \
             `selector` not auto-generated"
                .to_owned(),
        ),
        // The old label alone selects the same Pods.
        (job("u", json!({}), json!({"matchLabels": {"controller-uid": "u"}})), String::new()),
        (job("", json!({}), json!(null)), "metadata.uid: Required value".to_owned()),
    ];
    for (value, want) in cases {
        assert_eq!(wrong(Kind::Job, value.clone()), want, "{value}");
    }
}

#[test]
fn what_never_changes_in_a_job() {
    let job = |more: Value| {
        let template = json!({"spec": {"containers": [{"name": "a", "image": "i:1"}], "restartPolicy": "Never"}});
        let mut spec = json!({"template": template, "completionMode": "Indexed", "completions": 1});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object(Kind::Job, json!({"metadata": {"name": "x", "namespace": "n", "uid": "u"}, "spec": spec}))
    };
    let rules = json!([{"action": "Ignore", "onPodConditions": [{"type": "A"}]}]);
    #[rustfmt::skip]
    let cases = [
        (json!({"podFailurePolicy": {"rules": rules}, "podReplacementPolicy": "Failed"}),
            r#"spec.podFailurePolicy: Invalid value: {"Rules":[{"Action":"Ignore","OnExitCodes":null,"OnPodConditions":[{"Type":"A","Status":"True"}]}]}: field is immutable"#),
        (json!({"successPolicy": {"rules": [{"succeededCount": 1}]}}),
            r#"spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: field is immutable"#),
    ];
    for (more, want) in cases {
        let (new, old) = (job(more), job(json!({})));
        assert_eq!(message(&new, validate_update(&new, &old, None)), want);
        let text = message(&old, validate_update(&old, &new, None));
        assert!(text.ends_with("Policy: Invalid value: null: field is immutable"), "{text}");
    }
}

#[test]
fn how_large_the_pods_of_a_suspended_job_are_can_change_while_there_are_none() {
    let job = |cpu: &str, active: i32| {
        let container = json!({"name": "a", "image": "i:1", "resources": {"requests": {"cpu": cpu}}});
        let template = json!({"spec": {"containers": [container], "restartPolicy": "Never"}});
        let spec = json!({"suspend": true, "template": template});
        let mut made =
            object(Kind::Job, json!({"metadata": {"name": "x", "namespace": "n", "uid": "u"}, "spec": spec}));
        if let Object::Job(job) = &mut made {
            Arc::make_mut(job).status.get_or_insert_default().active = Some(active);
        }
        made
    };
    let change = |new: &Object, old: &Object| message(new, validate_update(new, old, None));
    assert_eq!(change(&job("2", 0), &job("1", 0)), "");
    let text = change(&job("2", 1), &job("1", 1));
    assert!(text.starts_with("spec.template: ") && text.ends_with("field is immutable"), "{text}");
}

#[test]
fn statuses_that_make_no_sense() {
    let completed = json!({"conditions": [{"type": "Complete", "status": "True"}, {"type": "SuccessCriteriaMet", "status": "True"}],
        "startTime": "2026-01-02T00:00:00Z", "completionTime": "2026-01-01T00:00:00Z", "active": 1});
    let two = json!([{"ip": "10.0.0.8"}, {"ip": "10.0.0.9"}]);
    let balanced = |ingress: Value| json!({"loadBalancer": {"ingress": [ingress]}});
    for (kind, spec, status, want) in [
        (
            Kind::Job,
            json!({}),
            json!({"active": -1}),
            "status.active: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            Kind::Job,
            json!({"completions": 3}),
            json!({"completedIndexes": "1", "failedIndexes": "", "ready": 1}),
            "[status.completedIndexes: Invalid value: \"1\": cannot set non-empty completedIndexes when non-indexed completion \
             mode, status.failedIndexes: Invalid value: \"\": cannot set non-null failedIndexes when backoffLimitPerIndex is null, \
             status.ready: Invalid value: 1: cannot set more ready pods than active]",
        ),
        (
            Kind::Job,
            json!({}),
            json!({"uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["a"]}}),
            "[status.uncountedTerminatedPods.succeeded[1]: Invalid value: \"\": must not be empty, \
             status.uncountedTerminatedPods.failed[0]: Duplicate value: \"a\"]",
        ),
        (
            Kind::Job,
            json!({}),
            completed,
            "[status.completionTime: Invalid value: \"2026-01-01T00:00:00Z\": completionTime cannot be set before startTime, \
             status.active: Invalid value: 1: active>0 is invalid for finished job]",
        ),
        (
            Kind::Pod,
            json!({}),
            json!({"podIP": "10.0.0.8", "podIPs": two, "hostIPs": [{"ip": "x"}], "conditions": [{"type": "", "status": "True"}]}),
            "[status.conditions[0].Type: Invalid value: \"\": name part must be non-empty, status.conditions[0].Type: Invalid \
             value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), status.podIPs: Invalid value: \
             [{\"IP\":\"10.0.0.8\"},{\"IP\":\"10.0.0.9\"}]: may specify no more than one IP for each IP family, \
             status.hostIPs[0].ip: Invalid value: \"x\": must be equal to `hostIP`, status.hostIPs[0]: Invalid value: \"x\": must \
             be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)]",
        ),
        (
            Kind::PersistentVolumeClaim,
            json!({}),
            json!({"capacity": {"storage": "-1"}, "allocatedResources": {"cpu": "1"}}),
            "[status.capacity[storage]: Invalid value: -1: must be a valid resource quantity, status.allocatedResources: \
             Unsupported value: \"cpu\": supported values: \"storage\"]",
        ),
        (
            Kind::Service,
            json!({"type": "ClusterIP"}),
            balanced(json!({"ip": "10.0.0.1"})),
            "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
        ),
        (
            Kind::Service,
            json!({"type": "LoadBalancer"}),
            balanced(json!({"ip": "10.0.0.1", "ipMode": "Odd", "hostname": "10.0.0.1"})),
            "[status.loadBalancer.ingress[0].ipMode: Unsupported value: \"Odd\": supported values: \"Proxy\", \"VIP\", \
             status.loadBalancer.ingress[0].hostname: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP address]",
        ),
    ] {
        let of = |status: &Value| json!({"metadata": {"name": "x", "namespace": "n"}, "spec": spec, "status": status});
        let read = |status: &Value| {
            let mut object = kind.decode(of(status)).unwrap();
            defaults::set_defaults(&mut object);
            object
        };
        let (new, old) = (read(&status), read(&json!({})));
        assert_eq!(message(&new, validate_status_update(&new, &old, None)), want, "{kind} {status}");
    }
}

#[test]
fn a_status_counts_from_nought_and_names_an_address_once() {
    let cases = [
        (
            Kind::Job,
            json!({"active": -1, "ready": 0, "terminating": -2}),
            "[status.active: Invalid value: -1: must be greater than or equal to 0, status.terminating: Invalid value: -2: \
             must be greater than or equal to 0]",
        ),
        (
            Kind::Node,
            json!({"addresses": [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "n"}]}),
            "",
        ),
        (
            Kind::Node,
            json!({"addresses": [{"type": "Hostname", "address": "n"}, {"type": "Hostname", "address": "n"}]}),
            "status.addresses[1]: Duplicate value: {\"Type\":\"Hostname\",\"Address\":\"n\"}",
        ),
    ];
    for (kind, status, want) in cases {
        let made = kind.decode(json!({"metadata": {"name": "x"}, "status": status})).unwrap();
        assert_eq!(message(&made, validate_status_update(&made, &made, None)), want);
    }
}
