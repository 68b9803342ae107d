//! Services and slices in, rules out.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use serde_json::{Value, json};

use super::*;
use crate::netfilter::{Netfilter, Packet, Payload, Protocol, Table, Tuple};
use client::informer::Change;
use object::Object;
use object::time::Instant;

fn proxier() -> Proxier {
    Proxier::new(Location { node: "node-1".into(), ..Location::default() })
}

fn object(kind: Kind, value: Value) -> Object {
    kind.decode(value).expect("a literal object is whole")
}

fn service(more: Value) -> Object {
    let mut spec = json!({"clusterIP": "10.96.0.10", "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object(Kind::Service, json!({"metadata": {"name": "web", "namespace": "default"}, "spec": spec}))
}

/// Endpoints by the last part of their address; those on this node have even ones.
fn slice(endpoints: &[(u8, Value)], protocol: &str) -> Object {
    let endpoint = |(last, conditions): &(u8, Value)| {
        json!({"addresses": [format!("10.244.0.{last}")], "conditions": conditions,
            "nodeName": if last % 2 == 0 { "node-1" } else { "node-2" }})
    };
    let labels = json!({"kubernetes.io/service-name": "web"});
    let endpoints: Vec<Value> = endpoints.iter().map(endpoint).collect();
    object(
        Kind::EndpointSlice,
        json!({"metadata": {"name": "web-1", "namespace": "default", "labels": labels}, "addressType": "IPv4",
            "endpoints": endpoints, "ports": [{"name": "http", "port": 8080, "protocol": protocol}]}),
    )
}

fn ready() -> Value {
    json!({"ready": true, "serving": true, "terminating": false})
}

/// The chains of a table whose names begin so, as `iptables-save` prints them.
fn saved(netfilter: &Netfilter, table: Table, prefix: &str) -> String {
    let lines = netfilter.rules.save_table(table);
    let wanted = |line: &&str| line.starts_with(&format!("-A {prefix}"));
    lines.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

fn written(objects: &[Object]) -> Netfilter {
    let (mut proxier, mut netfilter) = (proxier(), Netfilter::default());
    for object in objects {
        assert!(proxier.note(&Change::Added(object.clone())));
    }
    proxier.sync(&mut netfilter).unwrap();
    netfilter
}

#[test]
fn a_service_with_three_endpoints() {
    let netfilter = written(&[service(json!({})), slice(&[(2, ready()), (3, ready()), (4, ready())], "TCP")]);
    let name = names::PortName {
        namespace: "default".into(),
        service: "web".into(),
        port: "http".into(),
        protocol: Protocol::Tcp,
    };
    let svc = name.chain("KUBE-SVC-");
    let seps: Vec<String> = [2, 3, 4].map(|last| name.endpoint_chain(&format!("10.244.0.{last}:8080"))).into();
    let expected = format!(
        "-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment \"default/web:http cluster IP\" -m tcp --dport 80 \
         -j {svc}\n\
         -A KUBE-SERVICES -m comment --comment \"kubernetes service nodeports; NOTE: this must be the last rule in this \
         chain\" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS\n"
    );
    assert_eq!(saved(&netfilter, Table::Nat, "KUBE-SERVICES"), expected);
    let [first, second, third] = [&seps[0], &seps[1], &seps[2]];
    let expected = format!(
        "-A {svc} ! -s 10.244.0.0/16 -d 10.96.0.10/32 -p tcp -m comment --comment \"default/web:http cluster IP\" -m tcp \
         --dport 80 -j KUBE-MARK-MASQ\n\
         -A {svc} -m comment --comment \"default/web:http -> 10.244.0.2:8080\" -m statistic --mode random --probability \
         0.33333333349 -j {first}\n\
         -A {svc} -m comment --comment \"default/web:http -> 10.244.0.3:8080\" -m statistic --mode random --probability \
         0.50000000000 -j {second}\n\
         -A {svc} -m comment --comment \"default/web:http -> 10.244.0.4:8080\" -j {third}\n"
    );
    assert_eq!(saved(&netfilter, Table::Nat, &svc), expected);
    let expected = format!(
        "-A {first} -s 10.244.0.2/32 -m comment --comment \"default/web:http\" -j KUBE-MARK-MASQ\n\
         -A {first} -p tcp -m comment --comment \"default/web:http\" -m tcp -j DNAT --to-destination 10.244.0.2:8080\n"
    );
    assert_eq!(saved(&netfilter, Table::Nat, first), expected);
    let forward: Vec<String> = saved(&netfilter, Table::Filter, "FORWARD")
        .lines()
        .map(|line| line.rsplit(' ').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(forward, ["KUBE-PROXY-FIREWALL", "KUBE-FORWARD", "KUBE-SERVICES", "KUBE-EXTERNAL-SERVICES"]);
}

#[test]
fn without_endpoints_it_is_refused_at_once() {
    let waiting = json!({"ready": false, "serving": false, "terminating": false});
    let node_port = json!({"type": "NodePort", "externalTrafficPolicy": "Cluster",
        "ports": [{"name": "http", "port": 80, "nodePort": 30080, "protocol": "TCP"}]});
    let netfilter = written(&[service(node_port), slice(&[(2, waiting)], "TCP")]);
    assert_eq!(
        saved(&netfilter, Table::Filter, "KUBE-SERVICES"),
        "-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment \"default/web:http has no endpoints\" -m tcp \
         --dport 80 -j REJECT --reject-with icmp-port-unreachable\n"
    );
    assert_eq!(
        saved(&netfilter, Table::Filter, "KUBE-EXTERNAL-SERVICES"),
        "-A KUBE-EXTERNAL-SERVICES -p tcp -m comment --comment \"default/web:http has no endpoints\" -m addrtype \
         --dst-type LOCAL -m tcp --dport 30080 -j REJECT --reject-with icmp-port-unreachable\n"
    );
    assert_eq!(iptables::service_chains(&netfilter).count(), 0);
}

#[test]
fn node_ports_and_their_policies() {
    let node_port = |policy: &str| {
        json!({"type": "NodePort", "externalTrafficPolicy": policy,
            "ports": [{"name": "http", "port": 80, "nodePort": 30080, "protocol": "TCP"}]})
    };
    let comments = |netfilter: &Netfilter| {
        let lines = saved(netfilter, Table::Nat, "KUBE-EXT-");
        let of = |line: &str| {
            let text = line.split('"').nth(1).unwrap_or_default().to_owned();
            let target: String = line.rsplit(' ').next().unwrap_or_default().chars().take(8).collect();
            format!("{text}>{target}")
        };
        lines.lines().map(of).collect::<Vec<_>>()
    };
    let cluster = written(&[service(node_port("Cluster")), slice(&[(3, ready())], "TCP")]);
    assert_eq!(
        comments(&cluster),
        ["masquerade traffic for default/web:http external destinations>KUBE-MAR", ">KUBE-SVC"]
    );
    let local = written(&[service(node_port("Local")), slice(&[(2, ready()), (3, ready())], "TCP")]);
    let special = [
        "pod traffic for default/web:http external destinations>KUBE-SVC",
        "masquerade LOCAL traffic for default/web:http external destinations>KUBE-MAR",
        "route LOCAL traffic for default/web:http external destinations>KUBE-SVC",
    ];
    assert_eq!(comments(&local), [&special[..], &[">KUBE-SVL"]].concat());
    let elsewhere = written(&[service(node_port("Local")), slice(&[(3, ready())], "TCP")]);
    assert_eq!(comments(&elsewhere), special);
    assert_eq!(
        saved(&elsewhere, Table::Filter, "KUBE-EXTERNAL-SERVICES"),
        "-A KUBE-EXTERNAL-SERVICES -p tcp -m comment --comment \"default/web:http has no local endpoints\" -m addrtype \
         --dst-type LOCAL -m tcp --dport 30080 -j DROP\n"
    );
}

#[test]
fn a_client_stays_with_its_endpoint() {
    let affinity =
        json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}});
    let netfilter = written(&[service(affinity), slice(&[(2, ready()), (3, ready())], "TCP")]);
    let lots = saved(&netfilter, Table::Nat, "KUBE-SVC-");
    assert_eq!(lots.matches("--rcheck --seconds 60 --reap").count(), 2);
    assert!(lots.find("--rcheck") < lots.find("statistic"), "memory comes before chance: {lots}");
    assert_eq!(saved(&netfilter, Table::Nat, "KUBE-SEP-").matches("-m recent --set").count(), 2);
}

#[test]
fn what_is_gone_leaves_nothing_behind() {
    let (mut proxier, mut netfilter) = (proxier(), Netfilter::default());
    proxier.sync(&mut netfilter).unwrap();
    let before = netfilter.clone();
    let (web, two) = (service(json!({})), slice(&[(2, ready()), (3, ready())], "TCP"));
    proxier.note(&Change::Added(web.clone()));
    proxier.note(&Change::Added(two.clone()));
    proxier.sync(&mut netfilter).unwrap();
    assert_eq!(iptables::service_chains(&netfilter).count(), 3);
    let one = slice(&[(2, ready())], "TCP");
    proxier.note(&Change::Updated { old: two, new: one.clone() });
    proxier.sync(&mut netfilter).unwrap();
    assert_eq!(iptables::service_chains(&netfilter).count(), 2);
    proxier.note(&Change::Deleted(web));
    proxier.note(&Change::Deleted(one));
    proxier.sync(&mut netfilter).unwrap();
    assert_eq!(netfilter, before);
}

/// kube-proxy dies, Services change, and another one starts with the rules that are there.
#[test]
fn a_new_process_takes_over_the_rules_of_the_old() {
    let mut netfilter = written(&[service(json!({})), slice(&[(2, ready()), (3, ready())], "TCP")]);
    let (mut next, others) = (proxier(), slice(&[(4, ready())], "TCP"));
    next.note(&Change::Added(service(json!({}))));
    next.note(&Change::Added(others.clone()));
    next.sync(&mut netfilter).unwrap();
    assert_eq!(netfilter, written(&[service(json!({})), others]));
}

#[test]
fn a_change_costs_its_own_chains_only() {
    let (mut partial, mut rules) = (proxier(), Netfilter::default());
    for object in [service(json!({})), slice(&[(2, ready()), (3, ready())], "TCP")] {
        partial.note(&Change::Added(object));
        partial.sync(&mut rules).unwrap();
    }
    assert_eq!(rules, written(&[service(json!({})), slice(&[(2, ready()), (3, ready())], "TCP")]));
}

#[test]
fn connections_of_udp_to_endpoints_that_are_gone_are_forgotten() {
    let udp = service(json!({"ports": [{"name": "http", "port": 53, "protocol": "UDP"}]}));
    let (old, new) = (slice(&[(3, ready())], "UDP"), slice(&[(5, ready())], "UDP"));
    let (mut proxier, mut netfilter) = (proxier(), Netfilter::default());
    proxier.note(&Change::Added(udp));
    proxier.note(&Change::Added(old.clone()));
    proxier.sync(&mut netfilter).unwrap();
    let ip = |text: &str| text.parse().unwrap();
    let tuple = Tuple {
        protocol: Protocol::Udp,
        source: ip("10.244.0.9"),
        source_port: 4000,
        destination: ip("10.96.0.10"),
        destination_port: 53,
    };
    send(&mut netfilter, tuple);
    assert_eq!(netfilter.conntrack.connections().count(), 1);
    proxier.note(&Change::Updated { old, new });
    proxier.sync(&mut netfilter).unwrap();
    assert_eq!(netfilter.conntrack.connections().count(), 0);
}

#[test]
fn connections_of_udp_from_before_the_rules_are_forgotten_and_none_while_nobody_serves() {
    let udp = service(json!({"ports": [{"name": "http", "port": 53, "protocol": "UDP"}]}));
    let ip = |text: &str| text.parse().unwrap();
    let to_service = Tuple {
        protocol: Protocol::Udp,
        source: ip("10.244.0.9"),
        source_port: 4000,
        destination: ip("10.96.0.10"),
        destination_port: 53,
    };
    let (mut proxier, mut netfilter) = (proxier(), Netfilter::default());
    send(&mut netfilter, to_service);
    proxier.note(&Change::Added(udp));
    proxier.sync(&mut netfilter).unwrap();
    assert_eq!(netfilter.conntrack.connections().count(), 1, "there is nobody to turn to");
    let here = slice(&[(3, ready())], "UDP");
    proxier.note(&Change::Added(here.clone()));
    proxier.sync(&mut netfilter).unwrap();
    assert_eq!(netfilter.conntrack.connections().count(), 0, "it went past the rules");
    send(&mut netfilter, to_service);
    let waiting = slice(&[(3, json!({"ready": false, "serving": false, "terminating": false}))], "UDP");
    proxier.note(&Change::Updated { old: here, new: waiting });
    proxier.sync(&mut netfilter).unwrap();
    assert_eq!(netfilter.conntrack.connections().count(), 1, "there is nobody to turn to");
}

#[test]
fn what_the_rules_do_not_say_asks_for_no_sync() {
    let labelled = |labels: Value, spec: Value| {
        let ports = json!([{"name": "http", "port": 80, "protocol": "TCP"}]);
        let mut all = json!({"clusterIP": "10.96.0.10", "ports": ports});
        all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        object(
            Kind::Service,
            json!({"metadata": {"name": "web", "namespace": "default", "labels": labels}, "spec": all}),
        )
    };
    let mut proxier = proxier();
    let headless = json!({"clusterIP": "None"});
    let note = |proxier: &mut Proxier, labels: Value, spec: Value| proxier.note(&Change::Added(labelled(labels, spec)));
    assert!(!note(&mut proxier, json!({}), headless));
    assert!(note(&mut proxier, json!({}), json!({})), "now it has an address");
    assert!(!note(&mut proxier, json!({"a": "b"}), json!({})));
    assert!(!note(&mut proxier, json!({}), json!({"selector": {"a": "b"}})));
    assert!(note(&mut proxier, json!({}), json!({"sessionAffinity": "ClientIP"})));
    assert!(proxier.note(&Change::Deleted(labelled(json!({}), json!({})))));
}

/// A load balancer's Service, for clients in `10.0.0.0/8` and in the ranges given.
fn balanced(more: &[&str]) -> Object {
    let ranges: Vec<&str> = ["10.0.0.0/8"].into_iter().chain(more.iter().copied()).collect();
    let Object::Service(service) = service(json!({"type": "LoadBalancer", "loadBalancerSourceRanges": ranges})) else {
        unreachable!("a Service")
    };
    let mut service = Service::clone(&service);
    service.status = Some(serde_json::from_value(json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}})).unwrap());
    Object::Service(Arc::new(service))
}

#[test]
fn a_load_balancer_lets_through_whom_it_shall() {
    let two = || slice(&[(2, ready()), (3, ready())], "TCP");
    let guarded = |service: Object, slice: Object| {
        let netfilter = written(&[service, slice]);
        [saved(&netfilter, Table::Nat, "KUBE-FW-"), saved(&netfilter, Table::Filter, "KUBE-PROXY-FIREWALL")]
            .map(|rules| rules.lines().count())
    };
    assert_eq!(guarded(balanced(&[" 192.168.0.0/16"]), two()), [3, 1]);
    assert_eq!(guarded(balanced(&["0.0.0.0/0"]), two()), [0, 0], "everybody may");
    assert_eq!(guarded(balanced(&[]), slice(&[], "TCP")), [0, 0], "there is nowhere to go");
}

/// What nftables mode would write.
fn script(objects: &[Object]) -> String {
    let (mut proxier, mut netfilter) = (proxier(), Netfilter::default());
    proxier.here.ip = Some("10.0.0.1".parse().unwrap());
    objects.iter().for_each(|object| _ = proxier.note(&Change::Added(object.clone())));
    proxier.sync(&mut netfilter).unwrap();
    nftables::script(proxier.portals(), &proxier.here, PODS, SERVICES)
}

#[test]
fn nftables_draws_the_lot_and_translates_in_one_rule() {
    let two = || slice(&[(2, ready()), (3, ready())], "TCP");
    let chain = "service-SUSTUHLJ-default/web/tcp/http";
    let plain = script(&[service(json!({})), two()]);
    let chain_of = |script: &str| {
        let heads = script.lines().filter_map(|line| line.strip_prefix("add chain ip kube-proxy service-"));
        heads.filter(|rest| rest.contains('/')).map(|rest| format!("service-{rest}")).collect::<Vec<_>>()
    };
    assert_eq!(chain_of(&plain), [chain]);
    for line in [
        format!(
            "rule ip kube-proxy {chain} meta l4proto tcp dnat ip addr . port to numgen random mod 2 map \
             {{ 0 : 10.244.0.2 . 8080 , 1 : 10.244.0.3 . 8080 }}"
        ),
        format!("element ip kube-proxy service-ips {{ 10.96.0.10 . tcp . 80 : goto {chain} }}"),
        "element ip kube-proxy hairpin-connections { 10.244.0.2 . 10.244.0.2 . tcp . 8080 }".to_owned(),
        "element ip kube-proxy nodeport-ips { 10.0.0.1 }".to_owned(),
        "rule ip kube-proxy cluster-ips-check ip daddr { 10.96.0.0/16 } drop comment \"Drop traffic to unallocated \
         ClusterIPs\""
            .to_owned(),
    ] {
        assert!(plain.lines().any(|there| there.strip_prefix("add ") == Some(&*line)), "{line} is missing:\n{plain}");
    }
    assert!(!plain.contains(" endpoint-") && !plain.contains("hairpin-connections { 10.244.0.3"), "{plain}");
    let sticky = script(&[service(json!({"sessionAffinity": "ClientIP"})), two()]);
    for part in ["numgen random mod 2 vmap { 0 : goto endpoint-", " update @affinity-", "timeout 10800s"] {
        assert!(sticky.contains(part), "{part} is missing:\n{sticky}");
    }
    let empty = script(&[service(json!({}))]);
    let refused = "no-endpoint-services { 10.96.0.10 . tcp . 80 comment \"default/web:http\" : goto reject-chain }";
    assert!(empty.contains(refused), "{empty}");
}

#[test]
fn nftables_guards_a_load_balancer_before_it_translates() {
    let guarded = script(&[balanced(&["192.168.0.0/16"]), slice(&[(3, ready())], "TCP")]);
    let firewall = "firewall-SUSTUHLJ-default/web/tcp/http";
    for part in [
        format!("add element ip kube-proxy firewall-ips {{ 192.0.2.7 . tcp . 80 : goto {firewall} }}"),
        format!("add rule ip kube-proxy {firewall} ip saddr != {{ 10.0.0.0/8 , 192.168.0.0/16 , 192.0.2.7 }} drop"),
    ] {
        assert!(guarded.contains(&part), "{part} is missing:\n{guarded}");
    }
}

/// A host that is asked nothing.
struct Nowhere;

impl crate::netfilter::Host for Nowhere {
    fn is_local(&self, _: std::net::Ipv4Addr) -> bool {
        false
    }

    fn address_of(&self, _: &str) -> Option<std::net::Ipv4Addr> {
        None
    }
}

/// A first packet through the node.
fn send(netfilter: &mut Netfilter, tuple: Tuple) {
    use crate::netfilter::{Hook, Surroundings};
    let mut random = object::random::Random::new(0);
    let mut around = Surroundings { host: &Nowhere, random: &mut random, now: Instant(0) };
    let mut packet = Packet::new(tuple, Payload::Data(String::new()));
    for hook in [Hook::Prerouting, Hook::Forward, Hook::Postrouting] {
        netfilter.pass(hook, &mut packet, &mut around);
    }
}
