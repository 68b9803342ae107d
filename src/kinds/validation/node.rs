//! Nodes. Mirrors `ValidateNode` and `ValidateNodeUpdate` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{Node, NodeSpec};

use crate::kinds::pod_template::container::quantity_of;
use crate::kinds::pod_template::scheduling::TAINT_EFFECTS;
use crate::object::selector::names::{check_label_key, check_label_value};
use crate::object::validation::field::{Path, Problems};
use crate::object::validation::internal::Internal;

const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");

/// A Node as it is created.
pub fn node(problems: &mut Problems, node: &Node) {
    if let Some(spec) = &node.spec {
        taints(problems, spec);
    }
    resources(problems, node);
}

/// What may not change in a Node.
pub fn node_update(problems: &mut Problems, new: &Node, old: &Node) {
    let default = NodeSpec::default();
    let (spec, before) = (new.spec.as_ref().unwrap_or(&default), old.spec.as_ref().unwrap_or(&default));
    if spec.taints != before.taints {
        taints(problems, spec);
    }
    let cidrs = pod_cidrs(before);
    if !cidrs.is_empty() && pod_cidrs(spec) != cidrs {
        const WHY: &str = "node updates may not change podCIDR except from \"\" to valid";
        problems.forbidden(&SPEC.child("podCIDRs"), WHY);
    }
    let provider = before.provider_id.as_deref().unwrap_or_default();
    if !provider.is_empty() && spec.provider_id.as_deref() != Some(provider) {
        const WHY: &str = "node updates may not change providerID except from \"\" to valid";
        problems.forbidden(&SPEC.child("providerID"), WHY);
    }
}

/// The ranges of a Node's Pods. The older field alone counts where it says another than the list. Mirrors
/// `Convert_v1_NodeSpec_To_core_NodeSpec`.
fn pod_cidrs(spec: &NodeSpec) -> &[String] {
    let list = spec.pod_cidrs.as_deref().unwrap_or_default();
    match &spec.pod_cidr {
        Some(one) if !one.is_empty() && list.first() != Some(one) => std::slice::from_ref(one),
        _ => list,
    }
}

/// A Node's status: what it has.
pub fn node_status(problems: &mut Problems, new: &Node, old: &Node) {
    let same = match (&new.status, &old.status) {
        (Some(new), Some(old)) => new.capacity == old.capacity && new.allocatable == old.allocatable,
        _ => false,
    };
    if !same {
        resources(problems, new);
    }
}

fn resources(problems: &mut Problems, node: &Node) {
    let Some(status) = &node.status else { return };
    for (list, resources) in [("capacity", &status.capacity), ("allocatable", &status.allocatable)] {
        let path = STATUS.child(list);
        for (name, quantity) in resources.iter().flatten() {
            quantity_of(problems, &path.key(name), name, quantity);
        }
    }
}

fn taints(problems: &mut Problems, spec: &NodeSpec) {
    let (list, taints) = (SPEC.child("taints"), spec.taints.as_deref().unwrap_or_default());
    for (i, taint) in taints.iter().enumerate() {
        let path = list.index(i);
        problems.all_invalid(&path.child("key"), &taint.key, check_label_key(&taint.key));
        let value = taint.value.as_deref().unwrap_or_default();
        let wrong = check_label_value(value);
        if !wrong.is_empty() {
            problems.invalid(&path.child("value"), value, &wrong.join(";"));
        }
        problems.one_of(&path.child("effect"), Some(&taint.effect), TAINT_EFFECTS);
        if taints[..i].iter().any(|other| other.key == taint.key && other.effect == taint.effect) {
            problems.duplicate(&path, Internal("Taint", taint));
        }
    }
}
