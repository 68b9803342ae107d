//! NetworkPolicies in a whole cluster: who gets an answer, where the others' packets die, and what is said of it.

use std::time::Duration;

use cluster::Cluster;
use debugger::properties;
use engine::Note;
use kubestep_tests::scenario;
use network::netfilter::{Change, Table};

/// A server and clients on two nodes, in two Namespaces. The server listens on 80 and 8080.
const WORLD: &str = "\
title: t
nodes: 2
proxy: true
policies: true
files:
  world.yaml: |
    apiVersion: v1
    kind: Namespace
    metadata: {name: other, labels: {team: b}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: server, labels: {app: web}}
    spec:
      nodeName: node-1
      containers:
      - {name: a, image: 'nginx:1.27', ports: [{name: http, containerPort: 80}]}
      - {name: b, image: example/shop, ports: [{name: alt, containerPort: 8080}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: near, labels: {role: friend}}
    spec: {nodeName: node-1, containers: [{name: c, image: alpine, command: [sleep, infinity]}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: far, labels: {role: stranger}}
    spec: {nodeName: node-2, containers: [{name: c, image: alpine, command: [sleep, infinity]}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: guest, namespace: other, labels: {role: friend}}
    spec: {nodeName: node-2, containers: [{name: c, image: alpine, command: [sleep, infinity]}]}
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: web}
    spec: {selector: {app: web}, ports: [{port: 80}]}
  policy.yaml: |
    apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata: {name: policy}
    spec: SPEC
timeline:
  - kubectl apply -f world.yaml
  - kubectl wait --for=condition=Ready pod/server pod/near pod/far --timeout=60s
  - kubectl wait --for=condition=Ready pod/guest -n other --timeout=60s
  - server=$(kubectl get pod server -o jsonpath={.status.podIP})
  - kubectl apply -f policy.yaml
  - sleep 2
";

/// The cluster with a policy of this spec, and what these lines printed in it. All properties held meanwhile.
fn session(spec: &str, lines: &[&str]) -> (Cluster, String, Vec<String>) {
    let mut scenario = scenario::parsed(&WORLD.replace("SPEC", spec));
    let set_up = scenario.timeline.len();
    scenario.timeline.extend(lines.iter().map(|line| (*line).to_owned()));
    let mut cluster = bugs::cluster(&scenario);
    let mut dropped = Vec::new();
    scenario::run_checked(&mut cluster, |_, step| {
        dropped.extend(step.notes.iter().filter_map(|note| match note {
            Note::Text { topic: "dropped", text } => Some(text.clone()),
            _ => None,
        }));
    });
    let printed = cluster.kubectl.printed_since(0);
    let after = printed.split("$ sleep 2\n\n").nth(1).unwrap_or_else(|| panic!("{set_up} lines\n{printed}")).to_owned();
    (cluster, after, dropped)
}

/// Who gets through under a policy: `near:80 far:80 guest:80 near:8080 …`.
fn through(spec: &str) -> String {
    let asked: Vec<(String, String)> = [80, 8080]
        .into_iter()
        .flat_map(|port| {
            ["near", "far", "guest -n other"].map(|client| {
                let name = client.split(' ').next().unwrap_or_default();
                (format!("{name}:{port}"), format!("kubectl exec {client} -- curl -s -m 1 $server:{port}"))
            })
        })
        .collect();
    let lines: Vec<&str> = asked.iter().map(|(_, line)| line.as_str()).collect();
    let (_, said, _) = session(spec, &lines);
    let answers: Vec<&str> = said.split("$ kubectl exec").skip(1).collect();
    assert_eq!(answers.len(), asked.len(), "{said}");
    let passed = asked.iter().zip(answers).filter(|(_, answer)| answer.contains("answers GET"));
    passed.map(|((name, _), _)| name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn who_gets_through_ingress() {
    let all = "near:80 far:80 guest:80 near:8080 far:8080 guest:8080";
    for (spec, expected) in [
        // Who is not selected is not isolated.
        ("{podSelector: {matchLabels: {app: db}}}", all),
        // Nothing is allowed.
        ("{podSelector: {}}", ""),
        ("{podSelector: {}, policyTypes: [Egress], egress: [{}]}", all),
        ("{podSelector: {}, ingress: [{}]}", all),
        // Peers: in the policy's own Namespace, in others, both at once, either.
        ("{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {role: friend}}}]}]}", "near:80 near:8080"),
        ("{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}", "near:80 far:80 near:8080 far:8080"),
        (
            "{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}]}]}",
            "guest:80 guest:8080",
        ),
        (
            "{podSelector: {}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {role: friend}}}]}]}",
            "near:80 guest:80 near:8080 guest:8080",
        ),
        (
            "{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: b}}}, {podSelector: {matchLabels: {role: stranger}}}]}]}",
            "far:80 guest:80 far:8080 guest:8080",
        ),
        // Ports by number, by name, in a range, of another protocol; with peers.
        ("{podSelector: {}, ingress: [{ports: [{port: 80}]}]}", "near:80 far:80 guest:80"),
        ("{podSelector: {}, ingress: [{ports: [{port: alt}]}]}", "near:8080 far:8080 guest:8080"),
        ("{podSelector: {}, ingress: [{ports: [{port: none}]}]}", ""),
        ("{podSelector: {}, ingress: [{ports: [{port: 81, endPort: 9000}]}]}", "near:8080 far:8080 guest:8080"),
        ("{podSelector: {}, ingress: [{ports: [{port: 80, protocol: UDP}]}]}", ""),
        (
            "{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {role: friend}}}], ports: [{port: 80}]}, {ports: [{port: 8080}]}]}",
            "near:80 near:8080 far:8080 guest:8080",
        ),
        // Addresses, with holes.
        (
            "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.244.1.0/24}}]}]}",
            "far:80 guest:80 far:8080 guest:8080",
        ),
        (
            "{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.244.1.0/24]}}]}]}",
            "near:80 near:8080",
        ),
    ] {
        assert_eq!(through(spec), expected, "{spec}");
    }
}

#[test]
fn who_gets_through_egress() {
    for (spec, expected) in [
        ("{podSelector: {matchLabels: {role: friend}}, policyTypes: [Egress]}", "far:80 guest:80 far:8080 guest:8080"),
        (
            "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: http}]}]}",
            "near:80 far:80 guest:80 guest:8080",
        ),
        (
            "{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.244.1.0/24}}]}]}",
            "guest:80 guest:8080",
        ),
        // Both ends have to agree.
        ("{podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{}]}", "guest:80 guest:8080"),
    ] {
        assert_eq!(through(spec), expected, "{spec}");
    }
}

#[test]
fn a_packet_dies_where_a_policy_wants_it_to_and_the_policy_is_named() {
    let deny = "{podSelector: {}}";
    let (_, said, dropped) = session(deny, &["curl -m 1 web --from far", "curl -m 1 $server --from near"]);
    assert_eq!(said.matches("curl: (28) Connection timed out after 1000 milliseconds").count(), 2, "{said}");
    let by = |place: &str, direction: &str, pod: &str| {
        let why = format!("default/{pod} is isolated for {direction}, and this is not allowed by default/policy");
        dropped.iter().any(|text| text.starts_with(&format!("{place}: mangle KUBE-NP-")) && text.contains(&why))
    };
    assert!(by("node-1 FORWARD", "ingress", "server"), "{dropped:#?}");
    let (_, _, dropped) = session("{podSelector: {}, policyTypes: [Egress]}", &["curl -m 1 web --from far"]);
    let by = |place: &str| {
        dropped.iter().any(|text| text.starts_with(place) && text.contains("default/far is isolated for egress"))
    };
    assert!(by("node-2 FORWARD"), "{dropped:#?}");
}

/// A Pod reaches itself through its Service; its node reaches it, and so its probes do; what is sent from elsewhere does
/// not, unless it answers.
#[test]
fn what_policies_never_stop() {
    let lines = ["curl -m 1 web --from server", "curl -m 1 $server --from node-1", "curl -m 1 $server --from node-2"];
    let (_, said, _) = session("{podSelector: {}}", &lines);
    let answers: Vec<bool> = said.split("$ curl").skip(1).map(|answer| answer.contains("answers GET")).collect();
    assert_eq!(answers, [true, true, false], "{said}");
    let (_, said, _) = session("{podSelector: {matchLabels: {role: friend}}}", &["curl -m 1 web --from near"]);
    assert!(said.contains("answers GET"), "an isolated Pod gets the answers to what it asks: {said}");
}

/// Policies, labels of Pods and labels of Namespaces come and go, and the rules follow; in the end none is left.
#[test]
fn rules_follow() {
    let friends = "{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: a}}}, {podSelector: {matchLabels: {role: friend}}}]}]}";
    let lines = [
        "kubectl exec far -- curl -s -m 1 $server",
        "kubectl label pod far role=friend --overwrite",
        "sleep 1",
        "kubectl exec far -- curl -s -m 1 $server",
        "kubectl exec guest -n other -- curl -s -m 1 $server",
        "kubectl label namespace other team=a --overwrite",
        "sleep 1",
        "kubectl exec guest -n other -- curl -s -m 1 $server",
        "kubectl label pod server app=db --overwrite",
        "sleep 1",
        "curl -s -m 1 $server --from node-2",
        "kubectl label pod server app=web --overwrite",
        "kubectl delete networkpolicy policy",
        "sleep 1",
        "curl -s -m 1 $server --from node-2",
    ];
    let (cluster, said, _) = session(friends, &lines);
    let asked = said.split("\n$ ").filter(|line| line.contains("curl"));
    let answers: Vec<bool> = asked.map(|answer| answer.contains("answers GET")).collect();
    assert_eq!(answers, [false, true, false, true, true, true], "{said}");
    let host = cluster.host("node-1").expect("it is on");
    let saved = host.network.borrow().root.netfilter.rules.save();
    assert!(!saved.contains("KUBE-NP-") && saved.contains(":KUBE-NETPOL - "), "{saved}");
}

/// A cluster without agents stores policies, and everything passes.
#[test]
fn without_agents_nothing_is_enforced() {
    let mut scenario = scenario::parsed(&WORLD.replace("policies: true\n", "").replace("SPEC", "{podSelector: {}}"));
    scenario.timeline.push("curl -m 1 web --from far".to_owned());
    let mut cluster = bugs::cluster(&scenario);
    cluster.settle(Duration::from_secs(300));
    assert!(cluster.kubectl.printed_since(0).contains("answers GET"));
}

#[test]
fn kubectl_shows_policies() {
    let spec = "{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {role: friend}}}, \
                {ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16, 10.2.0.0/16]}}], ports: [{port: 80}, {port: 100, endPort: 200, protocol: UDP}]}, {}]}";
    let (_, said, _) = session(spec, &["kubectl get netpol", "kubectl describe netpol policy"]);
    assert!(said.contains("NAME     POD-SELECTOR   AGE\npolicy   app=web        "), "{said}");
    let page = "\
Labels:       <none>
Annotations:  <none>
Spec:
  PodSelector:     app=web
  Allowing ingress traffic:
    To Port: 80/TCP
    To Port Range: 100-200/UDP
    From:
      NamespaceSelector: <none>
      PodSelector: role=friend
    From:
      IPBlock:
        CIDR: 10.0.0.0/8
        Except: 10.1.0.0/16, 10.2.0.0/16
    ----------
    To Port: <any> (traffic allowed to all ports)
    From: <any> (traffic not restricted by source)
  Not affecting egress traffic
  Policy Types: Ingress
";
    assert!(said.contains(page), "{said}");
}

/// The property that watches over all this can fail: another program flushes the rules, and a connection passes.
#[test]
fn rules_that_are_gone_are_found_out() {
    let (mut cluster, _, _) = session("{podSelector: {}}", &[]);
    let host = cluster.host("node-1").expect("it is on");
    let flush = Change { chains: [("KUBE-NETPOL".to_owned(), Vec::new())].into(), delete: Vec::new() };
    host.network.borrow_mut().root.netfilter.rules.restore(Table::Mangle, flush).expect("the chain is there");
    cluster.type_lines(vec!["sleep 1".to_owned(), "curl -m 1 web --from far".to_owned()]);
    let mut property = properties::named("policies-hold").expect("it is shared")();
    let mut broken = None;
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        broken = broken.or(property.check(&cluster.engine, &step).err());
    }
    assert!(broken.is_some_and(|what| what.contains("which no policy allows default/server for Ingress")));
}
