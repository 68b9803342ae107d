//! Exercise 15: what the EndpointSlice controller does with one Service. Mirrors `syncService` of the real one, with
//! one slice for each Service, whose name follows from the Service's.
//!
//! Left out: more than a hundred endpoints, ports by name, `publishNotReadyAddresses`, zones and hints.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use super::reconcile::guest::Duty;
use super::reconcile::{Plan, scenario, slip};
use super::{Exercise, Judging};
use crate::controllers::endpoint_slice::service_of;
use crate::controllers::service_pods::selector_of;
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, DeleteParams, Error, ListParams, Patch, PatchParams, PostParams};
use crate::object::meta::{controller_of, controller_ref};
use crate::object::pod::{has_ended, is_ready, phase};
use crate::object::selector::Selector;
use crate::object::{Key, Kind, Object, Pod};

/// The label that says whose slice it is.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

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

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slip {
    NoOwner,
    NoLabel,
    IgnoresReadiness,
    OnlyReady,
    GoingIsReady,
    LeavesGoing,
    AnyLabel,
    KeepsEnded,
    NoAddress,
    ServicePort,
    NeverChanges,
    MakesAnew,
    NoSelector,
    IgnoresDeletion,
    Swallows,
    DeletesEmpty,
    InDefault,
    AllNamespaces,
    KeysOnly,
    FirstPort,
    KeepsFailed,
    GoingServesNot,
    NoHeadless,
    OnlyInside,
    NoPorts,
    Nameless,
    FindsByLabel,
    FindsByOwner,
    Replaces,
    MakesUnseenAnew,
    IgnoresProtocol,
    NoAppProtocol,
    BeginsLike,
    AllAddresses,
    DropsOwner,
    EmptyDiffers,
    NoPortsDiffer,
    ByNumber,
    OneForAddress,
    NoHostNetwork,
    NeverLabels,
    NeverOwns,
    IgnoresAppProtocol,
    OnePortANumber,
    FollowsGoing,
    DropsOwners,
    AllConditions,
    IgnoresVersion,
    HeadlessPort,
    AnyCase,
    AtMost(usize),
    TwoLabels,
    OwnsAlone,
    AnyName,
    IgnoresName,
    IgnoresConditions,
    ContainersReady,
    Unsorted,
    ByAddress,
    NoConditions,
    AnyNamespace,
    NoOtherLabels,
    ListsPods,
    ListsSlices,
    NeedsRunning,
    UnknownIsEnded,
}

fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |service, context| reconcile(service, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(service: Arc<Service>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let is_going = service.metadata.deletion_timestamp.is_some() && !is(Slip::IgnoresDeletion);
    let none = Default::default();
    let selector = selector_of(&service).or(is(Slip::NoSelector).then_some(&none));
    let Some(selector) = selector.filter(|_| !is_going || is(Slip::FollowsGoing)) else {
        return Ok(Action::await_change());
    };
    if is_passed_over(&service, slip) {
        return Ok(Action::await_change());
    }
    let selects = |pod: &Arc<Pod>| {
        let labels = pod.metadata.labels.as_ref();
        let has = |(key, value): (&String, &String)| match labels.and_then(|labels| labels.get(key)) {
            Some(there) => {
                there == value
                    || is(Slip::KeysOnly)
                    || is(Slip::BeginsLike) && there.starts_with(value.as_str())
                    || is(Slip::AnyCase) && there.eq_ignore_ascii_case(value)
            }
            None => false,
        };
        let chosen = match slip {
            Some(Slip::AnyLabel) => selector.iter().any(has),
            Some(Slip::TwoLabels) => selector.iter().take(2).all(has),
            Some(Slip::NoOtherLabels) => selector.iter().all(has) && labels.map(BTreeMap::len) == Some(selector.len()),
            _ => selector.iter().all(has),
        };
        chosen && (pod.metadata.namespace == service.metadata.namespace || is(Slip::AllNamespaces))
    };
    let mut pods = match is(Slip::ListsPods) {
        true => {
            let pods: Api<Pod> = Api::all(context.client.clone());
            pods.list(&ListParams::default()).await?.into_iter().map(Arc::new).collect()
        }
        false => context.store::<Pod>().state(),
    };
    pods.retain(selects);
    let address = |pod: &Arc<Pod>| pod.status.as_ref().and_then(|status| status.pod_ip.clone());
    match slip {
        Some(Slip::Unsorted) => {}
        Some(Slip::ByAddress) => pods.sort_by_key(address),
        Some(Slip::ByNumber) => {
            pods.sort_by_key(|pod| pod.metadata.name.as_ref().map(|name| (name.len(), name.clone())))
        }
        _ => pods.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name)),
    }
    if let Some(Slip::AtMost(most)) = slip {
        pods.truncate(most);
    }
    if is(Slip::NoHostNetwork) {
        pods.retain(|pod| pod.spec.as_ref().and_then(|spec| spec.host_network) != Some(true));
    }
    let mut endpoints: Vec<Endpoint> = pods.iter().filter_map(|pod| endpoint(pod, slip)).collect();
    if is(Slip::OneForAddress) {
        let mut seen = Vec::new();
        endpoints.retain(|one| {
            let is_new = !seen.contains(&one.addresses);
            seen.push(one.addresses.clone());
            is_new
        });
    }
    let declared = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let most = if is(Slip::FirstPort) { 1 } else { declared.len() };
    let is_headless = service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref()) == Some("None");
    let of_port = if is(Slip::HeadlessPort) && is_headless { Some(Slip::ServicePort) } else { slip };
    let mut ports: Vec<EndpointPort> = declared.iter().take(most).map(|declared| port(declared, of_port)).collect();
    if is(Slip::OnePortANumber) {
        ports.dedup_by_key(|port| port.port);
    }
    let name = service.metadata.name.as_deref().unwrap_or_default();
    let namespace = service.metadata.namespace.as_deref().filter(|_| !is(Slip::InDefault)).unwrap_or("default");
    let slices: Api<EndpointSlice> = Api::namespaced(context.client.clone(), namespace);
    let slice = slice_of(&service, endpoints.clone(), ports.clone(), slip);
    let is_its = |there: &Arc<EndpointSlice>| {
        let there = &there.metadata;
        let is_found = match slip {
            Some(Slip::FindsByLabel) => {
                there.labels.iter().flatten().any(|(key, of)| key == SERVICE_NAME && of == name)
            }
            Some(Slip::FindsByOwner) => {
                controller_of(there).is_some_and(|owner| Some(&owner.uid) == service.metadata.uid.as_ref())
            }
            _ => there.name == service.metadata.name,
        };
        is_found && (there.namespace == service.metadata.namespace || is(Slip::AnyNamespace))
    };
    let all: Vec<Arc<EndpointSlice>> = match is(Slip::ListsSlices) {
        true => slices.list(&ListParams::default()).await?.into_iter().map(Arc::new).collect(),
        false => context.store::<EndpointSlice>().state(),
    };
    let there = all.into_iter().find(is_its);
    if there.as_ref().is_some_and(|there| !is_marked(there, &service, slip)) {
        let (labels, owners) = (&slice.metadata.labels, &slice.metadata.owner_references);
        let patch = json!({"metadata": {"labels": labels, "ownerReferences": owners}});
        let patch = if is(Slip::OwnsAlone) { Patch::Merge(patch) } else { Patch::Strategic(patch) };
        let marked = slices.patch(name, &PatchParams::default(), &patch).await;
        if !is(Slip::Swallows) {
            marked?;
        }
    }
    match there {
        Some(_) if endpoints.is_empty() && is(Slip::DeletesEmpty) => {
            slices.delete(name, &DeleteParams::default()).await?;
        }
        None if is_going => {}
        None if is(Slip::MakesUnseenAnew) => {
            if slices.get_opt(name).await?.is_some() {
                slices.delete(name, &DeleteParams::default()).await?;
            }
            slices.create(&PostParams::default(), &slice).await?;
        }
        None => match slices.create(&PostParams::default(), &slice).await {
            Err(_) if is(Slip::Swallows) => {}
            other => drop(other?),
        },
        Some(_) if is(Slip::NeverChanges) => {}
        Some(there) if !says(&there, &endpoints, &ports, slip) => {
            if is(Slip::Replaces) {
                slices.replace(name, &PostParams::default(), &slice).await?;
            } else if is(Slip::MakesAnew) {
                slices.delete(name, &DeleteParams::default()).await?;
                slices.create(&PostParams::default(), &slice).await?;
            } else if is(Slip::IgnoresVersion) {
                let mut whole = EndpointSlice { endpoints: Some(endpoints), ports: Some(ports), ..(*there).clone() };
                whole.metadata.resource_version = None;
                slices.replace(name, &PostParams::default(), &whole).await?;
            } else {
                let mut patch = json!({"endpoints": endpoints, "ports": ports});
                if is(Slip::DropsOwner) {
                    patch["metadata"] = json!({"ownerReferences": []});
                }
                if is(Slip::DropsOwners) {
                    patch["metadata"] = json!({"ownerReferences": slice.metadata.owner_references});
                }
                let patch = Patch::Merge(patch);
                slices.patch(name, &PatchParams::default(), &patch).await?;
            }
        }
        Some(_) => {}
    }
    Ok(Action::await_change())
}

/// Whether a wrong solution does nothing for a Service of this sort.
fn is_passed_over(service: &Service, slip: Option<Slip>) -> bool {
    let Some(spec) = &service.spec else { return false };
    match slip {
        Some(Slip::NoHeadless) => spec.cluster_ip.as_deref() == Some("None"),
        Some(Slip::OnlyInside) => spec.type_.as_deref() != Some("ClusterIP"),
        Some(Slip::NoPorts) => spec.ports.as_deref().unwrap_or_default().is_empty(),
        _ => false,
    }
}

/// Whether a slice says by its label whose it is, and has a controller.
fn is_marked(slice: &EndpointSlice, service: &Service, slip: Option<Slip>) -> bool {
    let label = slice.metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME));
    let has_label = match slip {
        Some(Slip::NeverLabels) => true,
        Some(Slip::AnyName) => label.is_some(),
        _ => label == service.metadata.name.as_ref(),
    };
    has_label && (controller_of(&slice.metadata).is_some() || slip == Some(Slip::NeverOwns))
}

/// Whether a slice says just this.
fn says(slice: &EndpointSlice, endpoints: &[Endpoint], ports: &[EndpointPort], slip: Option<Slip>) -> bool {
    let number = |port: &EndpointPort| (port.name.clone(), port.port);
    let there = slice.ports.as_deref().unwrap_or_default();
    let same_ports = match slip {
        Some(Slip::IgnoresProtocol) => there.iter().map(number).eq(ports.iter().map(number)),
        Some(Slip::IgnoresAppProtocol) => {
            let number = |port: &EndpointPort| (number(port), port.protocol.clone());
            there.iter().map(number).eq(ports.iter().map(number))
        }
        Some(Slip::IgnoresName) => {
            let rest = |port: &EndpointPort| EndpointPort { name: None, ..port.clone() };
            there.iter().map(rest).eq(ports.iter().map(rest))
        }
        Some(Slip::NoPortsDiffer) => slice.ports.as_deref() == Some(ports),
        _ => there == ports,
    };
    let same_endpoints = match slip {
        Some(Slip::EmptyDiffers) => slice.endpoints.as_deref() == Some(endpoints),
        Some(Slip::IgnoresConditions) => {
            let addresses = |endpoint: &Endpoint| endpoint.addresses.clone();
            slice.endpoints.iter().flatten().map(addresses).eq(endpoints.iter().map(addresses))
        }
        _ => slice.endpoints.as_deref().unwrap_or_default() == endpoints,
    };
    same_ports && same_endpoints
}

fn endpoint(pod: &Pod, slip: Option<Slip>) -> Option<Endpoint> {
    let is = |one| slip == Some(one);
    let is_kept = is(Slip::KeepsEnded) || is(Slip::KeepsFailed) && phase(pod) == "Failed";
    if has_ended(pod) && !is_kept || phase(pod) == "Unknown" && is(Slip::UnknownIsEnded) {
        return None;
    }
    let address = pod.status.as_ref().and_then(|status| status.pod_ip.as_deref());
    let address = address.or(is(Slip::NoAddress).then_some(""))?;
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let serving = match slip {
        Some(Slip::AllConditions) => !conditions.is_empty() && conditions.iter().all(|one| one.status == "True"),
        Some(Slip::ContainersReady) => {
            conditions.iter().any(|one| one.type_ == "ContainersReady" && one.status == "True")
        }
        Some(Slip::NeedsRunning) => is_ready(pod) && phase(pod) == "Running",
        _ => is_ready(pod),
    };
    let terminating = pod.metadata.deletion_timestamp.is_some();
    if !serving && is(Slip::OnlyReady) || terminating && is(Slip::LeavesGoing) {
        return None;
    }
    let ready = (serving || is(Slip::IgnoresReadiness)) && (!terminating || is(Slip::GoingIsReady));
    let serving = serving && !(terminating && is(Slip::GoingServesNot));
    let conditions = EndpointConditions { ready: Some(ready), serving: Some(serving), terminating: Some(terminating) };
    let all = pod.status.iter().flat_map(|status| status.pod_ips.iter().flatten());
    let addresses =
        if is(Slip::AllAddresses) { all.map(|one| one.ip.to_string()).collect() } else { vec![address.to_owned()] };
    let conditions = Some(conditions).filter(|_| !is(Slip::NoConditions));
    Some(Endpoint { addresses, conditions, ..Endpoint::default() })
}

fn port(declared: &ServicePort, slip: Option<Slip>) -> EndpointPort {
    let port = match declared.target_port {
        Some(IntOrString::Int(number)) if slip != Some(Slip::ServicePort) => number,
        _ => declared.port,
    };
    EndpointPort {
        app_protocol: declared.app_protocol.clone().filter(|_| slip != Some(Slip::NoAppProtocol)),
        name: declared.name.clone().or((slip != Some(Slip::Nameless)).then(String::new)),
        port: Some(port),
        protocol: declared.protocol.clone(),
    }
}

fn slice_of(
    service: &Service,
    endpoints: Vec<Endpoint>,
    ports: Vec<EndpointPort>,
    slip: Option<Slip>,
) -> EndpointSlice {
    let name = service.metadata.name.clone().unwrap_or_default();
    let label = if slip == Some(Slip::NoLabel) { "service" } else { SERVICE_NAME };
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        labels: Some([(label.to_owned(), name)].into()),
        owner_references: (slip != Some(Slip::NoOwner)).then(|| vec![controller_ref(service)]),
        ..ObjectMeta::default()
    };
    EndpointSlice { address_type: "IPv4".to_owned(), metadata, endpoints: Some(endpoints), ports: Some(ports) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rule_passes_and_every_known_mistake_has_its_program() {
        crate::lab::reconcile::check("endpointslice", &super::PLAN);
    }
}
