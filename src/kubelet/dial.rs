//! One run of a probe: a command in the container, or a connection to the pod.
//!
//! The connection is made from the machine's own network, and its packets travel like all others: through the bridge and the
//! veth into the pod, past all rules on their way. Mirrors `pkg/kubelet/prober/prober.go`.

use std::any::Any;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Probe;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::cri::{self, CriRequest, CriResponse};
use crate::shared::Shared;
use engine::RpcError;
use network::kernel::{self, ProbeTarget, Probed};
use object::time::go_duration;
use object::{Accessor, Pod, pod};

impl Shared {
    /// Whether the probe succeeded, and what came back; the error says why it could not be made.
    pub(super) async fn call_probe(
        &self,
        pod: &Pod,
        name: &str,
        id: &str,
        probe: &Probe,
    ) -> Result<(bool, String), String> {
        let seconds = probe.timeout_seconds.filter(|seconds| *seconds > 0).unwrap_or(1);
        let timeout = Duration::from_secs(u64::from(seconds.unsigned_abs()));
        if let Some(exec) = &probe.exec {
            let command = exec.command.clone().unwrap_or_default();
            return match self.exec(id, &command, i64::from(seconds)).await {
                Ok(ran) => Ok((ran.code == 0, ran.all())),
                Err(error) if error.code == "DeadlineExceeded" => {
                    let (command, limit) = (command.join(" "), go_duration(timeout));
                    Ok((false, format!("command timed out: {command:?} timed out after {limit}")))
                }
                Err(error) => Err(error.to_string()),
            };
        }
        self.call_pod(pod, name, probe, Some(timeout)).await
    }

    /// The same over the network, which may take as long as it likes unless there is a time-out.
    pub(super) async fn call_pod(
        &self,
        pod: &Pod,
        name: &str,
        probe: &Probe,
        timeout: Option<Duration>,
    ) -> Result<(bool, String), String> {
        let Some(target) = target(pod, name, probe)? else { return Ok((true, String::new())) };
        let called = self.call_network(pod, probe, target, timeout).await;
        called.map(|probed| (probed.success, probed.output)).map_err(|error| error.to_string())
    }

    async fn call_network(
        &self,
        pod: &Pod,
        probe: &Probe,
        target: ProbeTarget,
        timeout: Option<Duration>,
    ) -> Result<Probed, RpcError> {
        let address = self.address_of(pod, probe).await?;
        let unplugged = || cri::error("Unavailable", "the machine has no network");
        let kernel = self.kernel.ok_or_else(unplugged)?;
        let reply: Rc<dyn Any> = self.hub.rpc(kernel, Rc::new(kernel::Probe { address, target, timeout })).await?;
        reply.downcast::<Probed>().map(|probed| (*probed).clone()).map_err(|_| unplugged())
    }

    /// Where to connect to: the host that the probe names, the node, or the pod, whose address the runtime knows before
    /// the status does.
    async fn address_of(&self, pod: &Pod, probe: &Probe) -> Result<Ipv4Addr, RpcError> {
        let uid = pod.metadata.uid();
        let known = self.state.borrow().status.get(uid).and_then(|status| status.pod_ip.clone());
        let on_host = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or(false);
        let address = match (host_of(probe), known) {
            (Some(host), _) => host,
            _ if on_host => self.config.ip.clone(),
            (_, Some(address)) => address.into(),
            _ => match self.cri(CriRequest::ListPodSandbox { pod_uid: uid.to_owned() }).await? {
                CriResponse::Sandboxes(sandboxes) => sandboxes.first().map(|s| s.ip.clone()).unwrap_or_default(),
                _ => String::new(),
            },
        };
        address.parse().map_err(|_| cri::error("Unavailable", format!("dial tcp: lookup {address}: no such host")))
    }
}

/// Where else than in its pod a probe looks.
fn host_of(probe: &Probe) -> Option<String> {
    let of_http = probe.http_get.as_ref().and_then(|http| http.host.clone());
    of_http.or_else(|| probe.tcp_socket.as_ref()?.host.clone()).filter(|host| !host.is_empty())
}

/// What a probe connects to. A port may be given by its name, which its container must know; the error says that it does not
/// (`ResolveContainerPort`).
fn target(pod: &Pod, name: &str, probe: &Probe) -> Result<Option<ProbeTarget>, String> {
    let number = |port: &IntOrString| {
        let number = match port {
            IntOrString::Int(port) => *port,
            IntOrString::String(port) => named(pod, name, port)?,
        };
        u16::try_from(number).ok().filter(|port| *port > 0).ok_or_else(|| format!("invalid port number: {number}"))
    };
    if let Some(http) = &probe.http_get {
        let path = format!("/{}", http.path.as_deref().unwrap_or_default().trim_start_matches('/'));
        let scheme = http.scheme.as_deref().unwrap_or("HTTP").to_lowercase();
        return Ok(Some(ProbeTarget::HttpGet { scheme, port: number(&http.port)?, path }));
    }
    if let Some(tcp) = &probe.tcp_socket {
        return Ok(Some(ProbeTarget::TcpSocket { port: number(&tcp.port)? }));
    }
    Ok(probe.grpc.as_ref().map(|grpc| ProbeTarget::Grpc { port: u16::try_from(grpc.port).unwrap_or(0) }))
}

/// The container's port of that name; or what the name says, if it is a number.
fn named(pod: &Pod, container: &str, port: &str) -> Result<i32, String> {
    let mut ports = pod::container(pod, container).into_iter().flat_map(|c| c.ports.iter().flatten());
    match ports.find(|there| there.name.as_deref() == Some(port)) {
        Some(there) => Ok(there.container_port),
        None => port.parse().map_err(|_| format!("strconv.Atoi: parsing {port:?}: invalid syntax")),
    }
}
