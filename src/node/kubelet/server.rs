//! The kubelet's own server, at port 10250: `kubectl exec`, `attach` and `port-forward` end here.
//!
//! Mirrors `pkg/kubelet/server` and `GetExec`, `GetAttach` and `GetPortForward` of `pkg/kubelet/kubelet_pods.go`. A
//! container is looked for among those that the runtime says are running, whatever the Pod's status may still say.
//!
//! Left out: metrics; logs, which kubectl reads where they are, and so what it is attached to; the streams of exec and
//! port-forward, see [`CriRequest::Exec`].

use std::any::Any;
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
    /// What it reads.
    pub input: String,
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

/// `POST /attach/NAMESPACE/POD/CONTAINER`: whether somebody can be attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// The Pod.
    pub pod: Key,
    /// The container.
    pub container: String,
}

/// `POST /portForward/NAMESPACE/POD`: the sandbox that will be the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortForward {
    /// The Pod.
    pub pod: Key,
}

/// Bytes of a connection that is forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded {
    /// The sandbox at the other end.
    pub sandbox: String,
    /// The port there.
    pub port: u16,
    /// What is sent.
    pub data: String,
}

impl Message for Attach {
    fn method(&self) -> &'static str {
        "attach"
    }

    fn json(&self) -> Value {
        json!({"pod": self.pod.to_string(), "container": self.container})
    }

    fn line(&self) -> String {
        format!("attach/{}/{}", self.pod, self.container)
    }
}

impl Message for PortForward {
    fn method(&self) -> &'static str {
        "portForward"
    }

    fn json(&self) -> Value {
        json!({"pod": self.pod.to_string()})
    }

    fn line(&self) -> String {
        format!("portForward/{}", self.pod)
    }
}

impl Message for Forwarded {
    fn method(&self) -> &'static str {
        "forwarded"
    }

    fn json(&self) -> Value {
        json!({"sandbox": self.sandbox, "port": self.port, "data": self.data})
    }

    fn line(&self) -> String {
        format!("forwarded to port {}", self.port)
    }
}

impl Shared {
    /// Answers what comes to the kubelet's port. False: it is nothing that this server knows.
    pub(super) fn serve(self: &Rc<Self>, call: CallId, from: ActorId, message: &dyn Any) -> bool {
        let me = self.clone();
        if let Some(exec) = message.downcast_ref::<Exec>().cloned() {
            self.answer(call, from, "exec", exec.pod.clone(), async move { me.exec_for(&exec).await });
        } else if let Some(attach) = message.downcast_ref::<Attach>().cloned() {
            self.answer(call, from, "attach", attach.pod.clone(), async move { me.attach_for(&attach).await });
        } else if let Some(PortForward { pod }) = message.downcast_ref::<PortForward>().cloned() {
            self.answer(call, from, "portForward", pod.clone(), async move { me.sandbox_for(&pod).await });
        } else if let Some(Forwarded { sandbox: id, port, data }) = message.downcast_ref::<Forwarded>().cloned() {
            let forward = CriRequest::PortForward { id: id.clone(), port, data };
            self.answer(call, from, "forwarded", id, async move { me.cri(forward).await });
        } else {
            return false;
        }
        true
    }

    /// Answers with what comes of a task.
    fn answer(
        self: &Rc<Self>,
        call: CallId,
        from: ActorId,
        method: &'static str,
        about: impl std::fmt::Display,
        task: impl Future<Output = Result<CriResponse, RpcError>> + 'static,
    ) {
        let me = self.clone();
        self.hub.spawn(self.actor, format!("kubelet {} {method} {about}", self.config.name), async move {
            let result: RpcResult = task.await.map(|response| Rc::new(response) as Rc<dyn Message>);
            me.hub.reply(me.actor, from, call, method, result);
        });
    }

    async fn exec_for(&self, exec: &Exec) -> Result<CriResponse, RpcError> {
        let not_found = || cri::error("NotFound", format!("container not found ({:?})", exec.container));
        let container = self.running(&exec.pod, &exec.container).await?.ok_or_else(not_found)?;
        let Exec { command, input, .. } = exec.clone();
        self.cri(CriRequest::Exec { id: container.id.clone(), command, input }).await
    }

    async fn attach_for(&self, attach: &Attach) -> Result<CriResponse, RpcError> {
        let Attach { pod, container } = attach;
        let not_found = || {
            let why = format!("container {container} not found in pod {}_{}", pod.name(), pod.namespace());
            cri::error("NotFound", why)
        };
        self.running(pod, container).await?.map(CriResponse::Container).ok_or_else(not_found)
    }

    /// The container of a Pod, if it runs.
    async fn running(&self, pod: &Key, name: &str) -> Result<Option<object::Shared<cri::ContainerStatus>>, RpcError> {
        let pod_uid = self.uid_of(pod)?;
        let CriResponse::Containers(containers) = self.cri(CriRequest::ListContainers { pod_uid }).await? else {
            return Ok(None);
        };
        Ok(containers.into_iter().find(|c| c.name == name && c.state == ContainerState::ContainerRunning))
    }

    /// Mirrors `GetPortForward`: what is forwarded goes to this sandbox, and to none that comes after it.
    async fn sandbox_for(&self, pod: &Key) -> Result<CriResponse, RpcError> {
        let pod_uid = self.uid_of(pod)?;
        let none = || cri::error("NotFound", format!("failed to find sandboxID for pod {pod}"));
        let CriResponse::Sandboxes(sandboxes) = self.cri(CriRequest::ListPodSandbox { pod_uid }).await? else {
            return Err(none());
        };
        sandboxes.into_iter().find(|sandbox| sandbox.ready).map(CriResponse::Sandbox).ok_or_else(none)
    }

    fn uid_of(&self, pod: &Key) -> Result<String, RpcError> {
        let state = self.state.borrow();
        let of_pod = |worker: &&super::Worker| Key::of_meta(&worker.pod.metadata) == *pod;
        let uid = state.workers.values().find(of_pod).and_then(|worker| worker.pod.metadata.uid.clone());
        uid.ok_or_else(|| cri::error("NotFound", "pod does not exist"))
    }
}
