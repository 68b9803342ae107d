//! Pods, and the clusters that they come to.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::{Value, json};

use super::TAINTS;
use crate::making::{TIME, read, with};
use exercise::admission::{Case, Cluster};

/// Every sort of image; every account, class and priority with every toleration; then what seldom is.
pub(super) fn all() -> Vec<Case> {
    let seldom = [other_names(), accounts_alike(), being_deleted(), many_of_each(), of_all_sorts()];
    let mut all = images();
    all.extend(together());
    all.extend(seldom.into_iter().flatten());
    all.extend(nearly().iter().map(|tolerations| {
        let spec = json!({"containers": [{"name": "app", "image": "nginx:1.27"}], "tolerations": tolerations});
        Case { pod: pod("dev", "web", &spec), cluster: first_cluster() }
    }));
    all
}

const IMAGES: [&str; 22] = [
    "nginx:1.27-latest",
    "nginx:Latest",
    "nginx",
    "nginx:1.27",
    "nginx:latest",
    "registry.example.com/team/nginx",
    "registry.example.com:5000/nginx",
    "registry.example.com:5000/nginx:1.27",
    "registry.example.com:5000/nginx:latest",
    "localhost:5000/team/nginx",
    "nginx:latest-alpine",
    "latest/nginx:1.27",
    "nginx-latest:1",
    "nginx:latest@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "nginx@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "nginx:1.27@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "localhost:5000/nginx@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "nginx@sha512:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "nginx:LATEST",
    "nginx:stable",
    "registry.example.com:5000/a/b/nginx",
    "registry.example.com:5000/a/b/c/nginx:latest",
];

/// Numbers that the Pod may give.
const NUMBERS: [Option<i32>; 4] = [None, Some(0), Some(1000), Some(5)];

fn images() -> Vec<Case> {
    let mut all = Vec::new();
    let ready = cluster(&["dev/default", "dev/builder"], &[]);
    for image in IMAGES {
        for (policy, init) in
            [(None, false), (Some("Never"), false), (Some("IfNotPresent"), false), (None, true), (Some("Always"), true)]
        {
            let container = |name: &str, policy| json!({"name": name, "image": image, "imagePullPolicy": policy});
            let old = json!({"name": "old", "image": "nginx:1.27"});
            let last = container("last", policy);
            let specs = match init {
                true => [
                    json!({"initContainers": [container("init", policy)], "containers": [old]}),
                    json!({"initContainers": [old, last], "containers": [old]}),
                ],
                false => {
                    [json!({"containers": [container("app", policy), old]}), json!({"containers": [old, old, last]})]
                }
            };
            all.extend(specs.map(|spec| Case { pod: pod("dev", "web", &spec), cluster: ready.clone() }));
        }
    }
    all
}

fn first_cluster() -> Cluster {
    cluster(&["dev/default", "dev/builder"], &[("high", 1000, false)])
}

/// Every toleration with every account, class and priority, in clusters that have what is named or lack it.
fn together() -> Vec<Case> {
    let (high, usual) = (("high", 1000, false), ("usual", 5, true));
    let clusters = [
        first_cluster(),
        cluster(&["dev/builder"], &[high, usual]),
        cluster(&["other/nope", "other/default", "dev/default"], &[usual]),
    ];
    let mut all = Vec::new();
    for tolerations in tolerations() {
        for (cluster, account) in pairs(&clusters, &[None, Some("builder"), Some("nope")]) {
            for (class, priority) in pairs(&[None, Some("high"), Some("nope")], &NUMBERS) {
                let spec = json!({"containers": [{"name": "app", "image": "nginx:1.27"}], "priority": priority,
                    "serviceAccountName": account, "priorityClassName": class, "tolerations": tolerations});
                all.push(Case { pod: pod("dev", "web", &spec), cluster: cluster.clone() });
            }
        }
    }
    all
}

/// Each of these with each of those.
fn pairs<'a, A, B>(one: &'a [A], other: &'a [B]) -> impl Iterator<Item = (&'a A, &'a B)> {
    one.iter().flat_map(move |one| other.iter().map(move |other| (one, other)))
}

/// A class that makes a Pod less important.
const LOW: (&str, i32, bool) = ("low", -10, false);

/// Pods of other names in other namespaces, and classes of other names and numbers.
fn other_names() -> Vec<Case> {
    let critical = ("critical", 2_000_000_000, false);
    let clusters = [
        cluster(&["prod/default", "prod/api"], &[critical, LOW, ("usual", 0, false)]),
        cluster(&["dev/api", "dev/default"], &[LOW, ("batch", -5, true), critical]),
        cluster(&["dev/api", "dev/default"], &[LOW, ("usual", 0, true), critical]),
    ];
    let classes = [None, Some("critical"), Some("low"), Some("usual"), Some("cri"), Some("batch")];
    let mut all = Vec::new();
    for (cluster, account) in pairs(&clusters, &[None, Some("api"), Some("default")]) {
        for (class, priority) in pairs(&classes, &[None, Some(-10), Some(-5)]) {
            let spec = json!({"containers": [{"name": "app", "image": "nginx:1.27"}], "priority": priority,
                "serviceAccountName": account, "priorityClassName": class});
            let pods = [pod("prod", "shop-1", &spec), pod("dev", "cart", &spec)];
            all.extend(pods.map(|pod| Case { pod, cluster: cluster.clone() }));
        }
    }
    all
}

/// A container that says more.
fn app() -> Value {
    json!({"name": "app", "image": "nginx:1.27", "command": ["nginx"], "args": ["-g", "daemon off;"],
        "env": [{"name": "MODE", "value": "latest"}], "ports": [{"containerPort": 80}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}}})
}

/// A cluster with accounts and namespaces whose names begin or end alike.
fn cluster_of_names_alike() -> Cluster {
    cluster(
        &["dev/default-2", "dev/my-api", "dev-2/api", "my-dev/api", "dev-2/default", "prod/default", "prod/api"],
        &[("very-low", 7, false), LOW],
    )
}

/// Accounts whose names begin alike, and a Pod that says more.
fn accounts_alike() -> Vec<Case> {
    let cases = pairs(&["dev", "prod"], &[None, Some("api")]).map(|(namespace, account)| {
        let spec = json!({"initContainers": [app()], "containers": [app()], "nodeSelector": {"disk": "ssd"},
            "restartPolicy": "OnFailure", "serviceAccountName": account, "priorityClassName": "low", "volumes": [{"name": "v", "emptyDir": {}}]});
        let mut pod = pod(namespace, "web", &spec);
        pod.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
        pod.metadata.generate_name = Some("we".to_owned());
        Case { pod, cluster: cluster_of_names_alike() }
    });
    cases.collect()
}

/// What is being deleted is there until it is gone.
fn being_deleted() -> Vec<Case> {
    let mut going = cluster(&["dev/default", "prod/default", "prod/api"], &[LOW, ("usual", 3, true)]);
    let mut metas: Vec<&mut ObjectMeta> = going.accounts.iter_mut().map(|one| &mut one.metadata).collect();
    metas.extend(going.classes.iter_mut().map(|one| &mut one.metadata));
    let since: Time = read(json!(TIME));
    metas.into_iter().for_each(|meta| meta.deletion_timestamp = Some(since.clone()));
    let mut all = Vec::new();
    for (namespace, account) in pairs(&["dev", "prod"], &[None, Some("api")]) {
        for class in [None, Some("low")] {
            let spec = json!({"containers": [app()], "serviceAccountName": account, "priorityClassName": class});
            all.push(Case { pod: pod(namespace, "web", &spec), cluster: going.clone() });
        }
    }
    all
}

/// Many of each; the last one matters too.
fn many_of_each() -> Vec<Case> {
    let containers =
        |what: &str| -> Value { (1..=5).map(|n| json!({"name": format!("{what}-{n}"), "image": "nginx"})).collect() };
    let others = (1..=5).map(|n| json!({"key": format!("team-{n}"), "operator": "Exists"}));
    let last = json!({"key": TAINTS[1], "operator": "Exists", "effect": "NoExecute"});
    let of_containers = json!({"initContainers": containers("init"), "containers": containers("app")});
    let of_tolerations = json!({"containers": [app()], "tolerations": others.chain([last]).collect::<Value>()});
    let of_few = [of_containers, of_tolerations];
    let of_few = of_few.map(|spec| Case { pod: pod("prod", "web", &spec), cluster: cluster_of_names_alike() });
    let names: Vec<String> = (1..=50).map(|n| format!("level-{n}")).collect();
    let mut classes: Vec<(&str, i32, bool)> = names.iter().zip(1..).map(|(name, n)| (&**name, 10 * n, false)).collect();
    classes.push(("usual", 3, true));
    let crowd = cluster(&["prod/default"], &classes);
    let of_crowd = [None, Some("level-9"), Some("level-50"), Some("level-51")].map(|class| {
        let spec = json!({"containers": [app()], "priorityClassName": class});
        Case { pod: pod("prod", "web", &spec), cluster: crowd.clone() }
    });
    of_few.into_iter().chain(of_crowd).collect()
}

/// Pods of a DaemonSet, of the system's namespace, on the node's network, with a node already; accounts and namespaces whose names
/// begin alike; and the classes that a real cluster has from the beginning, where they are there and where not.
fn of_all_sorts() -> Vec<Case> {
    let app = json!({"name": "app", "image": "nginx:1.27"});
    let stays = json!({"name": "log", "image": "fluentd", "restartPolicy": "Always"});
    let daemon =
        json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web", "uid": "uid-1", "controller": true}]);
    let accounts = ["kube-system/default", "kube-system/api", "dev/default", "dev/api", "my-dev-2/api-2"];
    let critical = ("system-node-critical", 2_000_001_000, false);
    let clusters = [cluster(&accounts, &[critical]), cluster(&accounts, &[("usual", 3, true)])];
    let mut all = Vec::new();
    for (cluster, class) in clusters.iter().flat_map(|one| [None, Some("system-node-critical")].map(|two| (one, two))) {
        for namespace in ["kube-system", "dev"] {
            for more in [
                json!({}),
                json!({"hostNetwork": true}),
                json!({"nodeName": "node-1"}),
                json!({"initContainers": [stays, app]}),
            ] {
                let spec = with(json!({"containers": [app], "priorityClassName": class}), &more);
                for owners in [None, Some(&daemon)] {
                    let mut pod = pod(namespace, "web", &spec);
                    pod.metadata.owner_references =
                        owners.and_then(|owners| serde_json::from_value(owners.clone()).ok());
                    all.push(Case { pod, cluster: cluster.clone() });
                }
            }
        }
        for (namespace, account) in
            [("dev-2", "api"), ("dev-2", "default"), ("dev", "api-2"), ("de", "api"), ("dev", "ap")]
        {
            let spec = json!({"containers": [app], "serviceAccountName": account, "priorityClassName": class});
            all.push(Case { pod: pod(namespace, "web", &spec), cluster: cluster.clone() });
        }
    }
    all
}

/// Tolerations for one of the two taints, or nearly: with each effect, each operator and another key.
fn nearly() -> Vec<Value> {
    let mut all = vec![Value::Null];
    for key in [TAINTS[0], TAINTS[1], "node.kubernetes.io/not-ready-yet", "node.kubernetes.io/unreach"] {
        for effect in [json!("NoExecute"), json!("NoSchedule"), json!("PreferNoSchedule"), Value::Null] {
            let exists = json!({"key": key, "operator": "Exists", "effect": effect});
            let equal =
                json!({"key": key, "operator": "Equal", "value": "true", "effect": effect, "tolerationSeconds": 7});
            let other = json!({"key": "dedicated", "operator": "Exists"});
            all.extend([
                json!([exists]),
                json!([equal]),
                json!([other, exists]),
                json!([exists, equal]),
                json!([other, other, exists]),
            ]);
        }
    }
    all.extend(
        ["NoExecute", "NoSchedule", "PreferNoSchedule"].map(|effect| json!([{"operator": "Exists", "effect": effect}])),
    );
    // Not for a moment.
    for seconds in [0, -1] {
        let one =
            |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        all.extend(TAINTS.map(|taint| json!([one(taint)])));
    }
    // For every taint, for a time only.
    all.push(json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]));
    all
}

fn pod(namespace: &str, name: &str, spec: &Value) -> Pod {
    let meta = json!({"name": name, "namespace": namespace});
    serde_json::from_value(json!({"metadata": meta, "spec": spec})).expect("it is a Pod")
}

fn cluster(accounts: &[&str], classes: &[(&str, i32, bool)]) -> Cluster {
    let account = |path: &&str| {
        let (namespace, name) = path.split_once('/').expect("NAMESPACE/NAME");
        json!({"metadata": {"namespace": namespace, "name": name}})
    };
    let class = |(name, value, default): &(&str, i32, bool)| json!({"metadata": {"name": name}, "value": value, "globalDefault": default});
    let accounts: Vec<Value> = accounts.iter().map(account).collect();
    let classes: Vec<Value> = classes.iter().map(class).collect();
    serde_json::from_value(json!({"accounts": accounts, "classes": classes})).expect("it is a cluster")
}

fn tolerations() -> Vec<Value> {
    let own = |more: Value| with(json!({"key": TAINTS[0], "operator": "Exists"}), &more);
    vec![
        json!([]),
        json!([own(json!({"effect": "NoExecute", "tolerationSeconds": 5}))]),
        json!([own(json!({"effect": "NoSchedule"}))]),
        json!([own(json!({}))]),
        json!([{"operator": "Exists"}]),
        json!([{"operator": "Exists", "effect": "NoSchedule"}]),
        json!([{"key": "dedicated", "value": "db"}, own(json!({"key": TAINTS[1], "effect": "NoExecute"}))]),
    ]
}
