//! The root CA publisher: each namespace has a ConfigMap `kube-root-ca.crt`, which every Pod's token volume carries, so
//! that its containers can tell the real API server from another. Mirrors
//! `pkg/controller/certificates/rootcacertpublisher/publisher.go`.

use std::collections::BTreeMap;
use std::rc::Rc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use object::{Key, Kind, Object};

use super::service_account::is_active;

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::Namespace, Kind::ConfigMap],
    ..Registration::new("root-ca-cert-publisher", &|context| Rc::new(RootCa::new(context)))
};

/// The ConfigMap's name.
const NAME: &str = "kube-root-ca.crt";

const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
     endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
     distributions of Kubernetes clusters.";

/// Stands for the certificate in `--root-ca-file`; no client verifies with it here.
pub const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n(the cluster's own authority)\n-----END CERTIFICATE-----\n";

/// Keys are namespaces.
struct RootCa {
    client: Client,
    queue: Queue,
    config_maps: Lister<ConfigMap>,
}

impl RootCa {
    fn new(context: &ControllerContext) -> RootCa {
        RootCa { client: context.client.clone(), queue: context.queue.clone(), config_maps: context.lister() }
    }
}

impl Controller for RootCa {
    fn on_change(&self, change: &Change) {
        match (change.kind(), change) {
            (_, Change::Added(Object::Namespace(_))) => self.queue.add(change.key()),
            (_, Change::Updated { new: Object::Namespace(namespace), .. }) if is_active(namespace) => {
                self.queue.add(change.key());
            }
            (Kind::ConfigMap, Change::Updated { .. } | Change::Deleted(_)) if change.key().name() == NAME => {
                self.queue.add(Key::new("", change.key().namespace()));
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(there) = self.config_maps.get(&Key::new(key.name(), NAME)) else { return self.create(&key).await };
        if there.data == Some(data()) && has_description(&there) {
            return Ok(());
        }
        let mut repaired = ConfigMap::clone(&there);
        repaired.data = Some(data());
        repaired.metadata.annotations.get_or_insert_default().insert(DESCRIPTION.into(), DESCRIPTION_TEXT.into());
        self.client.update(repaired).await?;
        Ok(())
    }
}

impl RootCa {
    async fn create(&self, key: &Key) -> Result<(), Error> {
        let metadata = ObjectMeta {
            name: Some(NAME.to_owned()),
            namespace: Some(key.name().to_owned()),
            annotations: Some(BTreeMap::from([(DESCRIPTION.to_owned(), DESCRIPTION_TEXT.to_owned())])),
            ..ObjectMeta::default()
        };
        let made = ConfigMap { metadata, data: Some(data()), ..ConfigMap::default() };
        match self.client.create(made).await {
            // The namespace is going, or gone: its going is when the ConfigMap was deleted.
            Err(status) if status.is_not_found() || status.is_namespace_terminating() => Ok(()),
            Err(status) => Err(status.into()),
            Ok(_) => Ok(()),
        }
    }
}

fn data() -> BTreeMap<String, String> {
    BTreeMap::from([("ca.crt".to_owned(), CERTIFICATE.to_owned())])
}

fn has_description(config_map: &ConfigMap) -> bool {
    let annotations = config_map.metadata.annotations.as_ref();
    annotations.and_then(|a| a.get(DESCRIPTION)).is_some_and(|text| !text.is_empty())
}
