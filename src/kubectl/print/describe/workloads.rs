//! The pages about a Deployment, and about a ReplicaSet or ReplicationController.

use serde_json::Value;

use super::super::fields::{at, int, list, long_time, plain, selector, text};
use super::page::{Page, conditions, joined, tolerations};
use super::{containers, pod, volumes};

const HASH_LABEL: &str = "pod-template-hash";

pub(super) fn describe_deployment(page: &mut Page, deployment: &Value, replica_sets: &[Value]) {
    page.name(deployment);
    page.namespace(deployment);
    page.field("CreationTimestamp", long_time(deployment, "metadata.creationTimestamp").unwrap_or_default());
    page.labels("Labels", deployment, "metadata.labels");
    page.annotations("Annotations", deployment, "metadata.annotations");
    page.field("Selector", selector(deployment, "spec.selector"));
    let status = |field| int(at(deployment, "status"), field);
    page.field(
        "Replicas",
        format!(
            "{} desired | {} updated | {} total | {} available | {} unavailable",
            int(deployment, "spec.replicas"),
            status("updatedReplicas"),
            status("replicas"),
            status("availableReplicas"),
            status("unavailableReplicas")
        ),
    );
    page.field("StrategyType", text(deployment, "spec.strategy.type"));
    page.field("MinReadySeconds", int(deployment, "spec.minReadySeconds").to_string());
    let rolling = at(deployment, "spec.strategy.rollingUpdate");
    if !rolling.is_null() {
        let [unavailable, surge] = ["maxUnavailable", "maxSurge"].map(|field| plain(at(rolling, field)));
        page.field("RollingUpdateStrategy", format!("{unavailable} max unavailable, {surge} max surge"));
    }
    describe_template(page, at(deployment, "spec.template"));
    conditions(page, deployment);
    let (new, old): (Vec<&Value>, Vec<&Value>) = split_sets(deployment, replica_sets);
    if !old.is_empty() || !new.is_empty() {
        page.field("OldReplicaSets", sets_text(&old));
        page.field("NewReplicaSet", sets_text(&new));
    }
}

/// The Deployment's ReplicaSets, the one of its present template apart. Mirrors `deploymentutil.GetAllReplicaSets`.
fn split_sets<'a>(deployment: &Value, replica_sets: &'a [Value]) -> (Vec<&'a Value>, Vec<&'a Value>) {
    let uid = text(deployment, "metadata.uid");
    let owned = |set: &&Value| {
        let owners = list(set, "metadata.ownerReferences");
        owners.iter().any(|o| at(o, "controller") == &Value::Bool(true) && text(o, "uid") == uid)
    };
    let template = at(deployment, "spec.template");
    replica_sets.iter().filter(owned).partition(|set| *template == template_of(set))
}

/// A ReplicaSet's template without the label that the Deployment controller put there.
pub(crate) fn template_of(set: &Value) -> Value {
    let mut template = at(set, "spec.template").clone();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(HASH_LABEL);
    }
    template
}

fn sets_text(sets: &[&Value]) -> String {
    let show = |set: &&Value| {
        let (created, wanted) = (int(set, "status.replicas"), int(set, "spec.replicas"));
        format!("{} ({created}/{wanted} replicas created)", text(set, "metadata.name"))
    };
    joined(&sets.iter().map(show).collect::<Vec<_>>())
}

pub(super) fn describe_replica_set(page: &mut Page, set: &Value, pods: &[Value]) {
    page.name(set);
    page.namespace(set);
    page.field("Selector", selector(set, "spec.selector"));
    page.labels("Labels", set, "metadata.labels");
    page.annotations("Annotations", set, "metadata.annotations");
    page.controlled_by(set);
    let (current, desired) = (int(set, "status.replicas"), int(set, "spec.replicas"));
    page.field("Replicas", format!("{current} current / {desired} desired"));
    page.field("Pods Status", pod_phases(set, pods));
    describe_template(page, at(set, "spec.template"));
    conditions(page, set);
}

/// How many of the object's own Pods are in which phase. Mirrors `getPodStatusForController`.
pub(super) fn pod_phases(owner: &Value, pods: &[Value]) -> String {
    let uid = text(owner, "metadata.uid");
    let owned = |pod: &&Value| list(pod, "metadata.ownerReferences").iter().any(|o| text(o, "uid") == uid);
    let phases: Vec<&str> = pods.iter().filter(owned).map(|pod| text(pod, "status.phase")).collect();
    let count = |phase: &str| phases.iter().filter(|p| **p == phase).count();
    let [running, waiting, succeeded, failed] = ["Running", "Pending", "Succeeded", "Failed"].map(count);
    format!("{running} Running / {waiting} Waiting / {succeeded} Succeeded / {failed} Failed")
}

/// Mirrors `DescribePodTemplate`.
pub(super) fn describe_template(page: &mut Page, template: &Value) {
    page.line("Pod Template:");
    page.labels("  Labels", template, "metadata.labels");
    if !at(template, "metadata.annotations").is_null() {
        page.annotations("  Annotations", template, "metadata.annotations");
    }
    if !text(template, "spec.serviceAccountName").is_empty() {
        page.field("  Service Account", text(template, "spec.serviceAccountName"));
    }
    let init = list(template, "spec.initContainers");
    if !init.is_empty() {
        containers::describe(page, "Init Containers", init, &[], "  ", None);
    }
    containers::describe(page, "Containers", list(template, "spec.containers"), &[], "  ", None);
    volumes::describe(page, list(template, "spec.volumes"), "  ");
    pod::topology(page, list(template, "spec.topologySpreadConstraints"), "  ");
    if !text(template, "spec.priorityClassName").is_empty() {
        page.field("  Priority Class Name", text(template, "spec.priorityClassName"));
    }
    page.labels("  Node-Selectors", template, "spec.nodeSelector");
    tolerations(page, "  Tolerations", template, "spec.tolerations");
}
