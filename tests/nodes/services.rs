//! Services, from the API to the rules on every node.
//!
//! Once a scenario has come to rest, slices say what Pods are, and every node's rules say what slices are; and what a
//! node's rules print is what the real `iptables-restore` reads.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use cluster::Cluster;
use cluster::scenario::Scenario;
use engine::{Note, Queued};
use kubestep_tests::scenario;
use kubestep_tests::skip;
use network::netfilter::{Table, Target};
use network::proxy::KubeProxy;
use serde_json::{Value, json};

const SCENARIOS: [&str; 3] = ["service", "readiness", "nodeport"];
const SEEDS: u64 = 6;

fn at_rest(scenario: Scenario) -> Cluster {
    let mut cluster = bugs::cluster(&scenario);
    while !cluster.is_quiet() && cluster.step().is_some() {}
    cluster
}

fn shipped(name: &str, seed: u64) -> Cluster {
    at_rest(Scenario { seed, ..Scenario::find(name).expect("it is shipped") })
}

fn typed(lines: &[&str]) -> Cluster {
    let timeline = lines.iter().map(|line| (*line).to_owned()).collect();
    at_rest(Scenario { proxy: true, timeline, ..scenario::parsed("title: test") })
}

fn objects(cluster: &Cluster, prefix: &str) -> Vec<Value> {
    let prefix = format!("/registry/{prefix}/default/");
    let entries = cluster.engine.server.api.store.prefix(&prefix);
    entries.map(|(_, entry)| entry.value.to_json()).collect()
}

fn nodes(cluster: &Cluster) -> Vec<String> {
    cluster.config().nodes.iter().map(|node| node.name.clone()).collect()
}

/// `ip:port` of the endpoints of living Services that take connections.
fn ready_endpoints(cluster: &Cluster) -> BTreeSet<String> {
    let services: Vec<Value> =
        objects(cluster, "services/specs").into_iter().map(|service| service["metadata"]["name"].clone()).collect();
    let mut ready = BTreeSet::new();
    for slice in objects(cluster, "endpointslices") {
        let service = &slice["metadata"]["labels"]["kubernetes.io/service-name"];
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        for endpoint in list(&slice["endpoints"]).iter().filter(|e| e["conditions"]["ready"] == json!(true)) {
            for port in list(&slice["ports"]).iter().filter(|_| services.contains(service)) {
                let ip = endpoint["addresses"][0].as_str().unwrap_or_default();
                ready.insert(format!("{ip}:{}", port["port"]));
            }
        }
    }
    ready
}

/// `ip:port` to which a node sends connections.
fn destinations(cluster: &Cluster, node: &str) -> BTreeSet<String> {
    let host = cluster.host(node).expect("the node is on");
    let network = host.network.borrow();
    let rules = network.root.netfilter.rules.chains(Table::Nat).filter(|(name, _)| name.starts_with("KUBE-SEP-"));
    let targets = rules.flat_map(|(_, chain)| &chain.rules).filter_map(|rule| match &rule.target {
        Some(Target::Dnat(ip, Some(port))) => Some(format!("{ip}:{port}")),
        _ => None,
    });
    targets.collect()
}

#[test]
fn slices_say_what_pods_are_and_rules_what_slices_are() {
    for name in SCENARIOS {
        for seed in 0..SEEDS {
            let cluster = shipped(name, seed);
            let pods = objects(&cluster, "pods");
            let opens = format!("cargo run -- step {name} --seed {seed}");
            for slice in objects(&cluster, "endpointslices") {
                for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
                    let Some(uid) = endpoint["targetRef"]["uid"].as_str() else { continue };
                    let pod = pods.iter().find(|pod| pod["metadata"]["uid"] == json!(uid));
                    let pod = pod.unwrap_or_else(|| panic!("a slice names a Pod that is gone; see it with: {opens}"));
                    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
                    let is_ready = conditions.into_iter().any(|c| c["type"] == "Ready" && c["status"] == "True");
                    assert_eq!(endpoint["conditions"]["ready"], json!(is_ready), "{opens}");
                    assert!(!is_ready || pod["status"]["phase"] == "Running", "{opens}");
                }
            }
            for node in nodes(&cluster) {
                assert_eq!(destinations(&cluster, &node), ready_endpoints(&cluster), "{node}; {opens}");
            }
        }
    }
}

/// The annotation `topology-mode`: each zone has its share of the endpoints, as long as there are enough.
#[test]
fn traffic_is_shared_by_zones() {
    let steps = [
        "kubectl create deployment web --image=nginx:1.27 --replicas=3",
        "kubectl expose deployment web --port=80",
        "kubectl annotate service web service.kubernetes.io/topology-mode=Auto",
        "kubectl rollout status deployment/web",
        "sleep 3",
        "kubectl scale deployment web --replicas=2",
        "sleep 60",
        "kubectl scale deployment web --replicas=3",
        "kubectl rollout status deployment/web",
        "sleep 3",
        "kubectl annotate service web service.kubernetes.io/topology-mode-",
        "sleep 3",
    ];
    for (count, led, last) in [
        (5, 1, "Topology Aware Hints has been enabled"),
        (7, 2, "Insufficient number of endpoints (2 endpoints, 3 zones)"),
        (10, 1, "Topology Aware Hints has been enabled"),
        (12, 3, "Topology Aware Hints has been disabled"),
    ] {
        let cluster = at_rest(Scenario {
            proxy: true,
            timeline: steps[..count].iter().map(|line| (*line).to_owned()).collect(),
            ..scenario::parsed("title: test\nnodes: 3")
        });
        let ready = ready_endpoints(&cluster).into_iter().filter(|address| address.ends_with(":80"));
        let ready: BTreeSet<String> = ready.collect();
        for node in nodes(&cluster) {
            let there = destinations(&cluster, &node).into_iter().filter(|address| ready.contains(address)).count();
            assert_eq!(there, led, "{node}, after {}", steps[count - 1]);
        }
        let events = objects(&cluster, "events");
        let told = events.iter().filter(|event| event["involvedObject"]["kind"] == "Service");
        let newest = told.max_by_key(|event| event["lastTimestamp"].as_str().map(str::to_owned));
        let wanted = format!("{last}, addressType: IPv4");
        assert_eq!(newest.expect("it is told")["message"], wanted, "after {}", steps[count - 1]);
    }
}

/// The program, if the machine has it and lets it run.
/// `trafficDistribution`: the slices say for whom each endpoint is, and each node's rules lead only there.
#[test]
fn traffic_stays_where_the_service_prefers() {
    let label = |node: u8, zone: &str| {
        let value = if zone.is_empty() { "-".to_owned() } else { format!("={zone} --overwrite") };
        format!("kubectl label node node-{node} topology.kubernetes.io/zone{value}")
    };
    let pod = |name: &str, node: u8| {
        let metadata = json!({"name": name, "labels": {"app": "web"}});
        let container = json!({"name": "c", "image": "nginx:1.27"});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"nodeName": format!("node-{node}"), "containers": [container]}})
    };
    for (wish, zones, led) in [
        // Pods are on the nodes 1 and 2, in different zones, and node 3 is in the zone of 2.
        ("PreferClose", true, [&["1"][..], &["2"], &["2"]]),
        ("PreferSameZone", true, [&["1"], &["2"], &["2"]]),
        ("PreferSameNode", true, [&["1"], &["2"], &["2"]]),
        ("PreferSameNode", false, [&["1"], &["2"], &["1", "2"]]),
        ("PreferSameZone", false, [&["1", "2"], &["1", "2"], &["1", "2"]]),
        ("", true, [&["1", "2"], &["1", "2"], &["1", "2"]]),
    ] {
        let mut spec = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
        if !wish.is_empty() {
            spec["trafficDistribution"] = json!(wish);
        }
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec});
        let manifest = [pod("one", 1), pod("two", 2), service].map(|object| object.to_string()).join("\n---\n");
        let zone = |name: &'static str| if zones { name } else { "" };
        let timeline = [label(1, zone("a")), label(2, zone("b")), label(3, zone("b"))].into_iter().chain([
            "kubectl apply -f web.yaml".to_owned(),
            "kubectl wait --for=condition=Ready pod/one pod/two --timeout=60s".to_owned(),
            "sleep 3".to_owned(),
        ]);
        let cluster = at_rest(Scenario {
            proxy: true,
            timeline: timeline.collect(),
            files: [("web.yaml".to_owned(), manifest)].into(),
            ..scenario::parsed("title: test\nnodes: 3")
        });
        let address = |name: &str| {
            let pods = objects(&cluster, "pods");
            let pod = pods.iter().find(|pod| pod["metadata"]["name"] == name).expect("it is there");
            format!("{}:80", pod["status"]["podIP"].as_str().unwrap_or_default())
        };
        let addresses = [address("one"), address("two")];
        for (node, led) in (1..).zip(led) {
            let wanted: BTreeSet<String> = led.iter().map(|pod| addresses[usize::from(*pod == "2")].clone()).collect();
            let mut there = destinations(&cluster, &format!("node-{node}"));
            there.retain(|address| addresses.contains(address));
            assert_eq!(there, wanted, "{wish} {zones} node-{node}");
        }
        let slices = objects(&cluster, "endpointslices");
        let endpoints = slices.iter().flat_map(|slice| slice["endpoints"].as_array()).flatten();
        for endpoint in endpoints.filter(|endpoint| endpoint["targetRef"]["kind"] == "Pod") {
            let hints = &endpoint["hints"];
            assert_eq!(!hints["forNodes"].is_null(), wish == "PreferSameNode", "{endpoint}");
            assert_eq!(!hints["forZones"].is_null(), zones && !wish.is_empty(), "{endpoint}");
            if let Some(zone) = hints["forZones"][0]["name"].as_str() {
                assert_eq!(endpoint["zone"], zone);
            }
        }
    }
}

fn check_with(program: &str, arguments: &[&str], input: &str) -> Option<String> {
    let mut command = Command::new(program);
    let command = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        skip::skipped(program);
        return None;
    };
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads its input");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let forbidden = ["Permission denied", "you must be root", "Operation not permitted", "does not exist"];
    if !output.status.success() && forbidden.iter().any(|why| said.contains(why)) {
        skip::skipped(&format!("{program} to be allowed to ask the kernel: {said}"));
        return None;
    }
    Some(if output.status.success() { String::new() } else { said })
}

/// Everything a Service can ask for, at once.
const EVERYTHING: &[&str] = &[
    "kubectl create deployment web --image=nginx:1.27 --replicas=3 --port=80",
    "kubectl rollout status deployment/web",
    "kubectl expose deployment web --name=plain --port=80",
    "kubectl expose deployment web --name=sticky --port=80 --session-affinity=ClientIP",
    "kubectl expose deployment web --name=door --type=NodePort --port=80",
    "kubectl expose deployment web --name=local --type=NodePort --port=80",
    "kubectl patch service local -p '{\"spec\": {\"externalTrafficPolicy\": \"Local\"}}'",
    "kubectl expose deployment web --name=outside --port=80 --external-ip=192.0.2.7",
    "kubectl expose deployment web --name=datagrams --port=53 --protocol=UDP",
    "kubectl create service nodeport nobody --tcp=80",
    "kubectl expose deployment web --name=balanced --type=LoadBalancer --port=80",
    "kubectl patch service balanced -p '{\"spec\": {\"loadBalancerSourceRanges\": [\"198.51.100.0/24\"]}}'",
    "kubectl patch service balanced --subresource=status -p '{\"status\": {\"loadBalancer\": {\"ingress\": [{\"ip\": \"192.0.2.9\"}]}}}'",
    "sleep 3",
];

#[test]
fn the_real_iptables_reads_the_rules() {
    let cluster = typed(EVERYTHING);
    for node in nodes(&cluster) {
        let saved = cluster.host(&node).expect("the node is on").network.borrow().root.netfilter.rules.save();
        for part in ["KUBE-FW-", "KUBE-SVL-", "--rcheck", "REJECT", "-p udp", "192.0.2.7/32"] {
            assert!(saved.contains(part), "{part} is missing:\n{saved}");
        }
        if let Some(said) = check_with("iptables-restore", &["--test"], &saved) {
            assert_eq!(said, "", "of {node}:\n{saved}");
        }
    }
}

#[test]
fn the_real_nft_reads_the_other_view() {
    let mut cluster = typed(EVERYTHING);
    let engine = &cluster.engine;
    let id = engine.find("kube-proxy/node-1").expect("it runs");
    let proxy: &KubeProxy = engine.actor(id).and_then(|actor| actor.as_any().downcast_ref()).expect("it is one");
    let script = proxy.nftables();
    for part in ["map { 0 : 10.244.", "@service-nodeports", "no-endpoint-nodeports { tcp", "external-"] {
        assert!(script.contains(part), "{part} is missing:\n{script}");
    }
    // What `nft list ruleset` shows can be loaded again.
    for text in [script, proxy.nft_list()] {
        if let Some(said) = check_with("nft", &["--check", "--file", "-"], &text) {
            assert_eq!(said, "", "{text}");
        }
    }
    let listed = on_node(&mut cluster, "nft list ruleset");
    assert!(
        listed.starts_with("table ip kube-proxy {\n\tcomment \"rules for kube-proxy\"\n\tset hairpin-connections {\n"),
        "{listed}"
    );
}

fn on_node(cluster: &mut Cluster, command: &str) -> String {
    let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    cluster.on_node("node-1", &words).unwrap_or_else(|error| panic!("{command}: {error}"))
}

/// What an admin sees of Services on a node: the connections that NAT has made.
#[test]
fn connections_to_a_service_are_tracked() {
    let mut cluster = shipped("service", 0);
    let tracked = on_node(&mut cluster, "conntrack -L");
    let service = tracked.lines().find(|line| line.contains(" dst=10.96.") && line.contains(" dport=80 "));
    let line = service.unwrap_or_else(|| panic!("{tracked}"));
    // The answers come from the Pod, and go to the address that the rules gave the client.
    assert!(
        line.starts_with("tcp      6 ") && line.contains(" src=10.244.") && line.contains(" mark=0 use=1"),
        "{line}"
    );
    assert!(tracked.ends_with(" flow entries have been shown.\n"), "{tracked}");
}

/// The rules of NetworkPolicies are read by the real iptables too.
#[test]
fn the_real_iptables_reads_the_rules_of_policies() {
    let cluster = shipped("network-policy", 0);
    for node in nodes(&cluster) {
        let saved = cluster.host(&node).expect("the node is on").network.borrow().root.netfilter.rules.save();
        assert!(saved.contains("KUBE-NP-"), "{saved}");
        if let Some(said) = check_with("iptables-restore", &["--test"], &saved) {
            assert_eq!(said, "", "of {node}:\n{saved}");
        }
    }
}

#[test]
fn a_headless_service_and_a_name_make_no_rules() {
    let cluster = typed(&[
        "kubectl create service clusterip none --clusterip=None",
        "kubectl create service externalname far --external-name=example.org",
        "sleep 3",
    ]);
    let saved = cluster.host("node-1").expect("the node is on").network.borrow().root.netfilter.rules.save();
    assert!(!saved.contains("default/none") && !saved.contains("default/far"), "{saved}");
    assert_eq!(objects(&cluster, "endpointslices").len(), 2, "the API server's, and a placeholder of the headless one");
}

/// A Service that lists Pods before they are ready: both say so, and traffic goes there.
#[test]
fn a_service_may_list_pods_that_are_not_ready() {
    let manifest = "
apiVersion: v1
kind: Pod
metadata: {name: slow, labels: {app: slow}}
spec:
  containers:
  - {name: c, image: 'nginx:1.27', readinessProbe: {tcpSocket: {port: 9999}}}
---
apiVersion: v1
kind: Service
metadata: {name: waits}
spec: {selector: {app: slow}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: eager}
spec: {selector: {app: slow}, ports: [{port: 80}], publishNotReadyAddresses: true}
";
    let mut scenario = scenario::parsed("title: test");
    scenario.proxy = true;
    scenario.files.insert("slow.yaml".into(), manifest.into());
    scenario.timeline = vec!["kubectl apply -f slow.yaml".into(), "sleep 5".into()];
    let cluster = at_rest(scenario);
    let of = |service: &str| -> Value {
        let slices = objects(&cluster, "endpointslices");
        let slice = slices.iter().find(|s| s["metadata"]["labels"]["kubernetes.io/service-name"] == service);
        slice.expect("each Service has a slice")["endpoints"][0]["conditions"].clone()
    };
    assert_eq!(of("waits"), json!({"ready": false, "serving": false, "terminating": false}));
    assert_eq!(of("eager"), json!({"ready": true, "serving": false, "terminating": false}));
    let endpoints = objects(&cluster, "services/endpoints");
    let subset = |name: &str| {
        endpoints.iter().find(|e| e["metadata"]["name"] == name).map(|e| e["subsets"][0].clone()).unwrap_or_default()
    };
    assert!(subset("waits")["notReadyAddresses"].is_array() && subset("waits")["addresses"].is_null());
    assert!(subset("eager")["addresses"].is_array() && subset("eager")["notReadyAddresses"].is_null());
}

/// A Service without a selector, and Endpoints made by hand.
#[test]
fn endpoints_made_by_hand_are_mirrored() {
    let mut scenario = scenario::parsed("title: test");
    let manifest = "
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {ports: [{port: 5432}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: db}
subsets: [{addresses: [{ip: 192.0.2.20}], notReadyAddresses: [{ip: 192.0.2.21}], ports: [{port: 5432}]}]
";
    scenario.proxy = true;
    scenario.files.insert("db.yaml".into(), manifest.into());
    let again =
        ["kubectl delete endpointslices -l kubernetes.io/service-name=db", "sleep 0.5", "kubectl get endpointslices"];
    let lines = ["kubectl apply -f db.yaml", "sleep 3"].into_iter().chain(again);
    scenario.timeline = lines.map(str::to_owned).collect();
    let cluster = at_rest(scenario);
    let said = cluster.kubectl.printed_since(0);
    assert!(said.contains("IPv4          5432    192.0.2.20,192.0.2.21"), "it is copied again at once: {said}");
    let slices = objects(&cluster, "endpointslices");
    let slice =
        slices.iter().find(|s| s["metadata"]["labels"]["kubernetes.io/service-name"] == "db").expect("a mirror");
    let managed_by = &slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"];
    assert_eq!(managed_by, "endpointslicemirroring-controller.k8s.io");
    let endpoints = json!([
        {"addresses": ["192.0.2.20"], "conditions": {"ready": true}},
        {"addresses": ["192.0.2.21"], "conditions": {"ready": false}},
    ]);
    assert_eq!(slice["endpoints"], endpoints);
    assert!(destinations(&cluster, "node-2").contains("192.0.2.20:5432"));
}

/// Of one set of ports a thousand addresses are copied; of the others there is an Event.
#[test]
fn of_too_many_endpoints_made_by_hand_some_are_not_mirrored() {
    let mut scenario = scenario::parsed("title: test");
    let ips = |network: u8, count: usize| -> Vec<Value> {
        (0..count).map(|n| json!({"ip": format!("192.0.{}.{}", usize::from(network) + n / 250, 1 + n % 250)})).collect()
    };
    let ports = json!([{"port": 5432}]);
    let subsets = json!([{"addresses": ips(10, 600), "ports": ports}, {"addresses": ips(20, 402), "ports": ports}]);
    let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "db"}, "subsets": subsets});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"},
        "spec": {"ports": [{"port": 5432}]}});
    scenario.files.insert("db.yaml".into(), format!("{service}\n---\n{endpoints}\n"));
    scenario.timeline = ["kubectl apply -f db.yaml", "sleep 3"].map(str::to_owned).to_vec();
    let cluster = at_rest(scenario);
    let slices = objects(&cluster, "endpointslices");
    let copied = slices.iter().filter(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == "db");
    let sizes: Vec<usize> = copied.map(|slice| slice["endpoints"].as_array().map_or(0, Vec::len)).collect();
    assert_eq!(sizes, [1000]);
    let events = objects(&cluster, "events");
    let told = events.iter().find(|event| event["reason"] == "TooManyAddressesToMirror").expect("it is told");
    let message =
        "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 2 addresses were skipped";
    assert_eq!(
        (&told["type"], &told["involvedObject"]["name"], &told["message"]),
        (&json!("Warning"), &json!("db"), &json!(message))
    );
}

/// A Service with a selector is no business of who copies what was made by hand.
#[test]
fn the_mirroring_controller_looks_at_endpoints_of_selected_pods_only_when_they_change() {
    let lines = ["kubectl create service clusterip web --tcp=80", "sleep 1", "kubectl annotate service web a=b"];
    let timeline = lines.iter().map(|line| (*line).to_owned()).collect();
    let scenario = Scenario { timeline, ..scenario::parsed("title: test") };
    let mut cluster = bugs::cluster(&scenario);
    let mut looks = 0;
    while let Some(step) = cluster.step().filter(|_| !cluster.is_quiet()) {
        let taken = |note: &&Note| {
            matches!(note, Note::Queue { queue, key, how: Queued::Taken }
                if &**queue == "endpointslicemirroring-controller" && key.as_str() == "default/web")
        };
        looks += step.notes.iter().filter(taken).count();
    }
    assert_eq!(looks, 1, "its Endpoints were made");
}

#[test]
fn addresses_are_objects_that_come_and_go_with_their_service() {
    let list = |cluster: &Cluster| -> Vec<String> {
        let entries = cluster.engine.server.api.store.prefix("/registry/ipaddresses/");
        entries.map(|(_, entry)| entry.value.name().to_owned()).collect()
    };
    let made = ["kubectl create service clusterip a --tcp=80 --clusterip=10.96.0.50", "sleep 1"];
    assert_eq!(list(&typed(&made)), ["10.96.0.1", "10.96.0.50"]);
    let refused = [&made[..], &["kubectl create service clusterip b --tcp=80 --clusterip=10.96.0.50"]].concat();
    let cluster = typed(&refused);
    let said = cluster.kubectl.printed_since(0);
    assert!(said.contains("failed to allocate IP 10.96.0.50: provided IP is already allocated"), "{said}");
    let gone = [&made[..], &["kubectl delete service a", "sleep 1"]].concat();
    let cluster = typed(&gone);
    assert_eq!((list(&cluster), objects(&cluster, "services/endpoints").len()), (vec!["10.96.0.1".to_owned()], 1));
}
