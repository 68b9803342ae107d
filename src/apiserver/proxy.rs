//! `proxy` of Pods, Services and nodes: to which server a request goes on. Mirrors `ResourceLocation` of
//! `pkg/registry/core/pod`, `service` and `node`.
//!
//! A node without a port is its kubelet. Left out: of a Service's endpoints a real server takes one at random, here it is the first
//! that is ready.

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use object::reader::Reader;
use object::status::Reason;
use object::{Accessor, Kind, Object, Pod, Status};
use wire::{Body, Response};

use super::availability::{active, service_of};
use super::subresources::kubelet_at;
use super::{ApiServer, Handling, Outcome};

/// `[SCHEME:]NAME[:PORT]`, as a path names the other end.
struct Target<'a> {
    tls: bool,
    name: &'a str,
    port: &'a str,
}

impl Target<'_> {
    /// Mirrors `SplitSchemeNamePort`.
    fn parse(id: &str) -> Option<Target<'_>> {
        let (scheme, name, port) = match id.split(':').collect::<Vec<_>>()[..] {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            [scheme @ ("" | "http" | "https"), name, port] => (scheme, name, port),
            _ => return None,
        };
        (!name.is_empty()).then_some(Target { tls: scheme == "https", name, port })
    }
}

impl ApiServer {
    /// Where the request goes on to.
    pub(super) fn proxy(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        if !matches!(request.body, Body::Proxy { .. }) {
            return Err(Status::bad_request("the request does not say what it wants of the server behind the proxy"));
        }
        let word = request.kind.info().kind.to_ascii_lowercase();
        let target = Target::parse(&request.name)
            .ok_or_else(|| Status::bad_request(format!("invalid {word} request {:?}", request.name)))?;
        let (address, port) = match self.stored(request.kind, &request.namespace, target.name)? {
            Object::Pod(pod) => of_pod(&pod, &target)?,
            Object::Service(service) => {
                let slices = Reader::list(&self.store, Kind::EndpointSlice, &request.namespace);
                of_service(&service, &slices, &target)?
            }
            Object::Node(node) => {
                let kubelet = kubelet_at(&node)?;
                let (address, own) = kubelet.split_once(':').unwrap_or_default();
                let address = proxyable(address)?;
                // The kubelet's port is the one that is meant where none is named.
                if target.port.is_empty() || target.port == own {
                    let node = target.name.to_owned();
                    return Ok((200, Response::PassedOn { node, kubelet, container: String::new() }));
                }
                (address, port(target.port, 0)?)
            }
            _ => return Err(Status::not_served()),
        };
        Ok((200, Response::Proxied { address, port, tls: target.tls }))
    }
}

/// An address that a request may go on to. Mirrors `IsProxyableIP`.
fn proxyable(address: &str) -> Result<Ipv4Addr, Status> {
    let address = address.parse::<Ipv4Addr>().ok();
    let is_open = |ip: &Ipv4Addr| !(ip.is_loopback() || ip.is_unspecified() || ip.is_link_local() || ip.is_multicast());
    address.filter(is_open).ok_or_else(|| Status::bad_request("address not allowed"))
}

fn of_pod(pod: &Pod, target: &Target) -> Result<(Ipv4Addr, u16), Status> {
    let address = pod.status.as_ref().and_then(|status| status.pod_ip.as_deref());
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let first =
        containers.flat_map(|container| container.ports.iter().flatten()).map(|port| port.container_port).next();
    Ok((proxyable(address.unwrap_or_default())?, port(target.port, first.unwrap_or(80))?))
}

/// The number of a port, or the one that is meant where none is named.
fn port(text: &str, default: i32) -> Result<u16, Status> {
    let number = if text.is_empty() { u16::try_from(default).ok() } else { text.parse().ok() };
    number.ok_or_else(|| unavailable(format!("invalid port {text:?}")))
}

fn of_service<'a>(service: &Service, slices: &'a [Object], target: &Target) -> Result<(Ipv4Addr, u16), Status> {
    let name = service.metadata.name();
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    let port_name = match target.port.parse::<i64>() {
        Ok(number) => {
            let mut ports = ports.filter(|port| i64::from(port.port) == number);
            let none = || unavailable(format!("no service port {number} found for service {name:?}"));
            ports.next().ok_or_else(none)?.name.as_deref().unwrap_or_default()
        }
        Err(_) => target.port,
    };
    let of_service = |object: &'a Object| match object {
        Object::EndpointSlice(slice) if service_of(slice) == Some(name) => Some(&**slice),
        _ => None,
    };
    let slices: Vec<&EndpointSlice> = slices.iter().filter_map(of_service).collect();
    if slices.is_empty() {
        return Err(Status::not_found(Kind::Service, name));
    }
    let (address, port) = slices
        .iter()
        .find_map(|slice| first_of(slice, port_name))
        .ok_or_else(|| unavailable(format!("no endpoints available for service {name:?}")))?;
    Ok((proxyable(&address)?, port))
}

/// The first ready endpoint of a slice, and its port of this name.
fn first_of(slice: &EndpointSlice, name: &str) -> Option<(String, u16)> {
    let (port, endpoint) = active(slice, name)?;
    Some((endpoint.addresses.first()?.clone(), u16::try_from(port.port?).ok()?))
}

fn unavailable(why: String) -> Status {
    Status::new(Reason::ServiceUnavailable, why)
}
