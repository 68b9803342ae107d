//! When the order of two steps matters.
//!
//! Every step touches *places*: the memory of the component that gets the event, or what a request reads and writes
//! behind the API server. Two steps depend on each other if one writes a place that the other touches.
//!
//! The programs of one machine share its disk and its network, so they are one place. Two writes of one kind depend on
//! each other even where they concern different objects: an informer of the kind hears of them in the order of writing.
//! Writes of different kinds do not, since no order holds between two watches.

use std::hash::{DefaultHasher, Hash, Hasher};

use apiserver::host::{Engine, LEASE_EXPIRES, LOOKS_AFTER_SERVICE, LOOKS_AT_SERVERS};
use engine::{Pending, What};
use kinds::registry;
use object::Kind;
use wire::{Body, Request, Subresource, Verb};

/// What one step touches: places, and whether each may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access(pub Vec<(u64, bool)>);

/// The programs that share a machine.
const ON_A_MACHINE: &[&str] = &["kubelet", "containerd", "cni", "kernel", "csi-node", "kube-proxy"];

#[derive(Hash)]
enum Location<'a> {
    Machine(&'a str),
    Component(&'a str),
    /// The order of all that happens to a kind.
    Kind(Kind),
    Object(Kind, &'a str, &'a str),
    /// All objects of a kind, as one who reads a single one depends on them.
    Each(Kind),
}

impl Location<'_> {
    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl Access {
    /// What the delivery of an event touches.
    pub fn of(engine: &Engine, event: &Pending) -> Access {
        match &event.what {
            What::Request { request, .. } if engine.server.is_server(event.to) => {
                let mut access = Access::of_request(request);
                if engine.server.has_several() {
                    // What its cache has come to.
                    access.reads(&Location::Component(engine.name(event.to)));
                }
                if is_charged(engine, request) {
                    access.writes(&Location::Kind(Kind::ResourceQuota));
                }
                access
            }
            What::Fault { .. } if engine.server.is_server(event.to) => Access::of_all(),
            What::Wake { what: LOOKS_AFTER_SERVICE | LOOKS_AT_SERVERS, .. } => Access::of_all(),
            What::Wake { what, .. } if *what == LEASE_EXPIRES => {
                let mut access = Access::default();
                access.writes(&Location::Kind(Kind::Event));
                access.writes(&Location::Each(Kind::Event));
                access
            }
            _ => Access::of_component(engine.name(event.to)),
        }
    }

    /// The memory of a component, changed.
    pub fn of_component(name: &str) -> Access {
        let location = match name.split_once('/') {
            Some((program, machine)) if ON_A_MACHINE.contains(&program) => Location::Machine(machine),
            _ => Location::Component(name),
        };
        Access(vec![(location.digest(), true)])
    }

    /// Everything behind the API server: it crashes, or its history is compacted.
    fn of_all() -> Access {
        let mut access = Access::default();
        for kind in Kind::ALL {
            access.writes(&Location::Kind(*kind));
            access.writes(&Location::Each(*kind));
        }
        access
    }

    fn of_request(request: &Request) -> Access {
        let kind = request.kind;
        let (namespace, name) = (request.namespace.as_str(), name_of(request));
        let mut access = Access::default();
        match request.verb {
            Verb::List | Verb::Watch => access.reads(&Location::Kind(kind)),
            Verb::Get => {
                access.reads(&Location::Object(kind, namespace, name));
                access.reads(&Location::Each(kind));
            }
            Verb::DeleteCollection => {
                access.writes(&Location::Kind(kind));
                access.writes(&Location::Each(kind));
            }
            Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => {
                access.writes(&Location::Kind(kind));
                access.writes(&Location::Object(kind, namespace, name));
            }
        }
        if request.verb == Verb::Create {
            // What admission looks up.
            access.reads(&Location::Object(Kind::Namespace, "", namespace));
            access.reads(&Location::Each(Kind::Namespace));
            let looked_up: &[Kind] = match kind {
                Kind::Pod => &[Kind::ServiceAccount, Kind::PriorityClass, Kind::RuntimeClass, Kind::LimitRange],
                Kind::PersistentVolumeClaim => &[Kind::StorageClass, Kind::LimitRange],
                _ => &[],
            };
            looked_up.iter().for_each(|kind| access.reads(&Location::Kind(*kind)));
        }
        if request.subresource == Some(Subresource::Eviction) {
            access.writes(&Location::Kind(Kind::PodDisruptionBudget));
        }
        if request.user.agent.starts_with("kubelet/") && kind != Kind::Pod {
            // What a kubelet may read and write depends on the Pods of its node.
            access.reads(&Location::Kind(Kind::Pod));
        }
        access
    }

    /// One who writes a place is not said to read it as well.
    fn reads(&mut self, location: &Location) {
        let location = location.digest();
        if !self.0.iter().any(|(there, _)| *there == location) {
            self.0.push((location, false));
        }
    }

    fn writes(&mut self, location: &Location) {
        self.0.push((location.digest(), true));
    }

    /// Whether two steps that touch these could end otherwise in the other order.
    pub fn conflicts(&self, other: &Access) -> bool {
        self.0
            .iter()
            .any(|(location, writes)| other.0.iter().any(|(there, wrote)| location == there && (*writes || *wrote)))
    }
}

/// Whether a quota may be charged for it: that is one more write, before the answer.
fn is_charged(engine: &Engine, request: &Request) -> bool {
    let writes = matches!(request.verb, Verb::Create | Verb::Update | Verb::Patch);
    let quotas = registry::list_prefix(Kind::ResourceQuota, &request.namespace);
    writes && !request.namespace.is_empty() && engine.server.api.store.prefix(&quotas).next().is_some()
}

fn name_of(request: &Request) -> &str {
    match (&request.body, request.name.as_str()) {
        (Body::Object(object), "") => object.name(),
        (_, name) => name,
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use wire::User;

    fn request(verb: Verb, kind: Kind, name: &str) -> Access {
        Access::of_request(&Request::new(Rc::new(User::admin()), verb, kind, "default", name, Body::None))
    }

    #[test]
    fn no_place_is_touched_twice() {
        let user = Rc::new(User::admin());
        let Access(places) = Access::of_request(&Request::new(user, Verb::Create, Kind::Namespace, "", "", Body::None));
        let different: std::collections::BTreeSet<u64> = places.iter().map(|(location, _)| *location).collect();
        assert_eq!(different.len(), places.len(), "{places:?}");
    }

    #[test]
    fn order_matters_where_one_writes_what_the_other_touches() {
        let (pod, deployment) = (Kind::Pod, Kind::Deployment);
        let component = Access::of_component;
        for (a, b, conflict) in [
            (request(Verb::Patch, pod, "a"), request(Verb::Get, pod, "a"), true),
            (request(Verb::Patch, pod, "a"), request(Verb::Get, pod, "b"), false),
            (request(Verb::Get, pod, "a"), request(Verb::Get, pod, "a"), false),
            (request(Verb::Patch, pod, "a"), request(Verb::Patch, pod, "b"), true),
            (request(Verb::Patch, pod, "a"), request(Verb::Patch, deployment, "a"), false),
            (request(Verb::List, pod, ""), request(Verb::Delete, pod, "a"), true),
            (request(Verb::Watch, pod, ""), request(Verb::List, pod, ""), false),
            (request(Verb::DeleteCollection, pod, ""), request(Verb::Get, pod, "a"), true),
            (request(Verb::Create, pod, "a"), request(Verb::Delete, Kind::Namespace, "x"), false),
            (request(Verb::Create, pod, "a"), request(Verb::Patch, Kind::ServiceAccount, "default"), true),
            (component("kubelet/node-1"), component("containerd/node-1"), true),
            (component("kubelet/node-1"), component("kubelet/node-2"), false),
            (component("user/kubectl"), component("user/kubectl"), true),
            (component("kube-scheduler"), request(Verb::Patch, pod, "a"), false),
        ] {
            assert_eq!((a.conflicts(&b), b.conflicts(&a)), (conflict, conflict), "{a:?} {b:?}");
        }
    }
}
