//! How kubectl shows where a Service leads: Endpoints, EndpointSlices, addresses and their ranges.
//! Mirrors `formatEndpoints` and `formatDiscoveryEndpoints` of `pkg/printers/internalversion/printers.go`.

use serde_json::Value;

use crate::printers::fields::{int, list, plain, text};

/// So many are shown, then their number.
const SHOWN_MAX: usize = 3;

/// The ready addresses of an Endpoints object, each with each port: `10.244.1.2:80,10.244.2.3:80`.
pub fn endpoints(endpoints: &Value) -> String {
    let subsets = list(endpoints, "subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut all = Vec::new();
    for subset in subsets {
        let ips = || list(subset, "addresses").iter().map(|address| text(address, "ip"));
        match list(subset, "ports") {
            [] => all.extend(ips().map(str::to_owned)),
            ports => all.extend(ports.iter().flat_map(|port| ips().map(|ip| host_port(ip, port)))),
        }
    }
    with_more(&all)
}

/// `10.244.1.2:80`, or `[fd00::1]:80`. Mirrors `net.JoinHostPort`.
fn host_port(ip: &str, port: &Value) -> String {
    let port = int(port, "port");
    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
}

/// The ports of an EndpointSlice: `80,443`.
pub fn slice_ports(slice: &Value) -> String {
    let number = |port: &Value| match (port.get("port"), text(port, "name")) {
        (Some(number), _) => plain(number),
        (None, "") => "*".to_owned(),
        (None, name) => name.to_owned(),
    };
    or_unset(with_more(&list(slice, "ports").iter().map(number).collect::<Vec<_>>()))
}

/// The addresses of an EndpointSlice, ready or not.
pub fn slice_endpoints(slice: &Value) -> String {
    let addresses = list(slice, "endpoints").iter().flat_map(|endpoint| list(endpoint, "addresses"));
    or_unset(with_more(&addresses.map(plain).collect::<Vec<_>>()))
}

/// The ready endpoints behind one port, from all slices. Mirrors `formatEndpointSlices`.
pub fn ready_endpoints(slices: &[Value], port_name: &str) -> String {
    if slices.is_empty() {
        return "<none>".to_owned();
    }
    let mut all = Vec::new();
    for slice in slices {
        let ready = |endpoint: &&Value| {
            endpoint.get("conditions").and_then(|c| c.get("ready")).and_then(Value::as_bool).unwrap_or(true)
        };
        let ips = || {
            let endpoints = list(slice, "endpoints").iter().filter(ready);
            endpoints.filter_map(|endpoint| list(endpoint, "addresses").first().map(plain))
        };
        match list(slice, "ports") {
            [] => all.extend(ips()),
            ports => {
                let named = ports.iter().filter(|port| text(port, "name") == port_name);
                all.extend(named.flat_map(|port| ips().map(|ip| host_port(&ip, port))));
            }
        }
    }
    with_more(&all)
}

/// The object that an IPAddress belongs to: `services/default/web`.
pub fn parent(address: &Value) -> String {
    let part = |field: &str| text(address, &format!("spec.parentRef.{field}")).to_owned();
    let group = part("group");
    let resource = if group.is_empty() { part("resource") } else { format!("{}.{group}", part("resource")) };
    let resource = resource.to_lowercase();
    let parts = [resource, part("namespace"), part("name")];
    let shown: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if shown.is_empty() { "<none>".to_owned() } else { shown.join("/") }
}

/// The ranges of a ServiceCIDR.
pub fn ranges(range: &Value) -> String {
    list(range, "spec.cidrs").iter().map(plain).collect::<Vec<_>>().join(",")
}

/// The first few, and how many more there are.
fn with_more(all: &[String]) -> String {
    let shown = all[..all.len().min(SHOWN_MAX)].join(",");
    if all.len() > SHOWN_MAX { format!("{shown} + {} more...", all.len() - SHOWN_MAX) } else { shown }
}

fn or_unset(text: String) -> String {
    if text.is_empty() { "<unset>".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn three_are_shown() {
        let addresses: Vec<Value> = (1..=5).map(|n| json!({"ip": format!("10.0.0.{n}")})).collect();
        let subset = |addresses: &[Value]| json!({"subsets": [{"addresses": addresses, "ports": [{"port": 80}]}]});
        assert_eq!(endpoints(&subset(&addresses)), "10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more...");
        assert_eq!(endpoints(&subset(&addresses[..1])), "10.0.0.1:80");
        assert_eq!(endpoints(&subset(&[json!({"ip": "fd00::1"})])), "[fd00::1]:80");
        assert_eq!((endpoints(&subset(&[])), endpoints(&json!({}))), (String::new(), "<none>".into()));
        let slice = json!({"ports": [{"name": "", "port": 80}, {"name": "x"}],
            "endpoints": [{"addresses": ["10.0.0.1"]}, {"addresses": ["10.0.0.2"]}]});
        assert_eq!((slice_ports(&slice), slice_endpoints(&slice)), ("80,x".into(), "10.0.0.1,10.0.0.2".into()));
        assert_eq!(slice_ports(&json!({"ports": []})), "<unset>");
    }

    #[test]
    fn addresses_name_their_service() {
        let address = json!({"spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "web"}}});
        assert_eq!((parent(&address), parent(&json!({}))), ("services/default/web".into(), "<none>".into()));
    }
}
