//! The chapters of the book, `book/src`, as far as a session points to them.

use object::Kind;

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
    Chapter { file: "11-services.md", title: "Services: EndpointSlices, kube-proxy, DNS" },
    Chapter { file: "12-healing.md", title: "Healing: crashes, deletes, lost nodes" },
    Chapter { file: "13-deletion.md", title: "Garbage collection and finalizers" },
    Chapter { file: "14-volumes.md", title: "Volumes and CSI" },
    Chapter { file: "15-races.md", title: "Races, stale caches, and how real bugs happened" },
    Chapter { file: "16-jobs.md", title: "Jobs and the other controllers" },
    Chapter { file: "17-rules.md", title: "Admission policies, webhooks and field ownership" },
    Chapter { file: "18-your-own.md", title: "Operators and custom resources: a controller of your own" },
];

/// Fields of any object that a chapter tells of: how they begin.
const FIELDS: &[(&str, usize)] = &[
    ("metadata.ownerReferences", 13),
    ("metadata.finalizers", 13),
    ("metadata.deletion", 13),
    ("metadata.resourceVersion", 2),
    ("metadata.generation", 2),
    ("metadata.managedFields", 17),
    ("metadata.", 1),
];

/// The chapter that tells of a kind, or of a field of it.
pub fn of(kind: Kind, path: &str) -> &'static Chapter {
    let facts = kinds::facts(kind);
    let field = FIELDS.iter().chain(facts.field_chapters).find(|(begin, _)| path.starts_with(begin));
    &CHAPTERS[field.map_or(facts.chapter, |(_, number)| *number)]
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
            (Kind::Pod, "metadata.finalizers", 13),
            (Kind::Deployment, "spec.replicas", 7),
            (Kind::Deployment, "metadata.labels", 1),
            (Kind::Node, "status.conditions[Ready].status", 12),
            (Kind::Lease, "spec.renewTime", 12),
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
