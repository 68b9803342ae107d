//! What popular walk-throughs say, as assertions over runs: each claim of the appendix holds, or fails in the way that its
//! verdict says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use kubestep_tests::project::{command, from_root};
use serde_json::Value;

/// The page that lists the claims with their verdicts.
const PAGE: &str = "book/src/appendix-walkthroughs.md";

/// A claim's name in the appendix, and what must hold in the runs.
type Claim = (&'static str, fn(&Runs));

const CLAIMS: &[Claim] = &[
    ("A1", |runs| runs.deployment().hears_and_creates("deployment", "deployment-controller", "replicasets")),
    ("A2", |runs| runs.deployment().hears_and_creates("replicaset", "replicaset-controller", "pods")),
    ("A3", |runs| scheduler_hears_and_queues(&runs.deployment())),
    ("A4", |runs| kubelets_hear_only_of_their_own(&runs.deployment())),
    ("A5", |runs| the_scheduler_only_binds(&runs.deployment())),
    ("A6", |runs| a_bound_pod_is_added_to_its_kubelet(&runs.deployment())),
    ("A7", |runs| {
        let run = runs.of("self-heal");
        assert!(run.any("containerd/", "cni/", "CNI ADD") && run.any("containerd/", "cni/", "CNI DEL"));
        assert!(!run.any("", "", "CNI CHECK"), "nobody checks");
    }),
    ("A8", |runs| {
        let links = runs.session("deployment", "run\nnode node-1 ip link\n");
        assert!(links.contains("veth"), "{links}");
        pods_have_addresses(&runs.deployment());
    }),
    ("A9", |runs| a_killed_container_restarts_in_place(&runs.of("self-heal"))),
    ("A10", |runs| pods_are_replaced_not_deleted(&runs.of("self-heal"))),
    ("B1", |runs| scheduler_hears_and_queues(&runs.of("walkthrough-pod"))),
    ("B2", |runs| nodes_are_filtered_then_scored(runs)),
    ("B3", |runs| a_binding_is_one_write(&runs.of("walkthrough-pod"))),
    ("B4", |runs| {
        let run = runs.of("walkthrough-pod");
        assert!(!run.any("kubelet/", "kube-apiserver", "list "), "a kubelet that watches lists nothing");
        assert!(run.any("kube-apiserver", "pod informer in kubelet/", "ADDED Pod"));
    }),
    ("B5", |runs| {
        let run = runs.of("volume");
        assert!(
            run.any("kubelet/", "containerd/", "RunPodSandbox")
                && run.any("kubelet/", "csi-node/", "NodePublishVolume")
        );
        assert!(run.any("containerd/", "cni/", "CNI ADD") && !run.any("kubelet/", "cni/", ""), "CNI is the runtime's");
    }),
    ("B6", |runs| pods_have_addresses(&runs.of("walkthrough-pod"))),
    ("B7", |runs| no_traffic_before_ready(&runs.of("service"))),
    ("B8", |runs| pods_have_addresses(&runs.of("walkthrough-pod"))),
    ("B9", |runs| {
        let run = runs.of("service");
        assert!(run.any("endpointslice-controller", "kube-apiserver", "create endpointslices"));
        assert!(run.any("timer", "kube-proxy/", "sync proxy rules"));
        let names = runs.of("dns").printed;
        assert!(names.contains("10.96."), "a name has become an address: {names}");
    }),
    ("B10", |runs| {
        assert!(runs.of("job").any("job-controller", "kube-apiserver", "create pods "));
        assert!(runs.of("cronjob").any("cronjob-controller", "kube-apiserver", "create jobs "));
        assert!(runs.of("rolling-update").any("replicaset-controller", "kube-apiserver", "create pods "));
    }),
    ("C1", |runs| {
        let run = runs.of("tests/reference/01-single-pod.yaml");
        assert!(run.printed.contains("pod/second created"), "{}", run.printed);
        assert!(!run.any("", "kube-apiserver", "create deployments"));
    }),
    ("C2", requests_pass_all_stages),
    ("C3", |runs| nobody_asks_again(&runs.deployment())),
    ("C4", |runs| {
        let run = runs.deployment();
        let (first, _) =
            run.pods().into_values().next().map(|versions| (versions[0].clone(), 0)).expect("there are Pods");
        assert!(first["spec"]["nodeName"].is_null() && first["status"]["conditions"].is_null(), "{first}");
    }),
    ("C5", |runs| nodes_are_filtered_then_scored(runs)),
    ("C6", |runs| {
        let run = runs.of("walkthrough-pod");
        run.in_order(&[("create serviceaccounts/token", "kube-apiserver"), ("RunPodSandbox", "containerd/")]);
        assert!(!run.any("", "csi-node/", ""), "a token is no CSI volume");
        runs.of("volume").in_order(&[("NodePublishVolume", "csi-node/"), ("RunPodSandbox", "containerd/")]);
    }),
    ("C7", |runs| {
        a_killed_container_restarts_in_place(&runs.of("self-heal"));
        pods_are_replaced_not_deleted(&runs.of("self-heal"));
    }),
    ("D1", |runs| nobody_asks_again(&runs.deployment())),
    ("D2", requests_pass_all_stages),
    ("D3", |runs| {
        let run = runs.deployment();
        assert!(run.any("kube-apiserver", "user/kubectl", "201 for create deployments"));
        assert!(!run.any("kube-apiserver", "kubelet/", "201 for create deployments"));
    }),
    ("D4", |runs| {
        let run = runs.deployment();
        assert_eq!(run.created_by("deployment-controller"), BTreeSet::from(["events".into(), "replicasets".into()]));
    }),
    ("D5", |runs| {
        let run = runs.deployment();
        assert!(run.created_by("replicaset-controller").contains("pods"));
        assert!(run.created_by("replication-controller").is_empty());
    }),
    ("D6", |runs| {
        let run = runs.deployment();
        assert!(run.any("kube-scheduler", "kube-apiserver", "create pods/binding"));
        assert!(!run.rows.iter().any(|row| row.from == "kube-scheduler" && row.what.contains(" nodes")));
    }),
    ("D7", the_chosen_kubelet_starts_it),
    ("D8", |runs| {
        let printed = runs.of("walkthrough-old-api").printed;
        assert!(printed.contains("no matches for kind \"Deployment\" in version \"apps/v1beta1\""), "{printed}");
    }),
];

#[test]
fn every_claim_is_as_its_verdict_says() {
    let runs = Runs::default();
    for (name, claim) in CLAIMS {
        println!("{name}");
        claim(&runs);
    }
}

/// No line of the page goes without an assertion, and none is asserted that the page does not have.
#[test]
fn the_page_and_the_assertions_are_about_the_same_claims() {
    let page = fs::read_to_string(from_root(PAGE)).expect("the page is there");
    let numbers = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let numbers = numbers.filter(|word| word.starts_with(['A', 'B', 'C', 'D']) && word[1..].parse::<u32>().is_ok());
    let asserted: Vec<&str> = CLAIMS.iter().map(|(name, _)| *name).collect();
    assert_eq!(numbers.collect::<Vec<_>>(), asserted);
}

fn scheduler_hears_and_queues(run: &Run) {
    let cycle = run.row("timer", "kube-scheduler", "scheduling cycle");
    let heard = run.cause(cycle);
    assert!(heard.to == "pod informer in kube-scheduler" && heard.what.starts_with("ADDED Pod"), "{heard:?}");
    let from_server = run.rows.iter().filter(|row| row.from == "kube-apiserver" && row.to.ends_with("kube-scheduler"));
    for row in from_server {
        assert!(row.to.contains(" informer in ") || row.what.contains(" for "), "neither news nor an answer: {row:?}");
    }
}

fn kubelets_hear_only_of_their_own(run: &Run) {
    for (name, versions) in run.pods() {
        let about = format!("Pod default/{name}");
        let told: BTreeSet<&str> =
            run.rows.iter().filter(|row| row.what.ends_with(&about)).map(|row| &*row.to).collect();
        let node = versions.last().and_then(|pod| pod["spec"]["nodeName"].as_str()).expect("every Pod got a node");
        let kubelets: Vec<&str> =
            told.into_iter().filter_map(|to| to.strip_prefix("pod informer in kubelet/")).collect();
        assert_eq!(kubelets, [node], "{name}");
        let bound = run.row("kube-scheduler", "kube-apiserver", &format!("create pods/binding default/{name}"));
        let first = run.rows.iter().find(|row| row.to.contains("kubelet/") && row.what.ends_with(&about));
        assert!(first.is_some_and(|row| row.step > bound.step), "{name}");
    }
}

fn the_scheduler_only_binds(run: &Run) {
    let asked: BTreeSet<&str> = run
        .rows
        .iter()
        .filter(|row| row.from == "kube-scheduler")
        .filter_map(|row| row.what.split(' ').nth(1))
        .collect();
    assert_eq!(asked, BTreeSet::from(["events", "pods/binding"]));
    a_binding_is_one_write(run);
}

fn a_binding_is_one_write(run: &Run) {
    for (name, versions) in run.pods() {
        let bound = versions.iter().find(|pod| pod["spec"]["nodeName"].is_string()).expect("every Pod got a node");
        let conditions = bound["status"]["conditions"].as_array().expect("the binding wrote one");
        assert!(conditions.iter().any(|c| c["type"] == "PodScheduled" && c["status"] == "True"), "{name}: {bound}");
    }
}

fn a_bound_pod_is_added_to_its_kubelet(run: &Run) {
    for name in run.pods().keys() {
        let about = format!("Pod default/{name}");
        let first = run.rows.iter().find(|row| row.to.contains("kubelet/") && row.what.ends_with(&about));
        let first = first.expect("a kubelet heard of it");
        assert!(first.what.starts_with("ADDED"), "{first:?}");
        assert!(run.cause(first).what.starts_with("create pods/binding"), "{first:?}");
        let others =
            run.rows.iter().filter(|row| row.cause == first.cause && row.to == "pod informer in kube-scheduler");
        let others: Vec<&str> = others.filter_map(|row| row.what.split(' ').next()).collect();
        assert_eq!(others, ["MODIFIED"], "{name}");
    }
}

fn pods_have_addresses(run: &Run) {
    for (name, versions) in run.pods() {
        let address = versions.last().and_then(|pod| pod["status"]["podIP"].as_str()).unwrap_or_default();
        assert!(address.starts_with("10.244."), "{name}: {address:?}");
    }
}

fn a_killed_container_restarts_in_place(run: &Run) {
    let phases: BTreeSet<String> =
        run.pods().values().flatten().filter_map(|pod| pod["status"]["phase"].as_str().map(str::to_owned)).collect();
    assert!(phases.is_subset(&["Pending", "Running", "Succeeded", "Failed"].map(str::to_owned).into()), "{phases:?}");
    let restarted = |pod: &Value| pod["status"]["containerStatuses"][0]["restartCount"] == 1;
    let victims = run.pods().into_values().filter(|versions| versions.iter().any(restarted)).collect::<Vec<_>>();
    let [versions] = victims.as_slice() else { panic!("one container was killed: {}", victims.len()) };
    let uids: BTreeSet<&str> = versions.iter().filter_map(|pod| pod["metadata"]["uid"].as_str()).collect();
    assert_eq!(uids.len(), 1, "it is the same Pod");
}

fn pods_are_replaced_not_deleted(run: &Run) {
    assert!(!run.any("replicaset-controller", "kube-apiserver", "delete pods"), "nothing is surplus here");
    let deleted = run.row("user/kubectl", "kube-apiserver", "delete pods ");
    let next = run.rows.iter().find(|row| {
        row.step > deleted.step && row.from == "replicaset-controller" && row.what.starts_with("create pods ")
    });
    let next = next.expect("it was replaced");
    assert!(run.chain(next).contains(&deleted.step), "and that was why");
}

fn nodes_are_filtered_then_scored(runs: &Runs) {
    let shown = runs.session("deployment", "until verdict=chosen\n");
    let table = shown.split("table ").nth(1).unwrap_or_default();
    let (filtered, scored) = (table.find("nodes pass"), table.find("total"));
    assert!(filtered.is_some() && filtered < scored && table.contains("chosen"), "{shown}");
}

fn no_traffic_before_ready(run: &Run) {
    let ready = |pod: &Value| {
        let conditions = pod["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|c| c["type"] == "Ready" && c["status"] == "True")
    };
    let mut became_ready = BTreeMap::new();
    for event in &run.events {
        let object = &event["object"];
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let revision =
            object["metadata"]["resourceVersion"].as_str().and_then(|rv| rv.parse::<u64>().ok()).unwrap_or(0);
        if event["kind"] == "Pod" && ready(object) {
            became_ready.entry(name).or_insert(revision);
        } else if event["kind"] == "EndpointSlice" {
            for endpoint in object["endpoints"].as_array().into_iter().flatten() {
                let pod = endpoint["targetRef"]["name"].as_str().unwrap_or_default();
                let served = endpoint["conditions"]["ready"] == true;
                let since = became_ready.get(pod);
                assert!(!served || since.is_some_and(|since| *since < revision), "{pod} is served before it is ready");
            }
        }
    }
    assert!(!became_ready.is_empty());
}

fn requests_pass_all_stages(runs: &Runs) {
    let shown = runs.session("deployment", "until create deployments request\n");
    let stages =
        ["authentication:", "authorization:", "mutating admission:", "validation", "validating admission:", "etcd:"];
    let lines: Vec<&str> = shown.lines().map(|line| line.trim_start_matches("stage").trim_start()).collect();
    let places = stages.map(|stage| lines.iter().position(|line| line.starts_with(stage)));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{shown}");
    let run = runs.deployment();
    let request = run.row("user/kubectl", "kube-apiserver", "create deployments");
    let answer = run.row("kube-apiserver", "user/kubectl", "201 for create deployments");
    assert_eq!(answer.cause, request.step);
}

/// No component lists or opens a watch for what exists in every cluster: all that was done before the first request.
fn nobody_asks_again(run: &Run) {
    for row in &run.rows {
        let reads = row.what.starts_with("list ") || row.what.starts_with("watch ");
        let own =
            row.from == "user/kubectl" || row.from.starts_with("kubelet/") && row.what.starts_with("watch configmaps");
        assert!(!reads || own, "{row:?}");
    }
}

fn the_chosen_kubelet_starts_it(runs: &Runs) {
    let run = runs.deployment();
    for (name, versions) in run.pods() {
        let node = versions.last().and_then(|pod| pod["spec"]["nodeName"].as_str()).expect("every Pod got a node");
        let (kubelet, runtime) = (format!("kubelet/{node}"), format!("containerd/{node}"));
        for call in ["RunPodSandbox", "PullImage", "CreateContainer", "StartContainer"] {
            assert!(run.any(&kubelet, &runtime, call), "{name}: {call}");
        }
    }
}

/// Runs of scenarios, each made once.
#[derive(Default)]
struct Runs {
    made: std::cell::RefCell<BTreeMap<String, Run>>,
}

impl Runs {
    fn deployment(&self) -> Run {
        self.of("deployment")
    }

    fn of(&self, scenario: &str) -> Run {
        let mut made = self.made.borrow_mut();
        made.entry(scenario.to_owned()).or_insert_with(|| Run::new(scenario)).clone()
    }

    /// What a session prints for these commands.
    fn session(&self, scenario: &str, commands: &str) -> String {
        let mut child = command()
            .args(["step", scenario])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        child.stdin.take().expect("piped").write_all(commands.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        String::from_utf8(output.stdout).expect("it prints text")
    }
}

/// What a scenario's run left behind.
#[derive(Clone)]
struct Run {
    printed: String,
    rows: Vec<Row>,
    events: Vec<Value>,
}

/// One step: who told whom what, and which step caused it.
#[derive(Clone, Debug)]
struct Row {
    step: u64,
    cause: u64,
    from: String,
    to: String,
    what: String,
}

impl Run {
    fn new(scenario: &str) -> Run {
        let name = Path::new(scenario).file_stem().expect("a name").to_string_lossy().into_owned();
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("claims").join(name);
        let output = command().args(["run", scenario, "--out"]).arg(&out).output();
        let output = output.expect("the program starts");
        assert!(output.status.success(), "{scenario}: {}", String::from_utf8_lossy(&output.stderr));
        let read = |file: &str| -> Vec<Value> {
            let text = fs::read_to_string(out.join(file)).expect("the run wrote it");
            text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
        };
        let word = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let row = |row: &Value| Row {
            step: row["step"].as_u64().unwrap_or(0),
            cause: row["cause"].as_u64().unwrap_or(0),
            from: word(row, "from"),
            to: word(row, "to"),
            what: word(row, "what"),
        };
        let rows = read("trace.jsonl").iter().map(row).collect();
        let printed = String::from_utf8(output.stdout).expect("it prints text");
        Run { printed, rows, events: read("events.jsonl") }
    }

    /// Whether there is a row with a sender, a receiver and a message that begin so.
    fn any(&self, from: &str, to: &str, what: &str) -> bool {
        let told = |row: &Row| row.from.starts_with(from) && row.to.starts_with(to) && row.what.starts_with(what);
        self.rows.iter().any(told)
    }

    fn row(&self, from: &str, to: &str, what: &str) -> &Row {
        let told = |row: &&Row| row.from.starts_with(from) && row.to.starts_with(to) && row.what.starts_with(what);
        self.rows.iter().find(told).unwrap_or_else(|| panic!("{from} never tells {to}: {what}"))
    }

    fn cause(&self, row: &Row) -> &Row {
        self.rows.iter().find(|other| other.step == row.cause).expect("every cause was a step")
    }

    /// The causes of a step, back to the beginning.
    fn chain(&self, row: &Row) -> Vec<u64> {
        let causes: BTreeMap<u64, u64> = self.rows.iter().map(|row| (row.step, row.cause)).collect();
        std::iter::successors(Some(row.cause), |step| causes.get(step).copied()).collect()
    }

    /// A controller hears of a new object by its informer, and that is why it creates another.
    fn hears_and_creates(&self, informer: &str, controller: &str, created: &str) {
        let informer = format!("{informer} informer in kube-controller-manager");
        let heard = self.row("kube-apiserver", &informer, "ADDED");
        let create = self.row(controller, "kube-apiserver", &format!("create {created} "));
        assert!(self.chain(create).contains(&heard.step), "{create:?}");
    }

    /// The resources that a component creates.
    fn created_by(&self, component: &str) -> BTreeSet<String> {
        let created = self.rows.iter().filter(|row| row.from == component && row.what.starts_with("create "));
        created.filter_map(|row| row.what.split(' ').nth(1)).map(str::to_owned).collect()
    }

    /// What is done first comes first.
    fn in_order(&self, calls: &[(&str, &str)]) {
        let steps: Vec<u64> = calls.iter().map(|(what, to)| self.row("", to, what).step).collect();
        assert!(steps.is_sorted(), "{calls:?}: {steps:?}");
    }

    /// The versions of each Pod in the default namespace.
    fn pods(&self) -> BTreeMap<String, Vec<Value>> {
        let mut pods: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event["kind"] == "Pod" && event["type"] != "DELETED") {
            let name = event["name"].as_str().unwrap_or_default().to_owned();
            pods.entry(name).or_default().push(event["object"].clone());
        }
        pods
    }
}
