//! What the controller does with a Service, and what learners do instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use crate::controllers::service_pods::selector_of;
use crate::exercise::host::{Host, Read};
use crate::exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use crate::lab::making::{all, has_long_name};
use crate::object::meta::{controller_of, controller_ref};
use crate::object::pod::{has_ended, is_ready, phase};
use crate::object::well_known::SERVICE_NAME;
use crate::object::{Accessor, Pod};

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slip {
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
    AlwaysChanges,
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
    OnlyRunning,
    NoLongName,
    NoSctp,
    ReadyContainers,
}

pub(super) fn host(read: Read, slip: Option<Slip>) -> Host {
    Host::new(read, move |service, context| reconcile(service, context, slip))
}

/// The rule, with at most one part of it wrong.
async fn reconcile(service: Arc<Service>, context: Arc<Context>, slip: Option<Slip>) -> Result<Action, Error> {
    let is = |one| slip == Some(one);
    let is_going = service.metadata.deletion_timestamp.is_some() && !is(Slip::IgnoresDeletion);
    let none = BTreeMap::new();
    let selector = selector_of(&service).or(is(Slip::NoSelector).then_some(&none));
    let Some(selector) = selector.filter(|_| !is_going || is(Slip::FollowsGoing)) else {
        return Ok(Action::await_change());
    };
    if is_passed_over(&service, slip) {
        return Ok(Action::await_change());
    }
    let pods = pods_of(&service, selector, &context, slip).await?;
    let wanted = slice_of(&service, endpoints_of(&pods, slip), ports_of(&service, slip), slip);
    let namespace = service.metadata.namespace.as_deref().filter(|_| !is(Slip::InDefault)).unwrap_or("default");
    let slices: Api<EndpointSlice> = Api::namespaced(context.client.clone(), namespace);
    match find_slice(&service, &slices, &context, slip).await? {
        None if is_going => {}
        None => make(&slices, &wanted, slip).await?,
        Some(there) => {
            mark(&slices, &there, &wanted, slip).await?;
            change(&slices, &there, &wanted, slip).await?;
        }
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
        Some(Slip::NoLongName) => has_long_name(&service.metadata),
        _ => false,
    }
}

/// The Pods that the Service selects, in the order of their names.
async fn pods_of(
    service: &Service,
    selector: &BTreeMap<String, String>,
    context: &Context,
    slip: Option<Slip>,
) -> Result<Vec<Arc<Pod>>, Error> {
    let mut pods = all(&Api::<Pod>::all(context.client.clone()), context, slip == Some(Slip::ListsPods)).await?;
    pods.retain(|pod| {
        let is_near = pod.metadata.namespace == service.metadata.namespace || slip == Some(Slip::AllNamespaces);
        is_near && selects(selector, pod.metadata.labels.as_ref(), slip)
    });
    let address = |pod: &Arc<Pod>| pod.status.as_ref().and_then(|status| status.pod_ip.clone());
    match slip {
        Some(Slip::Unsorted) => {}
        Some(Slip::ByAddress) => pods.sort_by_key(address),
        Some(Slip::ByNumber) => {
            pods.sort_by_key(|pod| pod.metadata.name.as_ref().map(|name| (name.len(), name.clone())))
        }
        _ => pods.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name)),
    }
    match slip {
        Some(Slip::AtMost(most)) => pods.truncate(most),
        Some(Slip::NoHostNetwork) => {
            pods.retain(|pod| pod.spec.as_ref().and_then(|spec| spec.host_network) != Some(true))
        }
        _ => {}
    }
    Ok(pods)
}

/// Whether a selector selects what has these labels.
fn selects(selector: &BTreeMap<String, String>, labels: Option<&BTreeMap<String, String>>, slip: Option<Slip>) -> bool {
    let has = |(key, value): (&String, &String)| {
        labels.and_then(|labels| labels.get(key)).is_some_and(|there| match slip {
            Some(Slip::KeysOnly) => true,
            Some(Slip::BeginsLike) => there.starts_with(value.as_str()),
            Some(Slip::AnyCase) => there.eq_ignore_ascii_case(value),
            _ => there == value,
        })
    };
    match slip {
        Some(Slip::AnyLabel) => selector.iter().any(has),
        Some(Slip::TwoLabels) => selector.iter().take(2).all(has),
        Some(Slip::NoOtherLabels) => selector.iter().all(has) && labels.map(BTreeMap::len) == Some(selector.len()),
        _ => selector.iter().all(has),
    }
}

fn endpoints_of(pods: &[Arc<Pod>], slip: Option<Slip>) -> Vec<Endpoint> {
    let mut endpoints: Vec<Endpoint> = pods.iter().filter_map(|pod| endpoint(pod, slip)).collect();
    if slip == Some(Slip::OneForAddress) {
        let mut seen = Vec::new();
        endpoints.retain(|one| {
            let is_new = !seen.contains(&one.addresses);
            seen.push(one.addresses.clone());
            is_new
        });
    }
    endpoints
}

/// Whether all containers of a Pod are ready; none: nothing is said of them.
fn has_ready_containers(pod: &Pod) -> Option<bool> {
    let all = pod.status.as_ref()?.container_statuses.as_ref()?;
    Some(all.iter().all(|container| container.ready))
}

fn endpoint(pod: &Pod, slip: Option<Slip>) -> Option<Endpoint> {
    let is = |one| slip == Some(one);
    let is_kept = is(Slip::KeepsEnded) || is(Slip::KeepsFailed) && phase(pod) == "Failed";
    let is_left_out = match phase(pod) {
        "Unknown" if is(Slip::UnknownIsEnded) => true,
        "Running" => false,
        _ => is(Slip::OnlyRunning),
    };
    if has_ended(pod) && !is_kept || is_left_out {
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
        Some(Slip::ReadyContainers) => has_ready_containers(pod).unwrap_or_else(|| is_ready(pod)),
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

fn ports_of(service: &Service, slip: Option<Slip>) -> Vec<EndpointPort> {
    let is = |one| slip == Some(one);
    let spec = service.spec.as_ref();
    let declared = spec.and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let most = if is(Slip::FirstPort) { 1 } else { declared.len() };
    let is_headless = spec.and_then(|spec| spec.cluster_ip.as_deref()) == Some("None");
    let of_port = if is(Slip::HeadlessPort) && is_headless { Some(Slip::ServicePort) } else { slip };
    let mut ports: Vec<EndpointPort> = declared.iter().take(most).map(|declared| port(declared, of_port)).collect();
    if is(Slip::NoSctp) {
        ports.retain(|port| port.protocol.as_deref() != Some("SCTP"));
    }
    if is(Slip::OnePortANumber) {
        ports.dedup_by_key(|port| port.port);
    }
    ports
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

/// The slice of the Service, if it is there.
async fn find_slice(
    service: &Service,
    slices: &Api<EndpointSlice>,
    context: &Context,
    slip: Option<Slip>,
) -> Result<Option<Arc<EndpointSlice>>, Error> {
    let is_its = |there: &Arc<EndpointSlice>| {
        let (there, its) = (&there.metadata, &service.metadata);
        let is_found = match slip {
            Some(Slip::FindsByLabel) => {
                let name = its.name.as_deref().unwrap_or_default();
                there.labels.iter().flatten().any(|(key, of)| key == SERVICE_NAME && of == name)
            }
            Some(Slip::FindsByOwner) => controller_of(there).is_some_and(|owner| Some(&owner.uid) == its.uid.as_ref()),
            _ => there.name == its.name,
        };
        is_found && (there.namespace == its.namespace || slip == Some(Slip::AnyNamespace))
    };
    let slices = all(slices, context, slip == Some(Slip::ListsSlices)).await?;
    Ok(slices.into_iter().find(is_its))
}

/// Creates the slice.
async fn make(slices: &Api<EndpointSlice>, wanted: &EndpointSlice, slip: Option<Slip>) -> Result<(), Error> {
    let name = wanted.metadata.name();
    if slip == Some(Slip::MakesUnseenAnew) && slices.get_opt(name).await?.is_some() {
        slices.delete(name, &DeleteParams::default()).await?;
    }
    match slices.create(&PostParams::default(), wanted).await {
        Err(_) if slip == Some(Slip::Swallows) => Ok(()),
        made => made.map(drop),
    }
}

/// Gives a slice that is there its label and its controller, if it has lost them.
async fn mark(
    slices: &Api<EndpointSlice>,
    there: &EndpointSlice,
    wanted: &EndpointSlice,
    slip: Option<Slip>,
) -> Result<(), Error> {
    let name = wanted.metadata.name();
    if is_marked(there, name, slip) {
        return Ok(());
    }
    let (labels, owners) = (&wanted.metadata.labels, &wanted.metadata.owner_references);
    let patch = json!({"metadata": {"labels": labels, "ownerReferences": owners}});
    let patch = if slip == Some(Slip::OwnsAlone) { Patch::Merge(patch) } else { Patch::Strategic(patch) };
    match slices.patch(name, &PatchParams::default(), &patch).await {
        Err(_) if slip == Some(Slip::Swallows) => Ok(()),
        marked => marked.map(drop),
    }
}

/// Whether a slice says by its label whose it is, and has a controller.
fn is_marked(slice: &EndpointSlice, service: &str, slip: Option<Slip>) -> bool {
    let label = slice.metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME));
    let has_label = match slip {
        Some(Slip::NeverLabels) => true,
        Some(Slip::AnyName) => label.is_some(),
        _ => label.is_some_and(|label| label == service),
    };
    has_label && (controller_of(&slice.metadata).is_some() || slip == Some(Slip::NeverOwns))
}

/// Changes a slice that is there, if it says something else.
async fn change(
    slices: &Api<EndpointSlice>,
    there: &EndpointSlice,
    wanted: &EndpointSlice,
    slip: Option<Slip>,
) -> Result<(), Error> {
    let name = wanted.metadata.name();
    if slip == Some(Slip::DeletesEmpty) && wanted.endpoints.as_ref().is_none_or(Vec::is_empty) {
        return slices.delete(name, &DeleteParams::default()).await;
    }
    let is_left = says(there, wanted, slip) && slip != Some(Slip::AlwaysChanges);
    if is_left || slip == Some(Slip::NeverChanges) {
        return Ok(());
    }
    let (endpoints, ports) = (&wanted.endpoints, &wanted.ports);
    let mut patch = json!({"endpoints": endpoints, "ports": ports});
    match slip {
        Some(Slip::Replaces) => return slices.replace(name, &PostParams::default(), wanted).await.map(drop),
        Some(Slip::MakesAnew) => {
            slices.delete(name, &DeleteParams::default()).await?;
            return slices.create(&PostParams::default(), wanted).await.map(drop);
        }
        Some(Slip::IgnoresVersion) => {
            let mut whole = EndpointSlice { endpoints: endpoints.clone(), ports: ports.clone(), ..there.clone() };
            whole.metadata.resource_version = None;
            return slices.replace(name, &PostParams::default(), &whole).await.map(drop);
        }
        Some(Slip::DropsOwner) => patch["metadata"] = json!({"ownerReferences": []}),
        Some(Slip::DropsOwners) => patch["metadata"] = json!({"ownerReferences": wanted.metadata.owner_references}),
        _ => {}
    }
    slices.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop)
}

/// Whether a slice says just what this one does.
fn says(slice: &EndpointSlice, wanted: &EndpointSlice, slip: Option<Slip>) -> bool {
    let endpoints = wanted.endpoints.as_deref().unwrap_or_default();
    let ports = wanted.ports.as_deref().unwrap_or_default();
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
