//! The chapters of the book, `book/src`, as far as a session points to them.

use crate::object::Kind;

/// A chapter.
#[derive(Debug, PartialEq, Eq)]
pub struct Chapter {
    /// Its file in `book/src`.
    pub file: &'static str,
    /// What it is called.
    pub title: &'static str,
}

/// All chapters, by their number.
pub const CHAPTERS: [Chapter; 19] = [
    Chapter { file: "00-tour.md", title: "A tour: one Deployment, from keystroke to answered request" },
    Chapter { file: "01-objects.md", title: "Objects, metadata, owners and selectors" },
    Chapter { file: "02-etcd.md", title: "etcd: one log, one revision" },
    Chapter { file: "03-api-server.md", title: "The API server's pipeline" },
    Chapter { file: "04-informers.md", title: "List, watch and informers" },
    Chapter { file: "05-reconciliation.md", title: "Work queues and reconciliation" },
    Chapter { file: "06-replicaset.md", title: "The ReplicaSet controller" },
    Chapter { file: "07-deployment.md", title: "Deployments and rolling updates" },
    Chapter { file: "08-scheduler.md", title: "The scheduler" },
    Chapter { file: "09-kubelet.md", title: "The kubelet and the container runtime" },
    Chapter { file: "10-pod-network.md", title: "The Pod's network, packet by packet" },
    Chapter { file: "11-volumes.md", title: "Volumes and CSI" },
    Chapter { file: "12-services.md", title: "Services: EndpointSlices, kube-proxy, DNS" },
    Chapter { file: "13-healing.md", title: "Healing: crashes, deletes, lost nodes" },
    Chapter { file: "14-deletion.md", title: "Garbage collection and finalizers" },
    Chapter { file: "15-races.md", title: "Races, stale caches, and how real bugs happened" },
    Chapter { file: "16-jobs.md", title: "Jobs and the other controllers" },
    Chapter { file: "17-rules.md", title: "Rules of your own" },
    Chapter { file: "18-your-own.md", title: "A controller of your own" },
];

/// Fields that a chapter other than their kind's tells of: how they begin.
const FIELDS: &[(Option<Kind>, &str, usize)] = &[
    (None, "metadata.ownerReferences", 14),
    (None, "metadata.finalizers", 14),
    (None, "metadata.deletion", 14),
    (None, "metadata.resourceVersion", 2),
    (None, "metadata.generation", 2),
    (None, "metadata.managedFields", 17),
    (None, "metadata.", 1),
    (Some(Kind::Pod), "spec.nodeName", 8),
    (Some(Kind::Pod), "spec.nodeSelector", 8),
    (Some(Kind::Pod), "spec.affinity", 8),
    (Some(Kind::Pod), "spec.tolerations", 8),
    (Some(Kind::Pod), "spec.topologySpreadConstraints", 8),
    (Some(Kind::Pod), "spec.priority", 8),
    (Some(Kind::Pod), "spec.schedulerName", 8),
    (Some(Kind::Pod), "spec.containers.resources", 8),
    (Some(Kind::Pod), "spec.volumes", 11),
    (Some(Kind::Pod), "spec.containers.volumeMounts", 11),
    (Some(Kind::Pod), "spec.dns", 12),
    (Some(Kind::Pod), "spec.hostNetwork", 10),
    (Some(Kind::Pod), "status.podIP", 10),
    (Some(Kind::Pod), "status.hostIP", 10),
    (Some(Kind::Node), "spec.podCIDR", 10),
    (Some(Kind::Node), "spec.taints", 8),
    (Some(Kind::Node), "spec.unschedulable", 8),
    (Some(Kind::Node), "status.allocatable", 8),
    (Some(Kind::Node), "status.conditions", 13),
];

/// The chapter that tells of a kind, or of a field of it.
pub fn of(kind: Kind, path: &str) -> &'static Chapter {
    let fits = |of: &Option<Kind>, begin: &str| of.is_none_or(|of| of == kind) && path.starts_with(begin);
    let field = FIELDS.iter().find(|(of, begin, _)| fits(of, begin));
    &CHAPTERS[field.map_or_else(|| of_kind(kind), |(_, _, number)| *number)]
}

fn of_kind(kind: Kind) -> usize {
    match kind {
        Kind::ReplicaSet | Kind::ReplicationController => 6,
        Kind::Deployment => 7,
        Kind::DaemonSet | Kind::StatefulSet | Kind::ControllerRevision | Kind::Job | Kind::CronJob => 16,
        Kind::HorizontalPodAutoscaler => 16,
        Kind::PriorityClass => 8,
        Kind::Pod | Kind::Node | Kind::RuntimeClass | Kind::PodTemplate => 9,
        Kind::ResourceClaim | Kind::ResourceClaimTemplate => 8,
        Kind::PersistentVolume | Kind::PersistentVolumeClaim | Kind::StorageClass | Kind::VolumeAttachment => 11,
        Kind::CSIDriver | Kind::CSINode | Kind::CSIStorageCapacity | Kind::ConfigMap | Kind::Secret => 11,
        Kind::Service | Kind::Endpoints | Kind::EndpointSlice | Kind::IPAddress | Kind::ServiceCIDR => 12,
        Kind::Ingress | Kind::IngressClass | Kind::NetworkPolicy => 12,
        Kind::Lease | Kind::PodDisruptionBudget => 13,
        Kind::Namespace => 14,
        Kind::ResourceQuota | Kind::LimitRange => 3,
        Kind::ValidatingAdmissionPolicy | Kind::ValidatingAdmissionPolicyBinding => 17,
        Kind::MutatingAdmissionPolicy | Kind::MutatingAdmissionPolicyBinding => 17,
        Kind::MutatingWebhookConfiguration | Kind::ValidatingWebhookConfiguration => 17,
        Kind::Role | Kind::RoleBinding | Kind::ClusterRole | Kind::ClusterRoleBinding | Kind::ServiceAccount => 3,
        Kind::SelfSubjectReview | Kind::TokenReview | Kind::SubjectAccessReview | Kind::LocalSubjectAccessReview => 3,
        Kind::SelfSubjectAccessReview | Kind::SelfSubjectRulesReview | Kind::ComponentStatus => 3,
        Kind::Binding => 8,
        Kind::Event => 5,
        Kind::CustomResourceDefinition | Kind::Custom(_) => 18,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_kinds_have_their_chapters() {
        for (kind, path, number) in [
            (Kind::Pod, "", 9),
            (Kind::Pod, "status.phase", 9),
            (Kind::Pod, "spec.nodeName", 8),
            (Kind::Pod, "metadata.finalizers", 14),
            (Kind::Deployment, "spec.replicas", 7),
            (Kind::Deployment, "metadata.labels", 1),
            (Kind::Node, "status.conditions[Ready].status", 13),
            (Kind::Lease, "spec.renewTime", 13),
        ] {
            assert_eq!(of(kind, path), &CHAPTERS[number], "{kind}.{path}");
        }
    }

    #[test]
    fn the_book_has_these_chapters() {
        let summary = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/SUMMARY.md"))
            .expect("the book has a table of contents");
        for (number, Chapter { file, title }) in CHAPTERS.iter().enumerate() {
            assert!(file.starts_with(&format!("{number:02}-")), "{file}");
            assert!(summary.contains(&format!("[{title}]({file})")), "{title}: {file}");
        }
    }
}
