//! A connection to what runs in a Pod: `exec`, `attach`, `port-forward`, `cp`.
//!
//! The API server says whether it may be and which kubelet is at the other end. A real one stays in the middle, for as
//! long as the connection is open; here the two talk to each other from then on. Mirrors `createExecutor` and `createDialer`.

use std::any::Any;
use std::rc::Rc;

use crate::apiserver::request::{Body, Request, Response, Subresource, Verb};
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::calls::Failure;
use crate::engine::failing::REFUSED;
use crate::engine::{ActorId, Message, RpcError};
use crate::kubelet::cri::CriResponse;
use crate::object::status::Reason;
use crate::object::{Kind, Status};

/// Who is at the other end of a connection.
pub struct Backend {
    /// The node.
    pub node: String,
    /// Where its kubelet listens: `172.18.0.10:10250`.
    pub address: String,
    /// The kubelet.
    pub kubelet: ActorId,
    /// The container that was meant; empty if it is about the whole Pod.
    pub container: String,
}

/// Asks for a connection: as a WebSocket, which is a GET, and where the server wants none of that by SPDY, which is a POST.
pub async fn connect(
    part: Subresource,
    namespace: &str,
    pod: &str,
    body: Body,
    cx: &Kubectl,
) -> Result<Backend, Failure> {
    let mut request = cx.request(Verb::Get, Kind::Pod, namespace, pod, body);
    request.subresource = Some(part);
    let answer = match cx.send(request.clone()).await {
        Err(Failure::Server { status, .. }) if status.message != REFUSED => {
            cx.send(Request { verb: Verb::Create, ..request }).await
        }
        answer => answer,
    };
    let Response::PassedOn { node, kubelet: address, container } = answer? else {
        return Err(Failure::text("unable to upgrade connection"));
    };
    let unreachable = |why| Status::new(Reason::Unknown, format!("error dialing backend: {why}"));
    let kubelet = dial(&node, &address, cx).map_err(unreachable)?;
    Ok(Backend { node, address, kubelet, container })
}

/// The kubelet of a node.
///
/// # Errors
/// Why the API server cannot reach it.
pub fn dial(node: &str, address: &str, cx: &Kubectl) -> Result<ActorId, String> {
    match (cx.fabric.machine(node), cx.fabric.kubelet(node)) {
        (Some(_), Some(kubelet)) => Ok(kubelet),
        (Some(_), None) => Err(format!("dial tcp {address}: connect: connection refused")),
        (None, _) => Err(format!("dial tcp {address}: connect: no route to host")),
    }
}

/// What a kubelet has to say, which is what its runtime has to say.
pub async fn ask(kubelet: ActorId, message: impl Message, cx: &Kubectl) -> Result<CriResponse, RpcError> {
    let reply: Rc<dyn Any> = cx.client.hub().rpc(kubelet, Rc::new(message)).await?;
    Ok(reply.downcast_ref::<CriResponse>().cloned().unwrap_or(CriResponse::Done))
}
