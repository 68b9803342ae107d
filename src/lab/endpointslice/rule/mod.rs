//! What the controller does with a Service.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

use crate::making::all;
use controllers::service_pods::selector_of;
use exercise::host::{Host, Read};
use exercise::kube::{Action, Api, Context, DeleteParams, Error, Patch, PatchParams, PostParams};
use object::meta::{controller_of, controller_ref};
use object::pod::{has_ended, is_ready};
use object::well_known::SERVICE_NAME;
use object::{Accessor, Pod};

/// How a slice is written that is there.
enum Write {
    Patch(Value),
    Whole(Box<EndpointSlice>),
    /// It is deleted and made anew.
    Anew,
}

type Labels = BTreeMap<String, String>;

/// What decides.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    /// What the Service selects by.
    selector: fn(&Service) -> Option<&Labels>,
    /// Whether nothing is done about it.
    is_left_alone: fn(&Service) -> bool,
    /// Whether it gets a slice, if there is none.
    makes: fn(&Service) -> bool,
    /// Whether the API server is asked for a list of Pods.
    lists_pods: bool,
    /// Whether a Pod may be a Service's, by where it is.
    is_near: fn(&ObjectMeta, &ObjectMeta) -> bool,
    /// Whether it is, by its labels.
    selects: fn(&Labels, Option<&Labels>) -> bool,
    /// The order of those that are.
    order: fn(&mut Vec<Arc<Pod>>),
    /// Whether one has an endpoint.
    has_endpoint: fn(&Pod) -> bool,
    /// Its addresses; none: it has no endpoint.
    addresses: fn(&Pod) -> Option<Vec<String>>,
    /// Whether it serves.
    serves: fn(&Pod) -> bool,
    /// What its endpoint says of it, when it serves and when it is being deleted.
    conditions: fn(bool, bool) -> Option<EndpointConditions>,
    /// Which of the endpoints are in the slice.
    kept: fn(&mut Vec<Endpoint>),
    /// The ports that are.
    ports: fn(&Service) -> Vec<EndpointPort>,
    /// Its metadata.
    meta: fn(&Service) -> ObjectMeta,
    /// The namespace that is worked in.
    namespace: fn(&ObjectMeta) -> &str,
    /// Whether the API server is asked for a list of slices.
    lists_slices: bool,
    /// Whether a slice is the Service's.
    is_its: fn(&ObjectMeta, &ObjectMeta) -> bool,
    /// Whether one that the cache does not show is deleted.
    deletes_unseen: bool,
    /// What is made of a creation that fails.
    made: fn(Error) -> Result<(), Error>,
    /// Whether a slice has its label and its controller, by the name of the Service.
    is_marked: fn(&EndpointSlice, &str) -> bool,
    /// How it gets them.
    mark: fn(Value) -> Patch<Value>,
    /// What is made of a failure of that.
    marked: fn(Error) -> Result<(), Error>,
    /// Whether an empty slice is deleted.
    deletes_empty: bool,
    /// Whether a slice stays as it is, where this one is wanted.
    is_left: fn(&EndpointSlice, &EndpointSlice) -> bool,
    /// How it is written if not.
    write: fn(&EndpointSlice, &EndpointSlice) -> Write,
}

pub(super) const RULE: Rule = Rule {
    selector: selector_of,
    is_left_alone: goes,
    makes: |_| true,
    lists_pods: false,
    is_near: |pod, service| pod.namespace == service.namespace,
    selects: |selector, labels| all_labels(selector, labels, |there, value| there == value),
    order: |pods| by_name(pods),
    has_endpoint: |pod| !has_ended(pod),
    addresses,
    serves: is_ready,
    conditions: |serves, goes| Some(conditions(serves, goes)),
    kept: |_| {},
    ports,
    meta,
    namespace: |meta| meta.namespace.as_deref().unwrap_or("default"),
    lists_slices: false,
    is_its: |there, its| there.name == its.name && there.namespace == its.namespace,
    deletes_unseen: false,
    made: Err,
    is_marked: |slice, service| has_label(slice, service) && controller_of(&slice.metadata).is_some(),
    mark: Patch::Strategic,
    marked: Err,
    deletes_empty: false,
    is_left: |there, wanted| same_ports(there, wanted) && same_endpoints(there, wanted),
    write: |_, wanted| Write::Patch(patch(wanted)),
};

pub(super) fn host(read: Read, rule: Rule) -> Host {
    Host::new(read, move |service, context| reconcile(service, context, rule))
}

async fn reconcile(service: Arc<Service>, context: Arc<Context>, rule: Rule) -> Result<Action, Error> {
    let Some(selector) = (rule.selector)(&service).filter(|_| !(rule.is_left_alone)(&service)) else {
        return Ok(Action::await_change());
    };
    let pods = pods_of(&service, selector, &context, rule).await?;
    let mut endpoints: Vec<Endpoint> = pods.iter().filter_map(|pod| endpoint(pod, rule)).collect();
    (rule.kept)(&mut endpoints);
    let wanted = EndpointSlice {
        address_type: "IPv4".to_owned(),
        metadata: (rule.meta)(&service),
        endpoints: Some(endpoints),
        ports: Some((rule.ports)(&service)),
    };
    let slices: Api<EndpointSlice> = Api::namespaced(context.client.clone(), (rule.namespace)(&service.metadata));
    let there = all(&slices, &context, rule.lists_slices).await?;
    match there.into_iter().find(|there| (rule.is_its)(&there.metadata, &service.metadata)) {
        None if !(rule.makes)(&service) => {}
        None => make(&slices, &wanted, rule).await?,
        Some(there) => {
            mark(&slices, &there, &wanted, rule).await?;
            change(&slices, &there, &wanted, rule).await?;
        }
    }
    Ok(Action::await_change())
}

fn goes(service: &Service) -> bool {
    service.metadata.deletion_timestamp.is_some()
}

/// The Pods that the Service selects, in their order.
async fn pods_of(service: &Service, selector: &Labels, context: &Context, rule: Rule) -> Result<Vec<Arc<Pod>>, Error> {
    let mut pods = all(&Api::<Pod>::all(context.client.clone()), context, rule.lists_pods).await?;
    pods.retain(|pod| {
        let is_near = (rule.is_near)(&pod.metadata, &service.metadata);
        is_near && (rule.selects)(selector, pod.metadata.labels.as_ref())
    });
    (rule.order)(&mut pods);
    Ok(pods)
}

fn by_name(pods: &mut [Arc<Pod>]) {
    pods.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
}

fn label<'a>(labels: Option<&'a Labels>, key: &str) -> Option<&'a String> {
    labels.and_then(|labels| labels.get(key))
}

/// Whether each label of a selector is there, with a value for which `same` holds.
fn all_labels(selector: &Labels, labels: Option<&Labels>, same: fn(&str, &str) -> bool) -> bool {
    selector.iter().all(|(key, value)| label(labels, key).is_some_and(|there| same(there, value)))
}

fn endpoint(pod: &Pod, rule: Rule) -> Option<Endpoint> {
    let addresses = (rule.addresses)(pod).filter(|_| (rule.has_endpoint)(pod))?;
    let conditions = (rule.conditions)((rule.serves)(pod), pod.metadata.deletion_timestamp.is_some());
    Some(Endpoint { addresses, conditions, ..Endpoint::default() })
}

fn addresses(pod: &Pod) -> Option<Vec<String>> {
    Some(vec![pod.status.as_ref()?.pod_ip.clone()?.to_string()])
}

fn conditions(serves: bool, goes: bool) -> EndpointConditions {
    EndpointConditions { ready: Some(serves && !goes), serving: Some(serves), terminating: Some(goes) }
}

fn declared(service: &Service) -> &[ServicePort] {
    service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default()
}

fn ports(service: &Service) -> Vec<EndpointPort> {
    let port = |declared: &ServicePort| EndpointPort {
        app_protocol: declared.app_protocol.clone(),
        name: declared.name.clone().or(Some(String::new())),
        port: Some(match declared.target_port {
            Some(IntOrString::Int(number)) => number,
            _ => declared.port,
        }),
        protocol: declared.protocol.clone(),
    };
    declared(service).iter().map(port).collect()
}

fn meta(service: &Service) -> ObjectMeta {
    let name = service.metadata.name.clone().unwrap_or_default();
    ObjectMeta {
        name: Some(name.clone()),
        labels: Some([(SERVICE_NAME.to_owned(), name)].into()),
        owner_references: Some(vec![controller_ref(service)]),
        ..ObjectMeta::default()
    }
}

/// Creates the slice.
async fn make(slices: &Api<EndpointSlice>, wanted: &EndpointSlice, rule: Rule) -> Result<(), Error> {
    let name = wanted.metadata.name();
    if rule.deletes_unseen && slices.get_opt(name).await?.is_some() {
        slices.delete(name, &DeleteParams::default()).await?;
    }
    slices.create(&PostParams::default(), wanted).await.map(drop).or_else(rule.made)
}

/// Gives a slice that is there its label and its controller, if it has lost them.
async fn mark(
    slices: &Api<EndpointSlice>,
    there: &EndpointSlice,
    wanted: &EndpointSlice,
    rule: Rule,
) -> Result<(), Error> {
    let name = wanted.metadata.name();
    if (rule.is_marked)(there, name) {
        return Ok(());
    }
    let (labels, owners) = (&wanted.metadata.labels, &wanted.metadata.owner_references);
    let patch = (rule.mark)(json!({"metadata": {"labels": labels, "ownerReferences": owners}}));
    slices.patch(name, &PatchParams::default(), &patch).await.map(drop).or_else(rule.marked)
}

/// Whether a slice says by its label whose it is.
fn has_label(slice: &EndpointSlice, service: &str) -> bool {
    label(slice.metadata.labels.as_ref(), SERVICE_NAME).is_some_and(|label| label == service)
}

/// Changes a slice that is there, if it says something else.
async fn change(
    slices: &Api<EndpointSlice>,
    there: &EndpointSlice,
    wanted: &EndpointSlice,
    rule: Rule,
) -> Result<(), Error> {
    let name = wanted.metadata.name();
    if rule.deletes_empty && wanted.endpoints.as_ref().is_none_or(Vec::is_empty) {
        return slices.delete(name, &DeleteParams::default()).await;
    }
    if (rule.is_left)(there, wanted) {
        return Ok(());
    }
    match (rule.write)(there, wanted) {
        Write::Patch(patch) => slices.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(drop),
        Write::Whole(whole) => slices.replace(name, &PostParams::default(), &whole).await.map(drop),
        Write::Anew => {
            slices.delete(name, &DeleteParams::default()).await?;
            slices.create(&PostParams::default(), wanted).await.map(drop)
        }
    }
}

fn patch(wanted: &EndpointSlice) -> Value {
    json!({"endpoints": wanted.endpoints, "ports": wanted.ports})
}

/// No ports are the same as an empty list of them; the same holds of endpoints.
fn same_ports(there: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    there.ports.as_deref().unwrap_or_default() == wanted.ports.as_deref().unwrap_or_default()
}

fn same_endpoints(there: &EndpointSlice, wanted: &EndpointSlice) -> bool {
    there.endpoints.as_deref().unwrap_or_default() == wanted.endpoints.as_deref().unwrap_or_default()
}

mod mistakes;
pub(super) use mistakes::MISTAKES;
