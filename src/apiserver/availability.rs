//! Servers of other groups: whether the one that an APIService names can answer, and what a client hears that asks for its group.
//!
//! A real API server hands requests for such a group on to the Service that the APIService names. Before, it looks whether
//! there is one to hand them to, and says so in the APIService's condition `Available`. While it is not, each request for the
//! group is a 503.
//!
//! Left out: handing on. No program in a container here serves an API by TLS, so the last of the checks, a request for the
//! group's discovery, always fails. metrics-server alone is there: see [`super::metrics`].
//!
//! Mirrors `pkg/controllers/status/remote` and `pkg/apiserver/handler_proxy.go` of kube-aggregator.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::{
    APIService, APIServiceCondition, APIServiceSpec, ServiceReference,
};

use object::reader::Reader;
use object::time::Instant;
use object::well_known::SERVICE_NAME;
use object::{Accessor, Kind, Object, metrics};

use super::ApiServer;

/// The condition of an APIService.
const AVAILABLE: &str = "Available";

/// The APIServices of other servers.
#[derive(Clone, Debug, Default)]
pub(super) struct Remotes {
    /// By the namespace and name of the Service that they name: their names.
    by_service: BTreeMap<(String, String), BTreeSet<String>>,
    /// The groups and versions that are theirs.
    served: BTreeSet<(String, String)>,
}

impl Remotes {
    /// An object has become another.
    pub fn changed(&mut self, old: Option<&Object>, new: Option<&Object>) {
        if let Some((service, spec, name)) = old.and_then(remote) {
            if let Some(names) = self.by_service.get_mut(&service) {
                names.remove(name);
            }
            self.by_service.retain(|_, names| !names.is_empty());
            self.served.remove(&served_by(spec));
        }
        if let Some((service, spec, name)) = new.and_then(remote) {
            self.by_service.entry(service).or_default().insert(name.to_owned());
            self.served.insert(served_by(spec));
        }
    }

    /// Whether this object may decide whether one of the servers can answer.
    pub fn depend_on(&self, object: &Object) -> bool {
        if self.by_service.is_empty() {
            return false;
        }
        let service = match object {
            Object::APIService(_) => return remote(object).is_some(),
            Object::Service(service) => service.metadata.name(),
            Object::EndpointSlice(slice) => match service_of(slice) {
                Some(service) => service,
                None => return false,
            },
            _ => return false,
        };
        self.by_service.contains_key(&(object.namespace().to_owned(), service.to_owned()))
    }

    /// The groups and versions that are theirs.
    pub fn served(&self) -> impl Iterator<Item = (&str, &str)> {
        self.served.iter().map(|(group, version)| (group.as_str(), version.as_str()))
    }

    /// Whether another server should answer here.
    pub fn serve(&self, group: &str, version: &str) -> bool {
        !self.served.is_empty() && self.served.contains(&(group.to_owned(), version.to_owned()))
    }
}

impl ApiServer {
    /// The APIServices of other servers that say something else of them than is true, as they should be.
    pub(super) fn misjudged_servers(&self, now: Instant) -> Vec<APIService> {
        let names = self.remotes.by_service.values().flatten();
        names.filter_map(|name| self.judged(name, now)).collect()
    }

    fn judged(&self, name: &str, now: Instant) -> Option<APIService> {
        let Ok(Object::APIService(service)) = self.stored(Kind::APIService, "", name) else { return None };
        let spec = service.spec.as_ref()?;
        let (status, reason, message) = self.look(spec, spec.service.as_ref()?);
        let conditions = service.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let before = conditions.clone().find(|condition| condition.type_ == AVAILABLE);
        let same = |before: &APIServiceCondition| {
            (before.status.as_str(), before.reason.as_deref(), before.message.as_deref())
                == (status, Some(reason), Some(message.as_str()))
        };
        if before.is_some_and(same) {
            return None;
        }
        let since = before.filter(|before| before.status == status).and_then(|b| b.last_transition_time.clone());
        let condition = APIServiceCondition {
            type_: AVAILABLE.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_transition_time: Some(since.unwrap_or_else(|| now.time())),
        };
        let mut all: Vec<APIServiceCondition> = conditions.filter(|c| c.type_ != AVAILABLE).cloned().collect();
        all.push(condition);
        let mut service = APIService::clone(&service);
        service.status.get_or_insert_default().conditions = Some(all);
        Some(service)
    }

    /// The status, the reason and the message of the condition. Mirrors `AvailableConditionController.sync`.
    fn look(&self, spec: &APIServiceSpec, reference: &ServiceReference) -> (&'static str, &'static str, String) {
        let (group, version) = served_by(spec);
        if (group.as_str(), version.as_str()) == (metrics::GROUP, metrics::VERSION) && self.metrics.is_installed() {
            return ("True", "Passed", "all checks passed".to_owned());
        }
        let no = |reason, message| ("False", reason, message);
        let (namespace, name) = place(reference);
        let what = format!("service/{name} in {namespace:?}");
        let Some(Object::Service(service)) = Reader::get(&self.store, Kind::Service, &namespace, &name) else {
            return no("ServiceNotFound", format!("{what} is not present"));
        };
        let (port, service) = (reference.port.unwrap_or(443), service.spec.clone().unwrap_or_default());
        if service.type_.as_deref() == Some("ClusterIP") {
            let Some(found) = service.ports.iter().flatten().find(|there| there.port == port) else {
                return no("ServicePortError", format!("{what} is not listening on port {port}"));
            };
            let port_name = found.name.as_deref().unwrap_or_default();
            let slices = Reader::list(&self.store, Kind::EndpointSlice, &namespace);
            let of_service = |object| match object {
                Object::EndpointSlice(slice) if service_of(&slice) == Some(&name) => Some(slice),
                _ => None,
            };
            let slices: Vec<_> = slices.into_iter().filter_map(of_service).collect();
            if slices.is_empty() {
                return no("EndpointsNotFound", format!("cannot find endpointslices for {what}"));
            }
            if !slices.iter().any(|slice| active(slice, port_name).is_some()) {
                let why = format!("endpointslices for {what} have no addresses with port name {port_name:?}");
                return no("MissingEndpoints", why);
            }
        }
        let address = service.cluster_ip.unwrap_or_default();
        let url = format!("https://{address}:{port}/apis/{group}/{version}");
        const WHY: &str = "http: server gave HTTP response to HTTPS client";
        no("FailedDiscoveryCheck", format!("failing or missing response from {url}: Get {url:?}: {WHY}"))
    }
}

/// The Service of another server, what is said of it, and the APIService's name.
fn remote(object: &Object) -> Option<((String, String), &APIServiceSpec, &str)> {
    let Object::APIService(service) = object else { return None };
    let spec = service.spec.as_ref()?;
    Some((place(spec.service.as_ref()?), spec, service.metadata.name()))
}

fn place(reference: &ServiceReference) -> (String, String) {
    (reference.namespace.clone().unwrap_or_default(), reference.name.clone().unwrap_or_default())
}

fn served_by(spec: &APIServiceSpec) -> (String, String) {
    (spec.group.clone().unwrap_or_default(), spec.version.clone().unwrap_or_default())
}

/// The Service that a slice belongs to.
pub(super) fn service_of(slice: &EndpointSlice) -> Option<&str> {
    slice.metadata.labels.as_ref()?.get(SERVICE_NAME).map(String::as_str)
}

/// A slice's port of this name, and its first endpoint that is ready.
pub(super) fn active<'a>(slice: &'a EndpointSlice, port: &str) -> Option<(&'a EndpointPort, &'a Endpoint)> {
    let named = |there: &&EndpointPort| there.name.as_deref().unwrap_or_default() == port;
    let ready = |conditions: &EndpointConditions| conditions.ready != Some(false);
    let is_ready = |endpoint: &&Endpoint| endpoint.conditions.as_ref().is_none_or(ready);
    Some((slice.ports.iter().flatten().find(named)?, slice.endpoints.iter().flatten().find(is_ready)?))
}
