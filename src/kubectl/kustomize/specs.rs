//! Which fields hold labels, annotations and the number of replicas. Mirrors `builtinpluginconsts`.

use super::fields::Spec;

/// Kinds with a Pod template at `spec/template`, and their group, where that matters.
const TEMPLATES: &[(&str, &str)] = &[
    ("", "ReplicationController"),
    ("", "Deployment"),
    ("", "ReplicaSet"),
    ("", "DaemonSet"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
];

/// Selectors that get a label even if they are not there.
const SELECTORS: &[(&str, &str, &str)] = &[
    ("", "ReplicationController", "spec/selector"),
    ("", "Deployment", "spec/selector/matchLabels"),
    ("", "ReplicaSet", "spec/selector/matchLabels"),
    ("", "DaemonSet", "spec/selector/matchLabels"),
    ("apps", "StatefulSet", "spec/selector/matchLabels"),
];

/// Selectors that get it if they are there.
const OPTIONAL_SELECTORS: &[(&str, &str, &str)] = &[
    ("batch", "Job", "spec/selector/matchLabels"),
    ("batch", "CronJob", "spec/jobTemplate/spec/selector/matchLabels"),
    ("policy", "PodDisruptionBudget", "spec/selector/matchLabels"),
    ("networking.k8s.io", "NetworkPolicy", "spec/podSelector/matchLabels"),
    ("networking.k8s.io", "NetworkPolicy", "spec/ingress/from/podSelector/matchLabels"),
    ("networking.k8s.io", "NetworkPolicy", "spec/egress/to/podSelector/matchLabels"),
];

/// Selectors in the template of a Deployment or StatefulSet.
const OF_PODS: &[&str] = &[
    "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
    "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
    "topologySpreadConstraints/labelSelector/matchLabels",
];

/// The metadata of an object and of what is made from it; `field` is `labels` or `annotations`.
pub fn metadata(field: &str) -> Vec<Spec> {
    let mut specs = vec![Spec::of_kind("", "", &format!("metadata/{field}"), true)];
    let template =
        |(group, kind): &(&str, &str)| Spec::of_kind(group, kind, &format!("spec/template/metadata/{field}"), true);
    specs.extend(TEMPLATES.iter().map(template));
    for path in ["spec/jobTemplate/metadata", "spec/jobTemplate/spec/template/metadata"] {
        specs.push(Spec::of_kind("batch", "CronJob", &format!("{path}/{field}"), true));
    }
    specs
}

/// The labels of an object alone.
pub fn own_labels() -> Spec {
    Spec::of_kind("", "", "metadata/labels", true)
}

/// The labels of the claims that a StatefulSet makes.
pub fn claim_templates() -> Spec {
    Spec::of_kind("apps", "StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels", true)
}

/// Labels, and the selectors that match them.
pub fn selectors() -> Vec<Spec> {
    let mut service = Spec::of_kind("", "Service", "spec/selector", true);
    service.gvk.version = "v1".to_owned();
    let of = |specs: &[(&str, &str, &str)], create| {
        specs.iter().map(|(group, kind, path)| Spec::of_kind(group, kind, path, create)).collect::<Vec<_>>()
    };
    let in_pods = ["Deployment", "StatefulSet"].into_iter().flat_map(|kind| {
        OF_PODS.iter().map(move |path| Spec::of_kind("apps", kind, &format!("spec/template/spec/{path}"), false))
    });
    let mut specs = vec![service];
    specs.extend(of(SELECTORS, true));
    specs.extend(in_pods);
    specs.extend(of(OPTIONAL_SELECTORS, false));
    specs.extend(metadata("labels"));
    specs.push(claim_templates());
    specs
}

/// An object's name.
pub fn name() -> Spec {
    Spec::of_kind("", "", "metadata/name", false)
}

/// Where images stand, beside those of containers.
pub fn images() -> Vec<Spec> {
    let paths = ["spec/volumes[]/image/reference", "spec/template/spec/volumes[]/image/reference"];
    paths.map(|path| Spec::of_kind("", "", path, false)).into()
}

/// Where Pods' specs stand in which variables are read, and in which kinds.
const WITH_VARIABLES: &[(&str, &str)] = &[
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("Deployment", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("Pod", "spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
];

/// Where variables stand. Mirrors `varReferenceFieldSpecs`.
pub fn variables() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (kind, spec) in WITH_VARIABLES {
        for containers in ["containers", "initContainers"] {
            for field in ["args", "command", "env/value", "volumeMounts/mountPath"] {
                specs.push(Spec::of_kind("", kind, &format!("{spec}/{containers}/{field}"), false));
            }
        }
        // kustomize looks elsewhere in these two, where there is nothing.
        if !matches!(*kind, "CronJob" | "StatefulSet") {
            specs.push(Spec::of_kind("", kind, &format!("{spec}/volumes/nfs/server"), false));
        }
    }
    let elsewhere = [
        ("Deployment", "spec/template/metadata/annotations"),
        ("Ingress", "spec/rules/host"),
        ("Ingress", "spec/tls/hosts"),
        ("Ingress", "spec/tls/secretName"),
        ("Service", "spec/ports/port"),
        ("Service", "spec/ports/targetPort"),
        ("PersistentVolume", "spec/nfs/server"),
        ("", "metadata/labels"),
        ("", "metadata/annotations"),
    ];
    specs.extend(elsewhere.map(|(kind, path)| Spec::of_kind("", kind, path, false)));
    specs
}

/// Where the number of replicas stands.
pub fn replicas() -> Vec<Spec> {
    let kinds = ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"];
    kinds.iter().map(|kind| Spec::of_kind("", kind, "spec/replicas", true)).collect()
}

/// Namespaces in other places than an object's metadata, and whether they are made.
pub fn namespaces() -> Vec<Spec> {
    let conversion = "spec/conversion/webhook/clientConfig/service/namespace";
    vec![
        Spec::of_kind("apiregistration.k8s.io", "APIService", "spec/service/namespace", true),
        Spec::of_kind("apiextensions.k8s.io", "CustomResourceDefinition", conversion, false),
    ]
}
