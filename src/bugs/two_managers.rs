//! Two managers of one field (#25238, #66385).
//!
//! An autoscaler sets `spec.replicas` of a Deployment by the load. Its owner has read that one should then leave the field
//! out of the manifest, removes it, and applies. `kubectl apply` compares with what was applied before, finds that the
//! field was there and is no more, and removes it from the object: the API server fills in the default, 1. Under full load
//! the application is scaled down to one Pod, until the autoscaler looks again.
//!
//! Right: never to have had the field in the manifest. (Or to apply on the server's side, where the field stays as long as
//! another manager owns it.) The wrong part is a manifest; the autoscaler is the same in both.

use std::rc::Rc;

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use cluster::{Account, Parts};
use object::{Key, Kind};
use wire::Patch;

const NAME: &str = "autoscaler";

/// How many Pods the load needs.
const NEEDED: i32 = 3;

static TABLE: &[Registration] =
    &[Registration { watches: &[Kind::Deployment], ..Registration::new(NAME, &|context| Autoscaler::with(context)) }];

/// A cluster with an autoscaler.
pub fn parts() -> Parts {
    let accounts = &[Account { name: NAME, rules: &[("get,list,patch,watch", "apps", "deployments")] }];
    Parts { programs: operator!(NAME, TABLE), accounts, ..Parts::default() }
}

/// Scales every Deployment to what the load needs, which is always the same.
struct Autoscaler {
    client: Client,
    queue: Queue,
    deployments: Lister<Deployment>,
}

impl Autoscaler {
    fn with(context: &ControllerContext) -> Rc<dyn Controller> {
        let (client, queue) = (context.client.clone(), context.queue.clone());
        Rc::new(Autoscaler { client, queue, deployments: context.lister() })
    }
}

impl Controller for Autoscaler {
    fn on_change(&self, change: &Change) {
        self.queue.add(change.key());
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(deployment) = self.deployments.get(&key) else { return Ok(()) };
        if deployment.spec.as_ref().and_then(|spec| spec.replicas) != Some(NEEDED) {
            let patch = Patch::Merge(json!({"spec": {"replicas": NEEDED}}));
            self.client.patch::<Deployment>(key.namespace(), key.name(), patch).await?;
        }
        Ok(())
    }
}
