use serde_json::{Value, json};

use crate::core::service::TOPOLOGY_HINTS;
use crate::warnings::*;
use object::Kind;

fn told(kind: Kind, object: Value) -> Vec<String> {
    on_create(&kind.decode(object).expect("it is well formed"))
}

#[test]
fn what_is_hardly_meant_is_said() {
    let container = json!({"name": "a", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80,
            "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}], "resources": {"limits": {"memory": "100m", "cpu": "100m"}},
            "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "A", "value": "$(A)3"}]});
    let spec = json!({"containers": [container], "nodeSelector": {"beta.kubernetes.io/os": "linux"},
            "terminationGracePeriodSeconds": -1, "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            [{"topologyKey": "kubernetes.io/hostname"}]}}, "imagePullSecrets": [{"name": "s"}, {"name": "s"}, {}]});
    let want = [
        "nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead",
        "imagePullSecrets[1].name: duplicate name \"s\"",
        "imagePullSecrets[2].name: invalid empty name \"\"",
        "containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must be an integer",
        "containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
        "containers[0].ports[1]: duplicate port definition with PATH.containers[0].ports[0]",
        "terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
        "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null \
             labelSelector results in matching no pod",
    ];
    let under = |path: &str| -> Vec<String> {
        want.iter().map(|line| format!("{path}.{}", line.replace("PATH", path))).collect()
    };
    let named = |spec: Value| json!({"metadata": {"name": "a"}, "spec": spec});
    assert_eq!(told(Kind::Pod, named(spec.clone())), under("spec"));
    let template = json!({"template": {"spec": spec}});
    assert_eq!(told(Kind::Deployment, named(template.clone())), under("spec.template.spec"));
    assert_eq!(
        told(Kind::CronJob, named(json!({"schedule": "* * * * *", "jobTemplate": {"spec": template}}))),
        under("spec.jobTemplate.spec.template.spec")
    );
}

#[test]
fn ports_that_are_hard_to_find_are_told() {
    let port = |more: Value| {
        let mut port = json!({"name": "web", "containerPort": 80, "protocol": "TCP"});
        port.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"name": "c", "image": "i", "ports": [port]})
    };
    let spec = json!({"containers": [port(json!({})), port(json!({"containerPort": 81, "hostIP": "10.0.0.1"}))]});
    assert_eq!(
        told(Kind::Pod, json!({"metadata": {"name": "a"}, "spec": spec})),
        [
            "spec.containers[1].ports[0]: hostIP set without hostPort: {Name:web HostPort:0 ContainerPort:81 Protocol:TCP \
                 HostIP:10.0.0.1}",
            "spec.containers[1].ports[0]: duplicate port name \"web\" with spec.containers[0].ports[0], services and \
                 probes that select ports by name will use spec.containers[0].ports[0]",
        ]
    );
}

#[test]
fn names_that_become_host_names_should_be_such() {
    let warned = told(Kind::Pod, json!({"metadata": {"name": "a.b"}, "spec": {"containers": []}}));
    const WHY: &str = "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS \
            label is recommended: [must not contain dots]";
    assert_eq!(warned, [WHY]);
    assert!(told(Kind::ConfigMap, json!({"metadata": {"name": "a.b"}})).is_empty());
}

#[test]
fn what_a_service_says_in_vain_is_said() {
    let spec = |spec: Value| told(Kind::Service, json!({"metadata": {"name": "s"}, "spec": spec}));
    assert_eq!(
        spec(json!({"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "ClientIP"})),
        ["spec.SessionAffinity is ignored for headless services"]
    );
    assert_eq!(
        told(Kind::Service, json!({"metadata": {"name": "s", "annotations": {TOPOLOGY_HINTS: "auto"}}, "spec": {}})),
        ["annotation service.kubernetes.io/topology-aware-hints is deprecated, please use \
              service.kubernetes.io/topology-mode instead"]
    );
    assert_eq!(
        spec(json!({"type": "ClusterIP", "externalName": "a.b", "externalIPs": ["1.2.3.4"]})),
        [
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
            "spec.externalName is ignored when spec.type is not \"ExternalName\"",
        ]
    );
}

#[test]
fn storage_that_nobody_serves_is_told() {
    let beta = json!({"volume.beta.kubernetes.io/storage-class": "fast"});
    const CLASS: &str = "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use \
            \"storageClassName\" attribute instead";
    let claim = json!({"resources": {"requests": {"storage": "1m"}}});
    let fraction = |path: &str| {
        format!("{path}.resources.requests[storage]: fractional byte value \"1m\" is invalid, must be an integer")
    };
    assert_eq!(
        told(Kind::PersistentVolumeClaim, json!({"metadata": {"name": "c", "annotations": beta}, "spec": claim})),
        [CLASS.to_owned(), fraction("spec")]
    );
    let zone = json!({"matchExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "operator": "Exists"}]});
    let volume =
        json!({"rbd": {"image": "i", "monitors": []}, "nodeAffinity": {"required": {"nodeSelectorTerms": [zone]}}});
    assert_eq!(
        told(Kind::PersistentVolume, json!({"metadata": {"name": "v", "annotations": beta}, "spec": volume})),
        [
            CLASS,
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: \
                 failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
            "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
        ]
    );
    let volumes = json!([{"name": "a", "gitRepo": {"repository": "r"}}, {"name": "b", "ephemeral":
            {"volumeClaimTemplate": {"spec": claim}}}]);
    assert_eq!(
        told(Kind::Pod, json!({"metadata": {"name": "a"}, "spec": {"containers": [], "volumes": volumes}})),
        [
            "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+".to_owned(),
            fraction("spec.volumes[1].ephemeral.volumeClaimTemplate.spec"),
        ]
    );
    let templates =
        json!({"serviceName": "s", "selector": {}, "template": {}, "volumeClaimTemplates": [{"spec": claim}]});
    assert_eq!(
        told(Kind::StatefulSet, json!({"metadata": {"name": "s"}, "spec": templates})),
        [fraction("spec.volumeClaimTemplates[0]")]
    );
}

#[test]
fn a_driver_is_told_of_tokens_when_it_asks_for_others() {
    let driver = |audience: &str| {
        let spec = json!({"tokenRequests": [{"audience": audience}]});
        Kind::CSIDriver.decode(json!({"metadata": {"name": "d"}, "spec": spec})).expect("a CSIDriver")
    };
    assert_eq!(on_create(&driver("a")).len(), 1);
    assert_eq!(on_update(&driver("a"), &driver("a")).len(), 0);
    assert_eq!(on_update(&driver("b"), &driver("a")).len(), 1);
}

#[test]
fn a_definition_is_told_of_formats_that_nobody_checks() {
    let definition = |formats: &[(&str, &str)]| {
        let of = |(type_, format): &(&str, &str)| json!({"type": type_, "format": format});
        let schema = json!({"type": "object", "additionalProperties": {"type": "array",
            "items": {"allOf": formats.iter().map(of).collect::<Vec<_>>()}}});
        let version = |name: &str| {
            json!({"name": name, "served": true, "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema}})
        };
        let spec = json!({"group": "example.com", "scope": "Namespaced", "names": {"kind": "A", "plural": "as"},
            "versions": [version("v1"), version("v2")]});
        let object = json!({"metadata": {"name": "as.example.com"}, "spec": spec});
        Kind::CustomResourceDefinition.decode(object).expect("a CustomResourceDefinition")
    };
    let known = [("string", "date-time"), ("string", "k8s-short-name"), ("integer", "int64"), ("number", "double")];
    assert_eq!(on_create(&definition(&known)).len(), 0);
    let old = definition(&[("string", "int-or-string"), ("boolean", "uuid")]);
    assert_eq!(on_create(&old), [r#"unrecognized format "int-or-string""#, r#"unrecognized format "uuid""#]);
    let new = definition(&[("string", "int-or-string"), ("integer", "uint8")]);
    assert_eq!(on_update(&new, &old), [r#"unrecognized format "uint8""#]);
}

#[test]
fn addresses_in_another_form_are_told() {
    let usual =
        |path: &str| format!("{path}: IPv6 address \"FD00::1\" should be in RFC 5952 canonical format (\"fd00::1\")");
    let range = |path: &str| {
        format!("{path}: IPv6 CIDR value \"FD00::/64\" should be in RFC 5952 canonical format (\"fd00::/64\")")
    };
    let pod = json!({"containers": [], "dnsConfig": {"nameservers": ["10.0.0.1", "FD00::1"]},
            "hostAliases": [{"ip": "FD00::1"}, {"ip": "fd00::1"}]});
    assert_eq!(
        told(Kind::Pod, json!({"metadata": {"name": "a"}, "spec": pod})),
        [usual("spec.dnsConfig.nameservers[1]"), usual("spec.hostAliases[0].ip")]
    );
    let peer = json!({"ipBlock": {"cidr": "FD00::/64", "except": ["fd00::1/128", "FD00::/64"]}});
    let policy = json!({"podSelector": {}, "ingress": [{"from": [peer]}]});
    assert_eq!(
        told(Kind::NetworkPolicy, json!({"metadata": {"name": "a"}, "spec": policy})),
        [range("spec.ingress[0].from[0].ipBlock.cidr"), range("spec.ingress[0].from[0].ipBlock.except[1]")]
    );
    let service = json!({"type": "LoadBalancer", "clusterIPs": ["FD00::1"], "externalIPs": ["FD00::1"],
            "loadBalancerIP": "FD00::1", "loadBalancerSourceRanges": ["FD00::/64"]});
    let deprecated = "spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned();
    assert_eq!(
        told(Kind::Service, json!({"metadata": {"name": "a"}, "spec": service})),
        [
            usual("spec.clusterIPs[0]"),
            usual("spec.externalIPs[0]"),
            deprecated,
            usual("spec.loadBalancerIP"),
            range("spec.loadBalancerSourceRanges[0]"),
        ]
    );
    let subsets = json!([{"addresses": [{"ip": "FD00::1"}]}]);
    assert_eq!(
        told(Kind::Endpoints, json!({"metadata": {"name": "a"}, "subsets": subsets})),
        [usual("subsets[0].addresses[0].ip")]
    );
    let labels = json!({"endpoints.kubernetes.io/managed-by": "endpoint-controller"});
    let own = json!({"metadata": {"name": "a", "labels": labels}, "subsets": subsets});
    assert!(told(Kind::Endpoints, own).is_empty());
    let status = json!({"loadBalancer": {"ingress": [{"hostname": "a.b"}, {"ip": "FD00::1"}]}});
    for kind in [Kind::Ingress, Kind::Service] {
        let object = kind.decode(json!({"metadata": {"name": "a"}, "spec": {}, "status": status})).expect("it is one");
        assert_eq!(on_status_update(&object), [usual("status.loadBalancer.ingress[1]")], "{kind}");
    }
}

#[test]
fn names_that_files_have_are_told() {
    const WHY: &str = "metadata.name: names ending with \".static.k8s.io\" are reserved for static manifest-based \
            configurations and cannot be managed via the API";
    let named = |name: &str| json!({"metadata": {"name": name}, "webhooks": []});
    assert_eq!(told(Kind::MutatingWebhookConfiguration, named("a.static.k8s.io")), [WHY]);
    assert!(told(Kind::MutatingWebhookConfiguration, named("a.k8s.io")).is_empty());
}

#[test]
fn a_daemon_set_is_looked_at_when_its_template_is_another() {
    let set = |generation: i64, ready: i32, policy: i64| {
        let spec = json!({"terminationGracePeriodSeconds": policy, "containers": []});
        let spec = json!({"minReadySeconds": ready, "selector": {}, "template": {"spec": spec}});
        Kind::DaemonSet.decode(json!({"metadata": {"name": "d", "generation": generation}, "spec": spec})).expect("one")
    };
    assert_eq!(on_update(&set(2, 5, -1), &set(1, 0, -1)).len(), 0);
    assert_eq!(on_update(&set(2, 0, -1), &set(1, 0, 1)).len(), 1);
}
