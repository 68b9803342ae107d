//! What a client knows of the kinds that a cluster serves. Mirrors `client-go/discovery` with its REST mapper.
//!
//! The built-in kinds are in the table and always served. What users have defined, a client reads from their
//! CustomResourceDefinitions: these take the place of the API server's discovery documents here.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition,
};

use super::definition::{is_true, kind_of, preferred};
use super::{Kind, Object, versions};

/// API groups in the order in which the API server lists them: that of their priorities. Any other comes after.
const GROUPS: [&str; 21] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// Where in the API server's list a group stands. Mirrors `apiVersionPriorities` of `pkg/controlplane`.
pub fn group_rank(group: &str) -> usize {
    GROUPS.iter().position(|known| *known == group).unwrap_or(GROUPS.len())
}

/// The kinds that a client has heard of.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// Definitions that are established, by name.
    definitions: BTreeMap<String, Arc<CustomResourceDefinition>>,
}

impl Discovery {
    /// Takes notice of a definition, or of its end.
    pub fn note(&mut self, object: &Object, gone: bool) {
        let Object::CustomResourceDefinition(definition) = object else { return };
        let name = definition.metadata.name.clone().unwrap_or_default();
        if gone || !is_true(definition, "Established") {
            self.definitions.remove(&name);
        } else {
            self.definitions.insert(name, definition.clone());
        }
    }

    /// What these definitions define.
    pub fn of(definitions: &[Object]) -> Discovery {
        let mut discovery = Discovery::default();
        definitions.iter().for_each(|definition| discovery.note(definition, false));
        discovery
    }

    /// The kinds that users have defined, each in the version that clients prefer.
    pub fn custom(&self) -> impl Iterator<Item = Kind> {
        self.definitions.values().filter_map(|definition| preferred_kind(definition))
    }

    /// A custom kind in each version that is served, the preferred one first.
    pub fn versions(&self, kind: Kind) -> Vec<Kind> {
        let Some(definition) = self.definition(kind) else { return Vec::new() };
        let served = definition.spec.versions.iter().filter(|version| version.served);
        let others = served.map(|version| Kind::Custom(kind_of(definition, &version.name)));
        std::iter::once(kind).chain(others.filter(|other| *other != kind)).collect()
    }

    /// All kinds that are served, the built-in ones first.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        Kind::built_in().chain(versions::preferred_others()).chain(self.custom())
    }

    /// The kind with this `apiVersion` and `kind`, as a manifest names it.
    pub fn from_manifest(&self, api_version: &str, kind: &str) -> Option<Kind> {
        let is_named = |other: &Kind| other.info().api_version == api_version && other.info().kind == kind;
        Kind::from_manifest(api_version, kind).or_else(|| versions::others().find(is_named)).or_else(|| {
            let (group, version) = api_version.split_once('/')?;
            let of = |definition: &&Arc<CustomResourceDefinition>| {
                let served = definition.spec.versions.iter().any(|there| there.served && there.name == version);
                definition.spec.group == group && definition.spec.names.kind == kind && served
            };
            self.definitions.values().find(of).map(|definition| Kind::Custom(kind_of(definition, version)))
        })
    }

    /// The kind that is served at `/apis/GROUP/VERSION/PLURAL`, or at `/api/VERSION/PLURAL` if it is in no group.
    pub fn at(&self, group: &str, version: &str, plural: &str) -> Option<Kind> {
        let is_here = |kind: &Kind| {
            let info = kind.info();
            (info.group, info.version, info.plural) == (group, version, plural)
        };
        let built_in = Kind::built_in().chain(versions::others()).find(is_here);
        built_in.or_else(|| self.custom_at(group, version, plural))
    }

    fn custom_at(&self, group: &str, version: &str, plural: &str) -> Option<Kind> {
        let definition = self.definitions.get(&format!("{plural}.{group}"))?;
        let served = definition.spec.versions.iter().any(|there| there.served && there.name == version);
        served.then(|| Kind::Custom(kind_of(definition, version)))
    }

    /// The kind that kubectl means by `word`: plural, singular, short name, `plural.group` or `plural.version.group`, in
    /// any case.
    pub fn from_word(&self, word: &str) -> Option<Kind> {
        built_in(word).or_else(|| built_in_version(word)).or_else(|| {
            let word = word.to_ascii_lowercase();
            let (name, rest) = word.split_once('.').unwrap_or((&word, ""));
            self.definitions.values().find_map(|definition| {
                let (names, group) = (&definition.spec.names, definition.spec.group.as_str());
                let is_name = names.plural == name
                    || names.singular.as_deref() == Some(name)
                    || names.short_names.iter().flatten().any(|short| short == name);
                if !is_name {
                    return None;
                }
                let version = rest.strip_suffix(group).and_then(|version| version.strip_suffix('.'));
                match (rest, version) {
                    ("", _) => preferred_kind(definition),
                    (rest, _) if rest == group => preferred_kind(definition),
                    (_, Some(version)) if definition.spec.versions.iter().any(|v| v.served && v.name == version) => {
                        Some(Kind::Custom(kind_of(definition, version)))
                    }
                    _ => None,
                }
            })
        })
    }

    /// The custom kinds of a category, such as `all`.
    pub fn category<'a>(&'a self, word: &'a str) -> impl Iterator<Item = Kind> + 'a {
        let of = move |definition: &&Arc<CustomResourceDefinition>| {
            definition.spec.names.categories.iter().flatten().any(|category| category == word)
        };
        self.definitions.values().filter(of).filter_map(|definition| preferred_kind(definition))
    }

    /// The definition of a custom kind.
    pub fn definition(&self, kind: Kind) -> Option<&CustomResourceDefinition> {
        let Kind::Custom(kind) = kind else { return None };
        self.definitions.get(&kind.info().qualified_plural()).map(Arc::as_ref)
    }

    /// What kubectl calls one object of a kind.
    pub fn singular(&self, kind: Kind) -> String {
        let of_custom = self.definition(kind).and_then(|definition| definition.spec.names.singular.clone());
        of_custom.unwrap_or_else(|| kind.info().singular())
    }

    /// What else kubectl calls a kind.
    pub fn short_names(&self, kind: Kind) -> Vec<&str> {
        let of_custom = self.definition(kind).and_then(|definition| definition.spec.names.short_names.as_ref());
        let built_in = versions::stored_as(kind).info().short_names.iter().copied();
        built_in.chain(of_custom.into_iter().flatten().map(String::as_str)).collect()
    }

    /// The categories that a kind is in.
    pub fn categories(&self, kind: Kind) -> Vec<&str> {
        let of_custom = self.definition(kind).and_then(|definition| definition.spec.names.categories.as_ref());
        let mut categories: Vec<&str> = kind.categories().collect();
        categories.extend(of_custom.into_iter().flatten().map(String::as_str));
        categories
    }

    /// The columns that `get` shows of a custom kind beside the name; None: its age.
    pub fn columns(&self, kind: Kind) -> Option<&[CustomResourceColumnDefinition]> {
        let version = kind.info().version;
        let version = self.definition(kind)?.spec.versions.iter().find(|there| there.name == version)?;
        version.additional_printer_columns.as_deref().filter(|columns| !columns.is_empty())
    }
}

/// The built-in kind that a word means which names no version.
fn built_in(word: &str) -> Option<Kind> {
    Kind::built_in().find(|kind| kind.is_called(word))
}

/// The built-in kind that `plural.version.group` means, or `plural.group` of another version of it.
fn built_in_version(word: &str) -> Option<Kind> {
    let word = word.to_ascii_lowercase();
    let (name, rest) = word.split_once('.')?;
    let kind = built_in(name)?;
    let is_group = |kind: &Kind| kind.info().group == rest;
    let is_it = |kind: &Kind| rest.strip_prefix(kind.info().version) == Some(&format!(".{}", kind.info().group));
    versions::other(kind).filter(is_group).or_else(|| [kind].into_iter().chain(versions::other(kind)).find(is_it))
}

fn preferred_kind(definition: &CustomResourceDefinition) -> Option<Kind> {
    Some(Kind::Custom(kind_of(definition, &preferred(definition)?.name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_built_in_group_has_its_place() {
        let astray: Vec<Kind> = Kind::built_in().filter(|kind| group_rank(kind.info().group) == GROUPS.len()).collect();
        assert!(astray.is_empty(), "{astray:?}");
    }

    #[test]
    fn kinds_are_found_by_every_name_they_have() {
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let version =
            |name: &str| json!({"name": name, "served": name != "v0", "storage": name == "v1", "schema": schema});
        let definition = |established: &str| {
            let value = json!({"metadata": {"name": "crontabs.stable.example.com"}, "spec": {
                "group": "stable.example.com", "scope": "Namespaced",
                "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"], "categories": ["all"]},
                "versions": [version("v1beta1"), version("v1"), version("v0")]},
                "status": {"conditions": [{"type": "Established", "status": established}]}});
            Kind::CustomResourceDefinition.decode(value).unwrap()
        };
        let discovery = Discovery::of(&[definition("True")]);
        let found = |word: &str| discovery.from_word(word).map(|kind| kind.info().api_version);
        let (v1, beta) = (Some("stable.example.com/v1"), Some("stable.example.com/v1beta1"));
        #[rustfmt::skip]
        let cases = [
            ("crontabs", v1), ("CronTab", v1), ("ct", v1), ("crontabs.stable.example.com", v1), ("ct.stable.example.com", v1),
            ("crontabs.v1beta1.stable.example.com", beta), ("crontabs.v0.stable.example.com", None), ("crontabs.example.com", None),
            ("pods", Some("v1")), ("crons", None), ("deploy.apps", Some("apps/v1")), ("rs.v1.apps", Some("apps/v1")),
            ("deploy.batch", None), ("pods.v1.", Some("v1")), ("cs", Some("v1")), ("tokenreviews", Some("authentication.k8s.io/v1")), ("hpa.v1.autoscaling", Some("autoscaling/v1")),
        ];
        for (word, want) in cases {
            assert_eq!(found(word), want, "{word}");
        }
        let by_manifest = |version: &str| discovery.from_manifest(version, "CronTab").map(|kind| kind.info().version);
        assert_eq!(
            ["stable.example.com/v1beta1", "stable.example.com/v0", "v1"].map(by_manifest),
            [Some("v1beta1"), None, None]
        );
        assert_eq!(discovery.category("all").count(), 1);
        assert!(Discovery::of(&[definition("False")]).from_word("ct").is_none());
    }
}
