//! Who names whom, and what becomes of that when the other gets another name. Mirrors `namereference.go` and
//! `api/filters/nameref`.
//!
//! A name means an object that was called that before, is of the right kind, and is in the same namespace. If several were,
//! it means the one whose name has got the same prefixes and suffixes as that of the object that names it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fields::{Made, Spec};
use super::id::{Gvk, Id};
use super::resource::Resource;
use super::set::Set;

/// Where a Pod's spec stands: in which kind, and at which path.
const POD_SPECS: &[(&str, &str)] = &[
    ("Pod", "spec"),
    ("PodTemplate", "template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("ReplicationController", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
];

/// Fields of a Pod's spec that name something, and what.
const IN_POD_SPECS: &[(&str, &str)] = &[
    ("ConfigMap", "volumes/configMap/name"),
    ("ConfigMap", "containers/env/valueFrom/configMapKeyRef/name"),
    ("ConfigMap", "initContainers/env/valueFrom/configMapKeyRef/name"),
    ("ConfigMap", "containers/envFrom/configMapRef/name"),
    ("ConfigMap", "initContainers/envFrom/configMapRef/name"),
    ("ConfigMap", "volumes/projected/sources/configMap/name"),
    ("Secret", "volumes/secret/secretName"),
    ("Secret", "containers/env/valueFrom/secretKeyRef/name"),
    ("Secret", "initContainers/env/valueFrom/secretKeyRef/name"),
    ("Secret", "containers/envFrom/secretRef/name"),
    ("Secret", "initContainers/envFrom/secretRef/name"),
    ("Secret", "imagePullSecrets/name"),
    ("Secret", "volumes/projected/sources/secret/name"),
    ("ServiceAccount", "serviceAccountName"),
    ("PersistentVolumeClaim", "volumes/persistentVolumeClaim/claimName"),
    ("PriorityClass", "priorityClassName"),
];

/// Fields that kustomize does not know of, in kinds that few people write: which kind, and what it names.
const NOT_KNOWN: &[(&str, &[&str])] = &[
    ("ReplicationController", &["ConfigMap", "Secret"]),
    ("ReplicaSet", &["ServiceAccount", "PersistentVolumeClaim", "PriorityClass"]),
    ("PodTemplate", &["ServiceAccount", "PersistentVolumeClaim", "PriorityClass"]),
];

/// Other fields that name something: what, in which kind, and where.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("Deployment", "HorizontalPodAutoscaler", "spec/scaleTargetRef/name"),
    ("ReplicationController", "HorizontalPodAutoscaler", "spec/scaleTargetRef/name"),
    ("ReplicaSet", "HorizontalPodAutoscaler", "spec/scaleTargetRef/name"),
    ("StatefulSet", "HorizontalPodAutoscaler", "spec/scaleTargetRef/name"),
    ("ConfigMap", "Role", "rules/resourceNames"),
    ("ConfigMap", "ClusterRole", "rules/resourceNames"),
    ("Secret", "Role", "rules/resourceNames"),
    ("Secret", "ClusterRole", "rules/resourceNames"),
    ("Secret", "Ingress", "spec/tls/secretName"),
    ("Secret", "Ingress", "metadata/annotations/nginx.ingress.kubernetes.io\\/auth-secret"),
    ("Secret", "ServiceAccount", "imagePullSecrets/name"),
    ("Service", "StatefulSet", "spec/serviceName"),
    ("Service", "Ingress", "spec/rules/http/paths/backend/service/name"),
    ("Service", "Ingress", "spec/defaultBackend/service/name"),
    ("Service", "ValidatingWebhookConfiguration", "webhooks/clientConfig/service"),
    ("Service", "MutatingWebhookConfiguration", "webhooks/clientConfig/service"),
    ("Role", "RoleBinding", "roleRef/name"),
    ("ClusterRole", "RoleBinding", "roleRef/name"),
    ("ClusterRole", "ClusterRoleBinding", "roleRef/name"),
    ("ServiceAccount", "RoleBinding", "subjects"),
    ("ServiceAccount", "ClusterRoleBinding", "subjects"),
    ("PersistentVolume", "PersistentVolumeClaim", "spec/volumeName"),
    ("PersistentVolume", "ClusterRole", "rules/resourceNames"),
    ("StorageClass", "PersistentVolume", "spec/storageClassName"),
    ("StorageClass", "PersistentVolumeClaim", "spec/storageClassName"),
    ("StorageClass", "StatefulSet", "spec/volumeClaimTemplates/spec/storageClassName"),
    ("IngressClass", "Ingress", "spec/ingressClassName"),
    ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "spec/policyName"),
];

/// A field that names something of a kind.
type Reference = (Gvk, Spec);

/// By the kind that has them.
fn all() -> BTreeMap<&'static str, Vec<Reference>> {
    let mut all: BTreeMap<_, Vec<Reference>> = BTreeMap::new();
    let mut add = |to: &str, kind, path: &str| {
        let to = Gvk { kind: to.to_owned(), ..Gvk::default() };
        all.entry(kind).or_default().push((to, Spec::of_kind("", kind, path, false)));
    };
    for (kind, spec) in POD_SPECS {
        let is_known = |to: &str| !NOT_KNOWN.iter().any(|(not, what)| not == kind && what.contains(&to));
        let fields = IN_POD_SPECS.iter().filter(|(to, _)| is_known(to));
        fields.for_each(|(to, path)| add(to, kind, &format!("{spec}/{path}")));
    }
    ELSEWHERE.iter().for_each(|(to, kind, path)| add(to, kind, path));
    all
}

/// An object that may be named.
struct Named {
    now: Id,
    before: Vec<Id>,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
}

impl Named {
    fn of(resource: &Resource) -> Named {
        let (prefixes, suffixes) = (resource.prefixes.clone(), resource.suffixes.clone());
        Named { now: resource.id(), before: resource.previous_ids().collect(), prefixes, suffixes }
    }

    /// Whether both names have got the same things before and behind; what has got nothing may go with anything.
    fn goes_with(&self, other: &Named, even_with_nothing: bool) -> bool {
        let same = |one: &[String], two: &[String]| match (one.is_empty(), two.is_empty()) {
            (false, false) => one.iter().rev().zip(two.iter().rev()).all(|(one, two)| one == two),
            (one, two) => even_with_nothing || one == two,
        };
        same(&self.prefixes, &other.prefixes) && same(&self.suffixes, &other.suffixes)
    }
}

/// Gives objects that name another its new name, in the fields that are known and in those of `more`.
///
/// # Errors
/// A name may mean several.
pub fn update(set: &mut Set, more: &[Reference]) -> Result<(), String> {
    let named: Vec<Named> = set.0.iter().map(Named::of).collect();
    let mut by_old_name: BTreeMap<&str, Vec<&Named>> = BTreeMap::new();
    for one in &named {
        let mut names: Vec<&str> = one.before.iter().map(|id| id.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().for_each(|name| by_old_name.entry(name).or_default().push(one));
    }
    let all = all();
    for (resource, who) in set.0.iter_mut().zip(&named) {
        for (to, field) in all.get(who.now.gvk.kind.as_str()).into_iter().flatten().chain(more) {
            let finder = Finder { who, to, role: role_of(resource, field), by_old_name: &by_old_name };
            field.change(resource, Made::Nothing, &mut |node| finder.update(node))?;
        }
    }
    Ok(())
}

/// What a binding's `roleRef` is about: group and kind of the role.
fn role_of(resource: &Resource, field: &Spec) -> Option<Gvk> {
    let role = resource.object.get("roleRef").filter(|_| field.ends_with("roleRef", "name"))?;
    let text = |name: &str| role.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Gvk { group: text("apiGroup")?, version: String::new(), kind: text("kind")? })
}

/// Finds what a field of one object means.
struct Finder<'a> {
    who: &'a Named,
    /// The kind that is meant.
    to: &'a Gvk,
    role: Option<Gvk>,
    by_old_name: &'a BTreeMap<&'a str, Vec<&'a Named>>,
}

impl Finder<'_> {
    fn update(&self, node: &mut Value) -> Result<(), String> {
        match node {
            Value::String(name) => {
                if let Some(found) = self.find(name, None, false)? {
                    *node = json!(found.now.name);
                }
                Ok(())
            }
            Value::Object(fields) => {
                let Some(name) = fields.get("name").and_then(Value::as_str).map(str::to_owned) else { return Ok(()) };
                let namespace = fields.get("namespace").and_then(Value::as_str).map(str::to_owned);
                if let Some(found) = self.find(&name, namespace.as_deref(), true)? {
                    fields.insert("name".to_owned(), json!(found.now.name));
                    if !found.now.namespace.is_empty() {
                        fields.insert("namespace".to_owned(), json!(found.now.namespace));
                    }
                }
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.update(item)),
            _ => Ok(()),
        }
    }

    /// The object that was called that. Mirrors `selectReferral`. Several that are called the same now are as good as one,
    /// unless its namespace is wanted too.
    fn find(&self, name: &str, namespace: Option<&str>, with_namespace: bool) -> Result<Option<&Named>, String> {
        let mut found: Vec<&Named> = self.by_old_name.get(name).into_iter().flatten().copied().collect();
        found.retain(|one| one.before.iter().any(|id| id.gvk.is_selected(self.to)));
        if let Some(role) = &self.role {
            found.retain(|one| one.before.iter().any(|id| id.gvk.is_selected(role)));
        }
        if let Some(namespace) = namespace {
            let first = |one: &Named| one.before.first().unwrap_or(&one.now).effective_namespace() == namespace;
            match found.iter().any(|one| first(one)) {
                true => found.retain(|one| first(one)),
                false => found.retain(|one| one.now.effective_namespace() == namespace),
            }
        }
        found.retain(|one| self.may_name(one));
        if found.len() > 1 {
            found.retain(|one| one.goes_with(self.who, true));
        }
        if found.len() > 1 {
            found.retain(|one| one.goes_with(self.who, false));
        }
        let Some(first) = found.first().copied() else { return Ok(None) };
        let is_one = |one: &&Named| {
            one.now.name == first.now.name && (!with_namespace || one.now.namespace == first.now.namespace)
        };
        match found.iter().all(is_one) {
            true => Ok(Some(first)),
            false => {
                let ids: Vec<String> = found.iter().map(|one| one.now.to_string()).collect();
                Err(format!("found multiple possible referrals: {}", ids.join(", ")))
            }
        }
    }

    /// Namespaces part objects; but a binding may name accounts of another one.
    fn may_name(&self, one: &Named) -> bool {
        let own = &self.who.now;
        own.gvk.is_cluster_scoped()
            || one.now.gvk.is_cluster_scoped()
            || one.now.effective_namespace() == own.effective_namespace()
            || (own.gvk.kind == "RoleBinding" && one.now.gvk.kind == "ServiceAccount")
    }
}
