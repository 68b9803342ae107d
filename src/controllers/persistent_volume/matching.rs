//! Which volume suits a claim.
//!
//! Mirrors `findByClaim` of `index.go`, `FindMatchingVolume` and `checkVolumeSatisfyClaim`. Volumes that can be used in
//! no more ways than the claim asks for come before those that can do more. Among those that can do the same, one that is
//! already promised to the claim wins, and else the smallest that is large enough.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};

use object::selector::selects;
use object::volume::{
    capacity, claim_key, claim_uid, class_of, class_of_volume, fits, is_promised_to, mode_of, mode_of_volume,
    modes_cover, phase_of_volume, requested,
};
use object::{Accessor, Key, Object};

/// The index of volumes that no claim has: by `class CLASS`, or by `claim NAMESPACE/NAME` if one was promised it by
/// hand.
pub const FREE: &str = "free volumes";

/// What the index holds of a volume.
pub fn free_of(object: &Object) -> Vec<String> {
    let Object::PersistentVolume(volume) = object else { return Vec::new() };
    match claim_key(volume) {
        Some(claim) => vec![for_claim(&claim)],
        None => vec![of_class(class_of_volume(volume))],
    }
}

/// The index value for volumes of a class.
pub fn of_class(class: &str) -> String {
    format!("class {class}")
}

/// The index value for volumes promised to a claim.
pub fn for_claim(claim: &Key) -> String {
    format!("claim {claim}")
}

/// The best of these volumes; None if none will do. `only_promised` for claims whose volume the scheduler chooses.
pub fn best(
    candidates: impl Iterator<Item = Arc<PersistentVolume>>,
    claim: &PersistentVolumeClaim,
    only_promised: bool,
) -> Option<Arc<PersistentVolume>> {
    let selected = claim.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let is_free = |volume: &PersistentVolume| {
        phase_of_volume(volume) == "Available"
            && claim_key(volume).is_none()
            && claim_uid(volume).is_empty()
            && class_of_volume(volume) == class_of(claim)
            && selected.is_none_or(|selector| selects(selector, volume.metadata.labels.as_ref()))
    };
    // The class of a volume that is promised to the claim is not checked.
    let suits = |volume: &Arc<PersistentVolume>| {
        fits(volume, claim)
            && volume.metadata.deletion_timestamp.is_none()
            && (is_promised_to(volume, claim) || !only_promised && is_free(volume))
    };
    let rank = |volume: &Arc<PersistentVolume>| {
        let modes = volume.spec.as_ref().and_then(|spec| spec.access_modes.clone()).unwrap_or_default();
        let modes: BTreeSet<String> = modes.into_iter().collect();
        (modes.len(), modes, !is_promised_to(volume, claim), capacity(volume))
    };
    candidates.filter(suits).min_by_key(rank)
}

/// Why a claim cannot have the volume that it names; None if it can. Mirrors `checkVolumeSatisfyClaim`.
pub fn why_not(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<String> {
    if volume.metadata.deletion_timestamp.is_some() {
        let name = volume.metadata.name();
        return Some(format!("the volume is marked for deletion {name:?}"));
    }
    let why = match () {
        () if capacity(volume) < requested(claim) => "requested PV is too small",
        () if class_of_volume(volume) != class_of(claim) => "storageClassName does not match",
        () if mode_of_volume(volume) != mode_of(claim) => "incompatible volumeMode",
        () if !modes_cover(volume, claim) => "incompatible accessMode",
        () => return None,
    };
    Some(why.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn volume(name: &str, more: Value) -> Arc<PersistentVolume> {
        let mut spec = json!({"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}});
        spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        let metadata = json!({"name": name, "labels": {"disk": name}});
        let manifest = json!({"metadata": metadata, "spec": spec, "status": {"phase": "Available"}});
        Arc::new(serde_json::from_value(manifest).expect("a volume"))
    }

    fn claim(more: Value) -> PersistentVolumeClaim {
        let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}});
        spec.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
        let metadata = json!({"name": "data", "namespace": "default", "uid": "u1"});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a claim")
    }

    #[test]
    fn the_smallest_volume_that_fits_is_best() {
        let promise = |uid: &str| json!({"claimRef": {"namespace": "default", "name": "data", "uid": uid}});
        let other = json!({"claimRef": {"namespace": "default", "name": "other", "uid": "u2"}});
        let size = |size: &str| json!({"capacity": {"storage": size}});
        let wide = |mut more: Value| {
            more["accessModes"] = json!(["ReadWriteOnce", "ReadOnlyMany"]);
            more
        };
        let volumes = [
            volume("a-small", size("1Gi")),
            volume("b-large", size("10Gi")),
            volume("c-right", size("4Gi")),
            volume("d-taken", {
                let mut more = size("3Gi");
                more["claimRef"] = other["claimRef"].clone();
                more
            }),
            volume("e-many", json!({"accessModes": ["ReadWriteOnce", "ReadWriteMany"]})),
            volume("f-block", json!({"volumeMode": "Block"})),
            volume("g-fast", json!({"storageClassName": "fast"})),
        ];
        for (spec, extra, only_promised, expected) in [
            (json!({}), None, false, Some("c-right")),
            (json!({}), None, true, None),
            (json!({"resources": {"requests": {"storage": "20Gi"}}}), None, false, None),
            (json!({"accessModes": ["ReadWriteMany"]}), None, false, Some("e-many")),
            (json!({"volumeMode": "Block"}), None, false, Some("f-block")),
            (json!({"storageClassName": "fast"}), None, false, Some("g-fast")),
            (json!({"storageClassName": "slow"}), None, false, None),
            (json!({"selector": {"matchLabels": {"disk": "b-large"}}}), None, false, Some("b-large")),
            (json!({}), Some(volume("z", promise("u1"))), true, Some("z")),
            (json!({}), Some(volume("z", promise(""))), false, Some("z")),
            (json!({}), Some(volume("z", promise("u9"))), false, Some("c-right")),
            (json!({}), Some(volume("z", wide(promise("u1")))), false, Some("c-right")),
            (json!({}), Some(volume("z", wide(size("3Gi")))), false, Some("c-right")),
            (
                json!({"resources": {"requests": {"storage": "11Gi"}}}),
                Some(volume("z", wide(size("12Gi")))),
                false,
                Some("z"),
            ),
            (json!({"storageClassName": "fast"}), Some(volume("z", promise("u1"))), false, Some("z")),
        ] {
            let all = volumes.iter().cloned().chain(extra);
            let found = best(all, &claim(spec.clone()), only_promised);
            let name = found.as_ref().and_then(|volume| volume.metadata.name.as_deref());
            assert_eq!(name, expected, "{spec} {only_promised}");
        }
    }

    #[test]
    fn a_volume_that_is_asked_for_must_fit_too() {
        for (spec, why) in [
            (json!({}), None),
            (json!({"resources": {"requests": {"storage": "6Gi"}}}), Some("requested PV is too small")),
            (json!({"storageClassName": "fast"}), Some("storageClassName does not match")),
            (json!({"volumeMode": "Block"}), Some("incompatible volumeMode")),
            (json!({"accessModes": ["ReadWriteMany"]}), Some("incompatible accessMode")),
        ] {
            assert_eq!(why_not(&volume("a", json!({})), &claim(spec.clone())).as_deref(), why, "{spec}");
        }
        let mut going = PersistentVolume::clone(&volume("a", json!({})));
        going.metadata.deletion_timestamp = Some(object::time::Instant::default().time());
        assert_eq!(why_not(&going, &claim(json!({}))).as_deref(), Some("the volume is marked for deletion \"a\""));
    }
}
