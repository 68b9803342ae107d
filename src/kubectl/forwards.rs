//! What `kubectl port-forward` leaves open on the user's machine.
//!
//! The real one stays in the foreground, and the user opens a second terminal. Here it goes on in the background as plain
//! data, so that the next line can be typed: it listens at a port of the machine outside the cluster, which is the one that the
//! user sits at, and `curl http://localhost:PORT` there is a connection to it. What comes by it goes to the kubelet of the Pod
//! that was chosen in the beginning, and so into that Pod's network: past Services, kube-proxy and NetworkPolicies.
//!
//! It is bound to that Pod's sandbox. When the Pod is gone nothing is noticed, until the next connection fails; then it ends
//! with `lost connection to pod`. Mirrors `k8s.io/client-go/tools/portforward`.
//!
//! Left out: IPv6; a Ctrl-C: it goes on until its Pod is gone. A kubelet that ends is noticed at the next connection, too, and
//! an API server that does is not noticed: it is not in the middle here. Of klog's lines the head with time and process.

use crate::kubectl::Kubectl;
use crate::nodes::{Ask, Told};
use crate::verbs::connect::dial;
use engine::RpcError;

/// What a client that has connected to a port is answered; None: the connection is closed. Mirrors `handleConnection`.
pub async fn handle(port: u16, data: String, cx: &Kubectl) -> Option<String> {
    let forward = cx.forwards.borrow().get(&port).cloned()?;
    cx.line(format!("Handling connection for {port}"));
    if dial(&forward.node, &forward.address, cx).ok() != Some(forward.kubelet) {
        return lost(forward.process, cx);
    }
    let sent = Ask::Forwarded { sandbox: forward.sandbox, port: forward.remote, data };
    match cx.nodes.ask(&cx.client, forward.kubelet, sent).await {
        Ok(Told::Forwarded(said)) => said,
        Ok(_) => None,
        Err(RpcError { message, .. }) => {
            let ports = format!("localPort={port} remotePort={}", forward.remote);
            cx.complain(format!("\"An error occurred forwarding\" err={message:?} logger=\"UnhandledError\" {ports}"));
            lost(forward.process, cx)
        }
    }
}

/// kubectl ends, and the connection is closed.
fn lost(process: u16, cx: &Kubectl) -> Option<String> {
    cx.complain("error: lost connection to pod");
    let ports: Vec<u16> =
        cx.forwards.borrow().iter().filter(|(_, forward)| forward.process == process).map(|(port, _)| *port).collect();
    for port in ports {
        cx.forwards.borrow_mut().remove(&port);
        cx.nodes.close(&cx.client, port);
    }
    None
}
