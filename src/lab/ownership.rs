//! Exercise 01: what a ReplicaSet does with a Pod that it sees. Mirrors ClaimObject in
//! `pkg/controller/controller_ref_manager.go`.
//!
//! Every combination of a few labels, selectors, owners, deletions and namespaces is asked, so what is judged is the
//! rule and not an example of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::{Value, json};

use super::function::Function;
use super::{Exercise, Judging, controlling, words};
use crate::exercise::ownership::{Case, Claim};
use crate::object::meta::controller_of;
use crate::object::selector::selects;

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "01_ownership",
    title: "Which Pods are mine?",
    outcome: "tell selection (labels) from ownership (ownerReferences), and say when a controller adopts or releases",
    needs: &[],
    hints: [
        "Two questions decide everything: does the selector match, and who controls the Pod? Which comes first?",
        "The controller is the owner reference with controller: true, and it is the same object only if its uid is.",
        "Another's: Leave. Mine: Keep if selected, else Release, but not while I am being deleted. Nobody's: Adopt if \
         selected, in my namespace, and neither of us is being deleted.",
    ],
    minutes: 30,
    judging: Judging::of_part::<Ownership>(controlling::with_ownership),
};

pub(super) struct Ownership;

impl Function for Ownership {
    type Question = Case;
    type Answer = Claim;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = MISTAKES;

    fn questions() -> Vec<Case> {
        cases()
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Claim {
        rule(case, slip)
    }

    fn property(case: &Case, given: Option<&Claim>) -> &'static str {
        match (given, rule(case, None)) {
            (None, _) => "every Pod gets an answer",
            (_, Claim::Keep) => "a Pod that is mine and selected is kept",
            (_, Claim::Adopt) => "a selected Pod that nobody controls is adopted",
            (_, Claim::Release) => "a Pod that is mine but no longer selected is released",
            (_, Claim::Leave) => "a Pod that is not mine to take or to release is left alone",
        }
    }

    fn show(case: &Case) -> String {
        let (set, pod) = (&case.replica_set.metadata, &case.pod.metadata);
        let name = |kind: &str, meta: &ObjectMeta| {
            let [name, namespace] = [&meta.name, &meta.namespace].map(|text| text.as_deref().unwrap_or_default());
            format!("{kind} {name} in {namespace}")
        };
        let leaving = |meta: &ObjectMeta| ("deletionTimestamp", json!(meta.deletion_timestamp));
        let selector = case.replica_set.spec.as_ref().map(|spec| &spec.selector);
        let owners: Vec<Value> = pod.owner_references.iter().flatten().map(words::owner).collect();
        let labels = pod.labels.clone().unwrap_or_default();
        let template = case.replica_set.spec.as_ref().and_then(|spec| spec.template.as_ref());
        let template = template.and_then(|template| template.metadata.as_ref()?.labels.clone());
        let replicas = case.replica_set.spec.as_ref().and_then(|spec| spec.replicas);
        let fields = [("uid", json!(set.uid)), leaving(set), ("finalizers", json!(set.finalizers))];
        let fields = fields.into_iter().chain([("labels", json!(set.labels)), ("replicas", json!(replicas))]);
        let fields =
            fields.into_iter().chain([("selector", json!(selector)), ("labels of the template", json!(template))]);
        let set = words::object(&name("ReplicaSet", set), fields);
        let node = case.pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref());
        let fields = [leaving(pod), ("finalizers", json!(pod.finalizers)), ("labels", json!(labels))];
        let fields = fields.into_iter().chain([("annotations", json!(pod.annotations)), ("nodeName", json!(node))]);
        let fields = fields.into_iter().chain([("ownerReferences", json!(owners))]);
        format!("{set}\n{}", words::object(&name("Pod", pod), fields))
    }
}

/// Simple things come first, so the first case that fails is a smallest one.
fn cases() -> Vec<Case> {
    let exists = |key: &str| json!({"key": key, "operator": "Exists"});
    let selectors = [
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
        // Many of each, of which the last decides.
        json!({"matchLabels": {"app": "web", "arch": "arm", "env": "prod", "tier": "front"},
               "matchExpressions": [exists("app"), exists("arch"), in_("tier", "In"),
                   {"key": "zone", "operator": "In", "values": ["a", "b", "c", "d"]}]}),
    ];
    let labels = [
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
    ];
    let owners = NAMES.map(|(name, _, uid)| owners(name, uid));
    let (each, mut cases) = (owners[0].len(), Vec::new());
    for (n, (away, leaving, dying)) in (0..8).map(|n| (n, (n & 1 != 0, n & 2 != 0, n & 4 != 0))) {
        let time = |set: bool| if set { json!("2026-01-01T00:00:00Z") } else { Value::Null };
        for turn in 0..selectors.len() * each * labels.len() {
            let (row, at) = (turn / labels.len(), turn % labels.len());
            let (selector, whose) = (&selectors[row / each], row % each);
            // Many labels are for the selector that asks for many, where nobody is leaving.
            let is_long = row / each == USUAL.0;
            if is_long != (at >= USUAL.1) || is_long && n > 0 {
                continue;
            }
            // All of them where nobody is leaving, and at home; else some, and others each time.
            if n > 0 && (turn + n) % 7 != 0 {
                continue;
            }
            // What names and uids are does not matter: no two ReplicaSets have the same.
            let who = (turn + row) % NAMES.len();
            let ((name, home, uid), owners) = (NAMES[who], &owners[who][whose]);
            let namespace = if away { ["other", NAMES[(who + 1) % 2].1][turn % 2] } else { home };
            let meta = json!({"name": name, "namespace": home, "uid": uid, "deletionTimestamp": time(leaving)});
            let rs = json!({"metadata": meta, "spec": {"selector": selector, "template": {}}});
            let called = if turn % 7 == 3 { "by-hand".to_owned() } else { format!("{name}-x") };
            let meta = json!({"name": called, "namespace": namespace, "labels": labels[at],
                              "ownerReferences": owners, "deletionTimestamp": time(dying)});
            let case = json!({"replica_set": rs, "pod": {"metadata": meta}});
            cases.push(serde_json::from_value(case).expect("the cases above are objects"));
        }
    }
    cases.extend(many_owners());
    cases.extend(besides());
    cases.extend(alike());
    cases.retain(is_decided);
    cases
}

/// Pods with so many owners that the one that decides is far behind.
fn many_owners() -> impl Iterator<Item = Case> {
    let [(name, home, uid), ..] = NAMES;
    let others: Vec<Value> = (3..9).map(|n| owner(&format!("set-{n}"), &format!("uid-3{n}"), false)).collect();
    let last = [owner(name, uid, true), owner("db", "uid-2", true), owner(name, uid, false)];
    let whose = last.into_iter().flat_map(move |last| {
        let after = |few: usize| [&others[..few], std::slice::from_ref(&last)].concat();
        [after(3), after(4), after(6)]
    });
    whose.flat_map(move |owners| {
        ["web", "db"].map(|app| {
            let meta = json!({"name": name, "namespace": home, "uid": uid});
            let set = json!({"metadata": meta, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {}}});
            let meta = json!({"name": "web-x", "namespace": home, "labels": {"app": app}, "ownerReferences": owners});
            serde_json::from_value(json!({"replica_set": set, "pod": {"metadata": meta}}))
                .unwrap_or_else(|error| unreachable!("two objects: {error}"))
        })
    })
}

/// Where something else is said too: what the template has beside the selector, finalizers, other names and capitals.
fn besides() -> Vec<Case> {
    let [(name, home, uid), ..] = NAMES;
    let selector = json!({"matchLabels": {"app": "web"}, "matchExpressions": [in_("tier", "NotIn")]});
    let (plain, mine) = (json!({"app": "web"}), json!([owner(name, uid, true)]));
    let labels =
        [plain, json!({"app": "Web"}), json!({"app": "web", "tier": "Front"}), json!({"app": "web", "tier": "front"})];
    let more = [json!({}), json!({"finalizers": ["example.com/keep"]}), json!({"generateName": "db-", "name": "db-x"})];
    let template = json!({"metadata": {"labels": {"app": "web", "release": "7"}}});
    let mut all = Vec::new();
    for (labels, owners) in labels.iter().flat_map(|labels| [(labels, &Value::Null), (labels, &mine)]) {
        for (of_set, of_pod) in more.iter().flat_map(|pod| [(&more[0], pod), (&more[1], pod)]) {
            let with = |mut meta: Value, more: &Value| {
                more.as_object().into_iter().flatten().for_each(|(key, value)| meta[key] = value.clone());
                meta
            };
            let set = with(json!({"name": name, "namespace": home, "uid": uid}), of_set);
            let pod = json!({"name": "web-x", "namespace": home, "labels": labels, "ownerReferences": owners});
            let case = json!({"replica_set": {"metadata": set, "spec": {"selector": selector, "template": template}},
                "pod": {"metadata": with(pod, of_pod)}});
            all.push(serde_json::from_value(case).unwrap_or_else(|error| unreachable!("two objects: {error}")));
        }
    }
    all
}

/// What is nearly the same is another: a namespace, a uid, a key or a value that only begins or ends alike. And what else may be
/// said of a set or a Pod does not matter.
fn alike() -> Vec<Case> {
    let [(name, home, uid), ..] = NAMES;
    let web = json!({"matchLabels": {"app": "web"}});
    let plain = json!({"app": "web"});
    let mut all = Vec::new();
    let mut ask = |set: Value, spec: Value, pod: Value| {
        let case = json!({"replica_set": {"metadata": set, "spec": spec}, "pod": pod});
        all.push(serde_json::from_value(case).unwrap_or_else(|error| unreachable!("two objects: {error}")));
    };
    let set = |name: &str, home: &str, uid: &str| json!({"name": name, "namespace": home, "uid": uid});
    let spec = |selector: &Value| json!({"selector": selector, "template": {}});
    let pod = |home: &str, labels: &Value, owners: Value| json!({"metadata": {"name": "web-x", "namespace": home, "labels": labels, "ownerReferences": owners}});
    for (one, other) in [("prod", "prod-2"), ("prod", "my-prod")] {
        ask(set(name, one, uid), spec(&web), pod(other, &plain, Value::Null));
        ask(set(name, other, uid), spec(&web), pod(one, &plain, Value::Null));
    }
    for labels in [&plain, &json!({"app": "db"})] {
        for (mine, its) in [("uid-12", "uid-1"), ("uid-1", "uid-12"), ("uid-12", "id-12"), ("uid-1", "my-uid-1")] {
            ask(set(name, home, mine), spec(&web), pod(home, labels, json!([owner(name, its, true)])));
        }
        // Whatever the reference calls it, and whether or not it is waited for.
        ask(set(name, home, uid), spec(&web), pod(home, labels, json!([owner("website", uid, true)])));
        for (name, its) in [(name, uid), ("db", "uid-2")] {
            let mut lets_go = owner(name, its, true);
            lets_go["blockOwnerDeletion"] = json!(false);
            ask(set("web", home, uid), spec(&web), pod(home, labels, json!([lets_go])));
            let others = (3..7).map(|n| owner(&format!("set-{n}"), &format!("uid-3{n}"), false));
            let owners: Vec<Value> = std::iter::once(owner(name, its, true)).chain(others).collect();
            ask(set("web", home, uid), spec(&web), pod(home, labels, json!(owners)));
        }
    }
    let among = |operator: &str| json!({"matchLabels": {"app": "web"}, "matchExpressions": [in_("tier", operator)]});
    for selector in [&web, &among("In"), &among("NotIn")] {
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
                ask(set(name, home, uid), spec(selector), pod(home, &labels, owners));
            }
        }
    }
    for (labels, owners) in [
        (&plain, Value::Null),
        (&plain, json!([owner(name, uid, true)])),
        (&json!({"app": "db"}), json!([owner(name, uid, true)])),
    ] {
        let none = json!({"selector": web, "template": {}, "replicas": 0});
        ask(set(name, home, uid), none, pod(home, labels, owners.clone()));
        let mut more = pod(home, labels, owners);
        (more["metadata"]["annotations"], more["spec"]) =
            (json!({"note": "by hand"}), json!({"containers": [], "nodeName": "node-1"}));
        let mut labelled = set(name, home, uid);
        labelled["labels"] = json!({"team": "blue"});
        ask(labelled, spec(&web), more);
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
    !mine || (home && (!dying || rule(case, None) == Claim::Keep))
}

fn in_(key: &str, operator: &str) -> Value {
    json!({"key": key, "operator": operator, "values": ["front", "middle"]})
}

fn owner(name: &str, uid: &str, controller: bool) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid, "controller": controller})
}

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    ByName,
    AnyOwner,
    FirstOwner,
    IgnoresOwner,
    IgnoresExpressions,
    AnyLabel,
    NeedsKey,
    TakesDying,
    TakesWhenDying,
    LetsGoWhenDying,
    CrossesNamespaces,
    NeverReleases,
    NeverAdopts,
    FirstExpression,
    FirstValue,
    UnsaidControls,
    ValueIgnored,
    AnyOtherOwner,
    EmptyIsNone,
    TwoExpressions,
    AnyExpression,
    OwnKind,
    ThreeOwners,
    FinalizerIsLeaving,
    ByTemplate,
    AnyCase,
    OwnNames,
    NamespaceAlike,
    UidAlike,
    NameToo,
    KeyAlike,
    NoneSelected,
}

/// What learners really write, and how to say so.
const MISTAKES: &[(&str, Slip)] = &[
    ("an owner is recognised by its name; a new ReplicaSet of the same name has another uid", Slip::ByName),
    ("any owner reference counts; only the one with controller: true does", Slip::AnyOwner),
    ("only the first owner reference is looked at", Slip::FirstOwner),
    ("labels alone decide; the Pods of others are taken", Slip::IgnoresOwner),
    ("matchExpressions are not looked at", Slip::IgnoresExpressions),
    ("one equal label is taken for a match; every one must be equal", Slip::AnyLabel),
    ("NotIn asks for the label to be there; it also holds when the label is absent", Slip::NeedsKey),
    ("a Pod that is being deleted is adopted", Slip::TakesDying),
    ("a ReplicaSet that is being deleted still adopts", Slip::TakesWhenDying),
    ("a ReplicaSet that is being deleted still releases", Slip::LetsGoWhenDying),
    ("a Pod of another namespace is adopted", Slip::CrossesNamespaces),
    ("a Pod that is no longer selected is kept", Slip::NeverReleases),
    ("a Pod that nobody controls is not adopted", Slip::NeverAdopts),
    ("only the first of the matchExpressions is looked at", Slip::FirstExpression),
    ("only the first value of In and NotIn is looked at", Slip::FirstValue),
    ("an owner that does not say `controller` is taken for the controller", Slip::UnsaidControls),
    ("only the keys of matchLabels are looked at, not their values", Slip::ValueIgnored),
    ("a Pod with another owner is not adopted, though that one does not control it", Slip::AnyOtherOwner),
    ("a label with an empty value is taken for none", Slip::EmptyIsNone),
    ("only the first two of the matchExpressions are looked at", Slip::TwoExpressions),
    ("one of the matchExpressions is enough; every one must hold", Slip::AnyExpression),
    ("only an owner of the own kind is looked at; Pods that another kind controls are taken", Slip::OwnKind),
    ("only the first three owner references are looked at", Slip::ThreeOwners),
    ("what has a finalizer is taken for something that is being deleted", Slip::FinalizerIsLeaving),
    ("the labels of the template are asked for; those of the selector decide", Slip::ByTemplate),
    ("capitals in the value of a label are not looked at", Slip::AnyCase),
    ("a Pod that has another name than its own is not adopted; names do not matter", Slip::OwnNames),
    ("a namespace that only begins as the own one does is taken for it", Slip::NamespaceAlike),
    ("a uid that only begins as the own one does is taken for it", Slip::UidAlike),
    ("an owner is recognised by its uid and its name; the uid alone tells it", Slip::NameToo),
    ("a label whose key only ends alike is taken for the one that is asked for", Slip::KeyAlike),
    ("a ReplicaSet of no replicas selects nothing; how many it wants does not matter here", Slip::NoneSelected),
];

/// The rule, with at most one part of it wrong.
fn rule(case: &Case, slip: Option<Slip>) -> Claim {
    let is = |one| slip == Some(one);
    let (mine, pod) = (&case.replica_set.metadata, &case.pod.metadata);
    let owners = pod.owner_references.as_deref().unwrap_or_default();
    let controller = match slip {
        Some(Slip::IgnoresOwner) => owners.iter().find(|owner| Some(&owner.uid) == mine.uid.as_ref()),
        Some(Slip::AnyOwner) => {
            owners.iter().find(|owner| Some(&owner.uid) == mine.uid.as_ref()).or_else(|| owners.first())
        }
        Some(Slip::UnsaidControls) => owners.iter().find(|owner| owner.controller != Some(false)),
        Some(Slip::OwnKind) => controller_of(pod).filter(|owner| owner.kind == "ReplicaSet"),
        Some(Slip::ThreeOwners) => owners.iter().take(3).find(|owner| owner.controller == Some(true)),
        Some(Slip::FirstOwner) => owners.first().filter(|owner| owner.controller == Some(true)),
        _ => controller_of(pod),
    };
    let selected = is_selected(case, slip);
    let goes = |meta: &ObjectMeta| {
        meta.deletion_timestamp.is_some() || is(Slip::FinalizerIsLeaving) && meta.finalizers.is_some()
    };
    let leaving = goes(mine);
    let Some(owner) = controller else {
        let may = (!leaving || is(Slip::TakesWhenDying))
            && (!goes(pod) || is(Slip::TakesDying))
            && (!is(Slip::OwnNames) || begins(pod.name.as_ref(), mine.name.as_ref()))
            && (pod.namespace == mine.namespace
                || is(Slip::CrossesNamespaces)
                || is(Slip::NamespaceAlike) && begins(pod.namespace.as_ref(), mine.namespace.as_ref()))
            && !(is(Slip::AnyOtherOwner) && owners.iter().any(|owner| Some(&owner.uid) != mine.uid.as_ref()))
            && !is(Slip::NeverAdopts);
        return if selected && may { Claim::Adopt } else { Claim::Leave };
    };
    let by_name = Some(&owner.name) == mine.name.as_ref();
    let same = match slip {
        Some(Slip::ByName) => by_name,
        Some(Slip::UidAlike) => begins(mine.uid.as_ref(), Some(&owner.uid)),
        _ => Some(&owner.uid) == mine.uid.as_ref() && (by_name || !is(Slip::NameToo)),
    };
    match (same, selected) {
        (false, _) => Claim::Leave,
        (true, true) => Claim::Keep,
        (true, false) if leaving && !is(Slip::LetsGoWhenDying) => Claim::Leave,
        (true, false) if is(Slip::NeverReleases) => Claim::Keep,
        (true, false) => Claim::Release,
    }
}

fn begins(long: Option<&String>, short: Option<&String>) -> bool {
    short.is_some_and(|short| long.is_some_and(|long| long.starts_with(short.as_str())))
}

fn is_selected(case: &Case, slip: Option<Slip>) -> bool {
    let mut labels = case.pod.metadata.labels.clone();
    if slip == Some(Slip::EmptyIsNone) {
        labels.iter_mut().for_each(|labels| labels.retain(|_, value| !value.is_empty()));
    }
    let labels = labels.as_ref();
    let Some(mut selector) = case.replica_set.spec.as_ref().map(|spec| spec.selector.clone()) else { return false };
    let has = |key: &str| labels.is_some_and(|labels| labels.contains_key(key));
    match slip {
        Some(Slip::NoneSelected) if case.replica_set.spec.as_ref().is_some_and(|spec| spec.replicas == Some(0)) => {
            return false;
        }
        Some(Slip::KeyAlike) => {
            let wanted = selector.match_labels.take().unwrap_or_default();
            let alike = |(key, value): (&String, &String)| {
                labels.is_some_and(|labels| labels.iter().any(|(its, has)| its.ends_with(key) && has == value))
            };
            return wanted.iter().all(alike) && selects(&selector, labels);
        }
        Some(Slip::IgnoresExpressions) => selector.match_expressions = None,
        Some(Slip::FirstExpression) => selector.match_expressions.iter_mut().for_each(|all| all.truncate(1)),
        Some(Slip::TwoExpressions) => selector.match_expressions.iter_mut().for_each(|all| all.truncate(2)),
        Some(Slip::FirstValue) => {
            let values = selector.match_expressions.iter_mut().flatten().flat_map(|part| &mut part.values);
            values.for_each(|values| values.truncate(1));
        }
        Some(Slip::ValueIgnored) => {
            let wanted = selector.match_labels.take().unwrap_or_default();
            return wanted.keys().all(|key| has(key)) && selects(&selector, labels);
        }
        Some(Slip::AnyLabel) => {
            let wanted = selector.match_labels.take().unwrap_or_default();
            let equal = |(key, value)| labels.is_some_and(|labels| labels.get(key) == Some(value));
            return wanted.iter().any(equal) && selects(&selector, labels);
        }
        Some(Slip::AnyExpression) => {
            let parts = selector.match_expressions.take().unwrap_or_default();
            let alone = |part| LabelSelector { match_expressions: Some(vec![part]), ..LabelSelector::default() };
            let holds = parts.is_empty() || parts.into_iter().any(|part| selects(&alone(part), labels));
            return holds && selects(&selector, labels);
        }
        Some(Slip::ByTemplate) => {
            let template = case.replica_set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            let wanted = template.and_then(|template| template.metadata.as_ref()?.labels.clone());
            return selects(&LabelSelector { match_labels: wanted, ..LabelSelector::default() }, labels);
        }
        Some(Slip::AnyCase) => {
            let small = |text: &mut String| *text = text.to_lowercase();
            let labels = labels.cloned().map(|mut labels| {
                labels.values_mut().for_each(small);
                labels
            });
            return selects(&selector, labels.as_ref());
        }
        Some(Slip::NeedsKey) => {
            let parts = selector.match_expressions.iter().flatten();
            if parts.filter(|part| part.operator == "NotIn").any(|part| !has(&part.key)) {
                return false;
            }
        }
        _ => {}
    }
    selects(&selector, labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::lab::function::check::<Ownership>("ownership");
    }
}
