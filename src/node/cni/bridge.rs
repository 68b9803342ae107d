//! The bridge plugin: a veth pair, one end in the Pod, the other on the node's bridge. Mirrors `plugins/main/bridge`.

use super::netns::{NodeNetwork, Port};
use super::{CniError, CniRequest, CniResult};

/// Connects a namespace. `host_end` names the node's end of the pair; `steps` gets a line for each thing done.
pub fn add(
    network: &mut NodeNetwork,
    request: &CniRequest,
    host_end: &str,
    steps: &mut Vec<String>,
) -> Result<CniResult, CniError> {
    let (id, ifname, netns) = (&request.container_id, &request.ifname, &request.netns);
    if network.ports.contains_key(id) {
        let message = format!("container veth name (\"{ifname}\") peer provided (\"{host_end}\") already exists");
        return Err(CniError { code: 100, message });
    }
    let (bridge, gateway, prefix) = (network.config.bridge.clone(), network.ipam.gateway(), network.ipam.prefix);
    if !network.bridge_up {
        network.bridge_up = true;
        steps.push(format!("bridge {bridge} made and set up"));
    }
    // The pair is there before the address: if none is left, the DEL that follows takes the pair away again.
    let port = Port { name: host_end.into(), netns: netns.clone(), peer: ifname.clone(), address: String::new() };
    network.ports.insert(id.clone(), port);
    steps.push(format!("veth pair: {ifname} inside {netns}, {host_end} on the node"));
    steps.push(format!("{host_end} becomes a port of {bridge}"));
    let address = network.ipam.add(id, ifname)?;
    steps.push(format!("host-local reserves {address}: file {}", network.config.address_file(address)));
    if let Some(port) = network.ports.get_mut(id) {
        port.address = address.to_string();
    }
    steps.push(format!("{ifname} gets {address}/{prefix}; default route via {gateway}"));
    steps.push(format!("{bridge} has {gateway}/{prefix}; ip_forward is on"));
    let chain = chain(id);
    steps.push(format!("iptables: POSTROUTING -s {address} -j {chain}, which masquerades what leaves the Pod network"));
    network.masquerade.insert(chain, id.clone());
    Ok(CniResult {
        interfaces: vec![
            (bridge, mac(&gateway.octets()), String::new()),
            (host_end.to_owned(), mac(host_end.as_bytes()), String::new()),
            (ifname.clone(), mac(&address.octets()), netns.clone()),
        ],
        ips: vec![(format!("{address}/{prefix}"), gateway.to_string())],
        routes: vec![("0.0.0.0/0".into(), gateway.to_string())],
        supported_versions: None,
    })
}

/// Undoes an ADD. What is not there any more is no error.
pub fn del(network: &mut NodeNetwork, request: &CniRequest, steps: &mut Vec<String>) {
    let id = &request.container_id;
    if let Some(port) = network.ports.remove(id) {
        steps.push(format!("{} deleted inside {}; {} goes with it", port.peer, port.netns, port.name));
    }
    if let Some(address) = network.ipam.del(id, &request.ifname) {
        steps.push(format!("host-local gives {address} back: its file is removed"));
    }
    if network.masquerade.remove(&chain(id)).is_some() {
        steps.push("masquerade rules removed".into());
    }
}

/// Undoes the ADD of every sandbox that is not among `valid`. The real plugin leaves this to host-local.
pub fn gc(network: &mut NodeNetwork, request: &CniRequest, steps: &mut Vec<String>) {
    let stale = |id: &&String| !request.valid_attachments.contains(id);
    let stale: Vec<String> = network.ports.keys().filter(stale).cloned().collect();
    for container_id in stale {
        del(network, &CniRequest { container_id, ..request.clone() }, steps);
    }
}

/// Looks whether an ADD still holds.
pub fn check(network: &NodeNetwork, request: &CniRequest) -> Result<(), CniError> {
    let id = &request.container_id;
    let held = network.ipam.held(id, &request.ifname).map(|a| a.to_string());
    match network.ports.get(id) {
        Some(port) if held.as_ref() == Some(&port.address) => Ok(()),
        Some(_) => {
            Err(CniError { code: 100, message: format!("host-local: Failed to find address added by container {id}") })
        }
        None => Err(CniError {
            code: 100,
            message: format!("interface {} is missing in {}", request.ifname, request.netns),
        }),
    }
}

/// `CNI-` and 24 digits. The real plugin hashes network and container with SHA-512; any stable digits will do here.
fn chain(id: &str) -> String {
    format!("CNI-{}", id.chars().take(24).collect::<String>())
}

/// A locally administered hardware address made from `seed`.
fn mac(seed: &[u8]) -> String {
    let hash = seed.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    let [a, b, c, d] = hash.to_be_bytes();
    format!("0a:58:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::*;

    fn request(id: &str) -> CniRequest {
        CniRequest {
            command: Command::Add,
            container_id: id.into(),
            netns: format!("/var/run/netns/cni-{id}"),
            ifname: "eth0".into(),
            pod_namespace: "default".into(),
            pod_name: "web".into(),
            pod_uid: "u".into(),
            valid_attachments: Vec::new(),
        }
    }

    #[test]
    fn a_failed_add_leaves_a_pair_for_del_to_take_away() {
        let mut network = NodeNetwork::new("10.244.0.0/30");
        add(&mut network, &request("a"), "veth00000001", &mut Vec::new()).unwrap();
        let error = add(&mut network, &request("b"), "veth00000002", &mut Vec::new()).unwrap_err();
        assert!(error.message.contains("no IP addresses available in range set"), "{}", error.message);
        assert_eq!(network.links().len(), 4);
        let mut steps = Vec::new();
        del(&mut network, &request("b"), &mut steps);
        assert_eq!(steps, ["eth0 deleted inside /var/run/netns/cni-b; veth00000002 goes with it"]);
        assert_eq!(network.inside("a")[2], "default via 10.244.0.1 dev eth0");
    }

    #[test]
    fn gc_keeps_what_is_named() {
        let mut network = NodeNetwork::new("10.244.0.0/24");
        for id in ["a", "b", "c"] {
            add(&mut network, &request(id), "veth00000001", &mut Vec::new()).unwrap();
        }
        let collect = CniRequest { valid_attachments: vec!["b".into()], command: Command::Gc, ..request("") };
        gc(&mut network, &collect, &mut Vec::new());
        assert_eq!(network.ports.keys().collect::<Vec<_>>(), ["b"]);
        assert_eq!(network.ipam.files().len(), 2, "the address of b, and the one given last");
        let stdin = network.config.stdin(&collect);
        assert_eq!(stdin["cni.dev/valid-attachments"][0]["containerID"], "b");
        assert_eq!(stdin["ipam"]["ranges"][0][0]["subnet"], "10.244.0.0/24");
    }

    #[test]
    fn what_add_does_del_undoes() {
        let before = NodeNetwork::new("10.244.0.0/24");
        let mut network = before.clone();
        let result = add(&mut network, &request("a"), "veth00000001", &mut Vec::new()).unwrap();
        assert_eq!(result.address(), "10.244.0.2");
        assert!(check(&network, &request("a")).is_ok());
        assert!(add(&mut network, &request("a"), "veth00000002", &mut Vec::new()).is_err());
        for _ in 0..2 {
            del(&mut network, &request("a"), &mut Vec::new());
        }
        assert!(check(&network, &request("a")).is_err());
        assert!(network.ports.is_empty() && network.masquerade.is_empty());
        assert_eq!(network.ipam.held("a", "eth0"), None);
    }
}
