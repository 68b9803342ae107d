//! A sidecar: a small process beside the driver that watches a few kinds and turns what it sees into calls.
//!
//! It is a controller like those of kube-controller-manager, with informers and a queue of its own, and one more thing:
//! the driver, which it calls. Mirrors what `external-provisioner` and `external-attacher` share by their libraries.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use super::{CsiRequest, CsiResponse};
use crate::cri::error;
use client::controller::{Controller, ControllerContext};
use client::informer::RELIST;
use client::queue::{READY, Ready, WORK};
use client::{Client, Informers, Queue, Recorder, Workers};
use engine::{Actor, ActorId, Delivery, Hub, RpcError};
use object::Kind;
use wire::User;

/// Requests a second of a sidecar, and how many at once.
const QPS: u32 = 5;
const BURST: u32 = 10;
/// How many keys it works on at once.
const WORKERS: usize = 10;
/// `--retry-interval-start` and `--retry-interval-max`: the first failure waits this long, and none longer than that.
const RETRY_START: Duration = Duration::from_secs(1);
pub(super) const RETRY_MAX: Duration = Duration::from_secs(300);

/// A sidecar's process.
pub struct Sidecar {
    name: &'static str,
    hub: Hub,
    actor: ActorId,
    informers: Informers,
    workers: Workers,
}

/// The driver, as a sidecar or a kubelet calls it.
#[derive(Clone)]
pub struct Driver {
    hub: Hub,
    actor: ActorId,
}

impl Driver {
    /// The half of a driver behind `actor`.
    pub fn new(hub: Hub, actor: ActorId) -> Driver {
        Driver { hub, actor }
    }

    /// One call.
    #[track_caller]
    pub fn call(&self, request: CsiRequest) -> impl Future<Output = Result<CsiResponse, RpcError>> + use<> {
        let call = self.hub.rpc(self.actor, Rc::new(request));
        async move {
            let reply: Rc<dyn Any> = call.await?;
            let unexpected = |_| error("Internal", "unexpected response");
            reply.downcast::<CsiResponse>().map(|response| (*response).clone()).map_err(unexpected)
        }
    }
}

impl Sidecar {
    /// A sidecar that watches `kinds` as the service account of its own name, and is driven by what `new` makes.
    pub fn new(
        hub: Hub,
        actor: ActorId,
        name: &'static str,
        events: &str,
        kinds: &[Kind],
        new: impl FnOnce(&ControllerContext) -> Rc<dyn Controller>,
    ) -> Sidecar {
        let user = Rc::new(User::service_account("kube-system", name, name));
        let informers = Informers::of_kinds(&hub, actor, &user, kinds.iter().copied());
        let client = || Client::new(hub.clone(), actor, user.clone(), QPS, BURST);
        let queue = Queue::new(hub.clone(), actor, name);
        queue.retry_from(RETRY_START);
        queue.retry_within(RETRY_MAX);
        let recorder = Recorder::new(client(), events, "");
        let context = ControllerContext { client: client(), recorder, queue: queue.clone(), informers: &informers };
        let controller = new(&context);
        let workers = Workers {
            queue,
            controller,
            count: WORKERS,
            max_retries: None,
            // What it lists is little: that costs it no time.
            reads: Vec::new(),
            busy: hub.memory(0),
        };
        Sidecar { name, hub, actor, informers, workers }
    }
}

impl Actor for Sidecar {
    fn name(&self) -> &str {
        self.name
    }

    fn start(&self) {
        self.informers.start();
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => {
                let Some(informer) = self.informers.of_watch(watch) else { return };
                let first = !informer.has_synced();
                for change in informer.on_event(event) {
                    self.workers.controller.on_change(&change);
                }
                // What was queued before all caches were filled had no worker.
                if first && informer.has_synced() {
                    self.hub.wake(self.actor, WORK, self.name, Default::default());
                }
            }
            Delivery::Wake { what: WORK, .. } if self.informers.has_synced() => self.workers.work(),
            Delivery::Wake { what: READY, key } => {
                Ready::read(&key).into_iter().for_each(|ready| self.workers.ready(ready));
            }
            Delivery::Wake { what: RELIST, key } => self.informers.relist(&key),
            Delivery::Wake { .. } | Delivery::Rpc { .. } => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
