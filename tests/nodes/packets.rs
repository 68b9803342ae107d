//! Packets in a whole cluster: who answers, how requests fail, and what every hop says.

use std::time::Duration;

use cluster::Cluster;
use cluster::scenario::Scenario;
use engine::{Note, What};
use kubestep_tests::scenario;
use object::Kind;
use object::reader::Reader;

/// Two Pods that take no notice of being asked to go.
const WEB: &str = include_str!("../scenes/web.yaml");

/// Two Pods and a client on two nodes, then these lines. Returns what the lines after the set-up printed.
fn session(head: &str, lines: &[&str]) -> (Cluster, String) {
    let pod = |name: &str, node: &str, container: &str| {
        format!(
            "    apiVersion: v1\n    kind: Pod\n    metadata: {{name: {name}}}\n    spec:\n      nodeName: {node}\n      containers:\n      - {container}\n    ---\n"
        )
    };
    let manifest = [
        pod("client", "node-1", "{name: c, image: alpine, command: [sleep, infinity]}"),
        pod("near", "node-1", "{name: c, image: 'nginx:1.27'}"),
        pod("far", "node-2", "{name: c, image: example/shop, ports: [{containerPort: 8080}]}"),
    ];
    let wait = "kubectl wait --for=condition=Ready pod/client pod/near pod/far --timeout=60s";
    let timeline: String =
        ["kubectl apply -f pods.yaml", wait].iter().chain(lines).map(|l| format!("  - {l:?}\n")).collect();
    let text = format!("title: t\nnodes: 2\n{head}files:\n  pods.yaml: |\n{}timeline:\n{timeline}", manifest.concat());
    let cluster = scenario::settled(&text, 600);
    let printed = cluster.kubectl.printed_since(0);
    let after = printed.split_once("pod/far condition met\n\n").map_or(printed.clone(), |(_, rest)| rest.to_owned());
    (cluster, after)
}

#[test]
fn pods_answer_whoever_asks() {
    for head in ["", "network: vxlan\n"] {
        let lines = [
            "curl 10.244.0.3 --from client",
            "curl 10.244.1.2:8080/a --from client",
            "curl 10.244.1.2:8080 --from node-1",
            "curl near --from near",
            "curl far --from client",
            "kubectl exec client -- curl -s 10.244.0.3",
        ];
        let (_, said) = session(head, &lines);
        let expected = "\
$ curl 10.244.0.3 --from client
default/near on node-1 answers GET /
server 10.244.0.3:80, client 10.244.0.2

$ curl 10.244.1.2:8080/a --from client
default/far on node-2 answers GET /a
server 10.244.1.2:8080, client 10.244.0.2

$ curl 10.244.1.2:8080 --from node-1
default/far on node-2 answers GET /
server 10.244.1.2:8080, client NODE

$ curl near --from near
near is Pod default/near: 10.244.0.3
default/near on node-1 answers GET /
server 10.244.0.3:80, client 10.244.0.3

$ curl far --from client
far is Pod default/far: 10.244.1.2
curl: (7) Failed to connect to 10.244.1.2 port 80 after 0 ms: Connection refused
command terminated with exit code 7

$ kubectl exec client -- curl -s 10.244.0.3
default/near on node-1 answers GET /
server 10.244.0.3:80, client 10.244.0.2

";
        // Through a tunnel a node speaks with the tunnel's address.
        let node = if head.is_empty() { "172.18.0.10" } else { "10.244.0.0" };
        assert_eq!(said, expected.replace("NODE", node), "{head}");
    }
}

#[test]
fn requests_fail_as_real_ones_do() {
    for (line, expected) in [
        ("curl nowhere --from client", "curl: (6) Could not resolve host: nowhere"),
        ("curl -m 2 10.96.0.99 --from client", "curl: (28) Connection timed out after 2000 milliseconds"),
        (
            "curl 10.96.0.99 --from client",
            "curl: (28) Failed to connect to 10.96.0.99 port 80 after 127000 ms: Connection timed out",
        ),
        (
            "curl 10.244.0.77 --from client",
            "curl: (7) Failed to connect to 10.244.0.77 port 80 after 3000 ms: No route to host",
        ),
        (
            "curl 172.18.0.99 --from node-1",
            "curl: (7) Failed to connect to 172.18.0.99 port 80 after 3000 ms: No route to host",
        ),
        (
            "curl 10.244.0.3 --from outside",
            "curl: (7) Failed to connect to 10.244.0.3 port 80 after 0 ms: Network is unreachable",
        ),
        ("curl ftp://near --from client", "curl: (1) Protocol \"ftp\" not supported or disabled in libcurl"),
        ("ping -c 1 10.244.0.77 --from client", "From 10.244.0.2 icmp_seq=1 Destination Host Unreachable"),
        ("ping nowhere --from client", "ping: nowhere: Name or service not known"),
        ("curl near --from nobody", "Error from server (NotFound): pods \"nobody\" not found"),
        ("kubectl exec client -- vi", "exec: \"vi\": executable file not found in $PATH"),
        ("kubectl exec client -c other -- curl x", "error: container other is not valid for pod client out of: c"),
        ("curl -m 1 kubernetes --from client", "no kube-proxy runs in this cluster: a Service's address leads nowhere"),
        ("nslookup near --from client", "nslookup: /etc/resolv.conf of default/client names no server"),
    ] {
        let (_, said) = session("", &[line]);
        assert!(said.contains(expected), "{line}: expected {expected:?} in\n{said}");
    }
}

#[test]
fn nothing_answers_before_the_container_runs_or_after_it_died() {
    let (_, said) = session(
        "images:\n  'slow/server': {pullSeconds: 5}\n",
        &[
            "kubectl run late --image=slow/server --port=80",
            "sleep 2",
            "kubectl exec late -- curl localhost",
            "sleep 6",
            "curl late --from client",
            "kubectl delete pod late --wait=false",
            "sleep 1",
            "curl late --from client",
        ],
    );
    let outcomes: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("answers") || line.contains("rror") || line.contains("curl: "))
        .collect();
    assert_eq!(outcomes.len(), 3, "{said}");
    assert!(outcomes[0].contains("unable to upgrade connection: container not found"), "{said}");
    assert!(outcomes[1].starts_with("default/late on node-"), "{said}");
    assert!(outcomes[2].contains("Connection refused") || outcomes[2].contains("Could not resolve"), "{said}");
}

#[test]
fn a_node_that_is_off_answers_nothing() {
    let (_, said) =
        session("", &["node stop node-2", "curl 10.244.1.2:8080 --from client", "curl 10.244.0.3 --from node-2"]);
    assert!(said.contains("after 3000 ms: No route to host"), "{said}");
    assert!(said.contains("Error from server (NotFound): pods \"node-2\" not found"), "{said}");
}

#[test]
fn every_packet_ends_in_a_socket_or_with_a_reason() {
    let (mut cluster, _) = session("", &[]);
    let lines = [
        "curl 10.244.1.2:8080 --from client",
        "curl 10.244.1.2:81 --from client",
        "ping -c 1 far --from client",
        "curl -m 1 10.96.0.99 --from near",
    ];
    cluster.type_lines(lines.map(str::to_owned).to_vec());
    let (mut hops, mut ends) = (0, 0);
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        let What::Packet { message, .. } = &step.event.what else { continue };
        hops += 1;
        let topics: Vec<&str> = step
            .notes
            .iter()
            .filter_map(|note| match note {
                Note::Text { topic, .. } => Some(*topic),
                _ => None,
            })
            .collect();
        let ended = topics.iter().any(|topic| ["socket", "icmp", "dropped"].contains(topic));
        let went_on = step
            .sent
            .iter()
            .any(|id| cluster.engine.in_flight(*id).is_some_and(|event| matches!(event.what, What::Packet { .. })));
        assert!(ended || went_on, "{} is lost at step {}", message.line(), step.id.0);
        ends += usize::from(ended);
    }
    // Four hops from Pod to Pod; five packets for a page, two for a refusal and a ping, one without an answer.
    assert_eq!((hops, ends), (5 * 4 + 2 * 4 + 2 * 4 + 3, 10));
}

/// A Pod that is the only one behind a Service calls it: the bridge must send a frame back by the port it came from, and
/// the Pod must see another client than itself, or it would answer itself directly.
#[test]
fn a_pod_reaches_itself_through_its_service() {
    let hairpin_off = "  - node node-1 cp off.conflist /etc/cni/net.d/10-kubestep.conflist\n";
    let nothing = "  - sleep 0\n";
    for (before, expected) in [
        (nothing, "default/self on node-1 answers GET /\nserver 10.244.0.2:80, client 10.244.0.1\n"),
        (hairpin_off, "curl: (28) Failed to connect to 10.96."),
    ] {
        let text = format!(
            "\
title: t
nodes: 1
proxy: true
files:
  self.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {{name: self, labels: {{app: self}}}}
    spec: {{containers: [{{name: c, image: 'nginx:1.27', ports: [{{containerPort: 80}}]}}]}}
    ---
    apiVersion: v1
    kind: Service
    metadata: {{name: self}}
    spec: {{selector: {{app: self}}, ports: [{{port: 80}}]}}
  off.conflist: |
    {OFF}
timeline:
{before}  - kubectl apply -f self.yaml
  - kubectl wait --for=condition=Ready pod/self --timeout=60s
  - sleep 2
"
        );
        let mut cluster = scenario::settled(&text, 600);
        let mark = cluster.kubectl.printed();
        cluster.type_lines(vec!["curl self --from self".to_owned()]);
        let mut said = Vec::new();
        while !cluster.is_quiet() {
            let Some(step) = cluster.step() else { break };
            said.extend(step.notes.iter().filter_map(|note| match note {
                Note::Text { topic, text } => Some(format!("{topic} {text}")),
                _ => None,
            }));
        }
        let printed = cluster.kubectl.printed_since(mark);
        assert!(printed.contains(expected), "{printed}");
        let has = |text: &str| said.iter().any(|line| line.contains(text));
        assert!(has("-s 10.244.0.2/32 -m comment --comment \"default/self\" -j KUBE-MARK-MASQ"), "{said:#?}");
        assert_eq!(has("source 10.244.0.2:32768 becomes 10.244.0.1:"), before == nothing, "{said:#?}");
        assert_eq!(has("where it came from, and hairpin mode is off"), before == hairpin_off, "{said:#?}");
    }
}

/// The installed network, but for `hairpinMode`.
const OFF: &str = r#"{"cniVersion": "1.1.0", "name": "kubestep", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}"#;

/// A Deployment that is updated, scaled and loses a container; each endpoint that a slice calls ready then answers, from every
/// node.
#[test]
fn a_ready_endpoint_answers() {
    let text = "\
title: t
nodes: 3
files:
  web.yaml: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 4
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec:
          containers:
          - {name: nginx, image: 'nginx:1.27', ports: [{containerPort: 80}]}
timeline:
  - kubectl apply -f web.yaml
  - kubectl expose deployment web --port=80
  - kubectl rollout status deployment/web
  - kubectl set image deployment/web nginx=nginx:1.28
  - kubectl rollout status deployment/web
  - victim=$(kubectl get pods -o jsonpath={.items[0].metadata.name})
  - kill $victim
  - kubectl scale deployment/web --replicas=3
  - sleep 30
";
    for seed in 0..4 {
        let mut cluster = bugs::cluster(&Scenario { seed, ..scenario::parsed(text) });
        cluster.settle(Duration::from_secs(600));
        let ready = ready_endpoints(&cluster);
        assert_eq!(ready.len(), 3, "seed {seed}: {ready:?}\n{}", cluster.kubectl.printed_since(0));
        let lines = ready.iter().flat_map(|(address, _)| {
            ["node-1", "node-2", "node-3"].map(|node| format!("curl -s {address} --from {node}"))
        });
        let before = cluster.kubectl.printed();
        cluster.type_lines(lines.collect());
        cluster.settle(Duration::from_secs(60));
        let said = cluster.kubectl.printed_since(before);
        for (address, pod) in &ready {
            assert_eq!(said.matches(&format!("default/{pod} on node-")).count(), 3, "seed {seed}, {address}:\n{said}");
        }
    }
}

/// Address and Pod of every endpoint that a slice calls ready.
fn ready_endpoints(cluster: &Cluster) -> Vec<(String, String)> {
    let slices = cluster.engine.server.api.store.prefix("/registry/endpointslices/default/");
    let mut ready = Vec::new();
    for slice in slices.map(|(_, entry)| entry.value.to_json()) {
        for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
            if endpoint["conditions"]["ready"] == true && endpoint["targetRef"]["kind"] == "Pod" {
                let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
                ready.push((text(&endpoint["addresses"][0]), text(&endpoint["targetRef"]["name"])));
            }
        }
    }
    ready
}

/// A Pod that is asked to go and takes its time still listens, but a Service sends no connection there once the proxies have
/// seen the change.
#[test]
fn a_deleted_pod_gets_no_new_connection() {
    let timeline = "\
timeline:
  - kubectl apply -f web.yaml
  - kubectl expose deployment web --port=80 --target-port=8080
  - kubectl rollout status deployment/web
  - sleep 3
  - victim=$(kubectl get pods -o jsonpath={.items[0].metadata.name})
  - address=$(kubectl get pod $victim -o jsonpath={.status.podIP})
  - kubectl delete pod $victim --wait=false
  - sleep 3
  - curl -s $address:8080 --from node-1
";
    let mut scenario = scenario::parsed(&(WEB.to_owned() + timeline));
    let rounds = 24;
    let asked = (0..rounds).map(|round| format!("curl -s web --from node-{}", round % 2 + 1));
    scenario.timeline.extend(asked);
    for seed in 0..3 {
        let mut cluster = bugs::cluster(&Scenario { seed, ..scenario.clone() });
        cluster.settle(Duration::from_secs(25));
        let said = cluster.kubectl.printed_since(0);
        let answers: Vec<&str> = said.lines().filter(|line| line.contains(" answers GET ")).collect();
        assert_eq!(answers.len(), rounds + 1, "seed {seed}:\n{said}");
        let victim = answers[0].split(' ').next().unwrap_or_default();
        assert!(answers[1..].iter().all(|answer| !answer.starts_with(victim)), "seed {seed}:\n{said}");
    }
}

/// Pods have addresses of the range that the Node object names, in any order of the nodes; and when a node
/// comes back after its object was deleted, of its new range.
#[test]
fn a_nodes_range_is_its_pods_range() {
    for seed in 0..4 {
        let text = format!(
            "\
title: t
seed: {seed}
nodes: 2
network: {}
files:
  pods.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {{name: here}}
    spec: {{nodeName: node-1, containers: [{{name: c, image: 'nginx:1.27'}}]}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {{name: there}}
    spec: {{nodeName: node-2, containers: [{{name: c, image: 'nginx:1.27'}}]}}
timeline:
  - node stop 2
  - kubectl delete node node-2
  - sleep 20
  - node node-1 ip route
  - node start 2
  - kubectl wait --for=condition=Ready node/node-2 --timeout=60s
  - sleep 2
  - kubectl apply -f pods.yaml
  - kubectl wait --for=condition=Ready pod/here pod/there --timeout=60s
  - there=$(kubectl get pod there -o jsonpath={{.status.podIP}})
  - kubectl exec here -- wget -qO- $there
  - node stop 2
  - node start 2
  - sleep 30
  - curl there --from here
",
            ["host-gw", "vxlan"][seed % 2]
        );
        let cluster = scenario::settled(&text, 300);
        let said = cluster.kubectl.printed_since(0);
        assert_eq!(said.matches("default/there on node-2 answers GET /").count(), 2, "seed {seed}: {said}");
        assert!(!said.contains("via 172.18.0.11"), "the route of a deleted node stays: {said}");
        let object = |kind, namespace, name| {
            Reader::get(&cluster.engine.server.api.store, kind, namespace, name)
                .unwrap_or_else(|| panic!("{name}"))
                .to_json()
        };
        for (pod, node) in [("here", "node-1"), ("there", "node-2")] {
            let range = object(Kind::Node, "", node)["spec"]["podCIDR"].as_str().map(str::to_owned).unwrap_or_default();
            let address = object(Kind::Pod, "default", pod)["status"]["podIP"].as_str().map(str::to_owned);
            let prefix = range.trim_end_matches("0/24");
            assert!(address.is_some_and(|address| address.starts_with(prefix)), "{pod} has no address of {range}");
        }
    }
}
