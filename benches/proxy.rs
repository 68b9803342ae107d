//! How long kube-proxy takes on one node: `cargo bench --bench proxy`. It measures and prints; it asserts nothing.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::sync::Arc;
use std::time::Instant;

use client::informer::Change;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use network::netfilter::Netfilter;
use network::proxy::Proxier;
use object::Object;
use serde_json::json;

fn main() {
    let (services, endpoints) = (1_000, 10);
    let (mut proxier, mut netfilter) = (Proxier::default(), Netfilter::default());
    for n in 0..services {
        proxier.note(&Change::Added(service(n)));
        proxier.note(&Change::Added(slice(n, endpoints)));
    }
    let started = Instant::now();
    proxier.sync(&mut netfilter).expect("the rules are whole");
    println!("{services} Services x {endpoints} endpoints: {} rules", netfilter.rules.len());
    println!("  all of them written in {:?}", started.elapsed());
    let started = Instant::now();
    const CHANGES: u32 = 100;
    for n in 0..CHANGES as usize {
        let (old, new) = (slice(n, endpoints), slice(n, endpoints - 1));
        proxier.note(&Change::Updated { old, new });
        proxier.sync(&mut netfilter).expect("the rules are whole");
    }
    println!("  one endpoint less written in {:?}", started.elapsed() / CHANGES);
    let started = Instant::now();
    let text = netfilter.rules.save();
    println!("  iptables-save prints {} lines in {:?}", text.lines().count(), started.elapsed());
}

fn service(n: usize) -> Object {
    let service: Service = serde_json::from_value(json!({
        "metadata": {"name": format!("web-{n}"), "namespace": "default"},
        "spec": {"clusterIP": format!("10.96.{}.{}", n / 250 + 1, n % 250 + 1),
            "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]},
    }))
    .expect("a literal object is whole");
    Object::Service(Arc::new(service))
}

fn slice(n: usize, endpoints: usize) -> Object {
    let endpoint =
        |i: usize| json!({"addresses": [format!("10.244.{}.{}", n % 250, i + 2)], "conditions": {"ready": true}});
    let slice: EndpointSlice = serde_json::from_value(json!({
        "metadata": {"name": format!("web-{n}-x"), "namespace": "default",
            "labels": {"kubernetes.io/service-name": format!("web-{n}")}},
        "addressType": "IPv4", "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": (0..endpoints).map(endpoint).collect::<Vec<_>>(),
    }))
    .expect("a literal object is whole");
    Object::EndpointSlice(Arc::new(slice))
}
