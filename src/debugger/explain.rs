//! Fields in a few words: what they mean, and who writes them.
//!
//! A small page of notes on the fields that decide what happens, not the API reference: what is not here, `explain` says
//! it does not know, and shows which values the cluster holds.

use crate::object::Kind;

/// What is known of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// The kind; None: all kinds.
    pub kind: Option<Kind>,
    /// `spec.replicas`; lists without their index.
    pub path: &'static str,
    /// Who writes it.
    pub writer: &'static str,
    /// What it means.
    pub text: &'static str,
}

const fn any(path: &'static str, writer: &'static str, text: &'static str) -> Note {
    Note { kind: None, path, writer, text }
}

const fn of(kind: Kind, path: &'static str, writer: &'static str, text: &'static str) -> Note {
    Note { kind: Some(kind), path, writer, text }
}

const USER: &str = "whoever creates it";
const SERVER: &str = "the API server";
const DEPLOYMENT: &str = "the deployment controller";
const REPLICASET: &str = "the replicaset controller";
const DAEMONSET: &str = "the daemonset controller";
const STATEFULSET: &str = "the statefulset controller";
const CRONJOB: &str = "the cronjob controller";
const JOB: &str = "the job controller";
const KUBELET: &str = "the Pod's kubelet";

/// All notes.
pub const NOTES: &[Note] = &[
    any("metadata.name", USER, "One object of a kind and namespace has it. It never changes."),
    any("metadata.generateName", USER, "The API server makes a name of it with five random characters."),
    any("metadata.namespace", USER, "The room in which the name is unique. It never changes."),
    any("metadata.uid", SERVER, "Tells this object from another of the same name, before or after it."),
    any(
        "metadata.resourceVersion",
        SERVER,
        "The etcd revision of the last change. An update that carries an older one is refused with 409.",
    ),
    any("metadata.generation", SERVER, "Counts the changes of the spec. Status writes leave it alone."),
    any("metadata.creationTimestamp", SERVER, "When it was stored first."),
    any(
        "metadata.deletionTimestamp",
        SERVER,
        "Set by a delete that cannot be finished at once. The object goes when its finalizers and grace period are over.",
    ),
    any("metadata.deletionGracePeriodSeconds", SERVER, "How long containers have to stop after SIGTERM."),
    any("metadata.labels", USER, "What selectors look at: Services, ReplicaSets and spreading find Pods by them."),
    any("metadata.annotations", USER, "Notes for programs. No selector looks at them."),
    any("metadata.finalizers", "controllers", "As long as one is left, a deleted object stays."),
    any(
        "metadata.ownerReferences",
        "the owner's controller",
        "Who made it. When the owner goes, the garbage collector takes it along.",
    ),
    of(Kind::Deployment, "spec.replicas", "whoever scales it", "How many Pods are wanted over all its ReplicaSets."),
    of(Kind::Deployment, "spec.selector", USER, "Which Pods and ReplicaSets are its own. It never changes."),
    of(
        Kind::Deployment,
        "spec.template",
        "whoever rolls it out",
        "What the Pods look like. Each different template gets a ReplicaSet of its own, named by the template's hash.",
    ),
    of(
        Kind::Deployment,
        "spec.strategy",
        USER,
        "RollingUpdate: new Pods first, old ones after. Recreate: the other way.",
    ),
    of(Kind::Deployment, "spec.strategy.rollingUpdate.maxSurge", USER, "So many Pods more than wanted, rounded up."),
    of(
        Kind::Deployment,
        "spec.strategy.rollingUpdate.maxUnavailable",
        USER,
        "So many Pods fewer than wanted may be available, rounded down.",
    ),
    of(Kind::Deployment, "spec.minReadySeconds", USER, "A Pod counts as available when it has been ready for so long."),
    of(
        Kind::Deployment,
        "spec.progressDeadlineSeconds",
        USER,
        "After so long without progress the condition Progressing turns False. Nothing is undone.",
    ),
    of(Kind::Deployment, "spec.revisionHistoryLimit", USER, "So many old ReplicaSets are kept, to go back to."),
    of(Kind::Deployment, "spec.paused", USER, "While it is true, template changes are not rolled out."),
    of(Kind::Deployment, "status.observedGeneration", DEPLOYMENT, "The generation that the status speaks of."),
    of(Kind::Deployment, "status.replicas", DEPLOYMENT, "The Pods of all its ReplicaSets, summed from their statuses."),
    of(Kind::Deployment, "status.updatedReplicas", DEPLOYMENT, "Those with the newest template."),
    of(Kind::Deployment, "status.readyReplicas", DEPLOYMENT, "Those that are ready."),
    of(Kind::Deployment, "status.availableReplicas", DEPLOYMENT, "Those ready for minReadySeconds."),
    of(Kind::Deployment, "status.unavailableReplicas", DEPLOYMENT, "Those still missing."),
    of(
        Kind::Deployment,
        "status.conditions",
        DEPLOYMENT,
        "Available: enough Pods are. Progressing: the rollout moves, or is done. ReplicaFailure: Pods cannot be made.",
    ),
    of(Kind::ReplicaSet, "spec.replicas", DEPLOYMENT, "How many Pods are wanted with this template."),
    of(Kind::ReplicaSet, "spec.selector", DEPLOYMENT, "Which Pods are its own: the Deployment's labels and the hash."),
    of(Kind::ReplicaSet, "status.replicas", REPLICASET, "How many Pods it has, ready or not."),
    of(Kind::ReplicaSet, "status.readyReplicas", REPLICASET, "Those that are ready."),
    of(Kind::ReplicaSet, "status.availableReplicas", REPLICASET, "Those ready for minReadySeconds."),
    of(Kind::ReplicaSet, "status.fullyLabeledReplicas", REPLICASET, "Those with all labels of the template."),
    of(Kind::ReplicaSet, "status.terminatingReplicas", REPLICASET, "Those that are being deleted."),
    of(Kind::ReplicationController, "spec.replicas", USER, "How many Pods are wanted with this template."),
    of(
        Kind::ReplicationController,
        "spec.selector",
        USER,
        "Which Pods are its own; if left out, the template's labels.",
    ),
    of(
        Kind::ReplicationController,
        "status",
        "the replication controller",
        "What its reconcile counted, as a ReplicaSet's.",
    ),
    of(
        Kind::DaemonSet,
        "spec.template",
        USER,
        "What the Pods look like; each version is kept as a ControllerRevision.",
    ),
    of(
        Kind::DaemonSet,
        "spec.updateStrategy",
        USER,
        "RollingUpdate: node after node. OnDelete: whoever wants the new Pod deletes the old one.",
    ),
    of(Kind::DaemonSet, "status.desiredNumberScheduled", DAEMONSET, "The nodes that should have a Pod."),
    of(Kind::DaemonSet, "status.currentNumberScheduled", DAEMONSET, "Those of them that have one."),
    of(Kind::DaemonSet, "status.numberMisscheduled", DAEMONSET, "The nodes that have one and should not."),
    of(Kind::DaemonSet, "status.updatedNumberScheduled", DAEMONSET, "Those whose Pod is of the newest template."),
    of(Kind::DaemonSet, "status.numberAvailable", DAEMONSET, "Those whose Pod is ready for minReadySeconds."),
    of(Kind::StatefulSet, "spec.replicas", "whoever scales it", "How many Pods are wanted, numbered from 0."),
    of(Kind::StatefulSet, "spec.serviceName", USER, "The headless Service under which each Pod has a name of its own."),
    of(
        Kind::StatefulSet,
        "spec.podManagementPolicy",
        USER,
        "OrderedReady: one Pod after another, each when the one before is ready. Parallel: all at once.",
    ),
    of(
        Kind::StatefulSet,
        "spec.updateStrategy",
        USER,
        "RollingUpdate: from the highest number down to the partition. OnDelete: only what somebody deletes.",
    ),
    of(Kind::StatefulSet, "spec.volumeClaimTemplates", USER, "Each Pod gets a claim of its own from each of them."),
    of(Kind::StatefulSet, "status.currentReplicas", STATEFULSET, "Pods of the revision that is being left."),
    of(Kind::StatefulSet, "status.updatedReplicas", STATEFULSET, "Pods of the revision that is rolled out."),
    of(Kind::StatefulSet, "status.currentRevision", STATEFULSET, "What Pods below the partition are made from."),
    of(Kind::StatefulSet, "status.updateRevision", STATEFULSET, "The newest template's ControllerRevision."),
    of(
        Kind::ControllerRevision,
        "data",
        "the controller of its owner",
        "The patch that puts its owner's template back as it was. It never changes.",
    ),
    of(Kind::ControllerRevision, "revision", "the controller of its owner", "The higher, the newer."),
    of(Kind::CronJob, "spec.schedule", USER, "Minute, hour, day of the month, month, day of the week."),
    of(Kind::CronJob, "spec.timeZone", USER, "The clocks that the schedule goes by; UTC if nothing is said."),
    of(
        Kind::CronJob,
        "spec.concurrencyPolicy",
        USER,
        "While a Job runs: Allow makes another, Forbid skips the time, Replace deletes the Job first.",
    ),
    of(Kind::CronJob, "spec.startingDeadlineSeconds", USER, "A time that is longer ago gets no Job any more."),
    of(Kind::CronJob, "spec.suspend", USER, "While it is true no Job is made."),
    of(Kind::CronJob, "status.active", CRONJOB, "The Jobs that run."),
    of(Kind::CronJob, "status.lastScheduleTime", CRONJOB, "The time that had a Job last."),
    of(Kind::Job, "spec.completions", USER, "So many Pods are to succeed. Without it one success ends the work."),
    of(Kind::Job, "spec.parallelism", USER, "At most so many Pods run at a time."),
    of(Kind::Job, "spec.completionMode", USER, "Indexed: each of the numbers from 0 on is to succeed once."),
    of(Kind::Job, "spec.backoffLimit", USER, "So many Pods may fail; one more fails the Job."),
    of(Kind::Job, "spec.activeDeadlineSeconds", USER, "After so long the Job has failed, whatever its Pods do."),
    of(Kind::Job, "spec.ttlSecondsAfterFinished", USER, "So long after its end the Job is deleted, with its Pods."),
    of(Kind::Job, "spec.suspend", USER, "While it is true no Pod of it runs."),
    of(Kind::Job, "spec.selector", SERVER, "Which Pods are its own: by a label with the Job's uid."),
    of(Kind::Job, "status.active", JOB, "The Pods that have not ended."),
    of(Kind::Job, "status.ready", JOB, "Those of them that are ready."),
    of(
        Kind::Job,
        "status.uncountedTerminatedPods",
        JOB,
        "Pods that have ended and still hold their finalizer. They are counted when it is off, so that none is counted \
         twice.",
    ),
    of(Kind::Job, "status.succeeded", JOB, "Pods that ended well, and are counted."),
    of(Kind::Job, "status.failed", JOB, "Pods that did not, and are counted."),
    of(
        Kind::Job,
        "status.conditions",
        JOB,
        "SuccessCriteriaMet and FailureTarget: it is decided. Complete and Failed: nothing runs any more, all is counted.",
    ),
    of(
        Kind::Pod,
        "spec.nodeName",
        "the API server, for the scheduler's binding",
        "The node where it runs. Set once; that node's kubelet, who watches for its name, takes it from there.",
    ),
    of(Kind::Pod, "spec.containers", USER, "What runs. Of a Pod that exists only images can be changed."),
    of(
        Kind::Pod,
        "spec.containers.image",
        USER,
        "What the runtime pulls, unless imagePullPolicy says the node's will do.",
    ),
    of(Kind::Pod, "spec.containers.resources.requests", USER, "What the scheduler reserves on the node."),
    of(
        Kind::Pod,
        "spec.containers.resources.limits",
        USER,
        "What the runtime enforces: above its memory it is killed.",
    ),
    of(Kind::Pod, "spec.containers.readinessProbe", USER, "Whether it gets traffic. Failing it restarts nothing."),
    of(Kind::Pod, "spec.containers.livenessProbe", USER, "Failing it restarts the container."),
    of(Kind::Pod, "spec.containers.startupProbe", USER, "The other probes wait until it has succeeded once."),
    of(Kind::Pod, "spec.restartPolicy", USER, "Always, OnFailure or Never: what follows the end of a container."),
    of(Kind::Pod, "spec.terminationGracePeriodSeconds", USER, "How long containers have between SIGTERM and SIGKILL."),
    of(Kind::Pod, "spec.tolerations", USER, "Taints of nodes that do not keep it away, or not at once."),
    of(Kind::Pod, "spec.affinity", USER, "Nodes and Pods it must or would like to be near to, or far from."),
    of(Kind::Pod, "spec.topologySpreadConstraints", USER, "How evenly its like are spread over zones or nodes."),
    of(Kind::Pod, "spec.priority", SERVER, "From its PriorityClass. A waiting Pod may have lower ones evicted."),
    of(Kind::Pod, "spec.schedulingGates", USER, "As long as one is left, the scheduler does not look at it."),
    of(
        Kind::Pod,
        "status.phase",
        KUBELET,
        "Pending until all containers have started, Running, then Succeeded or Failed, which never changes again.",
    ),
    of(
        Kind::Pod,
        "status.conditions",
        KUBELET,
        "PodScheduled (scheduler), PodReadyToStartContainers, Initialized, ContainersReady, Ready.",
    ),
    of(Kind::Pod, "status.podIP", KUBELET, "The address that the CNI plugin gave its sandbox."),
    of(Kind::Pod, "status.hostIP", KUBELET, "The node's address."),
    of(Kind::Pod, "status.startTime", KUBELET, "When the kubelet took it up, before any image was pulled."),
    of(Kind::Pod, "status.containerStatuses", KUBELET, "Each container: waiting, running or terminated, and why."),
    of(Kind::Pod, "status.containerStatuses.restartCount", KUBELET, "How often it was started again. It only grows."),
    of(Kind::Pod, "status.qosClass", SERVER, "Guaranteed, Burstable or BestEffort, from requests and limits."),
    of(
        Kind::Node,
        "spec.taints",
        "users, and the node lifecycle controller",
        "What keeps Pods away that do not tolerate it.",
    ),
    of(Kind::Node, "spec.unschedulable", "kubectl cordon", "No new Pods, except those that tolerate it."),
    of(Kind::Node, "spec.podCIDR", "the node ipam controller", "The addresses of its Pods."),
    of(Kind::Node, "status.allocatable", "its kubelet", "What Pods can have: capacity without what the system keeps."),
    of(Kind::Node, "status.capacity", "its kubelet", "What the machine has."),
    of(
        Kind::Node,
        "status.conditions",
        "its kubelet",
        "Ready and the pressures. When its Lease is not renewed, the node lifecycle controller turns them Unknown.",
    ),
    of(Kind::Lease, "spec.renewTime", "its holder", "The heartbeat. Who watches it measures by their own clock."),
    of(
        Kind::Lease,
        "spec.leaseDurationSeconds",
        "its holder",
        "After so long without a renewal the holder is given up.",
    ),
    of(Kind::Service, "spec.selector", USER, "The Pods behind it, by labels."),
    of(
        Kind::Service,
        "spec.clusterIP",
        SERVER,
        "Its own address. No machine has it: every node's proxy translates it.",
    ),
    of(Kind::Service, "spec.ports", USER, "Port, and targetPort: the one where Pods listen."),
];

/// What is known of a field: the note with this path, else the nearest one above it.
pub fn find(kind: Kind, path: &str) -> Option<&'static Note> {
    let plain = without_indexes(path);
    let mut path = plain.as_str();
    loop {
        let fits = |note: &&Note| note.path == path && note.kind.is_none_or(|of| of == kind);
        if let Some(note) = NOTES.iter().filter(fits).max_by_key(|note| note.kind.is_some()) {
            return Some(note);
        }
        path = path.rsplit_once('.')?.0;
    }
}

/// The fields below a path, or (empty) of a kind, that are known.
pub fn below(kind: Kind, path: &str) -> Vec<&'static Note> {
    let plain = without_indexes(path);
    let inside = |note: &&Note| {
        let rest = note.path.strip_prefix(plain.as_str());
        note.kind.is_none_or(|of| of == kind) && rest.is_some_and(|rest| plain.is_empty() || rest.starts_with('.'))
    };
    NOTES.iter().filter(inside).collect()
}

/// `spec.containers[0].image` → `spec.containers.image`.
fn without_indexes(path: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0usize;
    for c in path.trim_matches('.').chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_path() {
        for (kind, path, found) in [
            (Kind::Pod, "status.phase", Some("status.phase")),
            (Kind::Pod, "spec.containers[0].image", Some("spec.containers.image")),
            (Kind::Pod, "status.conditions[Ready].status", Some("status.conditions")),
            (Kind::Deployment, "spec.replicas", Some("spec.replicas")),
            (Kind::ConfigMap, "metadata.name", Some("metadata.name")),
            (Kind::ConfigMap, "data.x", None),
            (Kind::Pod, "", None),
        ] {
            assert_eq!(find(kind, path).map(|note| note.path), found, "{kind} {path}");
        }
        assert_ne!(find(Kind::Deployment, "spec.replicas"), find(Kind::ReplicaSet, "spec.replicas"));
    }

    #[test]
    fn fields_below_a_field_are_listed() {
        let below = below(Kind::Pod, "spec.containers");
        assert!(below.iter().all(|note| note.path.starts_with("spec.containers.")) && below.len() == 6);
    }
}
