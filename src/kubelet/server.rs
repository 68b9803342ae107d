//! The kubelet's own server, at port 10250: `kubectl exec`, `attach` and `port-forward` end here, and requests for its [pages](crate::pages).
//!
//! Mirrors `pkg/kubelet/server` and `GetExec`, `GetAttach` and `GetPortForward` of `pkg/kubelet/kubelet_pods.go`. A
//! container is looked for among those that the runtime says are running, even if the Pod's status still says otherwise.
//!
//! A shell that a user types into is a stream: each line is a message, and so is its output. Left out: metrics; logs and
//! the output of attached containers, which kubectl reads where they are; the other streams, see [`CriRequest::Exec`].

use std::any::Any;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::cri::{self, ContainerState, CriRequest, CriResponse, Interrupt, StreamEnded};
use crate::pages::Get;
use crate::shared::Shared;
use engine::{ActorId, CallId, Message, RpcError, RpcResult};
use object::text::Text;
use object::{self, Key};

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

/// `POST /exec/NAMESPACE/POD/CONTAINER?stdin=true`: a shell that will do what is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// The Pod.
    pub pod: Key,
    /// The container.
    pub container: String,
    /// The shell, with its flags.
    pub command: Vec<String>,
    /// In a terminal.
    pub tty: bool,
}

/// What is typed into a shell, a line or a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Which.
    pub stream: u64,
    /// The line; `^C` and `^D` are keys.
    pub text: String,
}

/// `POST /attach/NAMESPACE/POD/CONTAINER`: whether a client can be attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attach {
    /// The Pod.
    pub pod: Key,
    /// The container.
    pub container: String,
    /// What is typed goes to its process, if that reads it.
    pub stdin: bool,
    /// In a terminal.
    pub tty: bool,
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
    pub sandbox: Text,
    /// The port there.
    pub port: u16,
    /// What is sent.
    pub data: String,
}

impl Message for Shell {
    fn method(&self) -> &'static str {
        "exec"
    }

    fn json(&self) -> Value {
        json!({"pod": self.pod.to_string(), "container": self.container, "command": self.command, "tty": self.tty})
    }

    fn line(&self) -> String {
        format!("exec/{}/{} {}", self.pod, self.container, self.command.join(" "))
    }
}

impl Message for Typed {
    fn method(&self) -> &'static str {
        "typed"
    }

    fn json(&self) -> Value {
        json!({"stream": self.stream, "text": self.text})
    }

    fn line(&self) -> String {
        format!("typed: {}", self.text)
    }
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
            self.answer(call, from, "attach", attach.pod.clone(), async move { me.attach_for(&attach, from).await });
        } else if let Some(shell) = message.downcast_ref::<Shell>().cloned() {
            self.answer(call, from, "exec", shell.pod.clone(), async move { me.shell_for(&shell, from).await });
        } else if let Some(Typed { stream, text }) = message.downcast_ref::<Typed>().cloned() {
            self.answer(call, from, "typed", stream, async move { me.typed_into(stream, text).await });
        } else if let Some(interrupt) = message.downcast_ref::<Interrupt>() {
            self.hub.tell(self.actor, self.runtime, Rc::new(*interrupt));
        } else if let Some(ended) = message.downcast_ref::<StreamEnded>() {
            let who = self.state.borrow_mut().streams.remove(&ended.stream);
            who.into_iter().for_each(|who| self.hub.tell(self.actor, who, Rc::new(*ended)));
        } else if let Some(PortForward { pod }) = message.downcast_ref::<PortForward>().cloned() {
            self.answer(call, from, "portForward", pod.clone(), async move { me.sandbox_for(&pod).await });
        } else if let Some(Forwarded { sandbox: id, port, data }) = message.downcast_ref::<Forwarded>().cloned() {
            let forward = CriRequest::PortForward { id: id.clone(), port, data };
            self.answer(call, from, "forwarded", id, async move { me.cri(forward).await });
        } else if let Some(Get { path }) = message.downcast_ref::<Get>() {
            self.hub.reply(self.actor, from, call, "get", Ok(Rc::new(self.page(path))));
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

    async fn shell_for(&self, shell: &Shell, from: ActorId) -> Result<CriResponse, RpcError> {
        let not_found = || cri::error("NotFound", format!("container not found ({:?})", shell.container));
        let container = self.running(&shell.pod, &shell.container).await?.ok_or_else(not_found)?;
        self.connect(&container.id, shell.command.clone(), shell.tty, from).await
    }

    /// Connects a client that types; it is notified of the end.
    async fn connect(&self, id: &str, command: Vec<String>, tty: bool, from: ActorId) -> Result<CriResponse, RpcError> {
        let answer = self.cri(CriRequest::Open { id: id.into(), command, tty }).await?;
        if let CriResponse::Stream(stream) = &answer {
            self.state.borrow_mut().streams.insert(stream.id, from);
        }
        Ok(answer)
    }

    async fn typed_into(&self, stream: u64, text: String) -> Result<CriResponse, RpcError> {
        let answer = self.cri(CriRequest::Type { stream, text }).await?;
        if matches!(&answer, CriResponse::Stream(stream) if stream.ended.is_some()) {
            self.state.borrow_mut().streams.remove(&stream);
        }
        Ok(answer)
    }

    async fn attach_for(&self, attach: &Attach, from: ActorId) -> Result<CriResponse, RpcError> {
        let Attach { pod, container, stdin, tty } = attach;
        let not_found = || {
            let why = format!("container {container} not found in pod {}_{}", pod.name(), pod.namespace());
            cri::error("NotFound", why)
        };
        let running = self.running(pod, container).await?.ok_or_else(not_found)?;
        if *stdin {
            self.connect(&running.id, Vec::new(), *tty, from).await
        } else {
            Ok(CriResponse::Container(running))
        }
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
        let mut workers = state.workers.values();
        let worker = workers.find(|worker| Key::of_meta(&worker.pod.metadata) == *pod);
        let uid = worker.and_then(|worker| worker.pod.metadata.uid.clone());
        uid.ok_or_else(|| cri::error("NotFound", "pod does not exist"))
    }
}
