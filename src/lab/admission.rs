//! Exercise 05: what a new Pod becomes before it is stored. Mirrors `pkg/apis/core/v1/defaults.go` and the plugins
//! ServiceAccount, Priority and DefaultTolerationSeconds of `plugin/pkg/admission`.
//!
//! Every combination of an account, tolerations and a priority is asked, against clusters that have what is named and
//! clusters that lack it; and every sort of image name.
//!
//! Left out: all other defaults, the volume with the account's token, preemption policies, names that are generated.

use k8s_openapi::api::core::v1::{Container, Pod, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::{Value, json};

use super::function::Function;
use super::words::Part;
use super::{Exercise, Judging, admitting};
use crate::exercise::admission::{Admitted, Case, Cluster, admitted};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "05_admission",
    title: "What becomes of a Pod before it is stored?",
    outcome: "say what the API server adds to a Pod that nobody wrote, and what it refuses and why",
    needs: &[],
    hints: [
        "Four things are done, in this order: pull policies, the account, the priority, the tolerations. Which of them can \
         refuse the Pod? What may the Pod have said already?",
        "An image without a tag is `latest`, but one with a digest is not; the colon of a registry's port is no tag. The \
         account must be in the Pod's namespace, also if it is `default`. A toleration without key or effect covers all.",
        "Policy: Always if the tag is latest, or if there is neither tag nor digest; else IfNotPresent. Priority: that of the \
         class; without a class that of the global default, whose name is then written too; else 0. Toleration: key, operator \
         Exists, effect NoExecute, 300 seconds, unless one of the Pod's covers that taint with that effect.",
    ],
    minutes: 40,
    judging: Judging::of_part::<Admission>(admitting::with_admission),
};

pub(super) struct Admission;

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    NoTagIsOld,
    OverwritesPolicy,
    LatestSomewhere,
    PortIsTag,
    DigestIgnored,
    NoInit,
    NeverLooksUp,
    DefaultIsThere,
    AnyNamespace,
    AccountOverwritten,
    UnknownClassIsZero,
    NoGlobalDefault,
    ClassUnnamed,
    GivenNumberWins,
    ClassFirst,
    Replaces,
    AlwaysAdds,
    KeyIsEnough,
    NeedsKey,
    NeedsEffect,
    ForEver,
    FirstInit,
    FirstTaintOnly,
    ChangesMore,
    EndsWithLatest,
    AccountBeginsAlike,
    DefaultUnnamed,
    AnyCase,
    BeginningOfName,
    GoingIsGone,
    NamespaceAlike,
    SystemIsThere,
    DaemonSpared,
    SidecarSpared,
    FewClasses,
}

impl Function for Admission {
    type Question = Case;
    type Answer = Result<Admitted, String>;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("an image without a tag is not pulled each time; no tag means latest", Slip::NoTagIsOld),
        ("a pull policy that the Pod has is overwritten", Slip::OverwritesPolicy),
        ("`latest` anywhere in the image's name is taken for the tag", Slip::LatestSomewhere),
        ("the port of a registry is taken for a tag", Slip::PortIsTag),
        ("an image with a digest and no tag is taken for latest", Slip::DigestIgnored),
        ("init containers get no pull policy", Slip::NoInit),
        ("nobody looks whether the account is there", Slip::NeverLooksUp),
        ("only an account that the Pod names is looked up; `default` may be absent too", Slip::DefaultIsThere),
        ("an account of another namespace is taken", Slip::AnyNamespace),
        ("every Pod gets the account `default`", Slip::AccountOverwritten),
        ("an unknown class counts as none; it is refused", Slip::UnknownClassIsZero),
        ("the class that is the global default is not used", Slip::NoGlobalDefault),
        ("the name of the global default is not written into the Pod", Slip::ClassUnnamed),
        ("a number that does not fit the class is accepted", Slip::GivenNumberWins),
        ("the class is checked before the account, so that the wrong reason is given", Slip::ClassFirst),
        ("the Pod's own tolerations are lost", Slip::Replaces),
        ("tolerations are added although the Pod has its own for that taint", Slip::AlwaysAdds),
        ("a toleration of the same key but another effect is taken for enough", Slip::KeyIsEnough),
        ("a toleration without a key is not recognised; it covers every taint", Slip::NeedsKey),
        ("a toleration without an effect is not recognised; it covers every effect", Slip::NeedsEffect),
        ("the tolerations that are added last for ever; they last 300 seconds", Slip::ForEver),
        ("only the first of the init containers gets a pull policy", Slip::FirstInit),
        ("the effect of a toleration is compared for one of the two taints only", Slip::FirstTaintOnly),
        ("other defaults are written into the Pod too; that is done elsewhere", Slip::ChangesMore),
        ("a tag that ends with latest is taken for latest", Slip::EndsWithLatest),
        ("an account whose name only begins so is taken", Slip::AccountBeginsAlike),
        ("a Pod that names the class that is the global default is refused", Slip::DefaultUnnamed),
        ("capitals in a tag are not looked at; Latest is another tag than latest", Slip::AnyCase),
        ("the reason calls the Pod by its generateName, though it has a name by now", Slip::BeginningOfName),
        ("an account that is being deleted is taken for absent; it is there until it is gone", Slip::GoingIsGone),
        ("an account of a namespace whose name only begins alike is taken", Slip::NamespaceAlike),
        ("a class whose name begins with system- is not looked for", Slip::SystemIsThere),
        (
            "the Pods of a DaemonSet get no tolerations; its controller may give them some, this does not ask",
            Slip::DaemonSpared,
        ),
        ("an init container that stays, with restartPolicy Always, gets no pull policy", Slip::SidecarSpared),
        ("only the first few classes are looked at", Slip::FewClasses),
    ];

    fn questions() -> Vec<Case> {
        let mut all = Vec::new();
        let ready = cluster(&["dev/default", "dev/builder"], &[]);
        for image in IMAGES {
            for (policy, init) in [
                (None, false),
                (Some("Never"), false),
                (Some("IfNotPresent"), false),
                (None, true),
                (Some("Always"), true),
            ] {
                let container = |name: &str, policy| json!({"name": name, "image": image, "imagePullPolicy": policy});
                let old = json!({"name": "old", "image": "nginx:1.27"});
                let last = container("last", policy);
                let specs = match init {
                    true => [
                        json!({"initContainers": [container("init", policy)], "containers": [old]}),
                        json!({"initContainers": [old, last], "containers": [old]}),
                    ],
                    false => [
                        json!({"containers": [container("app", policy), old]}),
                        json!({"containers": [old, old, last]}),
                    ],
                };
                all.extend(specs.map(|spec| Case { pod: pod("dev", "web", &spec), cluster: ready.clone() }));
            }
        }
        let (high, usual) = (("high", 1000, false), ("usual", 5, true));
        let clusters = [
            cluster(&["dev/default", "dev/builder"], &[high]),
            cluster(&["dev/builder"], &[high, usual]),
            cluster(&["other/nope", "other/default", "dev/default"], &[usual]),
        ];
        for tolerations in tolerations() {
            for (cluster, account) in clusters.iter().flat_map(|one| ["", "builder", "nope"].map(|two| (one, two))) {
                for (class, priority) in ["", "high", "nope"].into_iter().flat_map(|one| NUMBERS.map(|two| (one, two)))
                {
                    let text = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
                    let spec = json!({"containers": [{"name": "app", "image": "nginx:1.27"}], "priority": priority,
                        "serviceAccountName": text(account), "priorityClassName": text(class), "tolerations": tolerations});
                    all.push(Case { pod: pod("dev", "web", &spec), cluster: cluster.clone() });
                }
            }
        }
        all.extend(elsewhere());
        all.extend(of_all_sorts());
        for tolerations in nearly() {
            let spec = json!({"containers": [{"name": "app", "image": "nginx:1.27"}], "tolerations": tolerations});
            all.push(Case { pod: pod("dev", "web", &spec), cluster: clusters[0].clone() });
        }
        all
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Result<Admitted, String> {
        let mut pod = case.pod.clone();
        let meta = pod.metadata.clone();
        let beginning = meta.generate_name.filter(|_| slip == Some(Slip::BeginningOfName));
        let name = beginning.or(meta.name).unwrap_or_default();
        let refused = |why: String| format!("pods \"{name}\" is forbidden: {why}");
        admit(&mut pod, &case.cluster, slip).map_err(refused)?;
        Ok(admitted(&case.pod, &pod))
    }

    fn property(case: &Case, given: Option<&Self::Answer>) -> &'static str {
        match (Admission::rule(case, None), given) {
            (_, None) => "every Pod gets an answer",
            (Err(_), Some(Ok(_))) => "a Pod that names what is not there, or a number that does not fit, is refused",
            (Ok(_), Some(Err(_))) => "a Pod with nothing wrong is not refused",
            (Err(_), Some(Err(_))) => "the first thing that is wrong is the reason, in Kubernetes' words",
            (Ok(right), Some(Ok(given))) if right.pull_policies != given.pull_policies => {
                "what is latest is pulled each time, all else if it is not there, unless the Pod says otherwise"
            }
            (Ok(right), Some(Ok(given))) if right.account != given.account => "a Pod without an account gets `default`",
            (Ok(right), Some(Ok(given))) if right.tolerations != given.tolerations => {
                "a Pod stays 300 seconds on a node that is not ready or not reachable, unless it says otherwise"
            }
            (Ok(right), Some(Ok(given))) if right.changed != given.changed => "nothing else of the Pod changes",
            _ => "a Pod's priority is that of its class, or of the global default, or 0",
        }
    }

    fn show(case: &Case) -> String {
        shown::case(case)
    }

    fn say(case: &Case, answer: &Self::Answer) -> Vec<Part> {
        shown::answer(case, answer)
    }
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

/// `--default-not-ready-toleration-seconds` and `--default-unreachable-toleration-seconds` are for these.
const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Pods of other names in other namespaces, and classes of other names and numbers.
fn elsewhere() -> Vec<Case> {
    let low = ("low", -10, false);
    let clusters = [
        cluster(&["prod/default", "prod/api"], &[("critical", 2_000_000_000, false), low, ("usual", 0, false)]),
        cluster(&["dev/api", "dev/default"], &[low, ("batch", -5, true), ("critical", 2_000_000_000, false)]),
    ];
    let mut all = Vec::new();
    for (cluster, account) in clusters.iter().flat_map(|one| ["", "api", "default"].map(|two| (one, two))) {
        for (class, priority) in ["", "critical", "low", "usual", "cri", "batch"]
            .into_iter()
            .flat_map(|one| [None, Some(-10), Some(-5)].map(|two| (one, two)))
        {
            for (namespace, name) in [("prod", "shop-1"), ("dev", "cart")] {
                let text = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
                let spec = json!({"containers": [{"name": "app", "image": "nginx:1.27"}], "priority": priority,
                    "serviceAccountName": text(account), "priorityClassName": text(class)});
                all.push(Case { pod: pod(namespace, name, &spec), cluster: cluster.clone() });
            }
        }
    }
    // Accounts whose names begin alike, and a Pod that says more.
    let alike = cluster(
        &["dev/default-2", "dev/my-api", "dev-2/api", "my-dev/api", "dev-2/default", "prod/default", "prod/api"],
        &[("very-low", 7, false), low],
    );
    let app = json!({"name": "app", "image": "nginx:1.27", "command": ["nginx"], "args": ["-g", "daemon off;"],
        "env": [{"name": "MODE", "value": "latest"}], "ports": [{"containerPort": 80}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "64Mi"}}});
    for (namespace, account) in ["dev", "prod"].into_iter().flat_map(|one| [None, Some("api")].map(|two| (one, two))) {
        let spec = json!({"initContainers": [app], "containers": [app], "nodeSelector": {"disk": "ssd"},
            "restartPolicy": "OnFailure", "serviceAccountName": account, "priorityClassName": "low", "volumes": [{"name": "v", "emptyDir": {}}]});
        let mut pod = pod(namespace, "web", &spec);
        pod.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
        pod.metadata.generate_name = Some("we".to_owned());
        all.push(Case { pod, cluster: alike.clone() });
    }
    // What is being deleted is there until it is gone.
    let mut going = cluster(&["dev/default", "prod/default", "prod/api"], &[low, ("usual", 3, true)]);
    let mut metas: Vec<&mut ObjectMeta> = going.accounts.iter_mut().map(|one| &mut one.metadata).collect();
    metas.extend(going.classes.iter_mut().map(|one| &mut one.metadata));
    let since: Option<Time> = serde_json::from_value(json!("2026-01-01T00:00:00Z")).ok();
    metas.into_iter().for_each(|meta| meta.deletion_timestamp.clone_from(&since));
    for (namespace, account) in ["dev", "prod"].into_iter().flat_map(|one| [None, Some("api")].map(|two| (one, two))) {
        for class in [None, Some("low")] {
            let spec = json!({"containers": [app], "serviceAccountName": account, "priorityClassName": class});
            all.push(Case { pod: pod(namespace, "web", &spec), cluster: going.clone() });
        }
    }
    // Many of each, of which the last matters too.
    let containers =
        |what: &str| -> Value { (1..=5).map(|n| json!({"name": format!("{what}-{n}"), "image": "nginx"})).collect() };
    let others = (1..=5).map(|n| json!({"key": format!("team-{n}"), "operator": "Exists"}));
    let last = json!({"key": TAINTS[1], "operator": "Exists", "effect": "NoExecute"});
    let spec = json!({"initContainers": containers("init"), "containers": containers("app")});
    all.push(Case { pod: pod("prod", "web", &spec), cluster: alike.clone() });
    let spec = json!({"containers": [app], "tolerations": others.chain([last]).collect::<Value>()});
    all.push(Case { pod: pod("prod", "web", &spec), cluster: alike });
    let names: Vec<String> = (1..=50).map(|n| format!("level-{n}")).collect();
    let mut classes: Vec<(&str, i32, bool)> = names.iter().zip(1..).map(|(name, n)| (&**name, 10 * n, false)).collect();
    classes.push(("usual", 3, true));
    let crowd = cluster(&["prod/default"], &classes);
    for class in [None, Some("level-9"), Some("level-50"), Some("level-51")] {
        let spec = json!({"containers": [app], "priorityClassName": class});
        all.push(Case { pod: pod("prod", "web", &spec), cluster: crowd.clone() });
    }
    all
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
                let mut spec = json!({"containers": [app], "priorityClassName": class});
                more.as_object().into_iter().flatten().for_each(|(key, value)| spec[key] = value.clone());
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
    let own = |more: Value| {
        let mut one = json!({"key": TAINTS[0], "operator": "Exists"});
        more.as_object().into_iter().flatten().for_each(|(key, value)| one[key] = value.clone());
        one
    };
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

fn admit(pod: &mut Pod, cluster: &Cluster, slip: Option<Slip>) -> Result<(), String> {
    let is = |one| slip == Some(one);
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let spec = pod.spec.get_or_insert_default();
    let most = match slip {
        Some(Slip::NoInit) => 0,
        Some(Slip::FirstInit) => 1,
        _ => usize::MAX,
    };
    let init = spec.init_containers.iter_mut().flatten().take(most);
    init.chain(&mut spec.containers).for_each(|container| set_pull_policy(container, slip));
    let named = spec.service_account_name.clone().filter(|_| !is(Slip::AccountOverwritten));
    let account = named.clone().unwrap_or_else(|| "default".to_owned());
    spec.service_account_name = Some(account.clone());
    let mut accounts = cluster.accounts.iter().map(|one| &one.metadata);
    let there = is(Slip::NeverLooksUp)
        || (named.is_none() && is(Slip::DefaultIsThere))
        || accounts.any(|one| {
            let same = |name: &String| *name == account || is(Slip::AccountBeginsAlike) && name.starts_with(&account);
            one.name.as_ref().is_some_and(same)
                && one.namespace.as_ref().is_some_and(|its| {
                    *its == namespace
                        || is(Slip::AnyNamespace)
                        || is(Slip::NamespaceAlike) && namespace.starts_with(its.as_str())
                })
                && !(one.deletion_timestamp.is_some() && is(Slip::GoingIsGone))
        });
    let looked_up = match there {
        true => Ok(()),
        false => Err(format!(
            "error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found"
        )),
    };
    if is(Slip::ClassFirst) {
        set_priority(pod, cluster, slip)?;
        looked_up?;
    } else {
        looked_up?;
        set_priority(pod, cluster, slip)?;
    }
    add_tolerations(pod, slip);
    if is(Slip::ChangesMore) {
        pod.spec.get_or_insert_default().restart_policy = Some("Always".to_owned());
    }
    Ok(())
}

fn set_pull_policy(container: &mut Container, slip: Option<Slip>) {
    let image = container.image.as_deref().unwrap_or_default();
    let policy = if is_latest(image, slip) { "Always" } else { "IfNotPresent" };
    if container.restart_policy.is_some() && slip == Some(Slip::SidecarSpared) {
        return;
    }
    if container.image_pull_policy.is_none() || slip == Some(Slip::OverwritesPolicy) {
        container.image_pull_policy = Some(policy.to_owned());
    }
}

fn is_latest(image: &str, slip: Option<Slip>) -> bool {
    let is = |one| slip == Some(one);
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = if is(Slip::PortIsTag) { name } else { name.rsplit('/').next().unwrap_or(name) };
    match last.split_once(':') {
        _ if is(Slip::LatestSomewhere) && image.contains("latest") => true,
        Some((_, tag)) if is(Slip::AnyCase) => tag.eq_ignore_ascii_case("latest"),
        Some((_, tag)) => tag == "latest" || is(Slip::EndsWithLatest) && tag.ends_with("latest"),
        None => (digest.is_none() || is(Slip::DigestIgnored)) && !is(Slip::NoTagIsOld),
    }
}

fn set_priority(pod: &mut Pod, cluster: &Cluster, slip: Option<Slip>) -> Result<(), String> {
    let is = |one| slip == Some(one);
    let spec = pod.spec.get_or_insert_default();
    let most = if is(Slip::FewClasses) { 4 } else { usize::MAX };
    let mut classes = cluster.classes.iter().take(most);
    let class = match &spec.priority_class_name {
        None => classes.find(|one| one.global_default == Some(true) && !is(Slip::NoGlobalDefault)),
        Some(name) => match classes.find(|one| {
            let hidden = is(Slip::DefaultUnnamed) && one.global_default == Some(true);
            one.metadata.name.as_ref() == Some(name) && !hidden
        }) {
            None if !(is(Slip::UnknownClassIsZero) || is(Slip::SystemIsThere) && name.starts_with("system-")) => {
                return Err(format!("no PriorityClass with name {name} was found"));
            }
            found => found,
        },
    };
    let computed = class.and_then(|class| class.value).unwrap_or(0);
    if let Some(given) = spec.priority.filter(|given| *given != computed && !is(Slip::GivenNumberWins)) {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {computed} from the given PriorityClass name"
        ));
    }
    if !is(Slip::ClassUnnamed) {
        spec.priority_class_name = class.and_then(|class| class.metadata.name.clone());
    }
    spec.priority = Some(if is(Slip::GivenNumberWins) { spec.priority.unwrap_or(computed) } else { computed });
    Ok(())
}

fn add_tolerations(pod: &mut Pod, slip: Option<Slip>) {
    let is = |one| slip == Some(one);
    if is(Slip::DaemonSpared) && pod.metadata.owner_references.is_some() {
        return;
    }
    let all = pod.spec.get_or_insert_default().tolerations.get_or_insert_default();
    let covers = |one: &Toleration, taint: &str| {
        let key = one.key.as_deref().map_or(!is(Slip::NeedsKey), |key| key == taint);
        let effect = one.effect.as_deref().map_or(!is(Slip::NeedsEffect), |effect| effect == "NoExecute");
        let enough = is(Slip::KeyIsEnough) || is(Slip::FirstTaintOnly) && taint == TAINTS[1];
        key && (effect || enough) && !is(Slip::AlwaysAdds)
    };
    let missing: Vec<&str> = TAINTS.into_iter().filter(|taint| !all.iter().any(|one| covers(one, taint))).collect();
    if is(Slip::Replaces) {
        all.clear();
    }
    all.extend(missing.into_iter().map(|taint| Toleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        toleration_seconds: (!is(Slip::ForEver)).then_some(300),
        ..Toleration::default()
    }));
}

mod shown;
#[cfg(test)]
mod tests;
