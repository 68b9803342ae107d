//! Containers of a Pod. Mirrors `validateContainerCommon` and its neighbours in `pkg/apis/core/validation`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, ContainerRestartRule, ResourceRequirements, VolumeDevice, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::pod_template::{env, security};
use object::quantity::Amount;
use object::resources::{is_extended, is_huge_page, is_native, may_overcommit};
use object::selector::names::check_label_key;
use object::status::Cause;
use object::validation::field::{Path, Problems, Shown};
use object::validation::names::{check_dns_label, check_port, check_port_name};

/// What goes through a port.
pub const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
/// When an image is fetched.
pub const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const RESTART_POLICIES: &[&str] = &["Always", "Never", "OnFailure"];
const RESTART_ACTIONS: &[&str] = &["Restart", "RestartAllContainers"];
/// How many rules of when to start again a container may have, and how many exit codes one of them.
const RESTART_RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
/// The resources that may change while a container runs, and what may become of it then.
const RESIZED: &[&str] = &["cpu", "memory"];
const RESIZE_POLICIES: &[&str] = &["NotRequired", "RestartContainer"];
/// Names of resources that Kubernetes knows but containers do not have.
const OTHER_RESOURCES: &[&str] = &[
    "configmaps",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];
/// What a container has to know of its Pod.
pub struct Around<'a> {
    /// The names of the Pod's volumes, and whether one may be a block device.
    pub volumes: &'a [(&'a str, bool)],
    /// The names of the Pod's resource claims.
    pub claims: &'a BTreeSet<&'a str>,
    /// The Pod's users are those of the node.
    pub host_users: bool,
    /// Nothing of the Pod is started again.
    pub never_restarts: bool,
}

/// What any container must be.
pub fn container(problems: &mut Problems, path: &Path, container: &Container, around: &Around) {
    match container.name.as_str() {
        "" => problems.required(&path.child("name"), ""),
        name => problems.all_invalid(&path.child("name"), name, check_dns_label(name)),
    }
    if container.image.as_deref().unwrap_or_default().is_empty() {
        problems.required(&path.child("image"), "");
    }
    let policy = container.termination_message_policy.as_deref();
    problems.one_of(&path.child("terminationMessagePolicy"), policy, &["File", "FallbackToLogsOnError"]);
    ports(problems, &path.child("ports"), container.ports.as_deref().unwrap_or_default());
    env::variables(problems, &path.child("env"), container.env.as_deref().unwrap_or_default());
    env::from(problems, &path.child("envFrom"), container.env_from.as_deref().unwrap_or_default());
    volume_mounts(problems, &path.child("volumeMounts"), container, around);
    volume_devices(problems, &path.child("volumeDevices"), container, around);
    let policy = container.image_pull_policy.as_deref();
    problems.one_of(&path.child("imagePullPolicy"), policy, PULL_POLICIES);
    if let Some(requirements) = &container.resources {
        resources(problems, &path.child("resources"), requirements);
        claims(problems, &path.child("resources").child("claims"), requirements, around.claims);
    }
    resize_policy(problems, &path.child("resizePolicy"), container, around.never_restarts);
    if let Some(context) = &container.security_context {
        security::of_container(problems, &path.child("securityContext"), context, around.host_users);
    }
}

/// What becomes of a container whose resources change: each of them once.
fn resize_policy(problems: &mut Problems, path: &Path, container: &Container, never_restarts: bool) {
    let mut resources = BTreeSet::new();
    for (i, policy) in container.resize_policy.iter().flatten().enumerate() {
        let (resource, restart) = (policy.resource_name.as_str(), policy.restart_policy.as_str());
        if !resources.insert(resource) {
            problems.duplicate(&path.index(i), resource);
        }
        problems.one_of(path, Some(resource), RESIZED);
        problems.one_of(path, Some(restart), RESIZE_POLICIES);
        if never_restarts && restart != "NotRequired" {
            problems.invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
        }
    }
}

/// When a container is started again, if not as its Pod says.
pub fn restart_policy(problems: &mut Problems, path: &Path, container: &Container) {
    let rules = container.restart_policy_rules.as_deref().unwrap_or_default();
    match container.restart_policy.as_deref() {
        Some(policy) if !RESTART_POLICIES.contains(&policy) => {
            problems.not_supported(&path.child("restartPolicy"), policy, RESTART_POLICIES);
        }
        None if !rules.is_empty() => {
            problems.required(&path.child("restartPolicy"), "must specify restartPolicy when restart rules are used");
        }
        _ => {}
    }
    let list = path.child("restartPolicyRules");
    if rules.len() > RESTART_RULES_MAX {
        problems.too_many(&list, rules.len(), RESTART_RULES_MAX);
    }
    for (i, rule) in rules.iter().enumerate() {
        restart_rule(problems, &list.index(i), rule);
    }
}

fn restart_rule(problems: &mut Problems, path: &Path, rule: &ContainerRestartRule) {
    if !RESTART_ACTIONS.contains(&rule.action.as_str()) {
        problems.not_supported(&path.child("action"), rule.action.as_str(), RESTART_ACTIONS);
    }
    let path = path.child("exitCodes");
    let Some(codes) = &rule.exit_codes else { return problems.required(&path, "must be specified") };
    if !["In", "NotIn"].contains(&codes.operator.as_str()) {
        problems.not_supported(&path.child("operator"), codes.operator.as_str(), &["In", "NotIn"]);
    }
    let count = codes.values.as_ref().map_or(0, Vec::len);
    if count > EXIT_CODES_MAX {
        problems.too_many(&path.child("values"), count, EXIT_CODES_MAX);
    }
}

fn ports(problems: &mut Problems, path: &Path, ports: &[ContainerPort]) {
    let mut names = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
            let wrong = check_port_name(name);
            if wrong.is_empty() && !names.insert(name) {
                problems.duplicate(&path.child("name"), name);
            }
            problems.all_invalid(&path.child("name"), name, wrong);
        }
        match check_port(port.container_port) {
            Some(_) if port.container_port == 0 => problems.required(&path.child("containerPort"), ""),
            Some(why) => problems.invalid(&path.child("containerPort"), port.container_port, why),
            None => {}
        }
        let host_port = port.host_port.unwrap_or(0);
        if let Some(why) = check_port(host_port).filter(|_| host_port != 0) {
            problems.invalid(&path.child("hostPort"), host_port, why);
        }
        problems.one_of(&path.child("protocol"), port.protocol.as_deref(), PROTOCOLS);
    }
}

/// Two containers of one Pod cannot have the same port of the node. Mirrors `checkHostPortConflicts`.
pub fn host_port_conflicts(problems: &mut Problems, path: &Path, containers: &[Container]) {
    let mut taken = BTreeSet::new();
    for (c, container) in containers.iter().enumerate() {
        for (p, port) in container.ports.iter().flatten().enumerate() {
            let number = port.host_port.unwrap_or(0);
            if number == 0 {
                continue;
            }
            let protocol = port.protocol.as_deref().unwrap_or_default();
            let text = format!("{protocol}/{}/{number}", port.host_ip.as_deref().unwrap_or_default());
            if taken.contains(&text) {
                let (container, ports) = (path.index(c), "ports");
                problems.duplicate(&container.child(ports).index(p).child("hostPort"), text.as_str());
            }
            taken.insert(text);
        }
    }
}

fn volume_mounts(problems: &mut Problems, list: &Path, container: &Container, around: &Around) {
    let devices = container.volume_devices.as_deref().unwrap_or_default();
    let mut places = BTreeSet::new();
    for (i, mount) in container.volume_mounts.iter().flatten().enumerate() {
        let path = list.index(i);
        let (name, place) = (mount.name.as_str(), mount.mount_path.as_str());
        if name.is_empty() {
            problems.required(&path.child("name"), "");
        }
        if !around.volumes.iter().any(|(volume, _)| *volume == name) {
            problems.not_found(&path.child("name"), name);
        }
        if place.is_empty() {
            problems.required(&path.child("mountPath"), "");
        }
        if !places.insert(place) {
            problems.invalid(&path.child("mountPath"), place, "must be unique");
        }
        if devices.iter().any(|device| device.name == name) {
            problems.invalid(&path.child("name"), name, "must not already exist in volumeDevices");
        }
        if devices.iter().any(|device| device.device_path == place) {
            problems.invalid(&path.child("mountPath"), place, "must not already exist as a path in volumeDevices");
        }
        sub_paths(problems, list, &path, mount);
        mount_propagation(problems, list, container, mount);
    }
}

/// A part of a volume. The list is blamed for one entry's path.
fn sub_paths(problems: &mut Problems, list: &Path, path: &Path, mount: &VolumeMount) {
    let sub_path = mount.sub_path.as_deref().unwrap_or_default();
    let expression = mount.sub_path_expr.as_deref().unwrap_or_default();
    if !sub_path.is_empty() {
        descending_path(problems, &list.child("subPath"), sub_path);
    }
    if !expression.is_empty() {
        if !sub_path.is_empty() {
            const WHY: &str = "subPathExpr and subPath are mutually exclusive";
            problems.invalid(&path.child("subPathExpr"), expression, WHY);
        }
        descending_path(problems, &list.child("subPathExpr"), expression);
    }
}

/// Who sees what is mounted later. Mirrors `validateMountPropagation`.
fn mount_propagation(problems: &mut Problems, list: &Path, container: &Container, mount: &VolumeMount) {
    const MODES: &[&str] = &["Bidirectional", "HostToContainer", "None"];
    let path = list.child("mountPropagation");
    let Some(mode) = mount.mount_propagation.as_deref() else { return };
    if !MODES.contains(&mode) {
        problems.not_supported(&path, mode, MODES);
    }
    let privileged = container.security_context.as_ref().and_then(|context| context.privileged) == Some(true);
    if mode == "Bidirectional" && !privileged {
        problems.forbidden(&path, "Bidirectional mount propagation is available only to privileged containers");
    }
}

/// Volumes that a container sees as block devices. Mirrors `ValidateVolumeDevices`.
fn volume_devices(problems: &mut Problems, list: &Path, container: &Container, around: &Around) {
    let devices = container.volume_devices.as_deref().unwrap_or_default();
    for (i, VolumeDevice { name, device_path }) in devices.iter().enumerate() {
        let path = list.index(i);
        let (at_name, at_path) = (path.child("name"), path.child("devicePath"));
        if name.is_empty() {
            problems.required(&at_name, "");
        }
        if devices[..i].iter().any(|other| other.name == *name) {
            problems.invalid(&at_name, name.as_str(), "must be unique");
        }
        match around.volumes.iter().find(|(volume, _)| volume == name) {
            None => problems.not_found(&at_name, name.as_str()),
            Some((_, true)) => {}
            Some(_) => {
                const WHY: &str =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                problems.invalid(&at_name, name.as_str(), WHY);
            }
        }
        if device_path.is_empty() {
            problems.required(&at_path, "");
        }
        if devices[..i].iter().any(|other| other.device_path == *device_path) {
            problems.invalid(&at_path, device_path.as_str(), "must be unique");
        }
        if device_path.split('/').any(|part| part == "..") {
            problems.invalid(&at_path, device_path.as_str(), "can not contain backsteps ('..')");
        }
        for mount in container.volume_mounts.iter().flatten() {
            if mount.name == *name {
                problems.invalid(&at_name, name.as_str(), "must not already exist in volumeMounts");
            }
            if mount.mount_path == *device_path {
                const WHY: &str = "must not already exist as a path in volumeMounts";
                problems.invalid(&at_path, device_path.as_str(), WHY);
            }
        }
    }
}

/// A path that stays inside of where it starts. Mirrors `validateLocalDescendingPath`.
pub fn descending_path(problems: &mut Problems, path: &Path, text: &str) {
    if text.starts_with('/') {
        problems.invalid(path, text, "must be a relative path");
    }
    if text.split('/').any(|part| part == "..") {
        problems.invalid(path, text, "must not contain '..'");
    }
}

/// Mirrors `ValidateContainerResourceRequirements`.
pub fn resources(problems: &mut Problems, path: &Path, requirements: &ResourceRequirements) {
    requirements_of(problems, path, requirements, resource_name);
}

/// A container has a part in claims of its Pod. Mirrors `validateResourceClaimNames`.
fn claims(problems: &mut Problems, list: &Path, requirements: &ResourceRequirements, known: &BTreeSet<&str>) {
    let mut seen = BTreeSet::new();
    for (i, claim) in requirements.claims.iter().flatten().enumerate() {
        let path = list.index(i);
        let request = claim.request.as_deref().unwrap_or_default();
        if claim.name.is_empty() {
            problems.required(&path, "");
            continue;
        }
        if !seen.insert((claim.name.as_str(), request)) {
            let shown = if request.is_empty() { claim.name.clone() } else { format!("{}/{request}", claim.name) };
            problems.duplicate(&path, shown.as_str());
        }
        if !known.contains(claim.name.as_str()) {
            let names: Vec<&str> = known.iter().copied().collect();
            let which = if names.is_empty() { " which is empty".to_owned() } else { format!(": {}", names.join(", ")) };
            let why = format!("must be one of the names in pod.spec.resourceClaims{which}");
            let message = format!("Not found: {}: {why}", claim.name.as_str().shown());
            problems.0.push(Cause { reason: "FieldValueNotFound".into(), message, field: path.to_string() });
        }
    }
}

/// What a container or a Pod asks for; `name_of` says which resources it can ask for.
pub fn requirements_of(
    problems: &mut Problems,
    path: &Path,
    requirements: &ResourceRequirements,
    name_of: fn(&mut Problems, &Path, &str),
) {
    let resource = |problems: &mut Problems, path: &Path, name: &str, quantity: &Quantity| {
        name_of(problems, path, name);
        quantity_of(problems, path, name, quantity);
        whole_pages(problems, path, name, quantity);
    };
    let empty = BTreeMap::new();
    let limits = requirements.limits.as_ref().unwrap_or(&empty);
    let requests = requirements.requests.as_ref().unwrap_or(&empty);
    let (limits_path, requests_path) = (path.child("limits"), path.child("requests"));
    for (name, quantity) in limits {
        resource(problems, &limits_path.key(name), name, quantity);
    }
    for (name, quantity) in requests {
        resource(problems, &requests_path.key(name), name, quantity);
        let shared_out = may_overcommit(name);
        let Some(limit) = limits.get(name) else {
            if !shared_out {
                problems.required(&limits_path, "Limit must be set for non overcommitable resources");
            }
            continue;
        };
        let (amount, most) = (Amount::of(quantity), Amount::of(limit));
        let shown = amount.to_string();
        if !shared_out && amount != most {
            let why = format!("must be equal to {name} limit of {most}");
            problems.invalid(&requests_path, shown.as_str(), &why);
        } else if amount > most {
            let why = format!("must be less than or equal to {name} limit of {most}");
            problems.invalid(&requests_path, shown.as_str(), &why);
        }
    }
    let mut names = limits.keys().chain(requests.keys());
    if names.clone().any(|name| is_huge_page(name)) && !names.any(|name| matches!(name.as_str(), "cpu" | "memory")) {
        problems.forbidden(path, "HugePages require cpu or memory");
    }
}

/// Memory in large pages comes in whole pages. Mirrors `IsHugePageResourceValueDivisible`.
fn whole_pages(problems: &mut Problems, path: &Path, name: &str, quantity: &Quantity) {
    let Some(size) = name.strip_prefix("hugepages-") else { return };
    let (amount, page) = (Amount::of(quantity), Amount::parse(size).map_or(0, |size| size.milli_value()));
    if page <= 0 || page % 1000 != 0 || amount.value() % (page / 1000) != 0 {
        let why = format!("{amount} is not positive integer multiple of {name}");
        problems.invalid(path, amount.to_string().as_str(), &why);
    }
}

/// Mirrors `validateContainerResourceName`.
pub fn resource_name(problems: &mut Problems, path: &Path, name: &str) {
    if standard_name(name) {
        return;
    }
    any_resource_name(problems, path, name);
    if !name.contains('/') {
        problems.invalid(path, name, "must be a standard resource for containers");
    } else if !is_native(name) && !is_extended(name) {
        problems.invalid(path, name, "doesn't follow extended resource name standard");
    }
}

/// Mirrors `validateResourceName`.
pub fn any_resource_name(problems: &mut Problems, path: &Path, name: &str) {
    let wrong = check_label_key(name);
    if !wrong.is_empty() {
        problems.all_invalid(path, name, wrong);
    } else if !name.contains('/') && !standard_name(name) && !OTHER_RESOURCES.contains(&name) {
        problems.invalid(path, name, "must be a standard resource type or fully qualified");
    }
}

/// Resources that every container may ask for.
pub fn standard_name(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_page(name)
}

/// An amount of a resource: not negative, and whole where it cannot be shared out.
pub fn quantity_of(problems: &mut Problems, path: &Path, name: &str, quantity: &Quantity) {
    let amount = Amount::of(quantity);
    if amount.is_negative() {
        problems.invalid(path, amount.to_string().as_str(), "must be greater than or equal to 0");
    }
    if (is_extended(name) || name == "pods") && amount.milli_value() % 1000 != 0 {
        problems.invalid(path, amount.to_string().as_str(), "must be an integer");
    }
}
