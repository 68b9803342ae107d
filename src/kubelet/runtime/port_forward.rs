//! `PortForward`: a connection to a port of a Pod, from within.
//!
//! The runtime enters the network namespace of the sandbox and connects to `localhost` there. So the server sees a client of
//! its own Pod: no Service, no bridge and no NetworkPolicy is on the way. Mirrors `sandbox_portforward_linux.go` of containerd.

use std::any::Any;
use std::net::Ipv4Addr;
use std::rc::Rc;

use super::containerd::Containerd;
use super::networks::netns;
use crate::cri::{self, CriResponse};
use engine::RpcError;
use network::kernel::messages::{Dial, Heard};

impl Containerd {
    pub(super) async fn port_forward(&self, id: &str, port: u16, data: String) -> Result<CriResponse, RpcError> {
        let failed =
            |why: String| cri::error("Unknown", format!("error forwarding port {port} to pod {id}, uid : {why}"));
        let namespace = self.namespace_to_enter(id).map_err(failed)?;
        let kernel = self.kernel.get().ok_or_else(|| failed("the machine has no network".to_owned()))?;
        let dial = Dial { namespace: namespace.clone(), address: Ipv4Addr::LOCALHOST, port, data };
        let heard: Rc<dyn Any> = self.hub.rpc(kernel, Rc::new(dial)).await.map_err(|error| {
            let place = if namespace.is_empty() { "host".to_owned() } else { format!("{namespace:?}") };
            failed(format!(
                "failed to execute portforward in network namespace {place}: failed to connect to localhost:{port} inside \
                 namespace {id:?}, IPv4: {} IPv6 dial tcp6: address localhost: no suitable address",
                error.message
            ))
        })?;
        Ok(CriResponse::Forwarded(heard.downcast_ref::<Heard>().and_then(|heard| heard.0.clone())))
    }

    /// The network namespace of a sandbox, or why it cannot be entered.
    fn namespace_to_enter(&self, id: &str) -> Result<String, String> {
        let state = self.state.borrow();
        let gone = || format!("failed to find sandbox {id:?} in store: not found");
        let sandbox = state.sandboxes.get(id).ok_or_else(gone)?;
        match sandbox.config.host_network {
            true => Ok(String::new()),
            false if sandbox.ready => Ok(netns(id)),
            false => Err(format!("network namespace for sandbox {id:?} is closed")),
        }
    }
}
