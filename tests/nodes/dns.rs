//! CoreDNS in a whole cluster, asked by Pods.

use kubestep_tests::scenario;

/// A client, a Service, a headless one and a name for the world outside; then these lines, in which `$dns` is the
/// server's Pod. Returns what they printed.
fn session(lines: &[&str]) -> String {
    let head = "\
title: t
nodes: 2
proxy: true
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
    kind: Pod
    metadata: {name: on-host}
    spec:
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
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
  - kubectl wait --for=condition=Ready pod/client pod/on-host pod/web-0 --timeout=60s
  - address=$(kubectl get pod web-0 -o jsonpath={.status.podIP})
  - dns=$(kubectl get pods -n kube-system -l k8s-app=kube-dns -o jsonpath={.items[0].status.podIP})
  - sleep 3
  - kubectl version
";
    let lines: String = lines.iter().map(|line| format!("  - {line:?}\n")).collect();
    let cluster = scenario::settled(&format!("{head}{lines}"), 600);
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
        // It has the machine's network, and a resolver of its own.
        (
            "kubectl exec on-host -- cat /etc/resolv.conf",
            "search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n",
        ),
        ("nslookup web --from on-host", "Name:\tweb.default.svc.cluster.local\nAddress: 10.96.0.20\n"),
        ("kubectl exec on-host -- nslookup db", "Name:\tdb.default.svc.cluster.local\nAddress: 10.244."),
        ("kubectl exec on-host -- wget -qO- web-0.db", "web-0"),
        (
            "nslookup -type=SRV _http._tcp.db $dns --from client",
            "service = 0 100 80 web-0.db.default.svc.cluster.local.",
        ),
        (
            "nslookup 10.96.0.20 $dns --from client",
            "$ nslookup 10.96.0.20 $dns --from client\n20.0.96.10.in-addr.arpa\tname = web.default.svc.cluster.local.\n",
        ),
        ("nslookup $address $dns --from client", "name = web-0.db.default.svc.cluster.local."),
        (
            "nslookup docs $dns --from client",
            "canonical name = example.com.\nName:\texample.com\nAddress: 203.0.113.80\n",
        ),
        ("nslookup -type=AAAA web $dns --from client", "*** Can't find web: No answer\n\n"),
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

/// What a Pod of this image answers to a command.
fn asked(image: &str, command: &str) -> String {
    let run = format!("kubectl run it --image={image} -- sleep infinity");
    let asks = format!("kubectl exec it -- {command}");
    let said = session(&[&run, "kubectl wait --for=condition=Ready pod/it --timeout=60s", &asks]);
    let (_, said) = said.split_once(&format!("$ {asks}\n")).expect("it was asked");
    said.to_owned()
}

/// Busybox has a `ping` that counts from 0, and to which errors are nothing.
#[test]
fn an_image_has_its_own_ping() {
    let said = asked("busybox", "ping -c2 web-0.db");
    assert!(said.starts_with("PING web-0.db (10.244."), "{said}");
    assert!(said.contains("): 56 data bytes\n64 bytes from 10.244."), "{said}");
    assert!(said.contains(": seq=0 ttl=") && said.contains(": seq=1 ttl="), "{said}");
    let summary = "\n\n--- web-0.db ping statistics ---\n2 packets transmitted, 2 packets received, 0% packet loss\n\
                   round-trip min/avg/max = ";
    assert!(said.contains(summary), "{said}");
    let said = asked("busybox", "ping -c 1 -W 2 10.244.0.77");
    let nothing = "PING 10.244.0.77 (10.244.0.77): 56 data bytes\n\n--- 10.244.0.77 ping statistics ---\n\
                   1 packets transmitted, 0 packets received, 100% packet loss\ncommand terminated with exit code 1\n";
    assert!(said.starts_with(nothing), "{said}");
    let said = asked("busybox", "ping nope");
    assert!(said.starts_with("ping: bad address 'nope'\ncommand terminated with exit code 1\n"), "{said}");
    let said = asked("nginx", "ping -q -w 2 web-0.db");
    assert!(
        said.contains("bytes of data.\n\n--- web-0.db ping statistics ---\n2 packets transmitted, 2 received"),
        "{said}"
    );
}

/// Busybox has one of its own, and had another up to 1.28: with `exec` it is that of the image.
#[test]
fn an_image_has_its_own_nslookup() {
    let head = "Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n\n";
    let found = "Name:\tweb.default.svc.cluster.local\nAddress: 10.96.0.20\n";
    let unknown = "** server can't find web.svc.cluster.local: NXDOMAIN\n\n\
                   ** server can't find web.cluster.local: NXDOMAIN\n\n";
    let failed = "command terminated with exit code 1\n";

    let said = asked("busybox", "nslookup web.default.svc.cluster.local");
    assert_eq!(said.trim_end(), format!("{head}{found}").trim_end(), "a whole name is found, and ends well");
    let said = asked("busybox:1.36", "nslookup web");
    assert!(said.starts_with(&format!("{head}{found}\n{unknown}\n{unknown}{failed}")), "a short one is, too: {said}");
    let said = asked("alpine", "nslookup web 10.96.0.10");
    let alone = "** server can't find web: NXDOMAIN\n\n";
    assert!(said.starts_with(&format!("{head}{alone}{alone}{failed}")), "a server comes without endings: {said}");
    let said = asked("busybox", "nslookup -type=srv _http._tcp.db.default.svc.cluster.local");
    let service = "_http._tcp.db.default.svc.cluster.local\tservice = 0 100 80 web-0.db.default.svc.cluster.local\n";
    assert!(said.starts_with(&format!("{head}{service}")), "{said}");
    let said = asked("busybox", "nslookup 10.96.0.20");
    let name = "20.0.96.10.in-addr.arpa\tname = web.default.svc.cluster.local\n\n";
    assert!(said.starts_with(&format!("{head}{name}")), "{said}");
    let said = asked("busybox", "nslookup web 192.0.2.9");
    assert!(said.starts_with(&format!(";; connection timed out; no servers could be reached\n\n{failed}")), "{said}");
    for (words, wrong) in [("-type=any web", "nslookup: invalid query type"), ("-x web", "Usage: nslookup [-type=")] {
        let said = asked("busybox", &format!("nslookup {words}"));
        assert!(said.starts_with(wrong), "{said}");
    }

    let head = "Server:    10.96.0.10\nAddress 1: 10.96.0.10 kube-dns.kube-system.svc.cluster.local\n\n";
    let said = asked("busybox:1.28", "nslookup web");
    let found = "Name:      web\nAddress 1: 10.96.0.20 web.default.svc.cluster.local\n";
    assert!(said.starts_with(&format!("{head}{found}")), "{said}");
    let said = asked("busybox:1.28", "nslookup web-0.db");
    assert!(said.starts_with(&format!("{head}Name:      web-0.db\nAddress 1: 10.244.")), "{said}");
    assert!(said.lines().nth(4).is_some_and(|line| line.ends_with(" web-0.db.default.svc.cluster.local")), "{said}");
    let said = asked("busybox:1.28", "nslookup nope");
    assert!(said.starts_with(&format!("{head}nslookup: can't resolve 'nope'\n{failed}")), "{said}");
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
