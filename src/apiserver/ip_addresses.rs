//! IPAddress objects: each cluster IP is an object named by the address, and who creates it has the address.
//!
//! That is how several API servers can hand out addresses of one range without asking each other: the create is the
//! lock. The object is there before its Service, and goes after it. Mirrors
//! `pkg/registry/core/service/ipallocator/ipallocator.go` and `service/storage/storage.go`.
//!
//! Left out: the controller that repairs lost and leaked addresses.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::{IPAddress, IPAddressSpec, ParentReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use object::{Kind, Object, Status};

use super::managed_fields::Written;
use super::{ApiServer, Handling, registry};

impl ApiServer {
    /// Before a Service is stored: takes the addresses that it has now and had not before.
    pub(super) fn claim_addresses(
        &mut self,
        handling: &mut Handling,
        expected: u64,
        object: &Object,
    ) -> Result<(), Status> {
        let Object::Service(service) = object else { return Ok(()) };
        let key = registry::key(Kind::Service, object.namespace(), object.name());
        let there = self.store.get(&key);
        if there.map_or(0, |entry| entry.mod_revision) != expected {
            return Err(Status::modified(Kind::Service, object.name()));
        }
        let before = there.map(|entry| addresses(&entry.value)).unwrap_or_default();
        for ip in addresses(object).into_iter().filter(|ip| !before.contains(ip)) {
            let mut address = Object::IPAddress(Arc::new(address_of(service, &ip)));
            let meta = address.meta_mut();
            meta.uid = Some(self.random.uid());
            meta.creation_timestamp = Some(handling.now.time());
            meta.generation = Some(1);
            self.put_written(handling, 0, address, Written::by_server(Kind::IPAddress, ""))?;
        }
        Ok(())
    }

    /// After a Service was stored or removed: gives back the addresses that it has no more. With a Service its Endpoints
    /// go too, so that another of its name does not find them.
    pub(super) fn release_addresses(&mut self, handling: &mut Handling, old: Option<&Object>, new: Option<&Object>) {
        let Some(old @ Object::Service(_)) = old else { return };
        if new.is_none()
            && let Ok(endpoints) = self.stored(Kind::Endpoints, old.namespace(), old.name())
        {
            self.remove_stored(handling, endpoints);
        }
        let kept = new.map(addresses).unwrap_or_default();
        for ip in addresses(old).into_iter().filter(|ip| !kept.contains(ip)) {
            if let Ok(address) = self.stored(Kind::IPAddress, "", &ip) {
                self.remove_stored(handling, address);
            }
        }
    }

    /// Removes what was just read: between two lines of one request nothing can have changed it.
    fn remove_stored(&mut self, handling: &mut Handling, object: Object) {
        let removed = self.remove(handling, object);
        assert!(removed.is_ok(), "{removed:?}");
    }
}

/// The cluster IPs of a Service; a headless one has none.
fn addresses(object: &Object) -> Vec<String> {
    let Object::Service(service) = object else { return Vec::new() };
    let ips = service.spec.iter().flat_map(|spec| spec.cluster_ips.iter().flatten());
    ips.filter(|ip| *ip != "None").cloned().collect()
}

fn address_of(service: &Service, ip: &str) -> IPAddress {
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let labels = BTreeMap::from([
        label("ipaddress.kubernetes.io/ip-family", "IPv4"),
        label("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io"),
    ]);
    IPAddress {
        metadata: ObjectMeta { name: Some(ip.to_owned()), labels: Some(labels), ..ObjectMeta::default() },
        spec: IPAddressSpec {
            parent_ref: ParentReference {
                group: None,
                resource: "services".to_owned(),
                namespace: service.metadata.namespace.clone(),
                name: service.metadata.name.clone().unwrap_or_default(),
            },
        },
    }
}
