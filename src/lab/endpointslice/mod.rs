//! Exercise 15: what the EndpointSlice controller does with one Service. Mirrors `syncService` of the real one, with
//! one slice for each Service, whose name follows from the Service's.
//!
//! Left out: more than a hundred endpoints, ports by name, `publishNotReadyAddresses`, zones and hints.

use super::reconcile::guest::Duty;
use super::reconcile::{Plan, scenario};
use super::{Exercise, Judging};
use controllers::endpoint_slice::service_of;
use controllers::service_pods::selector_of;
use exercise::host::Read;
use object::selector::Selector;
use object::{Key, Kind, Object};
use rule::{MISTAKES, RULE, host};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "15_endpointslice",
    title: "Where can the connections to a Service go?",
    outcome: "write a controller that joins two kinds, and say what ready, serving and terminating mean to a connection",
    needs: &["replicaset"],
    hints: [
        "A Service names no Pods, and a Pod names no Service. What connects them, and whose change may concern which Service?",
        "Compute the whole slice as it should be, from the Service and the cached Pods alone. Only then look at what is there: \
         nothing (create it), the same (do nothing), something else (change it).",
        "Keep the Pods of the namespace that have all labels of the selector; sort them by name; leave out who has ended or has \
         no podIP. ready = Ready and not being deleted. Compare endpoints and ports with those of the slice of the Service's name \
         in the cache, and patch both if one differs; see that its label and its controller are there. No selector, or a \
         deletionTimestamp: do nothing.",
    ],
    minutes: 40,
    judging: Judging::Controller(&PLAN),
};

static PLAN: Plan = Plan {
    duty: Duty {
        name: "endpointslice-controller",
        kind: Kind::Service,
        others: &[Kind::Pod, Kind::EndpointSlice],
        concerns,
        workers: 5,
        observes: false,
    },
    trials: &[
        scenario!("endpointslice", "ready-and-not"),
        scenario!("endpointslice", "changes"),
        scenario!("endpointslice", "elsewhere"),
        scenario!("endpointslice", "other-services"),
        scenario!("endpointslice", "many"),
        scenario!("endpointslice", "ports"),
        scenario!("endpointslice", "other-port"),
        scenario!("endpointslice", "going"),
        scenario!("endpointslice", "ended"),
        scenario!("endpointslice", "none-left"),
        scenario!("endpointslice", "others-slices"),
        scenario!("endpointslice", "marks-gone"),
        scenario!("endpointslice", "slice-late"),
        scenario!("endpointslice", "no-selector"),
        scenario!("endpointslice", "deleted"),
        scenario!("endpointslice", "one-call-fails"),
        scenario!("endpointslice", "broken-calls"),
        scenario!("endpointslice", "headless"),
        scenario!("endpointslice", "any-number"),
    ],
    reference: |read| host(read, RULE),
    mistakes: MISTAKES,
};

/// The Services that select a Pod, and the one whose a slice is: by its label, or by its name, since a client that writes
/// the label last is to be called again before it is there.
fn concerns(object: &Object, read: &Read) -> Vec<Key> {
    match object {
        Object::EndpointSlice(slice) => {
            let by_name = Key::of(object);
            service_of(slice).into_iter().filter(|by_label| *by_label != by_name).chain([by_name.clone()]).collect()
        }
        Object::Pod(pod) => {
            let selects = |service: &&Object| match service {
                Object::Service(service) => {
                    let labels = pod.metadata.labels.as_ref();
                    service.metadata.namespace == pod.metadata.namespace
                        && selector_of(service).is_some_and(|wanted| Selector::of_labels(wanted).matches(labels))
                }
                _ => false,
            };
            read(Kind::Service).iter().filter(selects).map(Key::of).collect()
        }
        _ => Vec::new(),
    }
}

mod rule;
#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::reconcile::check("endpointslice", &super::PLAN);
    }
}
