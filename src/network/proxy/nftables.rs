//! The same Services as rules of nftables: what kube-proxy writes with `--proxy-mode=nftables`. Mirrors
//! `pkg/proxy/nftables/proxier.go`.
//!
//! Where iptables asks one rule after another, nftables looks an address up in a map, so that a packet costs the same
//! with ten thousand Services as with ten. There is one table of its own, and other programs' chains are not touched.
//!
//! This is the second view of what [`super::iptables`] does, as the script that `nft -f` reads; the simulated kernel
//! follows the first.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

use super::iptables::MASQUERADE_MARK;
use super::names::hash;
use super::portal::{Backend, Choice, Location, Portal};
use crate::netfilter::Cidr;

/// Characters of a hash that a chain's name begins with; the rest says in plain text what it is.
const HASH_LEN: usize = 8;

/// Chains and maps that are always there.
const FIXED: &str = "\
add table ip kube-proxy { comment \"rules for kube-proxy\" ; }
add chain ip kube-proxy filter-prerouting-pre-dnat { type filter hook prerouting priority -110 ; }
add chain ip kube-proxy filter-output-pre-dnat { type filter hook output priority -110 ; }
add chain ip kube-proxy filter-input { type filter hook input priority 0 ; }
add chain ip kube-proxy filter-forward { type filter hook forward priority 0 ; }
add chain ip kube-proxy filter-output { type filter hook output priority 0 ; }
add chain ip kube-proxy nat-prerouting { type nat hook prerouting priority -100 ; }
add chain ip kube-proxy nat-output { type nat hook output priority -100 ; }
add chain ip kube-proxy nat-postrouting { type nat hook postrouting priority 100 ; }
add chain ip kube-proxy nodeport-endpoints-check
add rule ip kube-proxy filter-input ct state new jump nodeport-endpoints-check
add chain ip kube-proxy service-endpoints-check
add rule ip kube-proxy filter-input ct state new jump service-endpoints-check
add rule ip kube-proxy filter-forward ct state new jump service-endpoints-check
add rule ip kube-proxy filter-output ct state new jump service-endpoints-check
add chain ip kube-proxy firewall-check
add rule ip kube-proxy filter-prerouting-pre-dnat ct state new jump firewall-check
add rule ip kube-proxy filter-output-pre-dnat ct state new jump firewall-check
add chain ip kube-proxy services
add rule ip kube-proxy nat-output jump services
add rule ip kube-proxy nat-prerouting jump services
add chain ip kube-proxy masquerading
add rule ip kube-proxy nat-postrouting jump masquerading
add chain ip kube-proxy cluster-ips-check
add rule ip kube-proxy filter-forward ct state new jump cluster-ips-check
add rule ip kube-proxy filter-output ct state new jump cluster-ips-check
add set ip kube-proxy hairpin-connections { type ipv4_addr . ipv4_addr . inet_proto . inet_service ; comment \"service hairpin connections\" ; }
add rule ip kube-proxy masquerading mark and MARK != 0 mark set mark xor MARK masquerade fully-random
add rule ip kube-proxy masquerading ct status dnat ip saddr . ip daddr . meta l4proto . th dport @hairpin-connections masquerade fully-random
add set ip kube-proxy cluster-ips { type ipv4_addr ; comment \"Active ClusterIPs\" ; }
add rule ip kube-proxy cluster-ips-check ip daddr @cluster-ips reject comment \"Reject traffic to invalid ports of ClusterIPs\"
add rule ip kube-proxy cluster-ips-check ip daddr { SERVICES } drop comment \"Drop traffic to unallocated ClusterIPs\"
add set ip kube-proxy nodeport-ips { type ipv4_addr ; comment \"IPs that accept NodePort traffic\" ; }
add map ip kube-proxy no-endpoint-services { type ipv4_addr . inet_proto . inet_service : verdict ; comment \"vmap to drop or reject packets to services with no endpoints\" ; }
add map ip kube-proxy no-endpoint-nodeports { type inet_proto . inet_service : verdict ; comment \"vmap to drop or reject packets to service nodeports with no endpoints\" ; }
add chain ip kube-proxy reject-chain { comment \"helper for @no-endpoint-services / @no-endpoint-nodeports\" ; }
add rule ip kube-proxy reject-chain reject
add rule ip kube-proxy service-endpoints-check ip daddr . meta l4proto . th dport vmap @no-endpoint-services
add rule ip kube-proxy nodeport-endpoints-check ip daddr @nodeport-ips meta l4proto . th dport vmap @no-endpoint-nodeports
add map ip kube-proxy firewall-ips { type ipv4_addr . inet_proto . inet_service : verdict ; comment \"destinations that are subject to LoadBalancerSourceRanges\" ; }
add rule ip kube-proxy firewall-check ip daddr . meta l4proto . th dport vmap @firewall-ips
add map ip kube-proxy service-ips { type ipv4_addr . inet_proto . inet_service : verdict ; comment \"ClusterIP, ExternalIP and LoadBalancer IP traffic\" ; }
add map ip kube-proxy service-nodeports { type inet_proto . inet_service : verdict ; comment \"NodePort traffic\" ; }
add rule ip kube-proxy services ip daddr @cluster-ips ip saddr != PODS mark set mark or MARK comment \"masquerade clusterIP traffic from outside cluster\"
add rule ip kube-proxy services ip daddr . meta l4proto . th dport vmap @service-ips
add rule ip kube-proxy services ip daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports
";

/// The whole table as a script for `nft -f`. Node ports are those of the node's own address, as is this mode's default.
pub fn script<'a>(portals: impl Iterator<Item = &'a Portal>, here: &Location, pods: Cidr, services: Cidr) -> String {
    let mark = format!("{MASQUERADE_MARK:#x}");
    let mut out = FIXED.replace("MARK", &mark);
    out = out.replace("PODS", &pods.to_string()).replace("SERVICES", &services.to_string());
    if let Some(ip) = here.ip {
        element(&mut out, "nodeport-ips", &ip.to_string());
    }
    let mut seen = Seen::default();
    for portal in portals {
        if seen.cluster_ips.insert(portal.cluster_ip) {
            element(&mut out, "cluster-ips", &portal.cluster_ip.to_string());
        }
        let choice = portal.choose(here);
        let mut script = Script { portal, choice, here, pods, heads: String::new(), out: String::new() };
        script.write(&mut seen);
        out += &script.heads;
        out += &script.out;
    }
    out
}

/// What several portals may have in common, and is said once.
#[derive(Default)]
struct Seen {
    cluster_ips: BTreeSet<Ipv4Addr>,
    hairpins: BTreeSet<String>,
}

fn element(out: &mut String, set: &str, value: &str) {
    let _ = writeln!(out, "add element ip kube-proxy {set} {{ {value} }}");
}

struct Script<'a> {
    portal: &'a Portal,
    choice: Choice<'a>,
    here: &'a Location,
    pods: Cidr,
    /// Chains and sets: they must be there before a rule names them.
    heads: String,
    out: String,
}

impl Script<'_> {
    /// `default/web/tcp/http`
    fn text(&self) -> String {
        let name = &self.portal.name;
        format!("{}/{}/{}/{}", name.namespace, name.service, name.protocol.as_str(), name.port)
    }

    /// The chain of the portal with this prefix.
    fn chain_of(&self, prefix: &str) -> String {
        named(prefix, &self.text())
    }

    /// The chain or set of an endpoint with this prefix.
    fn of_endpoint(&self, prefix: &str, backend: &Backend) -> String {
        named(prefix, &format!("{}__{}/{}", self.text(), backend.ip, backend.port))
    }

    fn policy_chain(&self, local: bool) -> String {
        self.chain_of(if local { "local" } else { "service" })
    }

    fn chain(&mut self, chain: &str) {
        let _ = writeln!(self.heads, "add chain ip kube-proxy {chain}");
    }

    fn rule(&mut self, chain: &str, rule: &str) {
        let _ = writeln!(self.out, "add rule ip kube-proxy {chain} {rule}");
    }

    /// Whether traffic under this policy finds an endpoint.
    fn is_served(&self, local: bool) -> bool {
        self.choice.any && (!local || !self.choice.local.is_empty())
    }

    fn write(&mut self, seen: &mut Seen) {
        self.note_hairpins(seen);
        self.capture();
        if self.choice.any && self.portal.is_external() {
            self.outside_rules();
        }
        if self.is_guarded() {
            self.guard();
        }
        let chosen = [(false, self.choice.cluster.clone()), (true, self.choice.local.clone())];
        for (local, backends) in chosen.iter().filter(|(_, backends)| !backends.is_empty()) {
            let chain = self.policy_chain(*local);
            self.chain(&chain);
            match self.portal.affinity {
                None => self.translate(&chain, backends),
                Some(_) => self.jump(&chain, backends),
            }
        }
        if let Some(seconds) = self.portal.affinity {
            self.choice.reachable.clone().into_iter().for_each(|backend| self.endpoint(backend, seconds));
        }
    }

    /// A Pod of this node that reaches itself must not see itself as the client.
    fn note_hairpins(&mut self, seen: &mut Seen) {
        let protocol = self.portal.name.protocol.as_str();
        for backend in self.choice.reachable.iter().filter(|backend| backend.local) {
            let key = format!("{0} . {0} . {protocol} . {1}", backend.ip, backend.port);
            if seen.hairpins.insert(key.clone()) {
                element(&mut self.out, "hairpin-connections", &key);
            }
        }
    }

    /// Addresses of the Service, and where they lead.
    fn capture(&mut self) {
        let (portal, protocol) = (self.portal, self.portal.name.protocol.as_str());
        let (external, refused) =
            (self.chain_of("external"), if self.choice.any { "drop" } else { "goto reject-chain" });
        let at = |ip: Ipv4Addr| format!("{ip} . {protocol} . {}", portal.port);
        let refusal = |key: String| format!("{key} comment \"{}\" : {refused}", portal.name);
        if self.is_served(portal.internal_local) {
            let verdict = format!("{} : goto {}", at(portal.cluster_ip), self.policy_chain(portal.internal_local));
            element(&mut self.out, "service-ips", &verdict);
        } else {
            element(&mut self.out, "no-endpoint-services", &refusal(at(portal.cluster_ip)));
        }
        let is_served = self.is_served(portal.external_local);
        for ip in portal.external_ips.iter().chain(&portal.load_balancer_ips) {
            if self.choice.any {
                element(&mut self.out, "service-ips", &format!("{} : goto {external}", at(*ip)));
            }
            if !is_served {
                element(&mut self.out, "no-endpoint-services", &refusal(at(*ip)));
            }
        }
        if let Some(port) = portal.node_port {
            let key = format!("{protocol} . {port}");
            if self.choice.any {
                element(&mut self.out, "service-nodeports", &format!("{key} : goto {external}"));
            }
            if !is_served {
                element(&mut self.out, "no-endpoint-nodeports", &refusal(key));
            }
        }
    }

    /// What comes to a node port or an external address.
    fn outside_rules(&mut self) {
        let (chain, cluster) = (self.chain_of("external"), self.policy_chain(false));
        let mark = format!("mark set mark or {MASQUERADE_MARK:#x}");
        self.chain(&chain);
        if self.portal.external_local {
            let pods = self.pods;
            self.rule(&chain, &format!("ip saddr {pods} goto {cluster} comment \"short-circuit pod traffic\""));
            self.rule(&chain, &format!("fib saddr type local {mark} comment \"masquerade local traffic\""));
            self.rule(&chain, &format!("fib saddr type local goto {cluster} comment \"short-circuit local traffic\""));
        } else {
            self.rule(&chain, &format!("{mark} comment \"masquerade\""));
        }
        if self.is_served(self.portal.external_local) {
            self.rule(&chain, &format!("goto {}", self.policy_chain(self.portal.external_local)));
        }
    }

    fn is_guarded(&self) -> bool {
        !self.portal.load_balancer_ips.is_empty() && !self.portal.source_ranges.is_empty()
    }

    /// Who may come through a load balancer.
    fn guard(&mut self) {
        let (portal, chain) = (self.portal, self.chain_of("firewall"));
        self.chain(&chain);
        for ip in &portal.load_balancer_ips {
            let verdict = format!("{ip} . {} . {} : goto {chain}", portal.name.protocol.as_str(), portal.port);
            element(&mut self.out, "firewall-ips", &verdict);
        }
        let mut sources: Vec<String> = portal.source_ranges.iter().map(Cidr::to_string).collect();
        if self.here.ip.is_some_and(|ip| portal.source_ranges.iter().any(|range| range.contains(ip))) {
            sources.extend(portal.load_balancer_ips.iter().map(Ipv4Addr::to_string));
        }
        self.rule(&chain, &format!("ip saddr != {{ {} }} drop", sources.join(" , ")));
    }

    /// One lot among the endpoints, and on to the one that was drawn.
    fn translate(&mut self, chain: &str, backends: &[&Backend]) {
        let (protocol, count) = (self.portal.name.protocol.as_str(), backends.len());
        let lots = lots(backends, |backend| format!("{} . {}", backend.ip, backend.port));
        let to = format!("dnat ip addr . port to numgen random mod {count} map {{ {lots} }}");
        self.rule(chain, &format!("meta l4proto {protocol} {to}"));
    }

    /// The same, but a client that was here lately keeps its endpoint.
    fn jump(&mut self, chain: &str, backends: &[&Backend]) {
        for backend in backends {
            let (set, endpoint) = (self.of_endpoint("affinity", backend), self.of_endpoint("endpoint", backend));
            self.rule(chain, &format!("ip saddr @{set} goto {endpoint}"));
        }
        let lots = lots(backends, |backend| format!("goto {}", self.of_endpoint("endpoint", backend)));
        self.rule(chain, &format!("numgen random mod {} vmap {{ {lots} }}", backends.len()));
    }

    /// Remembers the client, and on to the endpoint.
    fn endpoint(&mut self, backend: &Backend, seconds: u32) {
        let (set, chain) = (self.of_endpoint("affinity", backend), self.of_endpoint("endpoint", backend));
        let timeout = format!("type ipv4_addr ; flags dynamic,timeout ; timeout {seconds}s ;");
        let _ = writeln!(self.heads, "add set ip kube-proxy {set} {{ {timeout} }}");
        self.chain(&chain);
        self.rule(&chain, &format!("update @{set} {{ ip saddr }}"));
        self.rule(&chain, &format!("meta l4proto {} dnat to {backend}", self.portal.name.protocol.as_str()));
    }
}

/// `service-ULMVA6XW-ns1/svc1/tcp/p80`: a hash of what it is for, which two that are cut short still differ in, and
/// then what it is for.
fn named(prefix: &str, text: &str) -> String {
    format!("{prefix}-{}-{text}", hash(text, HASH_LEN))
}

/// `0 : first , 1 : second`
fn lots(backends: &[&Backend], of: impl Fn(&Backend) -> String) -> String {
    let lots = backends.iter().enumerate().map(|(i, backend)| format!("{i} : {}", of(backend)));
    lots.collect::<Vec<_>>().join(" , ")
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
