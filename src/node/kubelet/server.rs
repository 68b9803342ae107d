//! The kubelet's own server, at port 10250: `kubectl exec` ends here.
//!
//! Mirrors `pkg/kubelet/server` and `GetExec` of `pkg/kubelet/kubelet_pods.go`. A container is looked for among those that
//! the runtime says are running, whatever the Pod's status may still say.
//!
//! Left out: attach, port-forward and metrics; logs, which kubectl reads where they are; the streams of exec, see
//! [`CriRequest::Exec`].

use std::rc::Rc;

use serde_json::{Value, json};

use super::Shared;
use crate::engine::{ActorId, CallId, Message, RpcError, RpcResult};
use crate::node::cri::{self, ContainerState, CriRequest, CriResponse};
use crate::object::{self, Key};

/// `POST /exec/NAMESPACE/POD/CONTAINER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    /// The Pod.
    pub pod: Key,
    /// The container.
    pub container: String,
    /// The command in words.
    pub command: Vec<String>,
}

impl Message for Exec {
    fn method(&self) -> &'static str {
        "exec"
    }

    fn json(&self) -> Value {
        json!({"pod": self.pod.to_string(), "container": self.container, "command": self.command})
    }

    fn line(&self) -> String {
        format!("exec/{}/{} {}", self.pod, self.container, self.command.join(" "))
    }
}

impl Shared {
    pub(super) fn serve_exec(self: &Rc<Self>, call: CallId, from: ActorId, exec: Exec) {
        let me = self.clone();
        self.hub.spawn(self.actor, format!("kubelet {} exec {}", self.config.name, exec.pod), async move {
            let result: RpcResult = me.exec_for(&exec).await.map(|response| Rc::new(response) as Rc<dyn Message>);
            me.hub.reply(me.actor, from, call, "exec", result);
        });
    }

    async fn exec_for(&self, exec: &Exec) -> Result<CriResponse, RpcError> {
        let uid = {
            let state = self.state.borrow();
            let of_pod = |worker: &&super::Worker| Key::of_meta(&worker.pod.metadata) == exec.pod;
            state.workers.values().find(of_pod).and_then(|worker| worker.pod.metadata.uid.clone())
        };
        let uid = uid.ok_or_else(|| cri::error("NotFound", "pod does not exist"))?;
        let not_found = || cri::error("NotFound", format!("container not found ({:?})", exec.container));
        let CriResponse::Containers(containers) = self.cri(CriRequest::ListContainers { pod_uid: uid }).await? else {
            return Err(not_found());
        };
        let is_it = |c: &&object::Shared<cri::ContainerStatus>| {
            c.name == exec.container && c.state == ContainerState::ContainerRunning
        };
        let container = containers.iter().find(is_it).ok_or_else(not_found)?;
        self.cri(CriRequest::Exec { id: container.id.clone(), command: exec.command.clone() }).await
    }
}
