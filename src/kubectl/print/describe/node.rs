//! The page about a node.

use serde_json::Value;

use super::super::cells::node_roles;
use super::super::duration::age;
use super::super::fields::{at, flag, list, long_time, map, namespace_and_name, plain, text};
use super::super::pod::is_finished;
use super::page::{Page, Related};
use object::quantity::Amount;
use object::resources::{ResourceList, add, is_huge_page, pod_limits, pod_requests};
use object::{Pod, read};

pub(super) fn describe(page: &mut Page, node: &Value, related: &Related) {
    page.name(node);
    page.field("Roles", node_roles(node));
    page.labels("Labels", node, "metadata.labels");
    page.annotations("Annotations", node, "metadata.annotations");
    page.field("CreationTimestamp", long_time(node, "metadata.creationTimestamp").unwrap_or_default());
    let mut taints: Vec<&Value> = list(node, "spec.taints").iter().collect();
    taints.sort_by_key(|taint| format!("{},{}", text(taint, "effect"), text(taint, "key")));
    page.lines("Taints", &taints.into_iter().map(taint_text).collect::<Vec<_>>());
    page.field("Unschedulable", flag(node, "spec.unschedulable").to_string());
    describe_lease(page, related.lease.as_ref());
    describe_conditions(page, node);
    page.line("Addresses:");
    list(node, "status.addresses")
        .iter()
        .for_each(|a| page.field(&format!("  {}", text(a, "type")), text(a, "address")));
    for (title, path) in [("Capacity", "status.capacity"), ("Allocatable", "status.allocatable")] {
        page.line(format!("{title}:"));
        map(node, path).for_each(|(name, amount)| page.field(&format!("  {name}"), plain(amount)));
    }
    describe_system(page, node);
    describe_pods(page, node, &related.pods);
}

/// `dedicated=db:NoSchedule`.
pub fn taint_text(taint: &Value) -> String {
    match text(taint, "value") {
        "" => format!("{}:{}", text(taint, "key"), text(taint, "effect")),
        value => format!("{}={value}:{}", text(taint, "key"), text(taint, "effect")),
    }
}

fn describe_lease(page: &mut Page, lease: Option<&Result<Value, String>>) {
    let lease = match lease {
        None => return,
        Some(Err(why)) => return page.field("Lease", format!("Failed to get lease: {why}")),
        Some(Ok(lease)) => lease,
    };
    let or_unset = |text: &str| if text.is_empty() { "<unset>".to_owned() } else { text.to_owned() };
    page.line("Lease:");
    page.field("  HolderIdentity", or_unset(text(lease, "spec.holderIdentity")));
    for (name, path) in [("AcquireTime", "spec.acquireTime"), ("RenewTime", "spec.renewTime")] {
        page.field(&format!("  {name}"), or_unset(&long_time(lease, path).unwrap_or_default()));
    }
}

fn describe_conditions(page: &mut Page, node: &Value) {
    page.line("Conditions:");
    page.line("  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage");
    page.line("  ----\t------\t-----------------\t------------------\t------\t-------");
    for c in list(node, "status.conditions") {
        let [beat, change] = ["lastHeartbeatTime", "lastTransitionTime"].map(|f| long_time(c, f).unwrap_or_default());
        let [kind, status, reason, message] = ["type", "status", "reason", "message"].map(|field| text(c, field));
        page.line(format!("  {kind} \t{status} \t{beat} \t{change} \t{reason} \t{message}"));
    }
}

fn describe_system(page: &mut Page, node: &Value) {
    #[rustfmt::skip]
    const INFO: &[(&str, &str)] = &[
        ("Machine ID", "machineID"), ("System UUID", "systemUUID"), ("Boot ID", "bootID"),
        ("Kernel Version", "kernelVersion"), ("OS Image", "osImage"), ("Operating System", "operatingSystem"),
        ("Architecture", "architecture"), ("Container Runtime Version", "containerRuntimeVersion"),
        ("Kubelet Version", "kubeletVersion"),
    ];
    page.line("System Info:");
    for (title, field) in INFO {
        page.field(&format!("  {title}"), text(at(node, "status.nodeInfo"), field));
    }
    if !text(node, "spec.podCIDR").is_empty() {
        page.field("PodCIDR", text(node, "spec.podCIDR"));
        let ranges: Vec<String> = list(node, "spec.podCIDRs").iter().map(plain).collect();
        page.field("PodCIDRs", ranges.join(","));
    }
    if !text(node, "spec.providerID").is_empty() {
        page.field("ProviderID", text(node, "spec.providerID"));
    }
}

/// The resources whose requests and limits are summed up.
const SHOWN: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Of each, what Pods ask for and what they are limited to.
type Sums = [[Vec<Amount>; 2]; 3];

/// Mirrors `describeNodeResource`.
fn describe_pods(page: &mut Page, node: &Value, pods: &[Value]) {
    let running: Vec<&Value> = pods.iter().filter(|pod| !is_finished(pod)).collect();
    page.field("Non-terminated Pods", format!("({} in total)", running.len()));
    page.line("  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge");
    page.line("  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---");
    let mut all = Sums::default();
    let mut totals = [ResourceList::new(), ResourceList::new()];
    for pod in running {
        let Ok(typed) = read::from_value::<Pod>(pod) else { continue };
        let asked = [pod_requests(&typed), pod_limits(&typed)];
        totals.iter_mut().zip(&asked).for_each(|(total, more)| add(total, more));
        let mut cells = Vec::new();
        for (name, sums) in SHOWN.into_iter().zip(&mut all) {
            for (amounts, sum) in asked.iter().zip(sums) {
                let amount = amounts.get(name).copied();
                cells.push(share(node, name, amount.as_slice()));
                sum.extend(amount);
            }
        }
        // There is no column for the disk.
        cells.truncate(4);
        let (namespace, name) = namespace_and_name(pod);
        let age = age(page.now, pod, "metadata.creationTimestamp");
        page.line(format!("  {namespace}\t{name}\t\t{}\t{age}", cells.join("\t")));
    }
    page.line("Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)");
    page.line("  Resource\tRequests\tLimits\n  --------\t--------\t------");
    for (name, [requests, limits]) in SHOWN.into_iter().zip(&all) {
        page.line(format!("  {name}\t{}\t{}", share(node, name, requests), share(node, name, limits)));
    }
    describe_rare(page, node, &totals);
}

/// What only some nodes have: memory in large pages, with its share, and devices and the like, which are counted.
fn describe_rare(page: &mut Page, node: &Value, [requests, limits]: &[ResourceList; 2]) {
    let names = || map(node, "status.allocatable").map(|(name, _)| name.as_str());
    for name in names().filter(|name| is_huge_page(name)) {
        let [asked, limited] = [requests, limits].map(|total| share(node, name, total.get(name).copied().as_slice()));
        page.line(format!("  {name}\t{asked}\t{limited}"));
    }
    let standard = |name: &str| SHOWN.contains(&name) || name == "pods" || is_huge_page(name);
    for name in names().filter(|name| !standard(name)) {
        let [asked, limited] = [requests, limits].map(|total| total.get(name).map_or(0, |amount| amount.value()));
        page.line(format!("  {name}\t{asked}\t{limited}"));
    }
}

/// `250m (6%)`: the sum, and its share of what the node has.
fn share(node: &Value, name: &str, amounts: &[Amount]) -> String {
    let cpu = name == "cpu";
    let size = |amount: &Amount| if cpu { amount.milli_value() } else { amount.value() };
    let sum: i64 = amounts.iter().map(size).fold(0, i64::saturating_add);
    let total = Amount::parse(text(at(node, "status.allocatable"), name)).map_or(0, |amount| size(&amount));
    // As kubectl reckons it: 29 of 100 are 28 percent and a bit.
    let percent = if total == 0 { 0 } else { (sum as f64 / total as f64 * 100.0) as i64 };
    let shown = match amounts {
        [] => "0".to_owned(),
        _ if cpu => Amount::millis(sum).to_quantity().0,
        _ => Amount::bytes(sum).to_quantity().0,
    };
    format!("{shown} ({percent}%)")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_node_is_told_with_what_is_rare_about_it() {
        let allocatable =
            json!({"cpu": "1", "memory": "1Gi", "example.com/dongle": "4", "hugepages-2Mi": "8Mi", "pods": "9"});
        let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect});
        let node = json!({
            "metadata": {"name": "n"}, "status": {"allocatable": allocatable},
            "spec": {"taints": [taint("b", "NoSchedule"), taint("c", "NoExecute"), taint("a", "NoSchedule")]},
        });
        let requests = json!({"cpu": "290m", "example.com/dongle": "3", "hugepages-2Mi": "2Mi"});
        let container = json!({"name": "c", "resources": {"requests": requests, "limits": requests}});
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}});
        let lease = Some(Err("leases.coordination.k8s.io \"n\" not found".to_owned()));
        let related = Related { pods: vec![pod.clone(), pod], lease, ..Related::default() };
        let mut page = Page { text: String::new(), now: jiff::Timestamp::UNIX_EPOCH };
        describe(&mut page, &node, &related);
        for part in [
            "Taints:\tc:NoExecute\n\ta:NoSchedule\n\tb:NoSchedule\n",
            "Lease:\tFailed to get lease: leases.coordination.k8s.io \"n\" not found\n",
            "\tp\t\t290m (28%)\t290m (28%)\t0 (0%)",
            "  hugepages-2Mi\t4Mi (50%)\t4Mi (50%)\n  example.com/dongle\t6\t6\n",
        ] {
            assert!(page.text.contains(part), "{part}\n-- is not in\n{}", page.text);
        }
    }
}
