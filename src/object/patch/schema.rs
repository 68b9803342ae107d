//! Which lists of the built-in kinds are merged, and by which key.
//!
//! Mirrors the `patchStrategy` and `patchMergeKey` tags of `k8s.io/api`. Lists without a tag are replaced whole, also
//! some where one would not expect it: taints, tolerations, rules and subjects of RBAC.

use crate::Kind;

/// What a patch does to a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// It takes the list's place.
    Atomic,
    /// Its items are added to the set that the list is.
    Set,
    /// Its items are merged with those that have the same value in this field.
    MergedBy(&'static str),
}

/// The path of a field in an object of some kind: the field, the field it lies in, and so on up.
#[derive(Clone, Copy, Debug)]
pub struct FieldPath<'a> {
    kind: Kind,
    field: &'a str,
    parent: Option<&'a FieldPath<'a>>,
}

impl<'a> FieldPath<'a> {
    /// The object itself.
    pub fn root(kind: Kind) -> FieldPath<'static> {
        FieldPath { kind, field: "", parent: None }
    }

    /// A field of the object at this path, or of the items of the list there.
    pub fn field(&'a self, field: &'a str) -> FieldPath<'a> {
        FieldPath { kind: self.kind, field, parent: Some(self) }
    }

    /// What a patch does to the list here.
    pub fn lists(&self) -> Lists {
        let parent = self.parent.map_or("", |parent| parent.field);
        let info = self.kind.info();
        match (parent, self.field) {
            ("metadata", "ownerReferences") => Lists::MergedBy("uid"),
            ("metadata", "finalizers") => Lists::Set,
            ("status", "conditions") => Lists::MergedBy("type"),
            ("status", "addresses") if info.kind == "Node" => Lists::MergedBy("type"),
            ("status", "podIPs" | "hostIPs") => Lists::MergedBy("ip"),
            ("status", "resourceClaimStatuses") => Lists::MergedBy("name"),
            ("spec", "podCIDRs") => Lists::Set,
            ("spec", "ports") if info.kind == "Service" => Lists::MergedBy("port"),
            ("spec", "hostAliases") => Lists::MergedBy("ip"),
            ("spec", "topologySpreadConstraints") => Lists::MergedBy("topologyKey"),
            (
                "spec",
                "containers"
                | "initContainers"
                | "ephemeralContainers"
                | "volumes"
                | "imagePullSecrets"
                | "schedulingGates"
                | "resourceClaims",
            ) => Lists::MergedBy("name"),
            ("containers" | "initContainers" | "ephemeralContainers", field) => match field {
                "ports" => Lists::MergedBy("containerPort"),
                "env" => Lists::MergedBy("name"),
                "volumeMounts" => Lists::MergedBy("mountPath"),
                "volumeDevices" => Lists::MergedBy("devicePath"),
                _ => Lists::Atomic,
            },
            ("", "secrets") if info.kind == "ServiceAccount" => Lists::MergedBy("name"),
            ("spec", "variables" | "matchConditions") if info.kind == "ValidatingAdmissionPolicy" => {
                Lists::MergedBy("name")
            }
            ("spec", "matchConditions") if info.kind == "MutatingAdmissionPolicy" => Lists::MergedBy("name"),
            ("", "webhooks") => Lists::MergedBy("name"),
            ("spec", "drivers") if info.kind == "CSINode" => Lists::MergedBy("name"),
            _ => Lists::Atomic,
        }
    }

    /// Whether a patch of the union here names all the fields that stay: changing a volume's source takes the old
    /// source away.
    pub fn retains_keys(&self) -> bool {
        match (self.parent.map_or("", |parent| parent.field), self.field) {
            ("spec", "volumes" | "resourceClaims") => true,
            ("spec", "strategy") => self.kind.info().kind == "Deployment",
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_their_keys() {
        #[rustfmt::skip]
        let cases = [
            (Kind::Pod, "spec.containers", Lists::MergedBy("name")), (Kind::Pod, "spec.tolerations", Lists::Atomic),
            (Kind::Deployment, "spec.template.spec.containers.ports", Lists::MergedBy("containerPort")),
            (Kind::Deployment, "spec.template.spec.containers.args", Lists::Atomic),
            (Kind::Service, "spec.ports", Lists::MergedBy("port")), (Kind::Node, "spec.taints", Lists::Atomic),
            (Kind::Node, "status.addresses", Lists::MergedBy("type")), (Kind::Pod, "metadata.finalizers", Lists::Set),
            (Kind::ServiceAccount, "imagePullSecrets", Lists::Atomic), (Kind::ServiceAccount, "secrets", Lists::MergedBy("name")),
            (Kind::Namespace, "spec.finalizers", Lists::Atomic), (Kind::Role, "rules", Lists::Atomic),
        ];
        for (kind, path, want) in cases {
            let lists = path_lists(&FieldPath::root(kind), path);
            assert_eq!(lists, want, "{kind} {path}");
        }
    }

    fn path_lists(parent: &FieldPath<'_>, path: &str) -> Lists {
        match path.split_once('.') {
            Some((field, rest)) => path_lists(&parent.field(field), rest),
            None => parent.field(path).lists(),
        }
    }
}
