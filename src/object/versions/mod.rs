//! Built-in kinds that are served in another version too than the one they are stored in: HorizontalPodAutoscalers as
//! `autoscaling/v1` ([`autoscaling`]), Events as `events.k8s.io/v1` ([`events`]).
//!
//! An object is stored once, and every version it is served in shows all of it. So a client loses nothing by reading one
//! version and writing the other.
//!
//! The other version is a [`Kind::Custom`]: a name, with no type of its own. Mirrors the `conversion.go` of
//! `pkg/apis/autoscaling/v1` and `pkg/apis/events/v1`.

use std::sync::Arc;

use serde_json::Value;

use super::custom::CustomKind;
use super::{Kind, Object};

pub mod autoscaling;
pub mod events;

/// Each kind with the group and the version that it is served in besides.
const OTHERS: [(Kind, &str, &str); 2] =
    [(Kind::Event, "events.k8s.io", "v1"), (Kind::HorizontalPodAutoscaler, "autoscaling", "v1")];

/// A kind in its other version, by the kind that it is stored as.
pub fn other(kind: Kind) -> Option<Kind> {
    let (_, group, version) = OTHERS.iter().find(|(stored, ..)| *stored == kind)?;
    let info = kind.info();
    Some(Kind::Custom(CustomKind::new(group, version, info.plural, info.kind, info.namespaced)))
}

/// All that are served in another version.
pub fn others() -> impl Iterator<Item = Kind> {
    OTHERS.iter().filter_map(|(kind, ..)| other(*kind))
}

/// The others whose version is the newest of its group: clients that want each thing once see these too.
pub fn preferred_others() -> impl Iterator<Item = Kind> {
    others().filter(|other| other.info().group != stored_as(*other).info().group)
}

/// The kind that objects are stored as and worked with, if `kind` is another version of it.
pub fn stored_as(kind: Kind) -> Kind {
    let Kind::Custom(custom) = kind else { return kind };
    let info = custom.info();
    let is_it = |(stored, group, version): &&(Kind, &str, &str)| {
        (info.group, info.version, info.plural) == (*group, *version, stored.info().plural)
    };
    OTHERS.iter().find(is_it).map_or(kind, |(stored, ..)| *stored)
}

/// The Go type that objects of a kind are printed as, by its name in the table; None for what users have defined.
pub fn go_type(kind: Kind) -> Option<&'static str> {
    match (kind, stored_as(kind)) {
        (Kind::Custom(_), Kind::Event) => Some("events.Event"),
        // What has to be there is put there on the way.
        (Kind::Custom(_), _) => None,
        // Containers name claims in a struct that is called so too.
        (Kind::ResourceClaim, _) => Some("resource.ResourceClaim"),
        (kind, _) => Some(kind.info().kind),
    }
}

/// The other version of an object of the kind `stored` as text, in the form in which it is stored.
pub fn to_stored(stored: Kind, other: &Value) -> Result<Object, serde_json::Error> {
    match stored {
        Kind::Event => Ok(Object::Event(Arc::new(events::to_core(other)?))),
        _ => Ok(Object::HorizontalPodAutoscaler(Arc::new(autoscaling::to_v2(other)?))),
    }
}

impl Object {
    /// The same object in another version of its kind.
    pub fn in_version(self, kind: Kind) -> Object {
        match (self, kind) {
            (Object::Custom(object), Kind::Custom(kind)) if object.kind() != kind => {
                Object::Custom(Arc::unwrap_or_clone(object).in_version(kind).into())
            }
            (Object::HorizontalPodAutoscaler(object), Kind::Custom(kind)) => {
                Object::Custom(autoscaling::to_v1(kind, &object).into())
            }
            (Object::Event(object), Kind::Custom(kind)) => Object::Custom(events::from_core(kind, &object).into()),
            (object, _) => object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_served_twice_is_known_by_both_names() {
        for kind in Kind::ALL {
            assert_eq!(other(*kind).map_or(*kind, stored_as), *kind);
        }
        let names: Vec<_> = others().map(|kind| (kind.info().api_version, kind.info().kind)).collect();
        assert_eq!(names, [("events.k8s.io/v1", "Event"), ("autoscaling/v1", "HorizontalPodAutoscaler")]);
        let preferred: Vec<_> = preferred_others().map(|kind| kind.info().group).collect();
        assert_eq!(preferred, ["events.k8s.io"]);
    }
}
