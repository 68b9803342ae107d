//! ComponentStatuses: whether the neighbours of the API server on its machine are well. They are not stored: for each request
//! the server asks kube-controller-manager and kube-scheduler for their `/healthz`, and etcd for an answer.
//!
//! A client that uses them is warned. Since components may run on other machines, the answers say little of the cluster; their
//! leases and their own endpoints say more.
//!
//! Mirrors `pkg/registry/core/componentstatus`, which tells them in the order of a Go map.
//!
//! Left out: the requests to the neighbours; the servers of a cluster with several all find the same.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ComponentCondition, ComponentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use object::selector::{FieldSelector, Selector};
use object::status::Reason;
use object::{Kind, Object, Status};
use wire::{Response, Verb};

use super::{Handling, Outcome};

/// Each neighbour, which program it is, and the port at which it says how it is.
const NEIGHBOURS: [(&str, &str, u16); 3] = [
    ("controller-manager", "kube-controller-manager", 10257),
    ("etcd-0", "etcd", 2379),
    ("scheduler", "kube-scheduler", 10259),
];

/// What the server finds at the ports of its neighbours.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    /// The programs that do not run.
    stopped: BTreeSet<String>,
}

impl Neighbours {
    /// From now on a program of this name runs, or none does.
    pub fn set(&mut self, program: &str, runs: bool) {
        match runs {
            true => self.stopped.remove(program),
            false => self.stopped.insert(program.to_owned()),
        };
    }

    fn status_of(&self, (name, program, port): (&str, &str, u16)) -> Object {
        let runs = !self.stopped.contains(program);
        let refused = || {
            let address = format!("127.0.0.1:{port}");
            format!("Get \"https://{address}/healthz\": dial tcp {address}: connect: connection refused")
        };
        let condition = ComponentCondition {
            type_: "Healthy".to_owned(),
            status: if runs { "True" } else { "False" }.to_owned(),
            message: runs.then(|| "ok".to_owned()),
            error: (!runs).then(refused),
        };
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        Object::ComponentStatus(ComponentStatus { metadata, conditions: Some(vec![condition]) }.into())
    }
}

impl Neighbours {
    /// `GET` and `LIST`.
    pub(super) fn answer(&self, handling: &Handling) -> Outcome {
        let (request, options) = (handling.request, &handling.request.options);
        let all = NEIGHBOURS.map(|neighbour| self.status_of(neighbour));
        if request.verb == Verb::Get {
            let named = all.into_iter().find(|status| status.name() == request.name);
            let unknown = || Status::new(Reason::Unknown, format!("Component not found: {}", request.name));
            return Ok((200, Response::Object(named.ok_or_else(unknown)?)));
        }
        let labels = Selector::parse(&options.label_selector).map_err(Status::bad_request)?;
        let fields =
            FieldSelector::parse(Kind::ComponentStatus, &options.field_selector).map_err(Status::bad_request)?;
        let selected = |status: &Object| labels.matches(status.meta().labels.as_ref()) && fields.matches(status);
        let items = all.into_iter().filter(selected).collect();
        // They are not stored, so the list has no resourceVersion.
        Ok((200, Response::List { items, revision: 0, continue_token: String::new(), remaining: None }))
    }
}
