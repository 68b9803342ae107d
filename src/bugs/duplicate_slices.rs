//! Two EndpointSlices for the same Pods (#100033; also #92928, #93374).
//!
//! The controller of EndpointSlices creates the first slice of a Service under a generated name. If it looks again before
//! its cache has the slice, it finds none and creates another. No conflict stops it, since the name is a new one. From
//! then on some Pods are listed twice, and what one of the slices says of them may be old.
//!
//! Right: to remember which slices one has written and not to plan on a cache without them
//! ([`controllers::endpoint_slice::tracker`], pull requests #99345 and #100103). A name that follows from the
//! Service's would do too: the second creation would be refused.

use std::rc::Rc;
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::informer::Change;
use client::{Client, Controller, Error, Lister, Queue, Registration};
use cluster::Parts;
use object::meta::controller_ref;
use object::pod::is_ready;
use object::well_known::SERVICE_NAME;
use object::{Key, Kind, Object, Pod};

use super::shipped_with;

/// In the place of the EndpointSlice controller.
const ROW: Registration = Registration {
    watches: &[Kind::Service, Kind::Pod, Kind::EndpointSlice],
    workers: 5,
    ..Registration::new("endpointslice-controller", &|context| {
        Rc::new(Slices {
            client: context.client.clone(),
            queue: context.queue.clone(),
            services: context.lister(),
            pods: context.lister(),
            slices: context.lister(),
        })
    })
};

static CONTROLLERS: LazyLock<Vec<Registration>> = LazyLock::new(|| shipped_with(&ROW));

/// A cluster with the wrong controller.
pub fn parts() -> Parts {
    Parts { controllers: &CONTROLLERS, ..Parts::default() }
}

/// Keeps one slice a Service, with the addresses of its Pods.
struct Slices {
    client: Client,
    queue: Queue,
    services: Lister<Service>,
    pods: Lister<Pod>,
    slices: Lister<EndpointSlice>,
}

impl Controller for Slices {
    fn on_change(&self, change: &Change) {
        if let Object::Service(_) = change.latest() {
            return self.queue.add(change.key());
        }
        for service in self.services.list_namespace(change.key().namespace()) {
            self.queue.add(Key::of_meta(&service.metadata));
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(service) = self.services.get(&key) else { return Ok(()) };
        let Some(selector) = service.spec.as_ref().and_then(|spec| spec.selector.as_ref()) else { return Ok(()) };
        let chosen = |pod: &Pod| {
            let labels = pod.metadata.labels.as_ref();
            selector.iter().all(|(name, value)| labels.and_then(|labels| labels.get(name)) == Some(value))
        };
        let pods = self.pods.list_namespace(key.namespace());
        let endpoints: Vec<Endpoint> = pods.iter().filter(|pod| chosen(pod)).filter_map(|pod| endpoint(pod)).collect();
        if endpoints.is_empty() {
            return Ok(());
        }
        let of_service = |slice: &EndpointSlice| {
            let labels = slice.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(SERVICE_NAME)).is_some_and(|name| name == key.name())
        };
        let there = self.slices.list_namespace(key.namespace()).into_iter().find(|slice| of_service(slice));
        match there {
            Some(slice) if slice.endpoints.as_ref() == Some(&endpoints) => {}
            Some(slice) => {
                self.client.update(EndpointSlice { endpoints: Some(endpoints), ..(*slice).clone() }).await?;
            }
            None => {
                let metadata = ObjectMeta {
                    generate_name: Some(format!("{}-", key.name())),
                    namespace: Some(key.namespace().to_owned()),
                    labels: Some([(SERVICE_NAME.to_owned(), key.name().to_owned())].into()),
                    owner_references: Some(vec![controller_ref(&*service)]),
                    ..ObjectMeta::default()
                };
                let (address_type, endpoints) = ("IPv4".to_owned(), Some(endpoints));
                self.client.create(EndpointSlice { metadata, address_type, endpoints, ports: None }).await?;
            }
        }
        Ok(())
    }
}

fn endpoint(pod: &Pod) -> Option<Endpoint> {
    let status = pod.status.as_ref()?;
    let conditions = EndpointConditions { ready: Some(is_ready(pod)), ..EndpointConditions::default() };
    Some(Endpoint {
        addresses: vec![status.pod_ip.clone()?.into()],
        conditions: Some(conditions),
        ..Endpoint::default()
    })
}
