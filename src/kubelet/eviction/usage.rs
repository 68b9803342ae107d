//! What a pod has written to its node's disk: into its containers' own layers and logs, and into its emptyDir volumes.
//!
//! A real kubelet has this measured by cAdvisor and by walking directories. Here the files are small texts; what is large is
//! what a user declares: `fill POD SIZE`. It is kept with the node's files, so a kubelet that restarts finds it again, and goes
//! with the pod.

use k8s_openapi::api::core::v1::{Container, Volume};

use crate::volumes::host_path;
use network::disk::Disk;
use object::pod::is_sidecar;
use object::{Accessor, Pod};

/// What a container takes that has written nothing: directories of its layer, its hosts file, the first lines of its log.
const LEAST: u64 = 36 * 1024;

/// Where a pod writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EphemeralStorage {
    /// A container's own layer; of the first, if the name is empty.
    Container(String),
    /// An emptyDir volume.
    Volume(String),
}

/// What a pod takes of the disk, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// By container.
    containers: Vec<(String, u64)>,
    /// By emptyDir volume. One in memory has a size, and takes nothing of the disk.
    volumes: Vec<(String, u64, bool)>,
}

impl DiskUse {
    /// What a pod takes now.
    pub fn of(disk: &Disk, pod: &Pod) -> DiskUse {
        let uid = pod.metadata.uid();
        let containers = of_the_run(pod).map(|container| {
            let written = disk.used(&host_path::of_container(uid, &container.name));
            (container.name.clone(), written + LEAST)
        });
        let volumes = empty_dirs(pod).map(|volume| {
            let in_memory = volume.empty_dir.as_ref().is_some_and(|source| source.medium.as_deref() == Some("Memory"));
            (volume.name.clone(), disk.used(&host_path::of_volume(uid, &volume.name, volume)), in_memory)
        });
        DiskUse { containers: containers.collect(), volumes: volumes.collect() }
    }

    /// Of one container.
    pub fn of_container(&self, name: &str) -> i64 {
        signed(self.containers.iter().filter(|(there, _)| there == name).map(|(_, bytes)| bytes).sum())
    }

    /// Of one emptyDir volume.
    pub fn of_volume(&self, name: &str) -> i64 {
        signed(self.volumes.iter().filter(|(there, ..)| there == name).map(|(_, bytes, _)| bytes).sum())
    }

    /// All of it that is on the disk.
    pub fn total(&self) -> i64 {
        let containers: u64 = self.containers.iter().map(|(_, bytes)| bytes).sum();
        let volumes: u64 = self.volumes.iter().filter(|(.., in_memory)| !in_memory).map(|(_, bytes, _)| bytes).sum();
        signed(containers + volumes)
    }

    /// For tables: by container, and by volume with whether it is in memory.
    #[cfg(test)]
    pub fn for_test(containers: &[(&str, u64)], volumes: &[(&str, u64, bool)]) -> DiskUse {
        let containers = containers.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect();
        let volumes = volumes.iter().map(|(name, bytes, memory)| ((*name).to_owned(), *bytes, *memory)).collect();
        DiskUse { containers, volumes }
    }
}

/// The containers that run as long as the pod does, and so are measured: sidecars come last.
pub fn of_the_run(pod: &Pod) -> impl Iterator<Item = &Container> + Clone {
    let inits = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    let sidecars = inits.filter(|init| is_sidecar(init));
    pod.spec.iter().flat_map(|spec| &spec.containers).chain(sidecars)
}

pub(super) fn empty_dirs(pod: &Pod) -> impl Iterator<Item = &Volume> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter(|volume| volume.empty_dir.is_some())
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
