//! What `kubectl port-forward` leaves open on the user's machine.
//!
//! The real one stays in the foreground, and whoever uses it opens a second terminal. Here it goes on in the background as plain
//! data, so that the next line can be typed: it listens at a port of the machine outside the cluster, which is the one that the
//! user sits at, and `curl http://localhost:PORT` there is a connection to it. What comes by it goes to the kubelet of the Pod
//! that was chosen in the beginning, and so into that Pod's network: past Services, kube-proxy and NetworkPolicies.
//!
//! It is bound to that Pod's sandbox. When the Pod is gone nothing is noticed, until the next connection fails; then it ends
//! with `lost connection to pod`. Mirrors `k8s.io/client-go/tools/portforward`.
//!
//! Left out: IPv6; a Ctrl-C: it goes on until its Pod is gone. A kubelet that ends is noticed at the next connection, too, and
//! an API server that does is not noticed: it is not in the middle here. Of klog's lines the head with time and process.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::engine::{ActorId, Memory, RpcError};
use crate::kubelet::cri::CriResponse;
use crate::kubelet::server::Forwarded;
use crate::network::kernel::fabric::OUTSIDE;
use crate::network::kernel::messages::{Close, Heard, Incoming};
use crate::object::text::Text;

use super::Kubectl;
use super::verbs::connect::{ask, dial};

/// By the port of the user's machine.
pub type Forwards = Memory<BTreeMap<u16, Forward>>;

/// One port that is forwarded.
#[derive(Clone, Debug)]
pub struct Forward {
    /// The first port of the same kubectl: if it loses its connection, all of them end.
    pub process: u16,
    /// The port of the Pod.
    pub remote: u16,
    /// The Pod's node.
    pub node: String,
    /// Where its kubelet listens.
    pub address: String,
    /// The kubelet that the connection goes to.
    pub kubelet: ActorId,
    /// The Pod's sandbox.
    pub sandbox: Text,
}

/// What is answered to somebody who has connected to a port. Mirrors `handleConnection`.
pub async fn handle(incoming: Incoming, cx: &Kubectl) -> Heard {
    let Incoming { port, data, .. } = incoming;
    let Some(forward) = cx.forwards.borrow().get(&port).cloned() else { return Heard(None) };
    cx.line(format!("Handling connection for {port}"));
    if dial(&forward.node, &forward.address, cx).ok() != Some(forward.kubelet) {
        return lost(forward.process, cx);
    }
    let sent = Forwarded { sandbox: forward.sandbox, port: forward.remote, data };
    match ask(forward.kubelet, sent, cx).await {
        Ok(CriResponse::Forwarded(said)) => Heard(said),
        Ok(_) => Heard(None),
        Err(RpcError { message, .. }) => {
            let ports = format!("localPort={port} remotePort={}", forward.remote);
            cx.complain(format!("\"An error occurred forwarding\" err={message:?} logger=\"UnhandledError\" {ports}"));
            lost(forward.process, cx)
        }
    }
}

/// kubectl ends.
fn lost(process: u16, cx: &Kubectl) -> Heard {
    cx.complain("error: lost connection to pod");
    let ports: Vec<u16> =
        cx.forwards.borrow().iter().filter(|(_, forward)| forward.process == process).map(|(port, _)| *port).collect();
    for port in ports {
        cx.forwards.borrow_mut().remove(&port);
        if let Some(machine) = cx.fabric.machine_at(OUTSIDE) {
            cx.client.hub().tell(cx.client.actor(), machine, Rc::new(Close(port)));
        }
    }
    Heard(None)
}
