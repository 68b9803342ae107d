//! Which Pods stand behind a Service: what the controllers of Endpoints and of EndpointSlices have in common.
//!
//! A Service selects Pods by labels. Both directions are found by index: Pods under each of their labels, Services
//! under the first label that they select by. Mirrors `k8s.io/endpointslice/util` and its `trigger_time_tracker.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use client::informer::Change;
use client::{ControllerContext, Lister};
use engine::{Hub, Memory};
use object::pod::{address_of, container_port, has_ended, is_ready, ready_condition};
use object::selector::{Operator, Selector};
use object::{Accessor, Key, Object, Pod};

/// When the change happened that an object now reflects. Set when it is known, taken away when it is not.
pub const LAST_CHANGE: &str = "endpoints.kubernetes.io/last-change-trigger-time";
/// Marks what belongs to a Service without an address of its own.
pub const HEADLESS: &str = "service.kubernetes.io/headless";

/// The index that finds Pods by each of their labels.
pub(super) const BY_LABEL: &str = "label";
const BY_SELECTOR: &str = "selector";

/// The caches of Services and Pods, and which belongs to which.
pub struct ServicePods {
    /// Services.
    pub services: Lister<Service>,
    pods: Lister<Pod>,
}

impl ServicePods {
    /// On the caches of this controller, which must watch both kinds.
    pub fn new(context: &ControllerContext) -> ServicePods {
        context.add_index::<Pod>(BY_LABEL, index_by_label);
        context.add_index::<Service>(BY_SELECTOR, index_by_selector);
        ServicePods { services: context.lister(), pods: context.lister() }
    }

    /// The Pods that a Service selects, in the order of their names.
    pub fn selected_by(&self, service: &Service) -> Vec<Arc<Pod>> {
        let namespace = service.metadata.namespace();
        let Some(mut pods) = with_rarest_label(&self.pods, namespace, selector_of(service)) else { return Vec::new() };
        pods.retain(|pod| selects(service, pod));
        pods
    }

    /// The Services whose endpoints this change of a Pod may change. Mirrors `GetServicesToUpdateOnPodChange`.
    pub fn concerned(&self, change: &Change) -> BTreeSet<Key> {
        match change {
            Change::Added(Object::Pod(pod)) | Change::Deleted(Object::Pod(pod)) => self.selecting(pod),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => {
                let (pod, labels) = (endpoint_changed(old, new), labels_changed(old, new));
                match (pod, labels) {
                    (false, false) => BTreeSet::new(),
                    (true, false) => self.selecting(new),
                    (true, true) => self.selecting(old).union(&self.selecting(new)).cloned().collect(),
                    (false, true) => self.selecting(old).symmetric_difference(&self.selecting(new)).cloned().collect(),
                }
            }
            _ => BTreeSet::new(),
        }
    }

    fn selecting(&self, pod: &Pod) -> BTreeSet<Key> {
        let namespace = pod.metadata.namespace();
        let labels = pod.metadata.labels.iter().flatten();
        let candidates = labels.flat_map(|label| self.services.by_index(BY_SELECTOR, &index_value(namespace, label)));
        candidates.filter(|service| selects(service, pod)).map(|service| Key::of_meta(&service.metadata)).collect()
    }
}

/// Those Pods that have the rarest of these labels, none if no label is given: so that `tier=backend`, which half of a
/// namespace has, costs nothing beside `app=web`. The cache must have the index [`BY_LABEL`].
pub(super) fn with_rarest_label(
    pods: &Lister<Pod>,
    namespace: &str,
    labels: Option<&BTreeMap<String, String>>,
) -> Option<Vec<Arc<Pod>>> {
    let labels = labels.into_iter().flatten().map(|label| index_value(namespace, label));
    let rarest = labels.min_by_key(|label| pods.count_by_index(BY_LABEL, label))?;
    Some(pods.by_index(BY_LABEL, &rarest))
}

/// The Pods of a namespace that a selector means. The cache must have the index [`BY_LABEL`].
pub(super) fn selected(pods: &Lister<Pod>, namespace: &str, selector: &Selector) -> Vec<Arc<Pod>> {
    let equal =
        selector.requirements().iter().filter(|r| matches!(r.operator, Operator::Equals | Operator::DoubleEquals));
    let labels: BTreeMap<String, String> =
        equal.filter_map(|r| Some((r.key.clone(), r.values().first()?.clone()))).collect();
    let found = with_rarest_label(pods, namespace, Some(&labels));
    let mut those = found.unwrap_or_else(|| pods.list_namespace(namespace));
    those.retain(|pod| selector.matches(pod.metadata.labels.as_ref()));
    those
}

/// The value of the index [`BY_LABEL`] for one object.
pub(super) fn index_by_label(object: &Object) -> Vec<String> {
    let labels = object.meta().labels.iter().flatten();
    labels.map(|label| index_value(object.namespace(), label)).collect()
}

fn index_by_selector(object: &Object) -> Vec<String> {
    let Object::Service(service) = object else { return Vec::new() };
    let first = selector_of(service).and_then(|selector| selector.first_key_value());
    first.map(|label| index_value(object.namespace(), label)).into_iter().collect()
}

fn index_value(namespace: &str, (key, value): (&String, &String)) -> String {
    [namespace, "/", key, "=", value].concat()
}

/// A Service's spec; every stored one has it.
pub fn spec_of(service: &Service) -> Option<&ServiceSpec> {
    service.spec.as_ref()
}

/// The labels a Service selects by; None if it leaves its endpoints to others, or is only a name.
pub fn selector_of(service: &Service) -> Option<&BTreeMap<String, String>> {
    let spec = spec_of(service).filter(|spec| spec.type_.as_deref() != Some("ExternalName"))?;
    spec.selector.as_ref()
}

fn selects(service: &Service, pod: &Pod) -> bool {
    let Some(selector) = selector_of(service) else { return false };
    let labels = pod.metadata.labels.as_ref();
    selector.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
}

/// Whether the Service has an address of its own. Mirrors `helper.IsServiceIPSet`.
pub fn has_ip(service: &Service) -> bool {
    let ip = spec_of(service).and_then(|spec| spec.cluster_ip.as_deref()).unwrap_or_default();
    !matches!(ip, "" | "None")
}

/// Whether Pods are published before they are ready.
pub fn publishes_not_ready(service: &Service) -> bool {
    spec_of(service).is_some_and(|spec| spec.publish_not_ready_addresses == Some(true))
}

/// Whether what an endpoint says of its Pod has changed. Mirrors `podEndpointsChanged`.
fn endpoint_changed(old: &Pod, new: &Pod) -> bool {
    let ips = |pod: &Pod| pod.status.as_ref().and_then(|status| status.pod_ips.clone()).unwrap_or_default();
    // Go compares pointers here, so that every change of a Pod that is being deleted counts.
    new.metadata.deletion_timestamp.is_some() || is_ready(old) != is_ready(new) || ips(old) != ips(new)
}

fn labels_changed(old: &Pod, new: &Pod) -> bool {
    let host = |pod: &Pod| pod.spec.as_ref().map(|spec| (spec.hostname.clone(), spec.subdomain.clone()));
    old.metadata.labels != new.metadata.labels || host(old) != host(new)
}

/// Whether a Pod can be an endpoint at all: it has an address, and has not ended. Mirrors `ShouldPodBeInEndpoints`.
pub fn can_be_endpoint(pod: &Pod, include_terminating: bool) -> bool {
    let addressed = address_of(pod).is_some();
    addressed && !has_ended(pod) && (include_terminating || pod.metadata.deletion_timestamp.is_none())
}

/// The Pod's own name inside the Service's domain, if it has one there. Mirrors `ShouldSetHostname`.
pub fn hostname_of(pod: &Pod, service: &Service) -> Option<String> {
    let spec = pod.spec.as_ref()?;
    let here = spec.subdomain.is_some() && spec.subdomain == service.metadata.name;
    spec.hostname.clone().filter(|name| here && !name.is_empty())
}

/// How an endpoint names its Pod.
pub fn target_ref(pod: &Pod) -> ObjectReference {
    ObjectReference {
        kind: Some("Pod".to_owned()),
        namespace: pod.metadata.namespace.clone(),
        name: pod.metadata.name.clone(),
        uid: pod.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

/// The number behind a Service's `targetPort` in one Pod: a name may mean another port in each. Mirrors `FindPort`.
pub fn find_port(pod: &Pod, port: &ServicePort) -> Option<i32> {
    let name = match &port.target_port {
        None => return Some(port.port),
        Some(IntOrString::Int(number)) => return Some(*number),
        Some(IntOrString::String(name)) => name,
    };
    container_port(pod, name, port.protocol.as_deref().unwrap_or("TCP"))
}

/// When what a Service's endpoints reflect last changed, so that its way to the last proxy can be measured.
#[derive(Clone, Debug)]
pub struct TriggerTimes(Memory<BTreeMap<Key, Seen>>);

#[derive(Clone, Debug, Default)]
struct Seen {
    service: Option<Timestamp>,
    pods: BTreeMap<String, Timestamp>,
}

impl TriggerTimes {
    /// Nothing was seen yet.
    pub fn new(hub: &Hub) -> TriggerTimes {
        TriggerTimes(hub.memory(BTreeMap::new()))
    }

    /// The earliest of the changes since the last call for this Service. Mirrors
    /// `ComputeEndpointLastChangeTriggerTime`.
    pub fn last_change(&self, key: &Key, service: &Service, pods: &[Arc<Pod>]) -> Option<Timestamp> {
        let now = Seen { service: created(service), pods: pods.iter().filter_map(ready_changed).collect() };
        let mut all = self.0.borrow_mut();
        let Some(before) = all.insert(key.clone(), now.clone()) else { return now.service };
        let newer = |(name, time): (&String, &Timestamp)| {
            before.pods.get(name).is_none_or(|there| time > there).then_some(*time)
        };
        let of_service = now.service.filter(|_| now.service > before.service);
        now.pods.iter().filter_map(newer).chain(of_service).min()
    }

    /// The Service is gone.
    pub fn forget(&self, key: &Key) {
        self.0.borrow_mut().remove(key);
    }
}

fn created(service: &Service) -> Option<Timestamp> {
    service.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

fn ready_changed(pod: &Arc<Pod>) -> Option<(String, Timestamp)> {
    let time = ready_condition(pod)?.last_transition_time.as_ref()?.0;
    Some((pod.metadata.name.clone()?, time))
}

/// Writes the time of the last change into an object's annotations, or takes an old one away.
pub fn annotate(annotations: &mut Option<BTreeMap<String, String>>, last_change: Option<Timestamp>) {
    match last_change {
        Some(time) => {
            annotations.get_or_insert_default().insert(LAST_CHANGE.to_owned(), time.to_string());
        }
        None => {
            if let Some(there) = annotations {
                there.remove(LAST_CHANGE);
            }
        }
    }
    if annotations.as_ref().is_some_and(|there| there.is_empty()) {
        *annotations = None;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use object::Kind;

    fn pod(more: serde_json::Value) -> Arc<Pod> {
        let pod = json!({"metadata": {"name": "a", "namespace": "n", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 8080}]}]},
            "status": {"podIP": "10.244.0.2", "podIPs": [{"ip": "10.244.0.2"}]}});
        match Kind::Pod.decode(object::patch::merge(pod, &more)).unwrap() {
            Object::Pod(pod) => pod,
            _ => unreachable!("a Pod was decoded"),
        }
    }

    #[test]
    fn who_can_be_an_endpoint() {
        #[rustfmt::skip]
        let cases = [
            (json!({}), true, true),
            (json!({"status": {"phase": "Succeeded"}}), false, false),
            (json!({"status": {"podIP": null, "podIPs": null}}), false, false),
            (json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), true, false),
        ];
        for (more, with_terminating, without) in cases {
            let pod = pod(more.clone());
            assert_eq!(
                (can_be_endpoint(&pod, true), can_be_endpoint(&pod, false)),
                (with_terminating, without),
                "{more}"
            );
        }
    }

    #[test]
    fn a_port_is_found_by_number_or_name() {
        #[rustfmt::skip]
        let cases = [
            (json!({"port": 80}), Some(80)), (json!({"port": 80, "targetPort": 90}), Some(90)),
            (json!({"port": 80, "targetPort": "http"}), Some(8080)), (json!({"port": 80, "targetPort": "x"}), None),
            (json!({"port": 80, "targetPort": "http", "protocol": "UDP"}), None),
        ];
        for (port, want) in cases {
            let parsed: ServicePort = serde_json::from_value(port.clone()).unwrap();
            assert_eq!(find_port(&pod(json!({})), &parsed), want, "{port}");
        }
    }

    #[test]
    fn the_earliest_change_since_the_last_look_counts() {
        let (times, key) = (TriggerTimes::new(&Hub::new(0)), Key::new("n", "s"));
        let at = |second: u32| format!("2026-01-01T00:00:{second:02}Z");
        let ready = |second| json!([{"type": "Ready", "status": "True", "lastTransitionTime": at(second)}]);
        let service = json!({"metadata": {"name": "s", "namespace": "n", "creationTimestamp": at(1)}});
        let Object::Service(service) = Kind::Service.decode(service).unwrap() else { unreachable!("a Service") };
        let one = pod(json!({"status": {"conditions": ready(5)}}));
        let two = pod(json!({"metadata": {"name": "b"}, "status": {"conditions": ready(7)}}));
        let look = |pods: &[&Arc<Pod>]| {
            let pods: Vec<Arc<Pod>> = pods.iter().map(|pod| Arc::clone(pod)).collect();
            times.last_change(&key, &service, &pods).map(|time| time.to_string())
        };
        assert_eq!(look(&[&one]), Some(at(1)), "a new Service counts from its creation");
        assert_eq!(look(&[&one]), None);
        assert_eq!(look(&[&one, &two]), Some(at(7)));
    }
}
