//! PodResizeValidator: a running Pod is not made larger than its node can ever be. Whether there is room at the moment its
//! kubelet says. Mirrors `plugin/pkg/admission/podresize`.

use k8s_openapi::api::core::v1::Node;

use object::pod::assigned_node;
use object::quantity::Amount;
use object::resources::pod_requests;
use object::status::Cause;
use object::well_known::OS;
use object::{Accessor, Kind, Object, Pod, Status};
use wire::Subresource;

use super::{Attributes, forbidden};

/// A change of the sizes of a bound Pod's containers.
pub fn validate(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    let Object::Pod(pod) = object else { return Ok(()) };
    let Some(node) = assigned_node(pod) else { return Ok(()) };
    let unchanged = attributes.old.is_none_or(|old| old.meta().generation == pod.metadata.generation);
    if attributes.request.subresource != Some(Subresource::Resize) || unchanged {
        return Ok(());
    }
    let refused = |why: &str| forbidden(attributes.request, Some(object), why);
    let Some(Object::Node(there)) = attributes.reader.get(Kind::Node, "", node) else {
        return Err(refused(&format!("node {node:?} not found")));
    };
    check_platform(&there).map_err(|why| because("UnsupportedPlatform", refused(&why)))?;
    check_allocatable(pod, &there).map_err(|why| because("NodeCapacity", refused(&why)))
}

/// A node that does not say what it runs is taken to run Linux. Mirrors `validateLinuxNode`.
fn check_platform(node: &Node) -> Result<(), String> {
    let os = node.metadata.labels.as_ref().and_then(|labels| labels.get(OS)).filter(|os| *os != "linux");
    let name = node.metadata.name();
    os.map_or(Ok(()), |os| Err(format!("pod resize is only supported on linux nodes, node {name:?} is {os:?}")))
}

/// Mirrors `validateRequestsWithinAllocatable`.
fn check_allocatable(pod: &Pod, node: &Node) -> Result<(), String> {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let requests = pod_requests(pod);
    let too_much = ["cpu", "memory"].into_iter().filter_map(|name| {
        let requested = requests.get(name).copied().unwrap_or_default();
        let there = allocatable.and_then(|list| list.get(name)).map(Amount::of).unwrap_or_default();
        let number = |amount: Amount| if name == "cpu" { amount.milli_value() } else { amount.value() };
        let says = || format!("{name}, requested: {}, allocatable: {}", number(requested), number(there));
        (requested > there).then(says)
    });
    let too_much: Vec<String> = too_much.collect();
    if too_much.is_empty() {
        return Ok(());
    }
    Err(format!("node didn't have enough allocatable resources: {}", too_much.join("; ")))
}

/// With the word for it that programs look for, among the causes. Mirrors `resizeValidationError`.
fn because(reason: &str, mut status: Status) -> Status {
    let cause = Cause { reason: reason.to_owned(), message: String::new(), field: String::new() };
    status.details.get_or_insert_default().causes.push(cause);
    status
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{Objects, object, request, with};
    use super::*;
    use wire::{User, Verb};

    #[test]
    fn a_pod_stays_smaller_than_its_node() {
        let node = |name: &str, labels: Value| {
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}})
        };
        let os = |os: &str| json!({"kubernetes.io/os": os});
        let nodes = [node("node-1", os("linux")), node("silent", json!({})), node("other", os("windows"))];
        let objects = Objects::parse(&nodes);
        let pod = |node: &str, cpu: &str, memory: &str, generation: i64| {
            object(json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "web", "namespace": "n", "generation": generation},
                "spec": {"nodeName": node, "containers": [{"name": "app",
                    "resources": {"requests": {"cpu": cpu, "memory": memory}}}]}}))
        };
        for (node, cpu, memory, generation, error, reason) in [
            ("node-1", "4", "8Gi", 2, "", ""),
            ("", "20", "1Gi", 2, "", ""),
            ("node-1", "20", "1Gi", 1, "", ""),
            (
                "node-1",
                "20",
                "1Gi",
                2,
                "node didn't have enough allocatable resources: cpu, requested: 20000, allocatable: 4000",
                "NodeCapacity",
            ),
            (
                "node-1",
                "5",
                "9Gi",
                2,
                "node didn't have enough allocatable resources: cpu, requested: 5000, allocatable: 4000; memory, requested: \
                 9663676416, allocatable: 8589934592",
                "NodeCapacity",
            ),
            ("node-2", "1", "1Gi", 2, "node \"node-2\" not found", ""),
            ("silent", "1", "1Gi", 2, "", ""),
            (
                "other",
                "20",
                "1Gi",
                2,
                "pod resize is only supported on linux nodes, node \"other\" is \"windows\"",
                "UnsupportedPlatform",
            ),
        ] {
            let (old, new) = (pod(node, "1", "1Gi", 1), pod(node, cpu, memory, generation));
            let request = request(User::admin(), Verb::Patch, Some(Subresource::Resize), &new);
            let refused = with(&request, Some(&old), &objects, |attributes| validate(attributes, &new)).err();
            let causes = refused.iter().flat_map(|status| &status.details).flat_map(|details| &details.causes);
            let reasons: Vec<&str> = causes.map(|cause| cause.reason.as_str()).collect();
            assert_eq!(reasons.join(","), reason, "{node} {cpu} {memory}");
            let got = refused.map(|status| status.message).unwrap_or_default();
            let expected = if error.is_empty() { String::new() } else { format!("pods \"web\" is forbidden: {error}") };
            assert_eq!(got, expected, "{node} {cpu} {memory}");
        }
    }
}
