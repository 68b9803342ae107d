//! Nodes. Mirrors `ValidateNode` and `ValidateNodeUpdate` of `pkg/apis/core/validation`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeSpec};
use serde_json::Value;

use crate::pod_template::container::quantity_of;
use crate::pod_template::scheduling::TAINT_EFFECTS;
use crate::printers::cells::{created, name, node_roles};
use crate::printers::columns::{AGE, NAME, column, wide};
use crate::printers::fields::{at, flag, list, or_none, text};
use crate::printers::pod;
use crate::row::{Facts, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use object::selector::names::{check_label_key, check_label_value};
use object::validation::field::{Json, Path, Problems};
use object::validation::internal::Internal;
use object::validation::names::{check_cidr, parse_cidr};

/// What the server knows of Nodes.
pub const ROW: Row<Node> = Row {
    defaults: Some(agree_on_pod_cidrs),
    strategy: Strategy { status: spec_and_status!(), ..Strategy::DEFAULT },
    validation: Validation {
        create: validate,
        update: validate_update,
        status: validate_status,
        ..Validation::DEFAULT
    },
    warnings: Warnings {
        any: |told, node| {
            let spec = node.spec.as_ref();
            if spec.and_then(|spec| spec.external_id.as_deref()).is_some_and(|id| !id.is_empty()) {
                told.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
            }
        },
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        field_chapters: &[
            ("spec.podCIDR", 10),
            ("spec.taints", 8),
            ("spec.unschedulable", 8),
            ("status.allocatable", 8),
            ("status.conditions", 12),
        ],
        table: Table {
            columns: &[
                NAME,
                column("Status"),
                column("Roles"),
                AGE,
                column("Version"),
                wide("Internal-IP"),
                wide("External-IP"),
                wide("OS-Image"),
                wide("Kernel-Version"),
                wide("Container-Runtime"),
            ],
            cells,
        },
        ..Facts::new("/registry/minions/", 9)
    })
};

const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");
const METADATA: Path = Path::new("metadata");

/// The first range stands twice. Mirrors `Convert_v1_NodeSpec_To_core_NodeSpec` and its like.
fn agree_on_pod_cidrs(node: &mut Node) {
    let Some(spec) = &mut node.spec else { return };
    let cidrs = pod_cidrs(spec);
    if cidrs.first() == spec.pod_cidr.as_ref() && spec.pod_cidrs.as_deref().unwrap_or_default() == cidrs {
        return;
    }
    let cidrs = cidrs.to_vec();
    spec.pod_cidr = cidrs.first().cloned();
    spec.pod_cidrs = Some(cidrs).filter(|cidrs| !cidrs.is_empty());
}

/// A Node as it is created.
fn validate(problems: &mut Problems, node: &Node) {
    if let Some(spec) = &node.spec {
        taints(problems, spec);
        let cidrs = pod_cidrs(spec);
        for (i, cidr) in cidrs.iter().enumerate() {
            if let Some(why) = check_cidr(cidr) {
                problems.invalid(&SPEC.child("podCIDRs").index(i), cidr.as_str(), why);
            }
        }
        let families: Vec<_> = cidrs.iter().filter_map(|cidr| Some(parse_cidr(cidr)?.0.is_ipv4())).collect();
        if cidrs.len() > 2 || families.len() == 2 && families[0] == families[1] {
            const WHY: &str = "may specify no more than one CIDR for each IP family";
            problems.invalid(&SPEC.child("podCIDRs"), Json(cidrs), WHY);
        }
    }
    resources(problems, node);
}

/// What may not change in a Node.
fn validate_update(problems: &mut Problems, new: &Node, old: &Node) {
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

/// A Node's status: what it has.
fn validate_status(problems: &mut Problems, new: &Node, old: &Node) {
    let same = match (&new.status, &old.status) {
        (Some(new), Some(old)) => new.capacity == old.capacity && new.allocatable == old.allocatable,
        _ => false,
    };
    if !same {
        resources(problems, new);
    }
    let addresses = new.status.as_ref().and_then(|status| status.addresses.as_deref()).unwrap_or_default();
    for (i, address) in addresses.iter().enumerate().filter(|(i, address)| addresses[..*i].contains(address)) {
        problems.duplicate(&STATUS.child("addresses").index(i), Internal("NodeAddress", address));
    }
}

fn cells(node: &Value, now: Timestamp) -> Vec<Value> {
    let mut status = match pod::condition(node, "Ready") {
        "True" => "Ready".to_owned(),
        "" => "Unknown".to_owned(),
        _ => "NotReady".to_owned(),
    };
    if flag(node, "spec.unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let address = |kind: &str| {
        let found = list(node, "status.addresses").iter().find(|a| text(a, "type") == kind);
        or_none(found.map_or("", |a| text(a, "address")))
    };
    let info = |field: &str| {
        let value = text(at(node, "status.nodeInfo"), field);
        if value.is_empty() { "<unknown>".to_owned() } else { value.to_owned() }
    };
    cells![
        name(node),
        status,
        node_roles(node),
        created(node, now),
        text(node, "status.nodeInfo.kubeletVersion"),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage"),
        kernel(node, info("kernelVersion")),
        info("containerRuntimeVersion"),
    ]
}

/// The kernel's version, and behind it for which processors it was built.
fn kernel(node: &Value, version: String) -> String {
    match text(at(node, "status.nodeInfo"), "architecture") {
        "" => version,
        architecture => format!("{version} ({architecture})"),
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

fn resources(problems: &mut Problems, node: &Node) {
    let Some(status) = &node.status else { return };
    for (list, resources) in [("capacity", &status.capacity), ("allocatable", &status.allocatable)] {
        let path = STATUS.child(list);
        for (name, quantity) in resources.iter().flatten() {
            // The name follows a dot here, as a field's does.
            quantity_of(problems, &path.child(name), name, quantity);
        }
    }
}

fn taints(problems: &mut Problems, spec: &NodeSpec) {
    // They have moved out of annotations since, but not here.
    let (list, taints) = (METADATA.child("taints"), spec.taints.as_deref().unwrap_or_default());
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
