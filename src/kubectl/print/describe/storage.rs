//! The pages about volumes, claims and classes.

use serde_json::Value;

use super::super::fields::{at, labels, list, or_none, plain, text};
use super::super::storage::{access_modes, claim_of, is_default, phase};
use super::page::{Page, go_list};
use super::volumes;

pub(super) fn describe_claim(page: &mut Page, claim: &Value, pods: &[Value]) {
    page.name(claim);
    page.namespace(claim);
    page.field("StorageClass", text(claim, "spec.storageClassName"));
    status(page, claim);
    page.field("Volume", text(claim, "spec.volumeName"));
    page.labels("Labels", claim, "metadata.labels");
    page.annotations("Annotations", claim, "metadata.annotations");
    page.field("Finalizers", go_list(list(claim, "metadata.finalizers")));
    let bound = !text(claim, "spec.volumeName").is_empty();
    let if_bound = |value: String| if bound { value } else { String::new() };
    page.field("Capacity", if_bound(text(claim, "status.capacity.storage").to_owned()));
    page.field("Access Modes", if_bound(access_modes(claim, "status.accessModes")));
    page.field("VolumeMode", text(claim, "spec.volumeMode"));
    let source = at(claim, "spec.dataSource");
    if !source.is_null() {
        page.line("DataSource:");
        for (title, field) in [("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name")] {
            if !at(source, field).is_null() {
                page.field(&format!("  {title}"), text(source, field));
            }
        }
    }
    page.lines("Used By", &users(claim, pods));
    let conditions = list(claim, "status.conditions");
    if !conditions.is_empty() {
        page.line("Conditions:\n  Type\tStatus\tLastProbeTime\tLastTransitionTime\tReason\tMessage");
        page.line("  ----\t------\t-----------------\t------------------\t------\t-------");
        for condition in conditions {
            let [kind, status, reason, message] = ["type", "status", "reason", "message"].map(|f| text(condition, f));
            let time = super::super::fields::long_time(condition, "lastTransitionTime").unwrap_or_default();
            page.line(format!("  {kind} \t{status} \tMon, 01 Jan 0001 00:00:00 +0000 \t{time} \t{reason} \t{message}"));
        }
    }
}

/// The Pods that name the claim, then those that own it and do not. Mirrors `getPodsForPVC`.
fn users(claim: &Value, pods: &[Value]) -> Vec<String> {
    let names_it = |pod: &Value| {
        let mut volumes = list(pod, "spec.volumes").iter();
        volumes.any(|v| text(v, "persistentVolumeClaim.claimName") == text(claim, "metadata.name"))
    };
    let owners = list(claim, "metadata.ownerReferences").iter().filter(|owner| text(owner, "kind") == "Pod");
    let owners = owners.filter_map(|owner| pods.iter().find(|pod| text(pod, "metadata.uid") == text(owner, "uid")));
    let users = pods.iter().filter(|pod| names_it(pod)).chain(owners.filter(|pod| !names_it(pod)));
    users.map(|pod| text(pod, "metadata.name").to_owned()).collect()
}

pub(super) fn describe_volume(page: &mut Page, volume: &Value) {
    page.head(volume);
    page.field("Finalizers", go_list(list(volume, "metadata.finalizers")));
    page.field("StorageClass", text(volume, "spec.storageClassName"));
    status(page, volume);
    page.field("Claim", claim_of(volume));
    page.field("Reclaim Policy", text(volume, "spec.persistentVolumeReclaimPolicy"));
    page.field("Access Modes", access_modes(volume, "spec.accessModes"));
    page.field("VolumeMode", text(volume, "spec.volumeMode"));
    page.field("Capacity", text(volume, "spec.capacity.storage"));
    affinity(page, volume);
    page.field("Message", text(volume, "status.message"));
    page.line("Source:");
    volumes::source(page, at(volume, "spec"));
}

/// Mirrors `printVolumeNodeAffinity`.
fn affinity(page: &mut Page, volume: &Value) {
    let required = at(volume, "spec.nodeAffinity.required");
    if required.is_null() {
        return page.field("Node Affinity", "<none>");
    }
    page.line("Node Affinity:\t");
    page.line("  Required Terms:\t");
    for (i, term) in list(required, "nodeSelectorTerms").iter().enumerate() {
        let show = |e: &Value| {
            let (key, operator) = (text(e, "key"), text(e, "operator").to_lowercase());
            match list(e, "values") {
                [] => format!("{key} {operator}"),
                values => format!("{key} {operator} [{}]", values.iter().map(plain).collect::<Vec<_>>().join(", ")),
            }
        };
        let expressions: Vec<String> = list(term, "matchExpressions").iter().map(show).collect();
        page.lines(&format!("    Term {i}"), &expressions);
    }
}

pub(super) fn describe_class(page: &mut Page, class: &Value) {
    page.name(class);
    page.field("IsDefaultClass", if is_default(class) { "Yes" } else { "No" });
    let annotations = labels(class, "metadata.annotations");
    page.field("Annotations", annotations);
    page.field("Provisioner", text(class, "provisioner"));
    page.field("Parameters", labels(class, "parameters"));
    let expansion = at(class, "allowVolumeExpansion");
    let expansion = match expansion.as_bool() {
        None => "<unset>",
        Some(true) => "True",
        Some(false) => "False",
    };
    page.field("AllowVolumeExpansion", expansion);
    match list(class, "mountOptions") {
        [] => page.field("MountOptions", "<none>"),
        options => {
            page.line("MountOptions:");
            options.iter().for_each(|option| page.line(format!("  {}", plain(option))));
        }
    }
    page.field("ReclaimPolicy", text(class, "reclaimPolicy"));
    page.field("VolumeBindingMode", text(class, "volumeBindingMode"));
    let topologies = list(class, "allowedTopologies");
    if !topologies.is_empty() {
        page.line("AllowedTopologies:\t");
        for (i, term) in topologies.iter().enumerate() {
            let show = |e: &Value| {
                let values: Vec<String> = list(e, "values").iter().map(plain).collect();
                format!("{} in [{}]", text(e, "key"), values.join(", "))
            };
            let expressions: Vec<String> = list(term, "matchLabelExpressions").iter().map(show).collect();
            page.lines(&format!("  Term {i}"), &expressions);
        }
    }
}

/// The phase, or since when it is being deleted.
fn status(page: &mut Page, object: &Value) {
    let status = phase(object);
    if status == "Terminating" {
        let since = super::super::duration::age(page.now, object, "metadata.deletionTimestamp");
        return page.field("Status", format!("Terminating (lasts {since})"));
    }
    page.field("Status", or_none(&status));
}

pub(super) fn describe_driver_node(page: &mut Page, node: &Value) {
    page.head(node);
    if let Some(time) = super::super::fields::long_time(node, "metadata.creationTimestamp") {
        page.field("CreationTimestamp", time);
    }
    page.line("Spec:");
    if list(node, "spec.drivers").is_empty() {
        return;
    }
    page.line("  Drivers:");
    for driver in list(node, "spec.drivers") {
        page.line(format!("    {}:", text(driver, "name")));
        page.field("      Node ID", text(driver, "nodeID"));
        let limit = super::super::storage::limit(driver);
        if limit > 0 {
            page.line("      Allocatables:");
            page.field("        Count", limit.to_string());
        }
        if !list(driver, "topologyKeys").is_empty() {
            page.field("      Topology Keys", go_list(list(driver, "topologyKeys")));
        }
    }
}
