//! Who a Pod of a StatefulSet is: a number, a name, a host name, and claims of its own. Mirrors
//! `pkg/controller/statefulset/stateful_set_utils.go`.

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimVolumeSource, Volume};

use crate::history::REVISION_HASH;
use crate::pods::pod_from_template;
use object::meta::controller_ref;
use object::{Accessor, Pod};

const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// The numbers of the Pods that the StatefulSet asks for.
pub fn ordinals(spec: &StatefulSetSpec) -> std::ops::Range<i32> {
    let start = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or(0);
    start..start.saturating_add(spec.replicas.unwrap_or(1))
}

/// The number in a Pod's name, if the name is `SET-NUMBER`.
pub fn ordinal_of(set: &str, pod: &Pod) -> Option<i32> {
    let digits = pod.metadata.name.as_deref()?.strip_prefix(set)?.strip_prefix('-')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The revision that the Pod is from.
pub fn revision_of(pod: &Pod) -> &str {
    pod.metadata.labels.as_ref().and_then(|labels| labels.get(REVISION_HASH)).map_or("", String::as_str)
}

/// The Pod with this number, of the revision with this name and template. It is not there yet.
pub fn new_pod(set: &StatefulSet, spec: &StatefulSetSpec, ordinal: i32, revision: &str) -> Pod {
    let mut pod = pod_from_template(&spec.template, &set.metadata, controller_ref(set));
    let name = pod_name(set, ordinal);
    pod.metadata.name = Some(name.clone());
    identify(&mut pod, ordinal);
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(REVISION_HASH.into(), revision.to_owned());
    let inner = pod.spec.get_or_insert_default();
    inner.hostname = Some(name);
    inner.subdomain = spec.service_name.clone().filter(|service| !service.is_empty());
    mount_claims(&mut pod, &claims(set, spec, ordinal));
    pod
}

/// Volumes by which the Pod has its claims, in place of others of their names. Mirrors `updateStorage`.
pub fn mount_claims(pod: &mut Pod, claims: &[(String, PersistentVolumeClaim)]) {
    let by_template: Vec<Volume> = claims
        .iter()
        .map(|(template, claim)| Volume {
            name: template.clone(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: claim.metadata.name.clone().unwrap_or_default(),
                read_only: None,
            }),
            ..Volume::default()
        })
        .collect();
    let spec = pod.spec.get_or_insert_default();
    let others = spec.volumes.take().unwrap_or_default().into_iter();
    let others = others.filter(|volume| claims.iter().all(|(template, _)| *template != volume.name));
    let volumes: Vec<Volume> = by_template.into_iter().chain(others).collect();
    spec.volumes = (!volumes.is_empty()).then_some(volumes);
}

/// The labels by which a Service can mean this one Pod.
pub fn identify(pod: &mut Pod, ordinal: i32) {
    let name = pod.metadata.name.clone().unwrap_or_default();
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(POD_NAME.into(), name);
    labels.insert(POD_INDEX.into(), ordinal.to_string());
}

/// Whether the Pod bears the name of its number, as its own and as a label. The label with the number alone is not
/// checked: if a client removes that one, it comes back only when the other is missing too. Mirrors `identityMatches`.
pub fn is_itself(set: &StatefulSet, pod: &Pod, ordinal: i32) -> bool {
    let name = pod_name(set, ordinal);
    let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get(POD_NAME));
    pod.metadata.name.as_ref() == Some(&name) && label == Some(&name)
}

fn pod_name(set: &StatefulSet, ordinal: i32) -> String {
    format!("{}-{ordinal}", set.metadata.name())
}

/// Whether the Pod has the volumes of its claims. Mirrors `storageMatches`.
pub fn has_claims(set: &StatefulSet, spec: &StatefulSetSpec, pod: &Pod, ordinal: i32) -> bool {
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    let has = |template: &str, claim: &PersistentVolumeClaim| {
        let claim_of =
            |volume: &Volume| volume.persistent_volume_claim.as_ref().map(|source| source.claim_name.clone());
        volumes.iter().any(|volume| volume.name == template && claim_of(volume) == claim.metadata.name)
    };
    claims(set, spec, ordinal).iter().all(|(template, claim)| has(template, claim))
}

/// The claims of the Pod with this number, each with the name of its template.
pub fn claims(set: &StatefulSet, spec: &StatefulSetSpec, ordinal: i32) -> Vec<(String, PersistentVolumeClaim)> {
    let owner = set.metadata.name();
    let of = |template: &PersistentVolumeClaim| {
        let name = template.metadata.name.clone().unwrap_or_default();
        let mut claim = template.clone();
        claim.metadata.name = Some(format!("{name}-{owner}-{ordinal}"));
        claim.metadata.namespace.clone_from(&set.metadata.namespace);
        let selected = spec.selector.match_labels.clone().unwrap_or_default();
        claim.metadata.labels.get_or_insert_default().extend(selected);
        (name, claim)
    };
    spec.volume_claim_templates.iter().flatten().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set() -> StatefulSet {
        serde_json::from_value(json!({"metadata": {"name": "db", "namespace": "ns"}, "spec": {
            "serviceName": "db", "replicas": 2, "ordinals": {"start": 3},
            "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [],
                "volumes": [{"name": "data"}, {"name": "tmp"}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        }}))
        .unwrap()
    }

    #[test]
    fn names_hold_numbers() {
        for (name, want) in [("db-0", Some(0)), ("db-12", Some(12)), ("db-x", None), ("db", None), ("web-1", None)] {
            let pod = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
            assert_eq!(ordinal_of("db", &pod), want, "{name}");
        }
        assert_eq!(ordinals(set().spec.as_ref().unwrap()), 3..5);
    }

    #[test]
    fn a_pod_has_its_own_claims() {
        let set = set();
        let spec = set.spec.as_ref().unwrap();
        let pod = new_pod(&set, spec, 4, "db-r");
        let inner = pod.spec.as_ref().unwrap();
        assert_eq!((inner.hostname.as_deref(), inner.subdomain.as_deref()), (Some("db-4"), Some("db")));
        let volumes = json!(inner.volumes);
        assert_eq!(volumes[0]["persistentVolumeClaim"]["claimName"], "data-db-4");
        assert_eq!((&volumes[1]["name"], volumes.as_array().map(Vec::len)), (&json!("tmp"), Some(2)));
        assert!(is_itself(&set, &pod, 4) && has_claims(&set, spec, &pod, 4));
        assert!(!is_itself(&set, &pod, 3) && !has_claims(&set, spec, &pod, 3));
        assert_eq!(claims(&set, spec, 4)[0].1.metadata.labels.as_ref().unwrap()["app"], "db");
    }
}
