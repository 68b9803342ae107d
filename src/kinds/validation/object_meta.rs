//! What every object's metadata must be. Mirrors `ValidateObjectMeta` and `ValidateObjectMetaUpdate` of
//! `k8s.io/apimachinery/pkg/api/validation`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::table::facts;
use crate::validation::metadata::{annotations, labels, standard_or_qualified};
use object::selector::names::check_label_key;
use object::validation::field::{Json, Literal, Path, Problems, Shown};
use object::validation::names::check_dns_label;
use object::well_known::{FOREGROUND, ORPHAN};
use object::{Kind, Object};

const METADATA: Path = Path::new("metadata");

/// The metadata of a new object.
pub fn validate_create(problems: &mut Problems, object: &Object) {
    let (kind, meta) = (object.kind(), object.meta());
    if let Some(base) = meta.generate_name.as_deref().filter(|base| !base.is_empty()) {
        problems.all_invalid(&METADATA.child("generateName"), base, check_object_name(kind, base, true));
    }
    match object.name() {
        "" => problems.required(&METADATA.child("name"), "name or generateName is required"),
        name => problems.all_invalid(&METADATA.child("name"), name, check_object_name(kind, name, false)),
    }
    let path = METADATA.child("namespace");
    match (kind.info().namespaced, object.namespace()) {
        (true, "") => problems.required(&path, ""),
        (true, namespace) => problems.all_invalid(&path, namespace, check_dns_label(namespace)),
        (false, "") => {}
        (false, _) => problems.forbidden(&path, "not allowed on this type"),
    }
    problems.not_negative(&METADATA.child("generation"), meta.generation.unwrap_or(0));
    if !has_labels_of_template(object) {
        labels(problems, &METADATA.child("labels"), meta.labels.as_ref());
    }
    annotations(problems, &METADATA.child("annotations"), meta.annotations.as_ref());
    owner_references(problems, meta.owner_references.as_deref().unwrap_or_default());
    finalizers(problems, kind, meta.finalizers.as_deref().unwrap_or_default());
}

/// What is wrong with `name` as the name of an object of this kind. A prefix may end in a dash: `generateName`.
fn check_object_name(kind: Kind, name: &str, prefix: bool) -> Vec<String> {
    let masked;
    let name = if prefix && name.len() > 1 && name.ends_with('-') {
        masked = format!("{}a", &name[..name.len() - 1]);
        &masked
    } else {
        name
    };
    (facts(kind).check_name)(name)
}

/// Whether a Job has no labels but those that it takes from its template once it is stored.
fn has_labels_of_template(object: &Object) -> bool {
    let Object::Job(job) = object else { return false };
    let template = job.spec.as_ref().and_then(|spec| spec.template.metadata.as_ref());
    template.is_some_and(|template| template.labels == job.metadata.labels)
}

/// The metadata of a new version. What did not change was valid before, and is not looked at again.
pub fn validate_update(problems: &mut Problems, new: &Object, old: &Object) {
    let (kind, new, old) = (new.kind(), new.meta(), old.meta());
    if new.finalizers != old.finalizers {
        let sent = new.finalizers.as_deref().unwrap_or_default();
        if old.deletion_timestamp.is_some() {
            no_new_finalizers(problems, sent, old.finalizers.as_deref().unwrap_or_default());
        }
        finalizers(problems, kind, sent);
    }
    if new.generation < old.generation {
        let path = METADATA.child("generation");
        problems.invalid(&path, new.generation.unwrap_or(0), "must not be decremented");
    }
    let shown = |value: &Option<String>| Json(value).shown();
    problems.immutable(&METADATA.child("name"), &new.name, &old.name, shown);
    problems.immutable(&METADATA.child("namespace"), &new.namespace, &old.namespace, shown);
    problems.immutable(&METADATA.child("uid"), &new.uid, &old.uid, shown);
    let shown = |value: &_| Json(value).shown();
    problems.immutable(&METADATA.child("creationTimestamp"), &new.creation_timestamp, &old.creation_timestamp, shown);
    problems.immutable(&METADATA.child("deletionTimestamp"), &new.deletion_timestamp, &old.deletion_timestamp, shown);
    let path = METADATA.child("deletionGracePeriodSeconds");
    let (grace, before) = (&new.deletion_grace_period_seconds, &old.deletion_grace_period_seconds);
    problems.immutable(&path, grace, before, |seconds: &Option<i64>| Json(seconds).shown());
    if new.labels != old.labels {
        labels(problems, &METADATA.child("labels"), new.labels.as_ref());
    }
    if new.annotations != old.annotations {
        annotations(problems, &METADATA.child("annotations"), new.annotations.as_ref());
    }
    if new.owner_references != old.owner_references {
        owner_references(problems, new.owner_references.as_deref().unwrap_or_default());
    }
}

/// Owners as Go writes them.
fn shown(owners: &[OwnerReference]) -> String {
    let one = |owner: &OwnerReference| {
        let OwnerReference { api_version, kind, name, uid, controller, block_owner_deletion } = owner;
        let texts = [("apiVersion", api_version), ("kind", kind), ("name", name), ("uid", uid)];
        let flags = [("controller", controller), ("blockOwnerDeletion", block_owner_deletion)];
        let texts =
            texts.into_iter().map(|(field, text)| format!("\"{field}\":{}", serde_json::Value::from(text.as_str())));
        let flags = flags.into_iter().filter_map(|(field, flag)| flag.map(|flag| format!("\"{field}\":{flag}")));
        format!("{{{}}}", texts.chain(flags).collect::<Vec<_>>().join(","))
    };
    format!("[{}]", owners.iter().map(one).collect::<Vec<_>>().join(","))
}

fn owner_references(problems: &mut Problems, owners: &[OwnerReference]) {
    const EMPTY: &str = "must not be empty";
    let path = METADATA.child("ownerReferences");
    let mut controller: Option<&OwnerReference> = None;
    for owner in owners {
        // What has more parts than a group and a version has neither.
        let (group, version) = owner.api_version.rsplit_once('/').unwrap_or(("", &owner.api_version));
        if version.is_empty() || group.contains('/') {
            problems.invalid(&path.child("apiVersion"), owner.api_version.as_str(), "version must not be empty");
        }
        for (name, value) in [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)] {
            if value.is_empty() {
                problems.invalid(&path.child(name), value.as_str(), EMPTY);
            }
        }
        if owner.api_version == "v1" && owner.kind == "Event" {
            problems.invalid(&path, Json(owner), "/v1, Kind=Event is disallowed from being an owner");
        }
        if owner.controller != Some(true) {
            continue;
        }
        if let Some(first) = controller {
            let why = format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {}/{} and {}/{}",
                first.kind, first.name, owner.kind, owner.name
            );
            problems.invalid(&path, Literal(&shown(owners)), &why);
        } else {
            controller = Some(owner);
        }
    }
}

fn finalizers(problems: &mut Problems, kind: Kind, finalizers: &[String]) {
    let path = METADATA.child("finalizers");
    for name in finalizers {
        problems.all_invalid(&path, name, check_label_key(name));
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if has(ORPHAN) && has(FOREGROUND) {
        problems.invalid(&path, Json(&finalizers), "finalizer orphan and foregroundDeletion cannot be both set");
    }
    if facts(kind).any_finalizers {
        return;
    }
    for (i, name) in finalizers.iter().enumerate() {
        standard_or_qualified(problems, &path.index(i), name);
    }
}

fn no_new_finalizers(problems: &mut Problems, new: &[String], old: &[String]) {
    let extra: Vec<String> = new.iter().filter(|name| !old.contains(name)).map(|name| format!("{name:?}")).collect();
    if !extra.is_empty() {
        let why = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            extra.join(", ")
        );
        problems.forbidden(&METADATA.child("finalizers"), &why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_kind() {
        #[rustfmt::skip]
        let cases = [
            (Kind::Pod, "web.1", false, true), (Kind::Pod, "Web", false, false), (Kind::Pod, "web-", false, false),
            (Kind::Pod, "web-", true, true), (Kind::Namespace, "a.b", false, false), (Kind::Service, "1svc", false, true),
            (Kind::ClusterRole, "system:node", false, true), (Kind::Role, "a/b", false, false), (Kind::Role, "..", false, false),
        ];
        for (kind, name, prefix, fine) in cases {
            assert_eq!(check_object_name(kind, name, prefix).is_empty(), fine, "{kind} {name}");
        }
        let longest = "a".repeat(254);
        for (kind, unit) in [(Kind::ConfigMap, "characters"), (Kind::ReplicationController, "bytes")] {
            let wrong = format!("must be no more than 253 {unit}");
            assert_eq!(check_object_name(kind, &longest, false), [wrong], "{kind}");
        }
    }
}
