//! What must hold of NetworkPolicies: who is let through.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::services::host_of;
use super::{Property, node_of, stored};
use apiserver::host::Engine;
use engine::Step;
use network::netfilter::{Cidr, ConnectionId, Protocol, Tuple};
use object::pod::{address_of, container_port, has_ended};
use object::reader::Reader;
use object::selector::selects;
use object::time::Instant;
use object::{Accessor, Kind, Object, Pod};

/// The rules follow a change of policies, Pods or Namespaces within this time.
const RULES_FOLLOW: Duration = Duration::from_millis(500);

/// On a node with an agent, no connection to or from a Pod there is let through that no policy allows, once the agent has
/// had the time to hear of what is stored. It is worked out anew for each connection, from what the API server has.
#[derive(Clone, Default)]
pub(super) struct PoliciesHold {
    /// When something that policies depend on was last stored.
    changed: Instant,
    /// The newest connection of each node's kernel that was looked at.
    seen: BTreeMap<String, ConnectionId>,
}

impl Property for PoliciesHold {
    fn name(&self) -> &'static str {
        "no connection passes that no policy allows"
    }

    fn check(&mut self, engine: &Engine, step: &Step) -> Result<(), String> {
        let matters = |object: &Object| matches!(object.kind(), Kind::NetworkPolicy | Kind::Pod | Kind::Namespace);
        if stored(step).any(|(_, old, new)| new.or(old).is_some_and(matters)) {
            self.changed = step.time;
        }
        let actor = engine.actor(step.event.to).map(|actor| actor.name()).unwrap_or_default();
        let Some(node) = actor.strip_prefix("kernel/") else { return Ok(()) };
        if engine.find(&format!("network-policy-agent/{node}")).is_none() {
            return Ok(());
        }
        let Some(host) = host_of(engine, node) else { return Ok(()) };
        let last = self.seen.get(node).copied();
        let network = host.network.borrow();
        for (id, connection) in network.root.netfilter.conntrack.connections_after(last) {
            self.seen.insert(node.to_owned(), id);
            // From whom it came and where it went after NAT.
            let asked = Tuple { source: connection.original.source, ..connection.reply.inverted() };
            let own = network.root.links.values().flat_map(|link| &link.addresses);
            let is_own = { own }.any(|there| there.address == std::net::IpAddr::V4(asked.source));
            if self.changed + RULES_FOLLOW < step.time && !is_own && asked.source != asked.destination {
                allowed(engine, node, asked)?;
            }
        }
        Ok(())
    }
}

/// Whether both ends that are on the node let the connection pass.
fn allowed(engine: &Engine, node: &str, asked: Tuple) -> Result<(), String> {
    let [client, server] = [asked.source, asked.destination].map(|address| pod_at(engine, address));
    for (direction, isolated) in [("Egress", &client), ("Ingress", &server)] {
        let Some(pod) = isolated.as_ref().filter(|pod| node_of(&Object::Pod((*pod).clone())) == Some(node)) else {
            continue;
        };
        let namespace = pod.metadata.namespace();
        let policies: Vec<Arc<NetworkPolicy>> = Reader::list(&engine.server.api.store, Kind::NetworkPolicy, namespace)
            .into_iter()
            .filter_map(|object| match object {
                Object::NetworkPolicy(policy) if isolates(&policy, pod, direction) => Some(policy),
                _ => None,
            })
            .collect();
        let ends = Ends { asked, client: client.as_deref(), server: server.as_deref(), engine };
        if !policies.is_empty() && !policies.iter().any(|policy| ends.allows(policy, direction)) {
            let name = pod.metadata.name();
            return Err(format!(
                "{node} let {asked:?} pass, which no policy allows {namespace}/{name} for {direction}"
            ));
        }
    }
    Ok(())
}

fn isolates(policy: &NetworkPolicy, pod: &Pod, direction: &str) -> bool {
    let Some(spec) = &policy.spec else { return false };
    spec.policy_types.iter().flatten().any(|type_| type_ == direction)
        && spec.pod_selector.as_ref().is_none_or(|selector| selects(selector, pod.metadata.labels.as_ref()))
}

fn pod_at(engine: &Engine, address: Ipv4Addr) -> Option<Arc<Pod>> {
    let address = address.to_string();
    engine.server.api.store.prefix("/registry/pods/").find_map(|(_, entry)| match &entry.value {
        Object::Pod(pod) if address_of(pod) == Some(&address) && !has_ended(pod) && !is_on_host(pod) => {
            Some(pod.clone())
        }
        _ => None,
    })
}

fn is_on_host(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true))
}

/// A connection and the Pods at its ends.
struct Ends<'a> {
    asked: Tuple,
    client: Option<&'a Pod>,
    server: Option<&'a Pod>,
    engine: &'a Engine,
}

impl Ends<'_> {
    fn allows(&self, policy: &NetworkPolicy, direction: &str) -> bool {
        let namespace = policy.metadata.namespace();
        let Some(spec) = &policy.spec else { return false };
        let fits = |peers: &Option<Vec<NetworkPolicyPeer>>, ports: &Option<Vec<NetworkPolicyPort>>| {
            let (peers, ports) = (peers.as_deref().unwrap_or_default(), ports.as_deref().unwrap_or_default());
            (peers.is_empty() || peers.iter().any(|peer| self.is_peer(namespace, peer, direction)))
                && (ports.is_empty() || ports.iter().any(|port| self.is_at(port)))
        };
        match direction {
            "Ingress" => spec.ingress.iter().flatten().any(|rule| fits(&rule.from, &rule.ports)),
            _ => spec.egress.iter().flatten().any(|rule| fits(&rule.to, &rule.ports)),
        }
    }

    fn is_peer(&self, namespace: &str, peer: &NetworkPolicyPeer, direction: &str) -> bool {
        let (pod, address) = match direction {
            "Ingress" => (self.client, self.asked.source),
            _ => (self.server, self.asked.destination),
        };
        if let Some(block) = &peer.ip_block {
            let within = |range: &String| range.parse::<Cidr>().is_ok_and(|range| range.contains(address));
            return within(&block.cidr) && !block.except.iter().flatten().any(within);
        }
        let Some(pod) = pod else { return false };
        let there = pod.metadata.namespace();
        let in_namespace = match &peer.namespace_selector {
            None => there == namespace,
            Some(selector) => Reader::get(&self.engine.server.api.store, Kind::Namespace, "", there)
                .is_some_and(|namespace| selects(selector, namespace.meta().labels.as_ref())),
        };
        in_namespace
            && peer.pod_selector.as_ref().is_none_or(|selector| selects(selector, pod.metadata.labels.as_ref()))
    }

    fn is_at(&self, port: &NetworkPolicyPort) -> bool {
        let text = port.protocol.as_deref().unwrap_or("TCP");
        let number = i32::from(self.asked.destination_port);
        let fits = match &port.port {
            None => true,
            Some(IntOrString::Int(first)) => (*first..=port.end_port.unwrap_or(*first)).contains(&number),
            Some(IntOrString::String(name)) => {
                self.server.and_then(|pod| container_port(pod, name, text)) == Some(number)
            }
        };
        Protocol::parse(text) == Some(self.asked.protocol) && fits
    }
}
