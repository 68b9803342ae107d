//! The same Services as rules of nftables: what kube-proxy writes with `--proxy-mode=nftables`. Mirrors
//! `pkg/proxy/nftables/proxier.go`.
//!
//! Where iptables asks one rule after another, nftables looks an address up in a map, so that a packet costs the same
//! with ten thousand Services as with ten. There is one table of its own, and nobody else's chains are touched.
//!
//! This is the second view of what [`super::iptables`] does, as the script that `nft -f` reads; the simulated kernel
//! follows the first.

use std::fmt::Write as _;

use super::iptables::MASQUERADE_MARK;
use super::names::hash;
use super::portal::{Backend, Location, Portal};
use crate::node::netfilter::Cidr;

/// Characters of a hash that a chain's name begins with; the rest says in plain text what it is.
const HASH_LEN: usize = 8;

/// Chains and maps that are always there.
const FIXED: &str = "\
add table ip kube-proxy { comment \"rules for kube-proxy\" ; }
add set ip kube-proxy cluster-ips { type ipv4_addr ; comment \"Active ClusterIPs\" ; }
add set ip kube-proxy nodeport-ips { type ipv4_addr ; comment \"IPs that accept NodePort traffic\" ; }
add map ip kube-proxy no-endpoint-services { type ipv4_addr . inet_proto . inet_service : verdict ; comment \"vmap to drop or reject packets to services with no endpoints\" ; }
add map ip kube-proxy no-endpoint-nodeports { type inet_proto . inet_service : verdict ; comment \"vmap to drop or reject packets to service nodeports with no endpoints\" ; }
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; comment \"ClusterIP, ExternalIP and LoadBalancer IP traffic\" ; }
add map ip kube-proxy service-nodeports { type inet_proto . inet_service : verdict ; comment \"NodePort traffic\" ; }
add chain ip kube-proxy reject-chain { comment \"helper for @no-endpoint-services / @no-endpoint-nodeports\" ; }
add rule ip kube-proxy reject-chain reject
add chain ip kube-proxy mark-for-masquerade
add rule ip kube-proxy mark-for-masquerade mark set mark or MARK
add chain ip kube-proxy masquerading
add rule ip kube-proxy masquerading mark and MARK == 0 return
add rule ip kube-proxy masquerading mark set mark xor MARK
add rule ip kube-proxy masquerading masquerade fully-random
add chain ip kube-proxy cluster-ips-check
add rule ip kube-proxy cluster-ips-check ip daddr @cluster-ips reject comment \"Reject traffic to invalid ports of ClusterIPs\"
add chain ip kube-proxy service-endpoints-check
add rule ip kube-proxy service-endpoints-check ip daddr . meta l4proto . th dport vmap @no-endpoint-services
add chain ip kube-proxy nodeport-endpoints-check
add rule ip kube-proxy nodeport-endpoints-check ip daddr @nodeport-ips meta l4proto . th dport vmap @no-endpoint-nodeports
add chain ip kube-proxy services
add rule ip kube-proxy services ip daddr . meta l4proto . th dport vmap @service-ips
add rule ip kube-proxy services ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports
add chain ip kube-proxy filter-prerouting-pre-dnat { type filter hook prerouting priority -110 ; }
add chain ip kube-proxy filter-input { type filter hook input priority 0 ; }
add rule ip kube-proxy filter-input ct state new jump nodeport-endpoints-check
add rule ip kube-proxy filter-input ct state new jump service-endpoints-check
add chain ip kube-proxy filter-forward { type filter hook forward priority 0 ; }
add rule ip kube-proxy filter-forward ct state new jump service-endpoints-check
add rule ip kube-proxy filter-forward ct state new jump cluster-ips-check
add chain ip kube-proxy filter-output { type filter hook output priority 0 ; }
add rule ip kube-proxy filter-output ct state new jump service-endpoints-check
add rule ip kube-proxy filter-output ct state new jump cluster-ips-check
add chain ip kube-proxy nat-prerouting { type nat hook prerouting priority -100 ; }
add rule ip kube-proxy nat-prerouting jump services
add chain ip kube-proxy nat-output { type nat hook output priority -100 ; }
add rule ip kube-proxy nat-output jump services
add chain ip kube-proxy nat-postrouting { type nat hook postrouting priority 100 ; }
add rule ip kube-proxy nat-postrouting jump masquerading
";

/// The whole table as a script for `nft -f`.
pub fn script<'a>(portals: impl Iterator<Item = &'a Portal>, here: &Location, pods: Cidr) -> String {
    let mut out = FIXED.replace("MARK", &format!("{MASQUERADE_MARK:#x}"));
    if let Some(ip) = here.ip {
        element(&mut out, "nodeport-ips", &ip.to_string());
    }
    let mut cluster_ips = std::collections::BTreeSet::new();
    for portal in portals {
        if cluster_ips.insert(portal.cluster_ip) {
            element(&mut out, "cluster-ips", &portal.cluster_ip.to_string());
        }
        let mut script = Script { portal, here, pods, heads: String::new(), out: String::new() };
        script.write();
        out += &script.heads;
        out += &script.out;
    }
    out
}

fn element(out: &mut String, set: &str, value: &str) {
    let _ = writeln!(out, "add element ip kube-proxy {set} {{ {value} }}");
}

struct Script<'a> {
    portal: &'a Portal,
    here: &'a Location,
    pods: Cidr,
    /// Chains and sets: they must be there before a rule names them.
    heads: String,
    out: String,
}

impl Script<'_> {
    /// `default/web/tcp/http`, behind its own hash.
    fn base(&self) -> String {
        let name = &self.portal.name;
        let text = format!("{}/{}/{}/{}", name.namespace, name.service, name.protocol.as_str(), name.port);
        format!("{}-{text}", hash(&text, HASH_LEN))
    }

    fn endpoint_chain(&self, backend: &Backend) -> String {
        let name = &self.portal.name;
        let text = format!("{}/{}/{}/{}", name.namespace, name.service, name.protocol.as_str(), name.port);
        let text = format!("{text}__{}/{}", backend.ip, backend.port);
        format!("endpoint-{}-{text}", hash(&text, HASH_LEN))
    }

    fn chain(&mut self, chain: &str) {
        let _ = writeln!(self.heads, "add chain ip kube-proxy {chain}");
    }

    fn rule(&mut self, chain: &str, rule: &str) {
        let _ = writeln!(self.out, "add rule ip kube-proxy {chain} {rule}");
    }

    fn write(&mut self) {
        let portal = self.portal;
        let choice = portal.choose(self.here);
        let (protocol, base) = (portal.name.protocol.as_str(), self.base());
        let (cluster, local) = (format!("service-{base}"), format!("local-{base}"));
        let internal = if portal.internal_local { &local } else { &cluster };
        let refused = if choice.any { "drop" } else { "goto reject-chain" };
        let served = |is_local: bool| choice.any && (!is_local || !choice.local.is_empty());
        let at = |ip: &dyn std::fmt::Display, verdict: &str| format!("{ip} . {protocol} . {} : {verdict}", portal.port);
        for (policy, backends) in [(&cluster, &choice.cluster), (&local, &choice.local)] {
            if !backends.is_empty() {
                self.chain(policy);
                self.service(policy, policy == internal, backends);
            }
        }
        match served(portal.internal_local) {
            true => element(&mut self.out, "service-ips", &at(&portal.cluster_ip, &format!("goto {internal}"))),
            false => element(&mut self.out, "no-endpoint-services", &at(&portal.cluster_ip, refused)),
        }
        if portal.is_external() {
            let (external, is_served) = (format!("external-{base}"), served(portal.external_local));
            if choice.any {
                self.chain(&external);
                self.outside_rules(
                    &external,
                    &cluster,
                    if portal.external_local { &local } else { &cluster },
                    is_served,
                );
            }
            for ip in portal.external_ips.iter().chain(&portal.load_balancer_ips) {
                if choice.any {
                    element(&mut self.out, "service-ips", &at(ip, &format!("goto {external}")));
                }
                if !is_served {
                    element(&mut self.out, "no-endpoint-services", &at(ip, refused));
                }
            }
            if let Some(port) = portal.node_port {
                if choice.any {
                    element(&mut self.out, "service-nodeports", &format!("{protocol} . {port} : goto {external}"));
                }
                if !is_served {
                    element(&mut self.out, "no-endpoint-nodeports", &format!("{protocol} . {port} : {refused}"));
                }
            }
        }
        for backend in &choice.reachable {
            self.endpoint(backend);
        }
    }

    /// One lot among the endpoints.
    fn service(&mut self, chain: &str, internal: bool, backends: &[&Backend]) {
        let (portal, protocol) = (self.portal, self.portal.name.protocol.as_str());
        if internal {
            let to = format!("ip daddr {} {protocol} dport {}", portal.cluster_ip, portal.port);
            self.rule(chain, &format!("{to} ip saddr != {} jump mark-for-masquerade", self.pods));
        }
        for backend in backends.iter().filter(|_| portal.affinity.is_some()) {
            let endpoint = self.endpoint_chain(backend);
            let set = endpoint.replacen("endpoint-", "affinity-", 1);
            self.rule(chain, &format!("ip saddr @{set} goto {endpoint}"));
        }
        let lots =
            backends.iter().enumerate().map(|(i, backend)| format!("{i} : goto {}", self.endpoint_chain(backend)));
        let lots = lots.collect::<Vec<_>>().join(" , ");
        self.rule(chain, &format!("numgen random mod {} vmap {{ {lots} }}", backends.len()));
    }

    fn outside_rules(&mut self, chain: &str, cluster: &str, policy: &str, served: bool) {
        if self.portal.external_local {
            let pods = self.pods;
            self.rule(chain, &format!("ip saddr {pods} goto {cluster} comment \"short-circuit pod traffic\""));
            self.rule(chain, "fib saddr type local jump mark-for-masquerade comment \"masquerade local traffic\"");
            self.rule(chain, &format!("fib saddr type local goto {cluster} comment \"short-circuit local traffic\""));
        } else {
            self.rule(chain, "jump mark-for-masquerade");
        }
        if served {
            self.rule(chain, &format!("goto {policy}"));
        }
    }

    fn endpoint(&mut self, backend: &Backend) {
        let chain = self.endpoint_chain(backend);
        let protocol = self.portal.name.protocol.as_str();
        if let Some(seconds) = self.portal.affinity {
            let set = chain.replacen("endpoint-", "affinity-", 1);
            let timeout = format!("type ipv4_addr ; flags dynamic,timeout ; timeout {seconds}s ;");
            let _ = writeln!(self.heads, "add set ip kube-proxy {set} {{ {timeout} }}");
        }
        self.chain(&chain);
        self.rule(&chain, &format!("ip saddr {} jump mark-for-masquerade", backend.ip));
        if self.portal.affinity.is_some() {
            let set = chain.replacen("endpoint-", "affinity-", 1);
            self.rule(&chain, &format!("update @{set} {{ ip saddr }}"));
        }
        self.rule(&chain, &format!("meta l4proto {protocol} dnat to {backend}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_named_as_everywhere() {
        assert_eq!(hash("ns1/svc1/tcp/p80", HASH_LEN), "ULMVA6XW");
        assert_eq!(hash("ns1/svc1/tcp/p80__10.180.0.1/80", HASH_LEN), "5OJB2KTY");
    }
}
