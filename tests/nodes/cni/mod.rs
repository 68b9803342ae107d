//! CNI from outside: what goes into plugins and comes out, in which order, and what becomes of a Pod when it fails.

mod schema;

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use cluster::{Cluster, Config, NodeConfig};
use engine::What;
use kubelet::runtime::Runtime;
use network::cni::config::NetworkList;
use network::cni::exec::{Command, PluginExit, PluginRun};
use network::cni::libcni::Libcni;
use network::cni::netns::Namespace;
use serde_json::{Value, json};

const CONFIG: &str = "/etc/cni/net.d/10-kubestep.conflist";

/// A cluster of one node, and what its plugins were given and have printed.
struct Bench {
    cluster: Cluster,
    runs: Vec<PluginRun>,
    exits: Vec<PluginExit>,
}

impl Bench {
    fn new() -> Bench {
        let cluster = Cluster::start(Config { nodes: vec![NodeConfig::numbered(1)], ..Config::default() });
        Bench { cluster, runs: Vec::new(), exits: Vec::new() }
    }

    /// Types lines and lets so many seconds pass. Gives what was printed.
    fn type_lines(&mut self, lines: &[&str], seconds: u64) -> String {
        let mark = self.cluster.kubectl.printed();
        self.cluster.type_lines(lines.iter().map(|line| (*line).to_owned()).collect());
        let end = self.cluster.engine.now() + Duration::from_secs(seconds);
        while let Some(step) = self.cluster.step_due(end) {
            match &step.event.what {
                What::Rpc { message, .. } => self.runs.extend(of_type::<PluginRun>(&**message)),
                What::Reply { result: Ok(message), .. } => self.exits.extend(of_type::<PluginExit>(&**message)),
                _ => {}
            }
        }
        self.cluster.kubectl.printed_since(mark)
    }

    /// Puts a network's plugins in place of those that were installed.
    fn configure(&mut self, plugins: &Value) {
        let list = json!({"cniVersion": "1.1.0", "name": "kubestep", "plugins": plugins});
        self.cluster.kubectl.files = Rc::new([("list".to_owned(), list.to_string())].into());
        self.on_node(&["cp", "list", CONFIG]).unwrap();
    }

    fn on_node(&mut self, words: &[&str]) -> Result<String, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        self.cluster.on_node("node-1", &words)
    }

    /// CHECK of the one attachment to the installed network. A runtime that speaks CRI has no call that asks for it.
    fn check(&mut self) -> Result<(), String> {
        let host = self.cluster.host("node-1").expect("it is on").clone();
        let engine = &self.cluster.engine;
        let [plugins, runtime] =
            ["cni/node-1", "containerd/node-1"].map(|name| engine.find(name).expect("it is there"));
        let hub = engine.hub().clone();
        let list = NetworkList::parse(&host.disk.read(CONFIG).expect("it is installed")).expect("it can be read");
        let libcni = Libcni::new(hub.clone(), plugins, host);
        let attachment = libcni.attachments(&list.name).pop().expect("one Pod is attached");
        let told = Rc::new(RefCell::new(None));
        let answer = told.clone();
        hub.spawn(runtime, "check", async move {
            *answer.borrow_mut() = Some(libcni.check(&list, &attachment).await);
        });
        self.type_lines(&[], 1);
        told.take().expect("it has ended")
    }

    /// The files below `/var/lib/cni`.
    fn files(&mut self, directory: &str) -> Vec<String> {
        let listed = self.on_node(&["ls", &format!("/var/lib/cni/{directory}")]).unwrap_or_default();
        listed.lines().map(str::to_owned).collect()
    }

    /// Events of a reason: their messages.
    fn events(&mut self, reason: &str) -> Vec<String> {
        let events =
            self.cluster.engine.server.api.store.prefix("/registry/events/").map(|(_, entry)| entry.value.to_json());
        let of_reason = events.filter(|event| event["reason"] == reason);
        of_reason.map(|event| event["message"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

fn of_type<T: Clone + 'static>(message: &dyn Any) -> Option<T> {
    message.downcast_ref::<T>().cloned()
}

fn program(run: &PluginRun) -> &str {
    run.program.rsplit('/').next().unwrap_or_default()
}

#[test]
fn what_goes_in_and_out_is_as_the_specification_says() {
    let mut bench = Bench::new();
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n    - name: c\n      image: nginx\n      \
               ports: [{containerPort: 80, hostPort: 8080}]\n";
    bench.cluster.kubectl.files = Rc::new([("pod.yaml".to_owned(), pod.to_owned())].into());
    bench.type_lines(&["kubectl apply -f pod.yaml", "kubectl run db --image=nginx"], 20);
    bench.type_lines(&["kubectl delete pod web --wait=false"], 60);
    bench.type_lines(&["node stop 1", "node start 1"], 60);
    let mapped = bench.runs.iter().filter(|run| run.stdin.pointer("/runtimeConfig/portMappings").is_some());
    assert_eq!(mapped.map(program).collect::<BTreeSet<_>>(), BTreeSet::from(["portmap"]));
    assert!(bench.runs.len() > 18, "{}", bench.runs.len());
    for run in &bench.runs {
        let told =
            |error: String| panic!("{} {}: {error}\n{}", run.environment.command.as_str(), run.program, run.stdin);
        schema::check("request", &run.stdin).unwrap_or_else(told);
        assert_eq!(run.stdin["type"], program(run));
        let collects = run.stdin.get("cni.dev/valid-attachments").is_some();
        assert_eq!(collects, run.environment.command == Command::Gc, "{}", run.stdin);
    }
    for exit in &bench.exits {
        match &exit.stdout {
            Ok(printed) if printed.is_null() => {}
            Ok(printed) => schema::check("result", printed).unwrap_or_else(|error| panic!("{error}\n{printed}")),
            Err(error) => schema::check("error", &error.json()).unwrap(),
        }
    }
    assert!(schema::check("result", &json!({"cniVersion": "1.1.0", "ips": [{"address": "10.0.0.1"}]})).is_err());
    assert!(schema::check("request", &json!({"cniVersion": "1.1.0", "name": "n"})).is_err());
}

#[test]
fn a_host_port_leads_to_its_pod_from_the_address_that_it_names() {
    let mut bench = Bench::new();
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n    - name: c\n      image: nginx\n      \
               ports: [{containerPort: 80, hostPort: 8080, hostIP: 127.0.0.1}]\n";
    bench.cluster.kubectl.files = Rc::new([("pod.yaml".to_owned(), pod.to_owned())].into());
    bench.type_lines(&["kubectl apply -f pod.yaml"], 20);
    let portmap = bench.runs.iter().find(|run| program(run) == "portmap").expect("it is run");
    let asked = json!([{"hostPort": 8080, "containerPort": 80, "protocol": "tcp", "hostIP": "127.0.0.1"}]);
    assert_eq!(portmap.stdin["runtimeConfig"]["portMappings"], asked);
    let rules = bench.on_node(&["iptables-save"]).expect("there are some");
    let leads = |rule: &&str| rule.contains("-j DNAT");
    let rule = rules.lines().find(leads).expect("it is forwarded");
    assert!(rule.contains("-d 127.0.0.1/32"), "{rule}");
}

#[test]
fn add_goes_forward_and_del_backward_with_the_last_result() {
    let mut bench = Bench::new();
    bench.type_lines(&["kubectl run web --image=nginx"], 20);
    let id = bench.runs[0].environment.container_id.clone();
    let results = [format!("cni-loopback-{id}-lo"), format!("kubestep-{id}-eth0")];
    assert_eq!(bench.files("results"), results);
    let kept = bench.on_node(&["cat", &format!("/var/lib/cni/results/{}", results[1])]).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!((&kept["kind"], &kept["ifName"]), (&json!("cniCacheV1"), &json!("eth0")));
    bench.type_lines(&["kubectl delete pod web"], 60);
    let of = |command: Command, ifname: &str| -> Vec<&PluginRun> {
        let wanted = |run: &&PluginRun| run.environment.command == command && run.environment.ifname == ifname;
        bench.runs.iter().filter(wanted).collect()
    };
    let (added, deleted) = (of(Command::Add, "eth0"), of(Command::Del, "eth0"));
    assert_eq!(added.iter().map(|run| program(run)).collect::<Vec<_>>(), ["bridge", "portmap"]);
    assert_eq!(deleted.iter().map(|run| program(run)).collect::<Vec<_>>(), ["portmap", "bridge"]);
    assert_eq!(added[0].stdin.get("prevResult"), None);
    assert_eq!(added[1].stdin["prevResult"]["ips"][0]["address"], "10.244.0.2/24");
    assert!(deleted.iter().all(|run| run.stdin["prevResult"] == kept["result"]));
    assert_eq!((of(Command::Add, "lo").len(), of(Command::Del, "lo").len()), (1, 1));
    assert_eq!(bench.files("results"), [""; 0]);
    assert_eq!(bench.files("networks/kubestep"), ["last_reserved_ip.0", "lock"]);
}

/// CHECK asks every plugin in order, with the last result, whether what it made is still there.
#[test]
fn check_finds_what_is_broken() {
    let mut bench = Bench::new();
    bench.type_lines(&["kubectl run web --image=nginx"], 20);
    assert_eq!(bench.check(), Ok(()));
    let checks: Vec<&PluginRun> = bench.runs.iter().filter(|run| run.environment.command == Command::Check).collect();
    assert_eq!(checks.iter().map(|run| program(run)).collect::<Vec<_>>(), ["bridge", "portmap"]);
    for run in &checks {
        schema::check("request", &run.stdin).unwrap_or_else(|error| panic!("{error}\n{}", run.stdin));
        assert_eq!(run.stdin["prevResult"]["ips"][0]["address"], "10.244.0.2/24");
    }
    let id = checks[0].environment.container_id.clone();
    let netns = checks[0].environment.netns.clone();
    let host = bench.cluster.host("node-1").expect("it is on");
    let inside = |change: &dyn Fn(&mut Namespace)| {
        let mut network = host.network.borrow_mut();
        network.namespace_mut(&netns).map(change);
    };
    let before = host.network.borrow().named[&netns].clone();
    inside(&|there| there.routes.clear());
    assert!(bench.check().is_err_and(|error| error.contains("oute")), "{:?}", bench.check());
    inside(&|there| *there = Namespace::default());
    assert!(bench.check().is_err_and(|error| error.contains("eth0")), "{:?}", bench.check());
    inside(&|there| *there = (*before).clone());
    assert_eq!(bench.check(), Ok(()));
    bench.on_node(&["rm", "/var/lib/cni/networks/kubestep/10.244.0.2"]).unwrap();
    let told = format!("host-local: Failed to find address added by container {id}");
    assert_eq!(bench.check(), Err(told));
}

#[test]
fn a_failed_add_is_undone_and_told() {
    let bridge =
        json!({"type": "bridge", "isGateway": true, "ipam": {"type": "host-local", "subnet": "10.244.0.0/24"}});
    for (plugins, says) in [
        (
            json!([bridge, {"type": "whereabouts-next"}]),
            "plugin type=\"whereabouts-next\" failed (add): failed to find plugin \"whereabouts-next\" in path [/opt/cni/bin]",
        ),
        (
            json!([{"type": "bridge", "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/16"}],
                [{"subnet": "10.1.2.0/24"}]]}}]),
            "plugin type=\"bridge\" failed (add): range set 0 overlaps with 1",
        ),
        (json!([{"type": "portmap"}]), "plugin type=\"portmap\" failed (add): must be called as chained plugin"),
    ] {
        let mut bench = Bench::new();
        bench.type_lines(&["sleep 1"], 1);
        // The kubelet has not yet asked the runtime how it is when the Pod comes.
        bench.configure(&plugins);
        bench.type_lines(&["kubectl run web --image=nginx"], 3);
        let told = bench.events("FailedCreatePodSandBox");
        assert!(told.iter().all(|text| text.ends_with(says)) && !told.is_empty(), "{told:?}");
        assert!(
            told[0]
                .starts_with("Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network")
        );
        let adds =
            bench.runs.iter().filter(|run| run.environment.command == Command::Add && program(run) != "loopback");
        let dels =
            bench.runs.iter().filter(|run| run.environment.command == Command::Del && program(run) != "loopback");
        if says.contains("failed to find plugin") {
            // DEL begins with the plugin that is not there, and ends with it: the address is lost, as on a real node.
            assert_eq!((adds.count(), dels.count()), (1, 0));
            assert!(bench.files("networks/kubestep").contains(&"10.244.0.2".to_owned()));
        } else {
            assert_eq!(adds.count(), dels.count());
        }
        assert!(bench.cluster.host("node-1").unwrap().network.borrow().named.is_empty(), "no namespace is left");
    }
}

#[test]
fn addresses_leak_with_the_power_and_are_collected() {
    let mut bench = Bench::new();
    bench.type_lines(&["kubectl run web --image=nginx", "kubectl run db --image=nginx"], 20);
    let leaked = ["10.244.0.2", "10.244.0.3", "last_reserved_ip.0", "lock"];
    assert_eq!(bench.files("networks/kubestep"), leaked);
    bench.type_lines(&["node stop 1"], 1);
    assert!(bench.on_node(&["ls", "/"]).unwrap_err().contains("there is no node \"node-1\" that is on"));
    let collected = bench.runs.len();
    bench.type_lines(&["node start 1"], 30);
    let runs = &bench.runs[collected..];
    let dels: Vec<&str> = runs.iter().filter(|r| r.environment.command == Command::Del).map(program).collect();
    let per_sandbox = ["portmap", "bridge"];
    assert_eq!(dels, [&["loopback"; 2][..], &per_sandbox, &per_sandbox].concat());
    assert_eq!(runs.iter().filter(|run| run.environment.command == Command::Gc).count(), 2);
    let held = bench.files("networks/kubestep");
    assert!(!held.contains(&"10.244.0.2".to_owned()) && !held.contains(&"10.244.0.3".to_owned()), "{held:?}");
    assert_eq!(bench.files("results").len(), 2 * (held.len() - 2), "a result for each address and each lo");
}

#[test]
fn pods_wait_for_the_network_and_say_so() {
    let mut bench = Bench::new();
    bench.type_lines(&["kubectl run web --image=nginx"], 20);
    let good = bench.on_node(&["cat", CONFIG]).unwrap();
    bench.on_node(&["rm", CONFIG]).unwrap();
    bench.type_lines(&["sleep 16"], 16);
    bench.type_lines(&["kubectl delete pod web --wait=false"], 20);
    let told = bench.events("FailedKillPod");
    assert!(
        told[0].starts_with("error killing pod: failed to \"KillPodSandbox\" for ")
            && told[0].contains("failed to destroy network for sandbox")
            && told[0].ends_with("cni plugin not initialized\""),
        "{told:?}"
    );
    assert!(bench.type_lines(&["kubectl get pods"], 1).contains("Terminating"));
    bench.cluster.kubectl.files = Rc::new([("list".to_owned(), good)].into());
    bench.on_node(&["cp", "list", CONFIG]).unwrap();
    bench.type_lines(&["sleep 40"], 40);
    assert!(bench.type_lines(&["kubectl get pods"], 1).contains("No resources found"));
    assert_eq!(bench.files("networks/kubestep"), ["last_reserved_ip.0", "lock"]);
    let runtime = bench.cluster.engine.find("containerd/node-1").and_then(|id| bench.cluster.engine.actor(id));
    let runtime = runtime.and_then(|runtime| runtime.as_any().downcast_ref::<Runtime>()).unwrap();
    assert!(runtime.with(|state| state.attached.is_empty()));
}

/// A Pod that is bound to a node by name does not wait for the scheduler, but for the network.
#[test]
fn a_pod_on_a_node_without_a_network_is_told_of_it() {
    let mut bench = Bench::new();
    bench.on_node(&["rm", CONFIG]).unwrap();
    bench.type_lines(&["sleep 6"], 6);
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  nodeName: node-1\n  containers: [{name: c, image: nginx}]\n";
    bench.cluster.kubectl.files = Rc::new([("pod.yaml".to_owned(), pod.to_owned())].into());
    bench.type_lines(&["kubectl apply -f pod.yaml"], 3);
    let told = bench.events("NetworkNotReady");
    let says = "network is not ready: container runtime network not ready: NetworkReady=false \
                reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized";
    assert_eq!(told, [says]);
    let runs: Vec<&str> = bench.runs.iter().map(|run| run.environment.command.as_str()).collect();
    assert_eq!(runs, [""; 0], "no plugin is installed");
}
