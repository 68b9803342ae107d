use serde_json::json;

use super::*;

/// Services web (10.96.0.20), db (headless), none (headless, nothing ready), docs (example.com), alias (web).
struct Cluster;

fn service(name: &str, spec: serde_json::Value) -> Arc<Service> {
    let object = json!({"metadata": {"name": name, "namespace": "default"}, "spec": spec});
    Arc::new(serde_json::from_value(object).unwrap())
}

impl Known for Cluster {
    fn service(&self, namespace: &str, name: &str) -> Option<Arc<Service>> {
        let http = json!([{"name": "http", "port": 80, "protocol": "TCP"}]);
        let external = |target: &str| json!({"type": "ExternalName", "externalName": target});
        let spec = match (namespace, name) {
            ("default", "web") => json!({"clusterIP": "10.96.0.20", "ports": http}),
            ("default", "db" | "none") => json!({"clusterIP": "None", "ports": http}),
            ("default", "docs") => external("example.com"),
            ("default", "alias") => external("web.default.svc.cluster.local"),
            ("default", "circle") => external("circle.default.svc.cluster.local"),
            ("default", "round") => external("about.default.svc.cluster.local"),
            ("default", "about") => external("round.default.svc.cluster.local"),
            ("default", "dangling") => external("nope.default.svc.cluster.local"),
            ("default", "elsewhere") => external("no.such.host"),
            ("default", "number") => external("192.0.2.1"),
            ("default", "bare") => json!({"clusterIP": "None"}),
            ("kube-system", "kube-dns") => json!({"clusterIP": "10.96.0.10", "ports": http}),
            _ => return None,
        };
        Some(service(name, spec))
    }

    fn has_namespace(&self, name: &str) -> bool {
        ["default", "kube-system"].contains(&name)
    }

    fn endpoints(&self, _: &str, service: &str) -> Vec<Endpoint> {
        let ports = vec![("http".to_owned(), "tcp".to_owned(), 8080)];
        let endpoint = |address: [u8; 4], hostname: Option<&str>| Endpoint {
            address: address.into(),
            hostname: hostname.map(str::to_owned),
            ports: ports.clone(),
        };
        match service {
            "db" => vec![endpoint([10, 244, 0, 5], Some("db-0")), endpoint([10, 244, 1, 6], None)],
            "web" => vec![endpoint([10, 244, 0, 5], None)],
            "bare" => vec![Endpoint { ports: Vec::new(), ..endpoint([10, 244, 1, 6], None) }],
            _ => Vec::new(),
        }
    }

    fn service_at(&self, address: Ipv4Addr) -> Option<Arc<Service>> {
        self.service("default", "web").filter(|_| address == Ipv4Addr::new(10, 96, 0, 20))
    }

    fn endpoints_at(&self, address: Ipv4Addr) -> Vec<(String, String, Endpoint)> {
        let of = |service: &str| {
            let endpoints = self.endpoints("default", service).into_iter();
            let there = endpoints.filter(|there| there.address == address);
            there.map(|endpoint| ("default".into(), service.to_owned(), endpoint)).collect::<Vec<_>>()
        };
        ["web", "db"].into_iter().flat_map(of).collect()
    }
}

#[test]
fn the_specification_is_kept() {
    use RecordType::{A, Aaaa, Cname, Ptr, Srv, Txt};
    let at = |name: &str| format!("{name}.default.svc.cluster.local");
    for (name, kind, expected) in [
        (at("web"), A, "NOERROR 10.96.0.20"),
        (at("WEB"), A, "NOERROR 10.96.0.20"),
        (at("web"), Aaaa, "NOERROR"),
        (at("nope"), A, "NXDOMAIN"),
        ("web.nowhere.svc.cluster.local".into(), A, "NXDOMAIN"),
        (at("_http._tcp.web"), Srv, "NOERROR 0 100 80 web.default.svc.cluster.local|10.96.0.20"),
        (at("_https._tcp.web"), Srv, "NXDOMAIN"),
        (at("_http._udp.web"), Srv, "NXDOMAIN"),
        (at("http.tcp.web"), A, "NOERROR 10.96.0.20"),
        (at("10-244-0-5.web"), A, "NOERROR 10.244.0.5"),
        (at("web"), Txt, "NOERROR"),
        (at("web"), Cname, "NOERROR"),
        (at("pod-1.web"), A, "NXDOMAIN"),
        (at("db"), A, "NOERROR 10.244.0.5|10.244.1.6"),
        (at("db-0.db"), A, "NOERROR 10.244.0.5"),
        (at("10-244-1-6.db"), A, "NOERROR 10.244.1.6"),
        (at("10-244-0-5.db"), A, "NXDOMAIN"),
        (
            at("_http._tcp.db"),
            Srv,
            "NOERROR 0 50 8080 db-0.db.default.svc.cluster.local|\
                 0 50 8080 10-244-1-6.db.default.svc.cluster.local|10.244.0.5|10.244.1.6",
        ),
        (at("none"), A, "NXDOMAIN"),
        (at("bare"), A, "NOERROR 10.244.1.6"),
        (at("bare"), Srv, "NOERROR"),
        (at("_http._tcp.bare"), Srv, "NXDOMAIN"),
        (at("docs"), A, "NOERROR example.com|203.0.113.80"),
        (at("docs"), Cname, "NOERROR example.com"),
        (at("docs"), Srv, "NOERROR"),
        (at("docs"), Txt, "NOERROR"),
        (at("alias"), A, "NOERROR web.default.svc.cluster.local|10.96.0.20"),
        (at("alias"), Aaaa, "NOERROR"),
        (at("dangling"), A, "NOERROR"),
        (at("dangling"), Cname, "NOERROR nope.default.svc.cluster.local"),
        (at("elsewhere"), A, "NOERROR no.such.host"),
        (at("number"), A, "NXDOMAIN"),
        ("default.svc.cluster.local".into(), A, "NOERROR"),
        ("nowhere.svc.cluster.local".into(), A, "NXDOMAIN"),
        ("10-244-3-4.default.pod.cluster.local".into(), A, "NOERROR 10.244.3.4"),
        ("web.default.pod.cluster.local".into(), A, "NXDOMAIN"),
        ("ns.dns.cluster.local".into(), A, "NOERROR 10.96.0.10"),
        ("cluster.local".into(), A, "NOERROR"),
        ("default.svc.cluster.local".into(), Txt, "NXDOMAIN"),
        (at("a._http._tcp.web"), Srv, "NXDOMAIN"),
        ("20.0.96.10.in-addr.arpa".into(), Ptr, "NOERROR web.default.svc.cluster.local"),
        (
            "5.0.244.10.in-addr.arpa".into(),
            Ptr,
            "NOERROR db-0.db.default.svc.cluster.local|10-244-0-5.web.default.svc.cluster.local",
        ),
        ("20.0.96.10.in-addr.arpa".into(), A, "NXDOMAIN"),
        ("9.9.9.10.in-addr.arpa".into(), Ptr, "NXDOMAIN"),
        ("dns-version.cluster.local".into(), Txt, "NOERROR 1.1.0"),
        ("dns-version.cluster.local".into(), A, "NXDOMAIN"),
        ("example.com".into(), A, "NOERROR 203.0.113.80"),
        ("example.com.default.svc.cluster.local".into(), A, "NXDOMAIN"),
        ("web".into(), A, "NXDOMAIN"),
    ] {
        let answer = answer(&Question { name: name.clone(), kind }, &Cluster);
        let values: Vec<&str> = answer.records.iter().map(|record| record.value.as_str()).collect();
        let text = format!("{} {}", answer.code.as_str(), values.join("|"));
        assert_eq!(text.trim_end(), expected, "{} {name}", kind.as_str());
    }
}

#[test]
fn names_in_a_circle_lead_nowhere() {
    for name in ["circle", "round"] {
        let name = format!("{name}.default.svc.cluster.local");
        assert_eq!(answer(&Question { name, kind: RecordType::A }, &Cluster), Answer::default());
    }
}
