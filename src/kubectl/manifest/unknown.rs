//! The way out of a kind that the cluster does not know: it is written otherwise, gone, or yet to be defined.

use object::Kind;
use object::nearest::nearest;

/// Kinds of earlier releases and files that look like manifests, by their group: what has taken their place. An empty group
/// stands for any of Kubernetes' own.
const NO_KINDS: &[(&str, &str, &str)] = &[
    (
        "kustomize.config.k8s.io",
        "Kustomization",
        "A kustomization is no object: kubectl reads it and applies the result. Name its directory: kubectl apply -k DIRECTORY.",
    ),
    (
        "kustomize.config.k8s.io",
        "Component",
        "A component is part of a kustomization, which names it under components. Apply that: kubectl apply -k DIRECTORY.",
    ),
    (
        "",
        "PodSecurityPolicy",
        "PodSecurityPolicy is gone since Kubernetes 1.25. A label of the namespace says what its Pods may do: \
         pod-security.kubernetes.io/enforce: baseline, or restricted.",
    ),
    (
        "",
        "PodPreset",
        "PodPreset is gone since Kubernetes 1.20. A MutatingAdmissionPolicy or a mutating webhook changes Pods as they come.",
    ),
    (
        "",
        "ThirdPartyResource",
        "ThirdPartyResource is gone since Kubernetes 1.8. Write a CustomResourceDefinition of apiextensions.k8s.io/v1.",
    ),
];

/// What to do about a kind that no group and version of the cluster has.
pub(super) fn way_out(api_version: &str, kind: &str) -> String {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let all = || Kind::ALL.iter().map(|known| known.info());
    let is_meant = |of: &str| of == group || of.is_empty() && !is_of_a_definition(group);
    if let Some((.., advice)) = NO_KINDS.iter().find(|(of, name, _)| *name == kind && is_meant(of)) {
        return (*advice).to_owned();
    }
    if let Some(info) = all().find(|info| info.kind == kind) {
        let now = info.api_version;
        let Some(release) = removed_in(api_version, kind) else {
            return format!("{kind} is in {now}. Write `apiVersion: {now}`.");
        };
        let gone = format!("{api_version} is gone since Kubernetes {release}. Write `apiVersion: {now}`");
        return match kind {
            "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet" => format!(
                "{gone}, and add spec.selector with the labels of spec.template.metadata.labels: {now} does not guess it."
            ),
            "CertificateSigningRequest" => format!(
                "{gone}, and add spec.signerName, as in kubernetes.io/kube-apiserver-client: {now} does not guess it."
            ),
            _ => format!("{gone}."),
        };
    }
    if let Some(info) = all().find(|info| info.kind.eq_ignore_ascii_case(kind)) {
        return format!("Kinds are written with their capitals: `kind: {}`.", info.kind);
    }
    if is_of_a_definition(group) {
        return format!("{kind} in {group} is not defined here: apply its CustomResourceDefinition first, by itself.");
    }
    if let Some(meant) = nearest(kind, all().map(|info| info.kind)) {
        return format!("Perhaps `kind: {meant}` is meant.");
    }
    let kinds: Vec<&str> = all().map(|info| info.kind).collect();
    format!("This cluster knows these kinds: {}.", kinds.join(", "))
}

/// Whether a group is none of Kubernetes' own: those have no dot, or it is a server's own group. `gateway.networking.k8s.io`
/// and its like come with a CustomResourceDefinition.
fn is_of_a_definition(group: &str) -> bool {
    group.contains('.') && Kind::ALL.iter().all(|known| known.info().group != group)
}

/// The release that no longer served a kind in an old version.
fn removed_in(api_version: &str, kind: &str) -> Option<&'static str> {
    Some(match (api_version, kind) {
        ("extensions/v1beta1", "Ingress") => "1.22",
        ("extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2", _) => "1.16",
        ("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration")
        | ("apiextensions.k8s.io/v1beta1" | "rbac.authorization.k8s.io/v1beta1" | "scheduling.k8s.io/v1beta1", _)
        | ("certificates.k8s.io/v1beta1", "CertificateSigningRequest")
        | ("coordination.k8s.io/v1beta1", "Lease")
        | ("networking.k8s.io/v1beta1", "Ingress" | "IngressClass")
        | ("storage.k8s.io/v1beta1", "CSIDriver" | "CSINode" | "StorageClass" | "VolumeAttachment") => "1.22",
        ("rbac.authorization.k8s.io/v1alpha1" | "scheduling.k8s.io/v1alpha1", _) => "1.23",
        ("autoscaling/v2beta1" | "discovery.k8s.io/v1beta1" | "node.k8s.io/v1beta1" | "policy/v1beta1", _)
        | ("batch/v1beta1", "CronJob") => "1.25",
        ("autoscaling/v2beta2" | "flowcontrol.apiserver.k8s.io/v1beta1", _) => "1.26",
        ("storage.k8s.io/v1beta1", "CSIStorageCapacity") => "1.27",
        ("flowcontrol.apiserver.k8s.io/v1beta2", _) => "1.29",
        ("flowcontrol.apiserver.k8s.io/v1beta3", _) => "1.32",
        _ => return None,
    })
}
