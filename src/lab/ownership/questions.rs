//! ReplicaSets and the Pods that they see.

use serde_json::{Value, json};

use crate::making::{TIME, with};
use exercise::ownership::{Case, Claim};
use object::meta::controller_of;

/// Simple things come first, so the first case that fails is a smallest one.
pub(super) fn all() -> Vec<Case> {
    let mut all = usual();
    all.extend(many_owners());
    all.extend(besides());
    all.extend([namespaces_alike(), owners_alike(), labels_alike(), said_besides()].into_iter().flatten());
    all.retain(is_decided);
    all
}

/// Every selector, owner and set of labels where no object is being deleted, and at home; else some, and others each time.
fn usual() -> Vec<Case> {
    let (selectors, labels, mut all) = (selectors(), labels(), Vec::new());
    let owners = NAMES.map(|(name, _, uid)| owners(name, uid));
    let each = owners[0].len();
    let time = |set: bool| if set { json!(TIME) } else { Value::Null };
    for (n, (away, leaving, dying)) in (0..8).map(|n| (n, (n & 1 != 0, n & 2 != 0, n & 4 != 0))) {
        for turn in 0..selectors.len() * each * labels.len() {
            let (row, at) = (turn / labels.len(), turn % labels.len());
            // Many labels are for the selector that asks for many, where no object is being deleted.
            let is_long = row / each == USUAL.0;
            let is_passed_over = is_long != (at >= USUAL.1) || is_long && n > 0;
            if is_passed_over || n > 0 && (turn + n) % 7 != 0 {
                continue;
            }
            // What names and uids are does not matter: no two ReplicaSets have the same.
            let who = (turn + row) % NAMES.len();
            let (name, home, uid) = NAMES[who];
            let namespace = if away { ["other", NAMES[(who + 1) % 2].1][turn % 2] } else { home };
            let called = if turn % 7 == 3 { "by-hand".to_owned() } else { format!("{name}-x") };
            let mut pod = pod(namespace, &labels[at], &owners[who][row % each]);
            let more = json!({"name": called, "deletionTimestamp": time(dying)});
            pod["metadata"] = with(pod["metadata"].take(), &more);
            let set = with(set(name, home, uid), &json!({"deletionTimestamp": time(leaving)}));
            all.push(ask(set, spec(&selectors[row / each]), pod));
        }
    }
    all
}

fn selectors() -> [Value; 12] {
    let exists = |key: &str| json!({"key": key, "operator": "Exists"});
    [
        json!({"matchLabels": {"app": "web"}}),
        json!({"matchLabels": {"app": "web"}, "matchExpressions": [in_("tier", "In")]}),
        json!({"matchLabels": {"app": "web"}, "matchExpressions": [in_("tier", "NotIn")]}),
        json!({"matchExpressions": [exists("tier")]}),
        json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
        json!({"matchLabels": {"app": "web", "tier": "front"}}),
        json!({"matchExpressions": [exists("app"), in_("tier", "In")]}),
        json!({"matchLabels": {"app": "web"}, "matchExpressions": [exists("tier"), in_("tier", "NotIn"), exists("app")]}),
        json!({"matchLabels": {"tier": ""}}),
        json!({"matchExpressions": [in_("tier", "NotIn"), exists("app"), {"key": "zone", "operator": "DoesNotExist"}]}),
        json!({"matchExpressions": [in_("tier", "NotIn")]}),
        // Many of each; the last one decides.
        json!({"matchLabels": {"app": "web", "arch": "arm", "env": "prod", "tier": "front"},
               "matchExpressions": [exists("app"), exists("arch"), in_("tier", "In"),
                   {"key": "zone", "operator": "In", "values": ["a", "b", "c", "d"]}]}),
    ]
}

fn labels() -> [Value; 15] {
    [
        json!({"app": "web"}),
        json!({"app": "db"}),
        json!(null),
        json!({"app": "web", "tier": "front"}),
        json!({"app": "web", "tier": "back"}),
        json!({"app": "website", "tier": "frontend"}),
        json!({"app": "web", "tier": "middle"}),
        json!({"tier": "front"}),
        json!({"application": "web", "app": "", "tier": "middle"}),
        json!({"app": "web", "tier": ""}),
        json!({"application": "web", "zone": "a", "app": "web"}),
        json!({"application": "web"}),
        json!({"app": "web", "arch": "arm", "env": "prod", "tier": "front", "zone": "d"}),
        json!({"app": "web", "arch": "arm", "env": "prod", "tier": "front", "zone": "e"}),
        json!({"app": "web", "arch": "arm", "env": "prod", "tier": "middle", "zone": "d"}),
    ]
}

/// A ReplicaSet and a Pod.
fn ask(set: Value, spec: Value, pod: Value) -> Case {
    let case = json!({"replica_set": {"metadata": set, "spec": spec}, "pod": pod});
    serde_json::from_value(case).unwrap_or_else(|error| unreachable!("two objects: {error}"))
}

fn set(name: &str, home: &str, uid: &str) -> Value {
    json!({"name": name, "namespace": home, "uid": uid})
}

fn spec(selector: &Value) -> Value {
    json!({"selector": selector, "template": {}})
}

fn pod(home: &str, labels: &Value, owners: &Value) -> Value {
    json!({"metadata": {"name": "web-x", "namespace": home, "labels": labels, "ownerReferences": owners}})
}

/// The selector of most ReplicaSets.
fn web() -> Value {
    json!({"matchLabels": {"app": "web"}})
}

/// Pods with so many owners that the one that decides is far behind.
fn many_owners() -> impl Iterator<Item = Case> {
    let [(name, home, uid), ..] = NAMES;
    let others: Vec<Value> = (3..9).map(|n| owner(&format!("set-{n}"), &format!("uid-3{n}"), false)).collect();
    let last = [owner(name, uid, true), owner("db", "uid-2", true), owner(name, uid, false)];
    let whose = last.into_iter().flat_map(move |last| {
        let after = |few: usize| json!([&others[..few], std::slice::from_ref(&last)].concat());
        [after(3), after(4), after(6)]
    });
    whose.flat_map(move |owners| {
        ["web", "db"].map(|app| ask(set(name, home, uid), spec(&web()), pod(home, &json!({"app": app}), &owners)))
    })
}

/// Where something else is said too: what the template has beside the selector, finalizers, other names and capitals.
fn besides() -> Vec<Case> {
    let [(name, home, uid), ..] = NAMES;
    let selector = json!({"matchLabels": {"app": "web"}, "matchExpressions": [in_("tier", "NotIn")]});
    let template = json!({"metadata": {"labels": {"app": "web", "release": "7"}}});
    let spec = json!({"selector": selector, "template": template});
    let (plain, mine) = (json!({"app": "web"}), json!([owner(name, uid, true)]));
    let labels =
        [plain, json!({"app": "Web"}), json!({"app": "web", "tier": "Front"}), json!({"app": "web", "tier": "front"})];
    let more = [json!({}), json!({"finalizers": ["example.com/keep"]}), json!({"generateName": "db-", "name": "db-x"})];
    let mut all = Vec::new();
    for (labels, owners) in labels.iter().flat_map(|labels| [(labels, &Value::Null), (labels, &mine)]) {
        for (of_set, of_pod) in more.iter().flat_map(|pod| [(&more[0], pod), (&more[1], pod)]) {
            let mut pod = pod(home, labels, owners);
            pod["metadata"] = with(pod["metadata"].take(), of_pod);
            all.push(ask(with(set(name, home, uid), of_set), spec.clone(), pod));
        }
    }
    all
}

/// A namespace that only begins or ends alike is another.
fn namespaces_alike() -> Vec<Case> {
    let ([(name, _, uid), ..], plain) = (NAMES, json!({"app": "web"}));
    let ask = |one: &str, other: &str| ask(set(name, one, uid), spec(&web()), pod(other, &plain, &Value::Null));
    let pairs = [("prod", "prod-2"), ("prod", "my-prod")].into_iter();
    pairs.flat_map(|(one, other)| [ask(one, other), ask(other, one)]).collect()
}

/// So is a uid; and what else a reference says does not matter.
fn owners_alike() -> Vec<Case> {
    let ([(name, home, uid), ..], mut all) = (NAMES, Vec::new());
    for labels in [json!({"app": "web"}), json!({"app": "db"})] {
        let ask = |name: &str, mine: &str, owners: &[Value]| {
            ask(set(name, home, mine), spec(&web()), pod(home, &labels, &json!(owners)))
        };
        for (mine, its) in [("uid-12", "uid-1"), ("uid-1", "uid-12"), ("uid-12", "id-12"), ("uid-1", "my-uid-1")] {
            all.push(ask(name, mine, &[owner(name, its, true)]));
        }
        // With another name in the reference, and whether or not it is waited for.
        all.push(ask(name, uid, &[owner("website", uid, true)]));
        for (name, its) in [(name, uid), ("db", "uid-2")] {
            let lets_go = with(owner(name, its, true), &json!({"blockOwnerDeletion": false}));
            all.push(ask("web", uid, &[lets_go]));
            let others = (3..7).map(|n| owner(&format!("set-{n}"), &format!("uid-3{n}"), false));
            let owners: Vec<Value> = std::iter::once(owner(name, its, true)).chain(others).collect();
            all.push(ask("web", uid, &owners));
        }
    }
    all
}

/// A key or a value that only begins or ends alike is another.
fn labels_alike() -> Vec<Case> {
    let ([(name, home, uid), ..], mut all) = (NAMES, Vec::new());
    let among = |operator: &str| json!({"matchLabels": {"app": "web"}, "matchExpressions": [in_("tier", operator)]});
    for selector in [web(), among("In"), among("NotIn")] {
        for labels in [
            json!({"example.com/app": "web", "tier": "front"}),
            json!({"my-app": "web", "tier": "front"}),
            json!({"App": "web", "tier": "front"}),
            json!({"app": "web", "tier": "Front"}),
            json!({"app": "web", "tier": "upfront"}),
            json!({"app": "web", "Tier": "front", "example.com/tier": "front"}),
            json!({"a": "1", "app": "web", "b": "2", "c": "3", "d": "4", "e": "5", "tier": "front"}),
        ] {
            for owners in [Value::Null, json!([owner(name, uid, true)])] {
                all.push(ask(set(name, home, uid), spec(&selector), pod(home, &labels, &owners)));
            }
        }
    }
    all
}

/// What else may be said of a set or a Pod does not matter.
fn said_besides() -> Vec<Case> {
    let ([(name, home, uid), ..], mut all) = (NAMES, Vec::new());
    let (plain, mine) = (json!({"app": "web"}), json!([owner(name, uid, true)]));
    for (labels, owners) in [(&plain, &Value::Null), (&plain, &mine), (&json!({"app": "db"}), &mine)] {
        let pod = pod(home, labels, owners);
        let none = json!({"selector": web(), "template": {}, "replicas": 0});
        all.push(ask(set(name, home, uid), none, pod.clone()));
        let mut more = with(pod, &json!({"spec": {"containers": [], "nodeName": "node-1"}}));
        more["metadata"]["annotations"] = json!({"note": "by hand"});
        let labelled = with(set(name, home, uid), &json!({"labels": {"team": "blue"}}));
        all.push(ask(labelled, spec(&web()), more));
    }
    all
}

/// So many selectors and sets of labels are short.
const USUAL: (usize, usize) = (11, 12);

/// Names of ReplicaSets, their namespaces and uids.
const NAMES: [(&str, &str, &str); 3] =
    [("web", "default", "uid-1"), ("api", "prod", "uid-12"), ("cache", "default", "uid-7")];

/// Whose a Pod can be, for a ReplicaSet of this name and uid.
fn owners(name: &str, uid: &str) -> Vec<Value> {
    let (mine, other) = (|controls| owner(name, uid, controls), |controls| owner("db", "uid-2", controls));
    let unsaid = |mut owner: Value| {
        owner["controller"] = Value::Null;
        owner
    };
    // What controls a Pod is of any kind; this one has the same name even.
    let mut job = owner(name, "uid-3", true);
    (job["apiVersion"], job["kind"]) = (json!("batch/v1"), json!("Job"));
    vec![
        json!(null),
        json!([mine(true)]),
        json!([other(true)]),
        json!([owner(name, &format!("{uid}0"), true)]),
        json!([mine(false)]),
        json!([other(false)]),
        json!([other(false), mine(false)]),
        json!([other(false), mine(true)]),
        json!([mine(false), other(true)]),
        json!([unsaid(mine(true))]),
        json!([unsaid(other(true)), other(false), mine(true)]),
        json!([job]),
        json!([mine(false), other(false), job]),
    ]
}

/// Whether there is one right answer. An owner in another namespace cannot be, and Kubernetes itself hardly minds
/// whether a dying Pod that is no longer selected is let go.
fn is_decided(case: &Case) -> bool {
    let uid = case.replica_set.metadata.uid.as_ref();
    let mine = controller_of(&case.pod.metadata).is_some_and(|owner| Some(&owner.uid) == uid);
    let dying = case.pod.metadata.deletion_timestamp.is_some();
    let home = case.pod.metadata.namespace == case.replica_set.metadata.namespace;
    !mine || (home && (!dying || <super::Ownership as crate::function::Function>::right(case) == Claim::Keep))
}

fn in_(key: &str, operator: &str) -> Value {
    json!({"key": key, "operator": operator, "values": ["front", "middle"]})
}

fn owner(name: &str, uid: &str, controller: bool) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid, "controller": controller})
}
