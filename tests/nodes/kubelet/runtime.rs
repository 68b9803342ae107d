//! The runtime alone: what it answers to a kubelet.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use apiserver::ApiServer;
use apiserver::host::{Engine, Host as Served};
use engine::{ActorId, RpcError};
use kubelet::cri::{ContainerConfig, CriRequest, CriResponse, PodSandboxConfig};
use kubelet::runtime::Runtime;
use network::disk::Disk;
use network::host::Host;

/// A node with nothing but a runtime.
struct Node {
    engine: Engine,
    runtime: ActorId,
}

impl Node {
    fn new() -> Node {
        let mut engine = Engine::new(Served::new(ApiServer::new(0)), 0);
        let hub = engine.hub().clone();
        let runtime = engine.next_actor();
        let host = Rc::new(Host::new(&hub, [172, 18, 0, 11].into(), Disk::new(&hub, "node-1")));
        engine.add(Rc::new(Runtime::new(hub, runtime, "node-1", host, runtime)));
        Node { engine, runtime }
    }

    fn call(&mut self, request: CriRequest) -> Result<CriResponse, RpcError> {
        let answer = Rc::new(RefCell::new(None));
        let (runtime, kept) = (self.runtime, answer.clone());
        self.engine.outside(runtime, |engine| {
            let call = engine.hub().rpc(runtime, Rc::new(request));
            engine.hub().spawn(runtime, "user", async move { *kept.borrow_mut() = Some(call.await) });
        });
        while answer.borrow().is_none() {
            self.engine.step().expect("it answers");
        }
        let answer = answer.borrow_mut().take().unwrap();
        answer.map(|message| (*(message as Rc<dyn Any>).downcast::<CriResponse>().unwrap()).clone())
    }

    /// The id of what is made.
    fn make(&mut self, request: CriRequest) -> String {
        match self.call(request) {
            Ok(CriResponse::Id(id)) => id.into(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn nothing_starts_in_a_sandbox_that_was_stopped() {
    let mut node = Node::new();
    let pod =
        PodSandboxConfig { name: "web".into(), uid: "1".into(), host_network: true, ..PodSandboxConfig::default() };
    let sandbox = node.make(CriRequest::RunPodSandbox(pod.into()));
    node.call(CriRequest::PullImage { image: "nginx:1.27".into() }).unwrap();
    node.call(CriRequest::StopPodSandbox { id: sandbox.as_str().into() }).unwrap();
    let config = ContainerConfig { name: "web".into(), image: "nginx:1.27".into(), ..ContainerConfig::default() };
    let id = node.make(CriRequest::CreateContainer { sandbox_id: sandbox.as_str().into(), config: config.into() });
    let error = node.call(CriRequest::StartContainer { id: id.as_str().into() }).unwrap_err();
    let why = format!("sandbox container \"{sandbox}\" is not running");
    assert_eq!(error.to_string(), format!("rpc error: code = Unknown desc = {why}"));
    let Ok(CriResponse::Container(status)) = node.call(CriRequest::ContainerStatus { id: id.into() }) else {
        panic!("it is gone")
    };
    assert_eq!((status.exit_code, status.reason.as_str(), status.message.as_str()), (128, "StartError", &*why));
}
