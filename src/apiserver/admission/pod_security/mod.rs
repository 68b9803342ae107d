//! PodSecurity: what the Pods of a namespace may do to their nodes.
//!
//! A Namespace says by labels which of three levels holds in it: `privileged` (anything), `baseline` (nothing that is known
//! to get out of a container) or `restricted` (what a careful author would write anyway). A level may be enforced, which
//! refuses Pods, or only warn, which tells the client that creates a Pod, or a workload with such a template. Workloads are
//! never refused: their Pods are, and then only their controllers hear of it.
//!
//! Mirrors `k8s.io/pod-security-admission/admission`; the rules are in [`checks`].
//!
//! Left out: older versions of the rules (a version in a label changes what messages call it, not what is checked),
//! exemptions, audit annotations, and what user namespaces allow beyond.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Container;

use object::meta::controller_of;
use object::pod::containers;
use object::status::Cause;
use object::{Kind, Object, Pod, Status, template};
use wire::Subresource;

use super::{Attributes, forbidden};
use object::reader::Reader;

pub mod checks;
mod level;

use checks::{Violation, violations};
pub use level::Level;

const PREFIX: &str = "pod-security.kubernetes.io/";

/// A level, and the version of its rules that is asked for: `restricted:latest`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Policy {
    level: Level,
    version: String,
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.level.name(), self.version)
    }
}

/// What a Namespace's labels say of one mode. An unknown level is taken for the strictest.
fn policy(namespace: &Object, mode: &str) -> Option<Policy> {
    let labels = namespace.meta().labels.as_ref()?;
    let level = labels.get(&format!("{PREFIX}{mode}"))?;
    let version = labels.get(&format!("{PREFIX}{mode}-version")).map_or("latest", String::as_str).to_owned();
    Some(Policy { level: Level::parse(level).unwrap_or(Level::Restricted), version })
}

fn enforced(namespace: &Object) -> Policy {
    let privileged = || Policy { level: Level::Privileged, version: "latest".to_owned() };
    policy(namespace, "enforce").unwrap_or_else(privileged)
}

/// Without a `warn` label, the enforced level is warned of. Mirrors `PolicyToEvaluate`.
fn warned_of(namespace: &Object) -> Policy {
    policy(namespace, "warn").unwrap_or_else(|| enforced(namespace))
}

/// Refuses Pods that do more than the Namespace's level allows, and labels that are no level.
pub fn validate(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    match object {
        Object::Namespace(_) => check_labels(attributes, object),
        Object::Pod(pod) if concerns(attributes, pod) => {
            let Some(namespace) = namespace_of(attributes, object) else { return Ok(()) };
            let policy = enforced(&namespace);
            let broken = violations(policy.level, &pod.spec.clone().unwrap_or_default());
            if broken.is_empty() {
                return Ok(());
            }
            let why = format!("violates PodSecurity \"{policy}\": {}", in_full(&broken));
            Err(forbidden(attributes.request, Some(object), &why))
        }
        _ => Ok(()),
    }
}

/// What the client is warned of, if the request succeeds.
pub fn warnings(attributes: &Attributes, object: &Object) -> Vec<String> {
    if attributes.request.subresource.is_some() {
        return Vec::new();
    }
    if object.kind() == Kind::Namespace {
        return of_existing_pods(attributes, object);
    }
    let has_pods = object.kind() == Kind::Pod || template::of(object).is_some();
    let Some(namespace) = has_pods.then(|| namespace_of(attributes, object)).flatten() else {
        return Vec::new();
    };
    let policy = warned_of(&namespace);
    if policy.level == Level::Privileged {
        return Vec::new();
    }
    let spec = match object {
        Object::Pod(pod) => pod.spec.as_deref().filter(|_| concerns(attributes, pod)),
        _ => template::of(object).and_then(|(_, template)| template.spec.as_ref()),
    };
    let broken = spec.map(|spec| violations(policy.level, spec)).unwrap_or_default();
    if broken.is_empty() {
        return Vec::new();
    }
    vec![format!("would violate PodSecurity \"{policy}\": {}", in_full(&broken))]
}

fn namespace_of(attributes: &Attributes, object: &Object) -> Option<Object> {
    attributes.reader.get(Kind::Namespace, "", object.namespace())
}

/// Whether the Pod is new, or another image runs in it. Mirrors `isSignificantPodUpdate`.
fn concerns(attributes: &Attributes, pod: &Pod) -> bool {
    let images = |pod: &Pod| -> Vec<String> {
        let spec = pod.spec.as_ref();
        let containers = spec.into_iter().flat_map(|spec| containers(spec));
        let own = containers.map(|container: &Container| container.image.clone());
        let added = spec.into_iter().flat_map(|s| s.ephemeral_containers.iter().flatten());
        own.chain(added.map(|container| container.image.clone())).map(Option::unwrap_or_default).collect()
    };
    let changed = match attributes.old {
        Some(Object::Pod(old)) => images(old) != images(pod),
        _ => true,
    };
    matches!(attributes.request.subresource, None | Some(Subresource::EphemeralContainers)) && changed
}

/// `reason (detail), reason (detail)`.
fn in_full(broken: &[Violation]) -> String {
    broken.iter().map(|one| format!("{} ({})", one.reason, one.detail)).collect::<Vec<_>>().join(", ")
}

/// Mirrors `ValidatePodSecurityLabels`.
fn check_labels(attributes: &Attributes, namespace: &Object) -> Result<(), Status> {
    let empty = BTreeMap::new();
    let labels_of = |object: &Object| object.meta().labels.clone().unwrap_or_default();
    let before = attributes.old.map_or(empty, labels_of);
    let mut causes = Vec::new();
    for (key, value) in labels_of(namespace) {
        let Some(mode) = key.strip_prefix(PREFIX).filter(|_| before.get(&key) != Some(&value)) else { continue };
        let why = match mode {
            "enforce" | "audit" | "warn" if Level::parse(&value).is_none() => {
                "must be one of privileged, baseline, restricted"
            }
            "enforce-version" | "audit-version" | "warn-version" if !is_version(&value) => {
                "must be \"latest\" or \"v1.x\""
            }
            _ => continue,
        };
        let message = format!("Invalid value: {value:?}: {why}");
        causes.push(Cause { reason: "FieldValueInvalid".into(), message, field: format!("metadata.labels[{key}]") });
    }
    if causes.is_empty() { Ok(()) } else { Err(Status::invalid(Kind::Namespace, namespace.name(), causes)) }
}

fn is_version(text: &str) -> bool {
    text == "latest" || text.strip_prefix("v1.").is_some_and(|minor| minor.parse::<u32>().is_ok())
}

/// A level that becomes stricter leaves the running Pods alone, but the client is told of them. The first of each
/// controller's is looked at before the others, and all that break the same rules are counted together. Mirrors
/// `EvaluatePodsInNamespace`.
fn of_existing_pods(attributes: &Attributes, namespace: &Object) -> Vec<String> {
    let Some(old) = attributes.old else { return Vec::new() };
    let policy = enforced(namespace);
    if policy.level <= enforced(old).level {
        return Vec::new();
    }
    let mut seen = BTreeSet::new();
    let mut groups: Vec<(String, String, usize)> = Vec::new();
    let is_first = |pod: &Arc<Pod>| controller_of(&pod.metadata).is_none_or(|owner| seen.insert(owner.uid.clone()));
    let (first, others): (Vec<_>, Vec<_>) = pods(attributes.reader, namespace.name()).partition(is_first);
    for pod in first.into_iter().chain(others) {
        let broken = violations(policy.level, &pod.spec.clone().unwrap_or_default());
        if broken.is_empty() {
            continue;
        }
        let reasons = broken.iter().map(|one| one.reason.clone()).collect::<Vec<_>>().join(", ");
        match groups.iter_mut().find(|(_, there, _)| *there == reasons) {
            Some((_, _, others)) => *others += 1,
            None => groups.push((pod.metadata.name.clone().unwrap_or_default(), reasons, 0)),
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    groups.sort();
    let line = |(name, reasons, others): (String, String, usize)| match others {
        0 => format!("{name}: {reasons}"),
        1 => format!("{name} (and 1 other pod): {reasons}"),
        n => format!("{name} (and {n} other pods): {reasons}"),
    };
    let head = format!(
        "existing pods in namespace {:?} violate the new PodSecurity enforce level \"{policy}\"",
        namespace.name()
    );
    std::iter::once(head).chain(groups.into_iter().map(line)).collect()
}

fn pods(reader: &dyn Reader, namespace: &str) -> impl Iterator<Item = Arc<Pod>> + use<> {
    let all = reader.list(Kind::Pod, namespace).into_iter();
    all.filter_map(|object| if let Object::Pod(pod) = object { Some(pod) } else { None })
}

#[cfg(test)]
mod tests;
