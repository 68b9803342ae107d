//! A finalizer that is removed too early: a mistake that nearly every operator with a finalizer has made once.
//!
//! An operator keeps something outside of the cluster for an object: a bucket in some cloud. A finalizer on the object
//! keeps it from going before the bucket is gone. This operator removes the finalizer first, so that the user need not
//! wait, and deletes the bucket then. If it crashes in between, or the deletion fails, the object is gone, the bucket is
//! forgotten, and it is paid for for ever.
//!
//! Right: to delete, to be content if there is nothing to delete, and only then to remove the finalizer.

use std::rc::Rc;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use client::informer::Change;
use client::{Client, Controller, ControllerContext, Error, Lister, Queue, Registration};
use cluster::{Account, Parts, Program};
use object::meta::has_finalizer;
use object::{Key, Kind, Object};
use wire::{DeleteOptions, Patch};

use super::records::{is_a, look, record};
use super::{FEW, RECORDS};

const NAME: &str = "bucket-operator";
const FINALIZER: &str = "buckets.example.com/clean-up";

const fn row(new: client::Make) -> Registration {
    Registration { watches: &[Kind::ConfigMap], ..Registration::new(NAME, new) }
}

static WRONG: &[Registration] = &[row(&|context| Buckets::with(false, context))];
static RIGHT: &[Registration] = &[row(&|context| Buckets::with(true, context))];

/// The operator, wrong or right.
pub fn parts(right: bool) -> Parts {
    const PROGRAMS: [&[Program]; 2] = [operator!(NAME, WRONG), operator!(NAME, RIGHT)];
    let accounts = &[Account { name: NAME, rules: RECORDS }];
    Parts { controllers: &FEW, programs: PROGRAMS[usize::from(right)], accounts, ..Parts::default() }
}

/// Keeps a bucket, `cloud-NAME`, for each record of that kind.
struct Buckets {
    right: bool,
    client: Client,
    queue: Queue,
    records: Lister<ConfigMap>,
}

impl Buckets {
    fn with(right: bool, context: &ControllerContext) -> Rc<dyn Controller> {
        let (client, queue) = (context.client.clone(), context.queue.clone());
        Rc::new(Buckets { right, client, queue, records: context.lister() })
    }
}

impl Controller for Buckets {
    fn on_change(&self, change: &Change) {
        if let Object::ConfigMap(record) = change.latest()
            && is_a(record, "bucket")
        {
            self.queue.add(change.key());
        }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(bucket) = self.records.get(&key) else { return Ok(()) };
        let ours = has_finalizer(&bucket.metadata, FINALIZER);
        let cloud = Key::new(key.namespace(), &format!("cloud-{}", key.name()));
        match (bucket.metadata.deletion_timestamp.is_some(), ours) {
            (true, false) => Ok(()),
            (true, true) if self.right => {
                self.delete(&cloud).await?;
                self.set_finalizers(&key, &bucket, &[]).await
            }
            (true, true) => {
                self.set_finalizers(&key, &bucket, &[]).await?;
                self.delete(&cloud).await
            }
            (false, false) => self.set_finalizers(&key, &bucket, &[FINALIZER]).await,
            (false, true) => {
                if look(&self.client, &cloud).await?.is_none() {
                    self.client.create(record(&cloud, "of", key.name())).await?;
                }
                Ok(())
            }
        }
    }
}

impl Buckets {
    /// Writes the finalizers, unless the record has changed or is gone.
    async fn set_finalizers(&self, key: &Key, bucket: &ConfigMap, names: &[&str]) -> Result<(), Error> {
        let version = &bucket.metadata.resource_version;
        let patch = Patch::Merge(json!({"metadata": {"finalizers": names, "resourceVersion": version}}));
        match self.client.patch::<ConfigMap>(key.namespace(), key.name(), patch).await {
            Err(status) if !status.is_not_found() => Err(status.into()),
            _ => Ok(()),
        }
    }

    async fn delete(&self, cloud: &Key) -> Result<(), Error> {
        match self.client.delete::<ConfigMap>(cloud.namespace(), cloud.name(), DeleteOptions::default()).await {
            Err(status) if !status.is_not_found() => Err(status.into()),
            _ => Ok(()),
        }
    }
}
