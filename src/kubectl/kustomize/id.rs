//! What an object is known by while it is built: group, version, kind, name, namespace. Mirrors `kyaml/resid`.

use std::fmt;

use serde_json::Value;

use object::Kind;

/// Group, version and kind. In a selector an empty one means any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gvk {
    pub group: String,
    pub version: String,
    pub kind: String,
}

impl Gvk {
    /// That of a manifest.
    pub fn of(object: &Value) -> Gvk {
        let [api_version, kind] =
            ["apiVersion", "kind"].map(|key| object.get(key).and_then(Value::as_str).unwrap_or(""));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Gvk { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// Whether a selector means it.
    pub fn is_selected(&self, by: &Gvk) -> bool {
        let is = |selector: &str, own: &str| selector.is_empty() || selector == own;
        is(&by.group, &self.group) && is(&by.version, &self.version) && is(&by.kind, &self.kind)
    }

    /// Whether its objects are known to be in no namespace.
    pub fn is_cluster_scoped(&self) -> bool {
        self.built_in().is_some_and(|kind| !kind.info().namespaced)
    }

    /// The built-in kind of this group and name, in any version; None for a custom resource.
    pub fn built_in(&self) -> Option<Kind> {
        Kind::built_in().find(|kind| kind.info().kind == self.kind && kind.info().group == self.group)
    }
}

impl fmt::Display for Gvk {
    /// `Deployment.v1.apps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
        let [kind, version] = [or(&self.kind, "[noKind]"), or(&self.version, "[noVer]")];
        write!(f, "{kind}.{version}.{}", or(&self.group, "[noGrp]"))
    }
}

/// An object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Id {
    pub gvk: Gvk,
    pub name: String,
    pub namespace: String,
}

/// The namespace of what is in none. No namespace can be called that.
const NO_NAMESPACE: &str = "_non_namespaceable_";

impl Id {
    /// The namespace in which it ends up: what says none is in `default`.
    pub fn effective_namespace(&self) -> &str {
        match self.namespace.as_str() {
            _ if self.gvk.is_cluster_scoped() => NO_NAMESPACE,
            "" => "default",
            namespace => namespace,
        }
    }

    /// Whether both mean one object.
    pub fn is(&self, other: &Id) -> bool {
        self.gvk == other.gvk && self.name == other.name && self.effective_namespace() == other.effective_namespace()
    }

    /// The same for both of two that mean one object.
    pub fn key(&self) -> (String, String, String) {
        (self.gvk.to_string(), self.effective_namespace().to_owned(), self.name.clone())
    }

    /// As Go's `%#v` shows it.
    pub fn go(&self) -> String {
        let Gvk { group, version, kind } = &self.gvk;
        let scoped = self.gvk.is_cluster_scoped();
        format!(
            "resid.ResId{{Gvk:resid.Gvk{{Group:{group:?}, Version:{version:?}, Kind:{kind:?}, isClusterScoped:{scoped}}}, \
             Name:{:?}, Namespace:{:?}}}",
            self.name, self.namespace
        )
    }
}

impl fmt::Display for Id {
    /// `Deployment.v1.apps/web.[noNs]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { text.to_owned() };
        write!(f, "{}/{}.{}", self.gvk, or(&self.name, "[noName]"), or(&self.namespace, "[noNs]"))
    }
}
