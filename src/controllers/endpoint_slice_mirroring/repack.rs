//! Subsets as slices want them: ports that the same addresses serve stand together, each address once.
//!
//! A user who writes Endpoints by hand may name an address in several subsets. Where they disagree about one port, the address
//! is not ready. Mirrors `RepackSubsets` of `pkg/api/v1/endpoints`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{EndpointAddress, EndpointPort, EndpointSubset};

use super::addresses as addresses_of;

/// What makes an address the same one: where it is, and the object behind it.
type Identity = (String, String);
/// Addresses, and whether each is ready.
type Served = BTreeMap<Identity, bool>;

/// The same addresses behind the same ports, in as few subsets as that takes. Addresses are in order.
pub fn repack(subsets: &[EndpointSubset]) -> Vec<EndpointSubset> {
    let mut addresses: BTreeMap<Identity, &EndpointAddress> = BTreeMap::new();
    // Of no port at all: that is a port too.
    let mut served: Vec<(Option<&EndpointPort>, Served)> = Vec::new();
    for subset in subsets {
        let ports: Vec<Option<&EndpointPort>> = match subset.ports.as_deref().unwrap_or_default() {
            [] => vec![None],
            ports => ports.iter().map(Some).collect(),
        };
        for (address, ready) in addresses_of(subset) {
            addresses.entry(identity(address)).or_insert(address);
            for port in &ports {
                let known = served.iter().position(|(other, _)| other == port).unwrap_or_else(|| {
                    served.push((*port, Served::new()));
                    served.len() - 1
                });
                *served[known].1.entry(identity(address)).or_insert(ready) &= ready;
            }
        }
    }
    let mut together: BTreeMap<Served, Vec<EndpointPort>> = BTreeMap::new();
    for (port, by) in served {
        together.entry(by).or_default().extend(port.cloned());
    }
    let subset = |(by, ports): (Served, Vec<EndpointPort>)| {
        let (ready, waiting): (Vec<_>, Vec<_>) = by.into_iter().partition(|(_, ready)| *ready);
        let list = |of: Vec<(Identity, bool)>| {
            let of: Vec<_> = of.iter().filter_map(|(identity, _)| addresses.get(identity).copied().cloned()).collect();
            (!of.is_empty()).then_some(of)
        };
        let ports = (!ports.is_empty()).then_some(ports);
        EndpointSubset { addresses: list(ready), not_ready_addresses: list(waiting), ports }
    };
    together.into_iter().map(subset).collect()
}

fn identity(address: &EndpointAddress) -> Identity {
    let uid = address.target_ref.as_ref().and_then(|target| target.uid.clone());
    (address.ip.clone(), uid.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn ports_of_the_same_addresses_stand_together() {
        let subset = |ready: &[&str], waiting: &[&str], ports: &[i32]| {
            let list = |ips: &[&str]| -> Vec<Value> { ips.iter().map(|ip| json!({"ip": ip})).collect() };
            let ports: Vec<Value> = ports.iter().map(|port| json!({"port": port, "protocol": "TCP"})).collect();
            json!({"addresses": list(ready), "notReadyAddresses": list(waiting), "ports": ports})
        };
        let text = |subset: &EndpointSubset| {
            let ports: Vec<String> = subset.ports.iter().flatten().map(|port| port.port.to_string()).collect();
            let addresses: Vec<String> =
                addresses_of(subset).map(|(a, ready)| format!("{}{}", if ready { "" } else { "-" }, a.ip)).collect();
            format!("{}: {}", ports.join(","), addresses.join(" "))
        };
        for (subsets, expected) in [
            (json!([subset(&["b", "a"], &[], &[80])]), vec!["80: a b"]),
            (json!([subset(&["a"], &[], &[80]), subset(&["a"], &[], &[443])]), vec!["80,443: a"]),
            (json!([subset(&["a"], &[], &[80]), subset(&["a", "b"], &[], &[443])]), vec!["80: a", "443: a b"]),
            (json!([subset(&["a"], &[], &[80]), subset(&["b"], &["a"], &[80])]), vec!["80: b -a"]),
            (json!([subset(&[], &["a"], &[80]), subset(&["a"], &[], &[80])]), vec!["80: -a"]),
            (json!([subset(&["a"], &[], &[]), subset(&["b"], &[], &[])]), vec![": a b"]),
            (json!([subset(&[], &[], &[80])]), vec![]),
        ] {
            let given: Vec<EndpointSubset> = serde_json::from_value(subsets.clone()).unwrap();
            let found: Vec<String> = repack(&given).iter().map(text).collect();
            assert_eq!(found, expected, "{subsets}");
        }
    }
}
