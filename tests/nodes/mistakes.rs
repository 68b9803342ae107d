//! What people and programs get wrong with networks and Services: each mistake has its real words, where people look for
//! them; and the properties that watch every run find a cluster out that does wrong.

use std::time::Duration;

use cluster::Cluster;
use debugger::properties;
use engine::What;
use kubestep_tests::scenario;

/// Runs a timeline to its end, `meddle` after every step, and gives what was printed; or what a property found.
fn run(text: &str, mut meddle: impl FnMut(&mut Cluster)) -> Result<String, String> {
    let mut cluster = scenario::started(text);
    let mut properties = properties::all();
    while !cluster.is_quiet() {
        let Some(step) = cluster.step() else { break };
        for property in &mut properties {
            property.check(&cluster.engine, &step).map_err(|what| format!("{}: {what}", property.name()))?;
        }
        meddle(&mut cluster);
    }
    for property in &mut properties {
        property.finish(&cluster.engine).map_err(|what| format!("{}: {what}", property.name()))?;
    }
    assert!(cluster.engine.take_crashes().is_empty());
    Ok(cluster.kubectl.printed_since(0))
}

fn says(text: &str, parts: &[&str]) {
    let said = run(text, |_| {}).unwrap_or_else(|broken| panic!("{broken}"));
    for part in parts {
        assert!(said.contains(part), "{part}\n-- is not in\n{said}");
    }
}

/// Two Pods that take no notice of being asked to go.
const WEB: &str = include_str!("../scenes/web.yaml");

/// Two networks on one node, the one inside the other: the plugin refuses every Pod, and the kubelet says so.
#[test]
fn ranges_that_overlap() {
    let text = "\
title: t
nodes: 1
files:
  10-kubestep.conflist: |
    {\"cniVersion\": \"1.0.0\", \"name\": \"net\", \"plugins\": [{\"type\": \"bridge\", \"bridge\": \"cni0\",
     \"isGateway\": true, \"ipam\": {\"type\": \"host-local\",
     \"ranges\": [[{\"subnet\": \"10.244.0.0/24\"}], [{\"subnet\": \"10.244.0.128/25\"}]]}}]}
timeline:
  - node node-1 cp 10-kubestep.conflist /etc/cni/net.d/10-kubestep.conflist
  - kubectl run web --image=nginx:1.27
  - sleep 5
  - kubectl get pods
  - kubectl get events --field-selector reason=FailedCreatePodSandBox
  - kubectl delete pod web
";
    says(text, &["0/1     ContainerCreating", "FailedCreatePodSandBox", "range set 0 overlaps with 1"]);
}

#[test]
fn ports_in_use() {
    let text = format!(
        "{WEB}timeline:
  - kubectl create service nodeport a --tcp=80 --node-port=30080
  - kubectl create service nodeport b --tcp=80 --node-port=30080
  - kubectl create service nodeport c --tcp=80 --node-port=80
  - kubectl create service clusterip d --tcp=80 --clusterip=10.96.0.1
  - kubectl create service clusterip e --tcp=80 --clusterip=10.97.0.1
"
    );
    says(
        &text,
        &[
            "service/a created",
            "error: failed to create NodePort service: Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: \
             30080: provided port is already allocated",
            "error: failed to create NodePort service: Service \"c\" is invalid: spec.ports[0].nodePort: Invalid value: \
             80: provided port is not in the valid range. The range of valid ports is 30000-32767",
            "error: failed to create ClusterIP service: Service \"d\" is invalid: spec.clusterIPs: Invalid value: \
             [\"10.96.0.1\"]: failed to allocate IP 10.96.0.1: provided IP is already allocated",
            "failed to allocate IP 10.97.0.1: the provided network does not match the current range",
        ],
    );
}

/// One port of a machine is one Pod's.
#[test]
fn host_ports_in_use() {
    let text = "\
title: t
nodes: 1
files:
  pods.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: {name: first}
    spec: {containers: [{name: c, image: 'nginx:1.27', ports: [{containerPort: 80, hostPort: 8080}]}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: second}
    spec: {containers: [{name: c, image: 'nginx:1.27', ports: [{containerPort: 80, hostPort: 8080}]}]}
timeline:
  - kubectl apply -f pods.yaml
  - sleep 5
  - kubectl get pods
  - kubectl get events --field-selector reason=FailedScheduling
  - kubectl delete pod first
  - kubectl wait --for=condition=Ready pod/second --timeout=60s
";
    says(
        text,
        &[
            "first    1/1     Running",
            "second   0/1     Pending",
            "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. no new claims to \
             deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            "pod/second condition met",
        ],
    );
}

/// A Service whose selector matches no Pod gives no warning; it has no endpoints, and connections to it are refused.
#[test]
fn a_selector_that_matches_nothing() {
    let text = format!(
        "{WEB}timeline:
  - kubectl apply -f web.yaml
  - kubectl rollout status deployment/web
  - kubectl expose deployment web --name=typo --port=80 --target-port=8080 --selector=app=wbe
  - sleep 3
  - kubectl get endpointslices
  - kubectl describe service typo
  - curl typo --from node-1
  - kubectl run lost --image=nginx:1.27
  - kubectl patch deployment web -p '{{\"spec\":{{\"template\":{{\"spec\":{{\"nodeSelector\":{{\"disk\":\"ssd\"}}}}}}}}}}'
  - sleep 3
  - kubectl get events --field-selector reason=FailedScheduling
  - kubectl rollout undo deployment/web
  - kubectl patch deployment web -p '{{\"spec\":{{\"template\":{{\"metadata\":{{\"labels\":{{\"app\":\"wbe\"}}}}}}}}}}'
"
    );
    says(
        &text,
        &[
            "IPv4          <unset>   <unset>",
            "Endpoints:                \n",
            "port 80 after 0 ms: Connection refused",
            "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
            "The Deployment \"web\" is invalid: spec.template.metadata.labels: Invalid value: {\"app\":\"wbe\"}: \
             `selector` does not match template `labels`",
        ],
    );
}

/// A Pod's packet to a Service without endpoints is forwarded by its node, and refused there: at once, by any path.
#[test]
fn a_pod_is_refused_at_once_where_nobody_serves() {
    let text = format!(
        "{WEB}timeline:
  - kubectl apply -f web.yaml
  - kubectl rollout status deployment/web
  - kubectl create service clusterip nobody --tcp=80
  - kubectl create service nodeport nowhere --tcp=80 --node-port=30080
  - kubectl run asks --image=busybox --restart=Never -- sleep 1h
  - kubectl wait --for=condition=Ready pod/asks
  - curl nobody --from asks
  - curl 172.18.0.11:30080 --from asks
"
    );
    says(&text, &["port 80 after 0 ms: Connection refused", "port 30080 after 0 ms: Connection refused"]);
}

/// The rules of a proxy that does not get to write them lead to a Pod that is gone.
#[test]
fn a_proxy_that_sleeps_is_found_out() {
    let asked: String = (0..12).map(|_| "  - curl -s web --from node-1\n".to_owned()).collect();
    let text = format!(
        "{WEB}timeline:
  - kubectl apply -f web.yaml
  - kubectl expose deployment web --port=80 --target-port=8080
  - kubectl rollout status deployment/web
  - sleep 3
  - victim=$(kubectl get pods -o jsonpath={{.items[0].metadata.name}})
  - kubectl delete pod $victim --wait=false
  - sleep 3
{asked}"
    );
    run(&text, |_| {}).unwrap_or_else(|broken| panic!("{broken}"));
    let mut delayed = 0;
    let sleeps = |cluster: &mut Cluster| {
        let proxy = cluster.engine.find("kube-proxy/node-1").expect("the node has one");
        let at_work = cluster.kubectl.printed_since(0).contains("kubectl delete pod");
        let is_sync = |what: &What| matches!(what, What::Wake { what: "sync proxy rules", .. });
        let due = cluster.engine.now() + Duration::from_secs(60);
        let syncs =
            cluster.engine.pending().filter(|event| event.to == proxy && is_sync(&event.what) && event.due < due);
        let late: Vec<_> = syncs.map(|event| event.id).collect();
        for id in late.into_iter().filter(|_| at_work).take(3 - delayed) {
            cluster.engine.delay(id, Duration::from_secs(120)).expect("a timer can be late");
            delayed += 1;
        }
    };
    let broken = run(&text, sleeps).expect_err("somebody is sent to the Pod that is gone");
    assert!(broken.starts_with("a deleted Pod gets no new connection once the proxy knows: node-1 sent"), "{broken}");
}

/// A slice that another client has written may say anything.
#[test]
fn a_slice_that_lies_is_found_out() {
    let slice = "  slice.yaml: |
    apiVersion: discovery.k8s.io/v1
    kind: EndpointSlice
    metadata: {name: lie, labels: {kubernetes.io/service-name: web}}
    addressType: IPv4
    ports: [{port: 8080, protocol: TCP}]
    endpoints:
    - addresses: [10.244.9.9]
      conditions: {ready: true}
      targetRef: {kind: Pod, name: NAME, namespace: default, uid: UID}
";
    let text = format!(
        "{WEB}{slice}timeline:
  - kubectl apply -f web.yaml
  - kubectl rollout status deployment/web
"
    );
    let mut applied = false;
    let lie = |cluster: &mut Cluster| {
        if applied || !cluster.kubectl.printed_since(0).contains("successfully rolled out") {
            return;
        }
        applied = true;
        let entries = cluster.engine.server.api.store.prefix("/registry/pods/default/");
        let pods: Vec<_> = entries.map(|(_, entry)| entry.value.clone()).collect();
        let (name, uid) = (pods[0].name(), pods[0].meta().uid.clone().unwrap_or_default());
        let mut files = (*cluster.kubectl.files).clone();
        let text = files["slice.yaml"].replace("NAME", name).replace("UID", &uid);
        files.insert("slice.yaml".to_owned(), text);
        cluster.kubectl.files = std::rc::Rc::new(files);
        cluster.type_words(["apply", "-f", "slice.yaml"].map(str::to_owned).to_vec());
    };
    let broken = run(&text, lie).expect_err("the slice names another address");
    assert!(broken.contains("a ready endpoint answers: lie says that web-"), "{broken}");
    assert!(broken.ends_with("does not listen on 8080 at 10.244.9.9"), "{broken}");
}
