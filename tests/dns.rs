//! CoreDNS in a whole cluster, asked by Pods.

use std::time::Duration;

use kubestep::bugs;
use kubestep::cluster::scenario::Scenario;

/// A client, a Service, a headless one and a name for the world outside; then these lines, in which `$dns` is the
/// server's Pod. Returns what they printed.
fn session(lines: &[&str]) -> String {
    let head = "\
title: t
nodes: 2
dns: true
files:
  all.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: client}
    spec:
      containers:
      - {name: c, image: alpine, command: [sleep, infinity]}
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: web}
    spec:
      clusterIP: 10.96.0.20
      selector: {app: web}
      ports: [{name: http, port: 80}]
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: db}
    spec:
      clusterIP: None
      selector: {app: web}
      ports: [{name: http, port: 80}]
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: docs}
    spec: {type: ExternalName, externalName: example.com}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: web-0, labels: {app: web}}
    spec:
      hostname: web-0
      subdomain: db
      dnsConfig: {nameservers: [192.0.2.1, 192.0.2.2, 192.0.2.3]}
      containers:
      - {name: nginx, image: 'nginx:1.27', ports: [{containerPort: 80}]}
timeline:
  - kubectl apply -f all.yaml
  - kubectl wait --for=condition=Ready pod/client pod/web-0 --timeout=60s
  - address=$(kubectl get pod web-0 -o jsonpath={.status.podIP})
  - dns=$(kubectl get pods -n kube-system -l k8s-app=kube-dns -o jsonpath={.items[0].status.podIP})
  - sleep 3
  - kubectl version
";
    let lines: String = lines.iter().map(|line| format!("  - {line:?}\n")).collect();
    let scenario = Scenario::parse("dns", &format!("{head}{lines}")).unwrap_or_else(|error| panic!("{error}"));
    let mut cluster = bugs::cluster(&scenario);
    cluster.settle(Duration::from_secs(600));
    let printed = cluster.kubectl.printed_since(0);
    let at = printed.find("$ kubectl version").expect("the set-up goes to its end");
    printed[at..].split_once("\n\n").map_or(String::new(), |(_, rest)| rest.to_owned())
}

#[test]
fn the_resolver_tries_one_name_after_another() {
    let said = session(&["nslookup -debug example.com $dns --from client"]);
    let asked: Vec<&str> = said.lines().filter_map(|line| line.trim().strip_suffix(", type = A, class = IN")).collect();
    let searched = ["default.svc.cluster.local.", "svc.cluster.local.", "cluster.local.", ""];
    let expected: Vec<String> = searched.iter().map(|domain| format!("example.com.{domain}")).collect();
    let expected: Vec<&str> = expected.iter().map(|name| name.trim_end_matches('.')).collect();
    assert_eq!(asked, expected, "{said}");
    assert_eq!(said.matches("NXDOMAIN").count(), 3, "{said}");
    assert!(said.contains("Name:\texample.com\nAddress: 203.0.113.80\n"), "{said}");
}

#[test]
fn names_lead_where_they_should() {
    for (line, expected) in [
        (
            "kubectl exec client -- cat /etc/resolv.conf",
            "search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n",
        ),
        ("nslookup web $dns --from client", "Name:\tweb.default.svc.cluster.local\nAddress: 10.96.0.20\n"),
        ("nslookup db $dns --from client", "Name:\tdb.default.svc.cluster.local\nAddress: 10.244."),
        ("nslookup web-0.db $dns --from client", "Name:\tweb-0.db.default.svc.cluster.local\nAddress: 10.244."),
        (
            "nslookup -type=SRV _http._tcp.db $dns --from client",
            "service = 0 100 80 web-0.db.default.svc.cluster.local.",
        ),
        ("nslookup 10.96.0.20 $dns --from client", "20.0.96.10.in-addr.arpa\tname = web.default.svc.cluster.local."),
        ("nslookup $address $dns --from client", "name = web-0.db.default.svc.cluster.local."),
        (
            "nslookup docs $dns --from client",
            "canonical name = example.com.\nName:\texample.com\nAddress: 203.0.113.80\n",
        ),
        ("nslookup -type=AAAA web $dns --from client", "*** Can't find web.default.svc.cluster.local: No answer"),
        ("nslookup nope $dns --from client", "** server can't find nope: NXDOMAIN"),
        ("nslookup web $address --from client", ";; connection timed out; no servers could be reached"),
        (
            "kubectl get events --field-selector reason=DNSConfigForming",
            "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: \
             10.96.0.10 192.0.2.1 192.0.2.2\n",
        ),
        ("nslookup web --from node-1", "nslookup: /etc/resolv.conf of node-1 names no server"),
    ] {
        let said = session(&[line]);
        assert!(said.contains(expected), "{line}: expected {expected:?} in\n{said}");
    }
}

/// A name is as old as the server's caches: it goes when the server has heard.
#[test]
fn a_name_goes_with_its_service() {
    let said = session(&[
        "kubectl delete service web",
        "sleep 1",
        "nslookup web $dns --from client",
        "kubectl delete pod web-0",
        "sleep 3",
        "nslookup db $dns --from client",
    ]);
    assert!(said.contains("** server can't find web: NXDOMAIN"), "{said}");
    assert!(said.contains("** server can't find db: NXDOMAIN"), "{said}");
}
