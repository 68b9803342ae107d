//! When the order of two steps matters.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::apiserver::request::{Body, Request, Verb};
use crate::engine::{APISERVER, ActorId, Pending, What};
use crate::object::Kind;

/// What one step touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// A component's own state.
    Component(ActorId),
    /// One object in the store.
    Object {
        /// Its kind.
        kind: Kind,
        /// A digest of namespace and name; of the generated name's beginning if the server chooses the rest.
        key: u64,
        /// Whether it may change.
        writes: bool,
    },
    /// All objects of a kind: a list, or the beginning of a watch.
    All(Kind),
}

impl Access {
    /// What the delivery of an event touches.
    pub fn of(event: &Pending) -> Access {
        match &event.what {
            What::Request { request, .. } if event.to == APISERVER => Access::of_request(request),
            _ => Access::Component(event.to),
        }
    }

    fn of_request(request: &Request) -> Access {
        let kind = request.kind;
        if matches!(request.verb, Verb::List | Verb::Watch | Verb::DeleteCollection) {
            return Access::All(kind);
        }
        let name = match (&request.body, request.name.as_str()) {
            (Body::Object(object), "") => object.name(),
            (_, name) => name,
        };
        let mut hasher = DefaultHasher::new();
        (&request.namespace, name).hash(&mut hasher);
        Access::Object { kind, key: hasher.finish(), writes: request.verb != Verb::Get }
    }

    /// Whether two steps that touch these could end otherwise in the other order.
    pub fn conflicts(&self, other: &Access) -> bool {
        match (self, other) {
            (Access::Component(a), Access::Component(b)) => a == b,
            (Access::Object { kind: a, key: x, writes: v }, Access::Object { kind: b, key: y, writes: w }) => {
                a == b && x == y && (*v || *w)
            }
            (Access::All(a), Access::Object { kind: b, writes, .. })
            | (Access::Object { kind: b, writes, .. }, Access::All(a)) => a == b && *writes,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_matters_where_one_writes_what_the_other_reads() {
        let object = |kind, key, writes| Access::Object { kind, key, writes };
        let (pod, deployment) = (Kind::Pod, Kind::Deployment);
        for (a, b, conflict) in [
            (object(pod, 1, true), object(pod, 1, false), true),
            (object(pod, 1, false), object(pod, 1, false), false),
            (object(pod, 1, true), object(pod, 2, true), false),
            (object(pod, 1, true), object(deployment, 1, true), false),
            (Access::All(pod), object(pod, 1, true), true),
            (Access::All(pod), object(pod, 1, false), false),
            (Access::All(pod), Access::All(pod), false),
            (Access::Component(ActorId(2)), Access::Component(ActorId(2)), true),
            (Access::Component(ActorId(2)), Access::Component(ActorId(3)), false),
            (Access::Component(ActorId(2)), object(pod, 1, true), false),
        ] {
            assert_eq!((a.conflicts(&b), b.conflicts(&a)), (conflict, conflict), "{a:?} {b:?}");
        }
    }
}
