//! Aggregation: an API that another server answers. Here it is `metrics.k8s.io` alone: see [`super::metrics`].

use object::Status;
use object::metrics::{GROUP, Metrics};
use object::status::Reason;
use wire::{Response, Verb};

use super::metrics::Look;
use super::{ApiServer, Handling, Outcome};

impl ApiServer {
    /// `GET` or `LIST` of what Pods or nodes use.
    pub(super) fn use_of(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let plural = request.kind.info().plural;
        if !self.metrics.is_installed() {
            let status = Status::not_served();
            let message = format!("{} (get {plural}.{GROUP})", status.message);
            return Err(Status { message, ..status });
        }
        handling.stage("aggregation", || format!("to metrics-server: {plural}.{GROUP}"));
        let mut look = Look::new(&self.metrics, &self.store, handling.now);
        if request.verb == Verb::Get {
            let object = self.stored(request.kind, &request.namespace, &request.name).ok();
            let found = object.and_then(|object| look.at(&object));
            return found.map(|metrics| (200, Response::Metrics(vec![metrics]))).ok_or_else(|| {
                let namespace =
                    if request.namespace.is_empty() { String::new() } else { request.namespace.clone() + "/" };
                let (kind, name) = (request.kind.info().singular(), namespace + &request.name);
                Status::new(Reason::NotFound, format!("{kind}metrics.{GROUP} {name:?} not found"))
            });
        }
        let objects = self.matching(handling)?;
        let all: Vec<Metrics> = objects.iter().filter_map(|object| look.at(object)).collect();
        Ok((200, Response::Metrics(all)))
    }
}
