//! What a Pod's `/etc/resolv.conf` says.
//!
//! Mirrors `pkg/kubelet/network/dns/dns.go`. `ClusterFirst`, the default, names the cluster's DNS server, and search
//! domains in which short names are looked for; `Default` is the node's own file; `None` leaves everything to
//! `dnsConfig`, which in the other cases is added. A Pod on the node's network needs `ClusterFirstWithHostNet` to be
//! treated as any other.
//!
//! Left out: the Event `MissingClusterDNS` of a node that was told of no server. A node's own file is empty here.

use k8s_openapi::api::core::v1::PodDNSConfig;

use crate::cri::DnsConfig;
use object::{Accessor, Pod};

/// Limits of the resolver in libc, which what a Pod asks for may pass when the cluster's own is added to it.
const SERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_LINE_LEN_MAX: usize = 2048;
const SEARCH_LEN_MAX: usize = 253;

/// What the kubelet is told about the cluster's DNS: `clusterDNS` and `clusterDomain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterDns {
    /// The server's address: `10.96.0.10`.
    pub server: String,
    /// `cluster.local`.
    pub domain: String,
}

/// The file of a Pod.
pub fn resolver(pod: &Pod, cluster: Option<&ClusterDns>) -> DnsConfig {
    let spec = pod.spec.as_ref();
    let policy = spec.and_then(|spec| spec.dns_policy.as_deref()).unwrap_or("ClusterFirst");
    let on_host = spec.and_then(|spec| spec.host_network).unwrap_or(false);
    let cluster_first = policy == "ClusterFirstWithHostNet" || policy == "ClusterFirst" && !on_host;
    let mut file = match cluster.filter(|_| cluster_first) {
        Some(cluster) => {
            let (namespace, domain) = (pod.metadata.namespace(), &cluster.domain);
            DnsConfig {
                servers: vec![cluster.server.clone()],
                searches: vec![format!("{namespace}.svc.{domain}"), format!("svc.{domain}"), domain.clone()],
                options: vec!["ndots:5".into()],
            }
        }
        None => DnsConfig::default(),
    };
    if let Some(more) = spec.and_then(|spec| spec.dns_config.as_ref()) {
        append(&mut file, more);
    }
    file
}

/// `appendDNSConfig`: what is there already is not repeated; an option given anew replaces the old one.
fn append(file: &mut DnsConfig, more: &PodDNSConfig) {
    let add = |there: &mut Vec<String>, more: &Option<Vec<String>>| {
        for item in more.iter().flatten() {
            if !there.contains(item) {
                there.push(item.clone());
            }
        }
    };
    add(&mut file.servers, &more.nameservers);
    add(&mut file.searches, &more.searches);
    for option in more.options.iter().flatten() {
        let Some(name) = &option.name else { continue };
        let text = option.value.as_ref().map_or(name.clone(), |value| format!("{name}:{value}"));
        file.options.retain(|old| old.split(':').next() != Some(name));
        file.options.push(text);
    }
}

/// `formDNSConfigFitsLimits`: what passes the limits is left out, and the Pod is told what remains.
pub fn fit(file: &mut DnsConfig) -> Vec<String> {
    let mut told = Vec::new();
    if file.servers.len() > SERVERS_MAX {
        file.servers.truncate(SERVERS_MAX);
        told.push(format!(
            "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: {}",
            file.servers.join(" ")
        ));
    }
    let asked = file.searches.len();
    file.searches.truncate(SEARCHES_MAX);
    file.searches.retain(|search| search.len() <= SEARCH_LEN_MAX);
    while file.searches.join(" ").len() > SEARCH_LINE_LEN_MAX {
        file.searches.pop();
    }
    if file.searches.len() < asked {
        told.push(format!(
            "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: {}",
            file.searches.join(" ")
        ));
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_policy_decides() {
        let cluster = ClusterDns { server: "10.96.0.10".into(), domain: "cluster.local".into() };
        let extra = json!({
            "nameservers": ["192.0.2.1"], "searches": ["corp.example"], "options": [{"name": "ndots", "value": "2"}],
        });
        for (spec, servers, first, options) in [
            (json!({}), "10.96.0.10", "shop.svc.cluster.local", "ndots:5"),
            (json!({"dnsPolicy": "ClusterFirst", "hostNetwork": true}), "", "", ""),
            (
                json!({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": true}),
                "10.96.0.10",
                "shop.svc.cluster.local",
                "ndots:5",
            ),
            (json!({"dnsPolicy": "Default"}), "", "", ""),
            (json!({"dnsPolicy": "None", "dnsConfig": extra}), "192.0.2.1", "corp.example", "ndots:2"),
            (json!({"dnsConfig": extra}), "10.96.0.10,192.0.2.1", "shop.svc.cluster.local", "ndots:2"),
        ] {
            let mut spec = spec;
            spec["containers"] = json!([]);
            let pod: Pod = serde_json::from_value(json!({"metadata": {"namespace": "shop"}, "spec": spec})).unwrap();
            let file = resolver(&pod, Some(&cluster));
            let found =
                (file.servers.join(","), file.searches.first().cloned().unwrap_or_default(), file.options.join(","));
            assert_eq!(found, (servers.to_owned(), first.to_owned(), options.to_owned()), "{spec}");
        }
        assert_eq!(resolver(&Pod::default(), None), DnsConfig::default());
    }
    #[test]
    fn what_passes_the_limits_is_left_out() {
        let cluster = ClusterDns { server: "10.96.0.10".into(), domain: "cluster.local".into() };
        let fitted = |more: serde_json::Value| {
            let spec = json!({"containers": [], "dnsConfig": more});
            let pod = serde_json::from_value(json!({"metadata": {"namespace": "shop"}, "spec": spec})).unwrap();
            let mut file = resolver(&pod, Some(&cluster));
            let told = fit(&mut file);
            (file, told)
        };
        let (file, told) = fitted(json!({"nameservers": ["192.0.2.1", "192.0.2.2", "192.0.2.1"]}));
        assert_eq!((file.servers.len(), told), (3, vec![]), "what is repeated counts once");

        let (file, told) = fitted(json!({"nameservers": ["192.0.2.1", "192.0.2.2", "192.0.2.3"]}));
        assert_eq!(file.servers, ["10.96.0.10", "192.0.2.1", "192.0.2.2"]);
        let line = "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: \
                    10.96.0.10 192.0.2.1 192.0.2.2";
        assert_eq!(told, [line]);

        let many: Vec<String> = (0..30).map(|i| format!("d{i}")).collect();
        let (file, told) = fitted(json!({ "searches": many }));
        assert_eq!((file.searches.len(), file.searches.last().unwrap().as_str()), (32, "d28"));
        let omitted =
            "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ";
        assert_eq!(told, [format!("{omitted}{}", file.searches.join(" "))]);

        let long: Vec<String> = (10..20).map(|i| format!("{}{i}", "d".repeat(250))).collect();
        let (file, told) = fitted(json!({ "searches": long }));
        assert_eq!((file.searches.len(), told.len()), (10, 1), "three of the cluster and seven that fit into the line");
    }
}
