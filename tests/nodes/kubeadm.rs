//! A cluster whose control plane runs on a node, as kubeadm sets it up.

use kubestep_tests::scenario;

/// What these lines print in such a cluster with two nodes more.
fn session(lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("  - {line:?}\n")).collect();
    let cluster = scenario::settled(&format!("title: t\nnodes: 2\ncontrolPlane: kubeadm\ntimeline:\n{lines}"), 600);
    cluster.kubectl.printed_since(0)
}

#[test]
fn the_control_plane_is_to_be_seen_in_pods() {
    let pods = session(&["kubectl get pods -n kube-system -o wide"]);
    let rows: Vec<Vec<&str>> =
        pods.lines().skip(2).filter(|line| !line.is_empty()).map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.iter().all(|row| row[1..4] == ["1/1", "Running", "0"]), "{pods}");
    let static_pods: Vec<&str> =
        rows.iter().filter(|row| row[0].ends_with("-control-plane")).map(|row| row[0]).collect();
    assert_eq!(
        static_pods,
        [
            "etcd-control-plane",
            "kube-apiserver-control-plane",
            "kube-controller-manager-control-plane",
            "kube-scheduler-control-plane"
        ]
    );
    for (name, count) in [("coredns-", 2), ("kube-proxy-", 3)] {
        assert_eq!(rows.iter().filter(|row| row[0].starts_with(name)).count(), count, "{pods}");
    }
    assert!(
        rows.iter().filter(|row| !row[0].starts_with("coredns")).all(|row| row[5].starts_with("172.18.0.")),
        "{pods}"
    );
    assert_eq!(rows.len(), 9, "{pods}");
}

#[test]
fn its_node_has_a_role_and_takes_no_other_pods() {
    let said = session(&[
        "kubectl get nodes",
        "kubectl get node control-plane -o jsonpath='{.spec.taints} {.status.addresses[0].address}'",
        "kubectl get pod -n kube-system kube-scheduler-control-plane -o jsonpath='{.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name} {.spec.priorityClassName}'",
        "kubectl create deployment web --image=nginx:1.27 --replicas=6",
        "kubectl rollout status deployment/web",
        "kubectl get pods -o jsonpath='{.items[*].spec.nodeName}'",
    ]);
    assert!(said.contains("control-plane   Ready    control-plane "), "{said}");
    assert!(said.contains("node-1          Ready    <none> "), "{said}");
    assert!(
        said.contains(r#"[{"effect":"NoSchedule","key":"node-role.kubernetes.io/control-plane"}] 172.18.0.2"#),
        "{said}"
    );
    assert!(said.contains("Node/control-plane system-node-critical"), "{said}");
    let nodes = said.lines().last().unwrap_or_default();
    assert!(nodes.contains("node-1") && nodes.contains("node-2") && !nodes.contains("control-plane"), "{said}");
}

#[test]
fn dns_and_the_api_server_answer_behind_their_services() {
    let said = session(&[
        "kubectl get svc,deploy -n kube-system",
        "kubectl run client --image=alpine --command -- sleep infinity",
        "kubectl wait --for=condition=Ready pod/client --timeout=60s",
        "kubectl exec client -- nslookup kubernetes.default.svc.cluster.local",
        "curl kube-dns.kube-system:9153/metrics --from client",
        "curl -k https://172.18.0.2:6443/version --from client",
    ]);
    for expected in [
        "53/UDP,53/TCP,9153/TCP",
        "deployment.apps/coredns   2/2     2            2",
        "Address: 10.96.0.1\n",
        "answers GET /metrics",
        "\"gitVersion\":  \"v1.36.2\"",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

/// The processes are others than those in the Pods, and faults are theirs.
#[test]
fn components_stop_and_start_as_in_any_cluster() {
    let said = session(&[
        "stop kube-scheduler",
        "kubectl run web --image=nginx:1.27",
        "sleep 5",
        "kubectl get pod web",
        "start kube-scheduler",
        "kubectl wait --for=condition=Ready pod/web --timeout=60s",
        "stop kube-apiserver",
        "kubectl get nodes",
        "start kube-apiserver",
        "kubectl get pods -n kube-system -l tier=control-plane",
        "stop kubelet/control-plane",
        "sleep 60",
        "kubectl get node control-plane",
    ]);
    assert!(said.contains("web    0/1     Pending"), "{said}");
    assert!(said.contains("pod/web condition met"), "{said}");
    assert!(said.contains("was refused"), "{said}");
    assert!(said.contains("kube-scheduler-control-plane"), "{said}");
    assert!(said.contains("control-plane   NotReady"), "{said}");
}

/// What every administrator has done once: the manifest goes and comes back.
#[test]
fn a_component_goes_with_its_manifest() {
    let text = "title: t\nnodes: 1\ncontrolPlane: kubeadm\nfiles:\n  s.yaml: |\n";
    let manifest = include_str!("../../src/cluster/kubeadm/kube-scheduler.yaml");
    let manifest: String = manifest.lines().map(|line| format!("    {line}\n")).collect();
    let path = "/etc/kubernetes/manifests/kube-scheduler.yaml";
    let lines = [
        format!("node control-plane rm {path}"),
        "sleep 40".to_owned(),
        "kubectl get pods -n kube-system -l component=kube-scheduler".to_owned(),
        "kubectl run web --image=nginx:1.27".to_owned(),
        "sleep 5".to_owned(),
        "kubectl get pod web".to_owned(),
        format!("node control-plane cp s.yaml {path}"),
        "kubectl wait --for=condition=Ready pod/web --timeout=60s".to_owned(),
    ];
    let lines: String = lines.iter().map(|line| format!("  - {line:?}\n")).collect();
    let cluster = scenario::settled(&format!("{text}{manifest}timeline:\n{lines}"), 600);
    let said = cluster.kubectl.printed_since(0);
    assert!(said.contains("No resources found in kube-system namespace."), "{said}");
    assert!(said.contains("web    0/1     Pending"), "{said}");
    assert!(said.contains("pod/web condition met"), "{said}");
}
