//! Exercise 15: what the EndpointSlice controller does with one Service. Mirrors `syncService` of the real one, with
//! one slice for each Service, whose name follows from the Service's.
//!
//! Left out: more than a hundred endpoints, ports by name, `publishNotReadyAddresses`, zones and hints.

use super::reconcile::guest::Duty;
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::controllers::endpoint_slice::service_of;
use crate::controllers::service_pods::selector_of;
use crate::exercise::host::Read;
use crate::object::selector::Selector;
use crate::object::{Key, Kind, Object};
use rule::{Slip, host};

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
        scenario!("endpointslice", "any-number"),
    ],
    reference: |read| host(read, None),
    mistakes: &[
        slip!("the slice has no owner reference to the Service", NoOwner),
        slip!("the slice has no label that says whose it is", NoLabel),
        slip!("Pods that are not ready are called ready", IgnoresReadiness),
        slip!("Pods that are not ready have no endpoint", OnlyReady),
        slip!("Pods that are being deleted are called ready", GoingIsReady),
        slip!("Pods that are being deleted have no endpoint, though they still answer", LeavesGoing),
        slip!("one label of the selector is taken for all", AnyLabel),
        slip!("Pods that have ended keep their endpoints", KeepsEnded),
        slip!("Pods without an address get an endpoint", NoAddress),
        slip!("the slice has the port of the Service; Pods listen at targetPort", ServicePort),
        slip!("a slice that is there is not changed", NeverChanges),
        slip!("a slice is written again, though it is as it should be", AlwaysChanges),
        slip!("the slice is deleted and made anew; meanwhile the Service has none", MakesAnew),
        slip!("a Service without a selector gets all Pods", NoSelector),
        slip!("a Service that is being deleted gets its slice again", IgnoresDeletion),
        slip!("it takes a failed call for done", Swallows),
        slip!("the slice of a Service without Pods is deleted", DeletesEmpty),
        slip!("it works in the namespace default, wherever the Service is", InDefault),
        slip!("Pods of other namespaces get endpoints too", AllNamespaces),
        slip!("the values of labels are not compared", KeysOnly),
        slip!("the slice has the first port of the Service only", FirstPort),
        slip!("Pods that have failed keep their endpoints", KeepsFailed),
        slip!("Pods that are being deleted are said not to serve, though they still answer", GoingServesNot),
        slip!("a Service that has no address of its own gets no slice", NoHeadless),
        slip!("only a Service of type ClusterIP gets a slice", OnlyInside),
        slip!("a Service without ports gets no slice", NoPorts),
        slip!(
            "a port without a name is written without one; the API server says \"\", so that it always differs",
            Nameless
        ),
        slip!("it takes any slice with the label of its Service for the one it makes", FindsByLabel),
        slip!("it takes any slice that its Service controls for the one it makes", FindsByOwner),
        slip!("it puts a new slice in the place of the one that is there: what others wrote into it is lost", Replaces),
        slip!("a slice that its cache does not show yet is deleted and made anew", MakesUnseenAnew),
        slip!("that only the protocol of a port has changed is not seen", IgnoresProtocol),
        slip!("it leaves out the appProtocol of a port", NoAppProtocol),
        slip!("a label whose value only begins like that of the selector is enough", BeginsLike),
        slip!("an endpoint has all addresses of its Pod, of IPv6 too", AllAddresses),
        slip!("the slice loses its owner reference when it is changed", DropsOwner),
        slip!("an empty slice is written again each time", EmptyDiffers),
        slip!("a slice without ports is written again each time", NoPortsDiffer),
        slip!("the Pods are in the order of the numbers in their names: web-2 before web-10", ByNumber),
        slip!("Pods with the same address get one endpoint", OneForAddress),
        slip!("Pods in the network of their node get no endpoint", NoHostNetwork),
        slip!("a slice that has lost its label does not get it again", NeverLabels),
        slip!("a slice that has lost its owner reference does not get it again", NeverOwns),
        slip!("that only the appProtocol of a port has changed is not seen", IgnoresAppProtocol),
        slip!("two ports with one number are taken for one", OnePortANumber),
        slip!("the slice of a Service that is being deleted is still changed", FollowsGoing),
        slip!("a slice has one owner after it was changed, whoever owned it before", DropsOwners),
        slip!("a Pod is ready only if all its conditions are True", AllConditions),
        slip!("it writes the slice as its cache shows it: what others wrote meanwhile is lost", IgnoresVersion),
        slip!("a Service that has no address of its own gets its own port into the slice", HeadlessPort),
        slip!("capitals in the value of a label are not looked at", AnyCase),
        slip!("it lists four Pods, and no more", AtMost(4)),
        slip!("it lists forty Pods, and no more", AtMost(40)),
        slip!("of the labels of the selector it looks at two only", TwoLabels),
        slip!("it puts its own owner reference in the place of all that a slice has", OwnsAlone),
        slip!("a slice that is called another Service's does not get its label again", AnyName),
        slip!("that only the name of a port has changed is not seen", IgnoresName),
        slip!("that only the conditions of an endpoint have changed is not seen", IgnoresConditions),
        slip!("it takes the condition ContainersReady for Ready", ContainersReady),
        slip!("the Pods are not in the order of their names", Unsorted),
        slip!("the Pods are not in the order of their names", ByAddress),
        slip!("an endpoint says nothing of how its Pod is", NoConditions),
        slip!("a slice of another namespace is taken for that of the Service", AnyNamespace),
        slip!("a Pod that has other labels besides those of the selector gets no endpoint", NoOtherLabels),
        slip!("it lists the Pods from the API server, and does not read its cache", ListsPods),
        slip!("it lists the slices from the API server, and does not read its cache", ListsSlices),
        slip!("a Pod is taken for ready only if its phase is Running", NeedsRunning),
        slip!("a Pod of which nobody knows how it is (phase Unknown) gets no endpoint", UnknownIsEnded),
        slip!("only a Pod whose phase is Running gets an endpoint; any gets one that has not ended", OnlyRunning),
        slip!("it does nothing about a Service that has a long name", NoLongName),
        slip!("a port of a protocol besides TCP and UDP is left out", NoSctp),
        slip!("a Pod is taken for ready if its containers are; other things may have to be ready too", ReadyContainers),
    ],
};

/// The Services that select a Pod, and the one whose a slice is.
fn concerns(object: &Object, read: &Read) -> Vec<Key> {
    match object {
        Object::EndpointSlice(slice) => service_of(slice).into_iter().collect(),
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
        crate::lab::reconcile::check("endpointslice", &super::PLAN);
    }
}
