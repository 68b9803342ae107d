//! Limits of single pods: what an emptyDir may hold, and what pod and containers may take of the disk.
//!
//! No write is refused because of them; the eviction manager finds out afterwards. Mirrors
//! `localStorageEviction`.

use k8s_openapi::api::core::v1::{Container, Volume};

use super::threshold::STORAGE;
use super::usage::DiskUse;
use object::Pod;
use object::quantity::Amount;
use object::resources::pod_limits;

/// What the pod is told, if it has written more than it may.
pub fn exceeded(pod: &Pod, taken: &DiskUse) -> Option<String> {
    volume(pod, taken).or_else(|| whole_pod(pod, taken)).or_else(|| container(pod, taken))
}

/// `emptyDirLimitEviction`.
fn volume(pod: &Pod, taken: &DiskUse) -> Option<String> {
    let limit = |volume: &Volume| Some(Amount::of(volume.empty_dir.as_ref()?.size_limit.as_ref()?));
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let mut limited = volumes.filter_map(|volume| Some((&volume.name, limit(volume)?)));
    let over =
        |(name, limit): &(&String, Amount)| *limit > Amount::ZERO && Amount::bytes(taken.of_volume(name)) > *limit;
    let (name, limit) = limited.find(over)?;
    Some(format!("Usage of EmptyDir volume \"{name}\" exceeds the limit \"{limit}\". "))
}

/// `podEphemeralStorageLimitEviction`.
fn whole_pod(pod: &Pod, taken: &DiskUse) -> Option<String> {
    let limit = *pod_limits(pod).get(STORAGE)?;
    let over = Amount::bytes(taken.total()) > limit;
    over.then(|| format!("Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "))
}

/// `containerEphemeralStorageLimitEviction`.
fn container(pod: &Pod, taken: &DiskUse) -> Option<String> {
    let limit = |container: &Container| Some(Amount::of(container.resources.as_ref()?.limits.as_ref()?.get(STORAGE)?));
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut limited = containers.filter_map(|container| Some((&container.name, limit(container)?)));
    let over =
        |(name, limit): &(&String, Amount)| *limit > Amount::ZERO && Amount::bytes(taken.of_container(name)) > *limit;
    let (name, limit) = limited.find(over)?;
    Some(format!("Container {name} exceeded its local ephemeral storage limit \"{limit}\". "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MIB: u64 = 1 << 20;

    /// What containers and volumes hold, in MiB, and what is said of it.
    type Case = (&'static [(&'static str, u64)], &'static [(&'static str, u64, bool)], &'static str);

    #[test]
    fn who_has_written_more_than_it_may() {
        let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": {
            "containers": [
                {"name": "a", "resources": {"limits": {"ephemeral-storage": "100Mi"}}},
                {"name": "b", "resources": {"limits": {"ephemeral-storage": "50Mi"}}},
            ],
            "volumes": [
                {"name": "cache", "emptyDir": {"sizeLimit": "20Mi"}},
                {"name": "free", "emptyDir": {}},
                {"name": "fast", "emptyDir": {"medium": "Memory"}},
            ],
        }}))
        .unwrap();
        let table: [Case; 7] = [
            (&[("a", 90), ("b", 40)], &[("cache", 20, false)], ""),
            (&[("a", 1)], &[("cache", 21, false)], "Usage of EmptyDir volume \"cache\" exceeds the limit \"20Mi\". "),
            (&[("b", 51)], &[], "Container b exceeded its local ephemeral storage limit \"50Mi\". "),
            (
                &[("a", 90), ("b", 40)],
                &[("free", 21, false)],
                "Pod ephemeral local storage usage exceeds the total limit of containers 150Mi. ",
            ),
            (&[("a", 90), ("b", 40)], &[("fast", 21, true)], ""),
            (&[("a", 151)], &[], "Pod ephemeral local storage usage exceeds the total limit of containers 150Mi. "),
            (&[("a", 101)], &[], "Container a exceeded its local ephemeral storage limit \"100Mi\". "),
        ];
        for (containers, volumes, message) in table {
            let containers: Vec<_> = containers.iter().map(|(name, mib)| (*name, mib * MIB)).collect();
            let volumes: Vec<_> = volumes.iter().map(|(name, mib, memory)| (*name, mib * MIB, *memory)).collect();
            let taken = DiskUse::for_test(&containers, &volumes);
            assert_eq!(exceeded(&pod, &taken).unwrap_or_default(), message, "{taken:?}");
        }
        let unlimited = Pod { spec: None, ..pod };
        assert_eq!(exceeded(&unlimited, &DiskUse::for_test(&[("a", u64::MAX)], &[])), None);
    }
}
