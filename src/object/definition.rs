//! CustomResourceDefinitions in use: their conditions, and the kinds that they define. Mirrors `pkg/apihelpers` of
//! apiextensions-apiserver.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionCondition, CustomResourceDefinitionVersion,
};

use super::CustomKind;
use super::time::Instant;

/// The finalizer that holds a definition until its objects are gone.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The kind that a definition defines, in one version.
pub fn kind_of(definition: &CustomResourceDefinition, version: &str) -> CustomKind {
    let spec = &definition.spec;
    CustomKind::new(&spec.group, version, &spec.names.plural, &spec.names.kind, spec.scope == "Namespaced")
}

/// The version that clients use unless they are told otherwise: the newest of those that are served.
pub fn preferred(definition: &CustomResourceDefinition) -> Option<&CustomResourceDefinitionVersion> {
    definition.spec.versions.iter().filter(|version| version.served).max_by_key(|version| age(&version.name))
}

/// How far a version has come: `v2` is newer than `v1`, which is newer than `v1beta2`; what is no version comes last, by
/// its name. Mirrors `version.CompareKubeAwareVersionStrings`.
pub fn age(version: &str) -> (u8, u64, u64, std::cmp::Reverse<&str>) {
    let read = || {
        let rest = version.strip_prefix('v')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major: u64 = rest[..end].parse().ok()?;
        let (stage, minor) = match &rest[end..] {
            "" => (3, "0"),
            rest => rest.strip_prefix("beta").map(|n| (2, n)).or(rest.strip_prefix("alpha").map(|n| (1, n)))?,
        };
        Some((stage, major, minor.parse().ok()?))
    };
    let (stage, major, minor) = read().unwrap_or((0, 0, 0));
    (stage, major, minor, std::cmp::Reverse(version))
}

/// Whether a condition is there and true.
pub fn is_true(definition: &CustomResourceDefinition, type_: &str) -> bool {
    condition(definition, type_).is_some_and(|condition| condition.status == "True")
}

/// A condition of a definition.
pub fn condition<'a>(
    definition: &'a CustomResourceDefinition,
    type_: &str,
) -> Option<&'a CustomResourceDefinitionCondition> {
    definition.status.as_ref()?.conditions.iter().flatten().find(|condition| condition.type_ == type_)
}

/// Sets a condition; since when it is so changes only with the status. Mirrors `SetCRDCondition`.
pub fn set_condition(
    definition: &mut CustomResourceDefinition,
    type_: &str,
    holds: bool,
    reason: &str,
    message: &str,
    now: Instant,
) {
    let new = CustomResourceDefinitionCondition {
        type_: type_.into(),
        status: if holds { "True" } else { "False" }.into(),
        reason: Some(reason.into()),
        message: Some(message.into()),
        last_transition_time: Some(now.time()),
        ..CustomResourceDefinitionCondition::default()
    };
    let conditions = definition.status.get_or_insert_default().conditions.get_or_insert_default();
    match conditions.iter_mut().find(|there| there.type_ == type_) {
        Some(there) if there.status == new.status => {
            *there =
                CustomResourceDefinitionCondition { last_transition_time: there.last_transition_time.clone(), ..new };
        }
        Some(there) => *there = new,
        None => conditions.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_versions_are_preferred() {
        let mut names = ["v1", "foo", "v2beta1", "v11alpha2", "v10", "v1beta1", "v2", "bar"];
        names.sort_by_key(|name| std::cmp::Reverse(age(name)));
        assert_eq!(names, ["v10", "v2", "v1", "v2beta1", "v1beta1", "v11alpha2", "bar", "foo"]);
    }
}
