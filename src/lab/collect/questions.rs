//! The objects that are asked about, and what there is besides.

use serde_json::{Value, json};

use crate::making::{TIME, read, with};
use exercise::collect::{Case, Item, is_namespaced};
use object::well_known::{FOREGROUND, ORPHAN};

/// Every owner and every pair of owners, of an object in each of its states; then what seldom is.
pub(super) fn all() -> Vec<Case> {
    let (existing, usual, mut all) = (existing(), dependents(), Vec::new());
    for (n, owners) in owners().iter().enumerate() {
        for (turn, state) in states().into_iter().enumerate() {
            let mut each = usual.clone();
            // Of several owners with some of the usual ones, others each time.
            if owners.len() > 1 {
                each.truncate([4, 4, 4, 4, 2, 1][owners.len().min(5)]);
                each = each.into_iter().skip((n + turn) % 4).take(1).collect();
            }
            for dependents in each {
                let item = item("Pod", Some("default"), "web-1", "uid-p", owners, &state);
                let mut others = existing.clone();
                others.push(item.clone());
                others.extend(dependents);
                all.push(Case { item, all: others });
            }
        }
        // An object that cannot have an owner in a namespace.
        if let [_] | [_, _] = owners.as_slice() {
            let node = item("Node", None, "node-9", "uid-n", owners, &json!({}));
            all.push(Case { all: [existing.clone(), vec![node.clone()]].concat(), item: node });
        }
    }
    all.extend(seldom());
    all
}

/// No owner, each one, each pair, and some longer lists.
fn owners() -> Vec<Vec<Value>> {
    let each = references();
    let some = |places: &[usize]| places.iter().map(|at| each[*at].clone()).collect();
    let mut owners: Vec<Vec<Value>> = vec![Vec::new()];
    owners.extend(each.iter().map(|one| vec![one.clone()]));
    let pairs = each.iter().flat_map(|one| each.iter().map(move |two| vec![one.clone(), two.clone()]));
    owners.extend(pairs.filter(|pair| pair[0] != pair[1]));
    owners.push(some(&[2, 4, 0]));
    owners.push(some(&[4, 1, 7]));
    // What is said of an owner is said in several fields, and all of them have to agree.
    owners.extend(misnamed().into_iter().map(|one| vec![one]));
    owners.extend(misnamed().into_iter().map(|one| vec![one, each[6].clone()]));
    owners.push(vec![owner("PersistentVolume", "disk", "uid-11", false)]);
    owners.push(some(&[2, 3, 7, 4]));
    owners.push(some(&[2, 3, 7, 0]));
    owners.push(some(&[2, 3, 7, 1, 6]));
    owners
}

/// Objects that are on their way in other ways, references that say other things, and what has no namespace.
fn seldom() -> impl Iterator<Item = Case> {
    [
        on_their_way(),
        many_dependents(),
        dependents_like_their_owner(),
        in_another_namespace(),
        finalizers_that_end_alike(),
        dependents_of_uids_alike(),
        owners_alike(),
        namespaces_alike(),
        finalizers_that_begin_alike(),
        the_last_finalizer(),
        owners_without_namespace(),
        references_that_say_less(),
        of_other_kinds(),
        many_of_each(),
        owners_that_leave(),
        owners_that_orphan(),
        owners_that_control_from_outside(),
        dependents_of_a_node(),
    ]
    .into_iter()
    .flatten()
}

/// The object among those that are always there, and these.
fn ask(item: &Item, others: &[Item]) -> Case {
    Case { item: item.clone(), all: [existing(), vec![item.clone()], others.to_vec()].concat() }
}

/// The Pod that is asked about.
fn web(owners: &[Value], more: &Value) -> Item {
    item("Pod", Some("default"), "web-1", "uid-p", owners, more)
}

/// What it owns.
fn notes(block: bool) -> Item {
    item("ConfigMap", Some("default"), "notes", "uid-c", &[own(block)], &json!({}))
}

/// One of the [`references`].
fn reference(at: usize) -> Value {
    references().swap_remove(at)
}

fn on_their_way() -> Vec<Case> {
    let mut all = Vec::new();
    for state in [json!({"deletionTimestamp": TIME}), leaving(ORPHAN)] {
        for owners in [vec![], vec![reference(2)], vec![reference(0)]] {
            all.push(ask(&web(&owners, &state), &[]));
            all.extend([true, false].map(|block| ask(&web(&owners, &state), &[notes(block)])));
        }
    }
    all
}

/// So many dependents that the one that decides is far behind.
fn many_dependents() -> Vec<Case> {
    let note = |n: usize, block: bool| {
        let name = ('a'..='z').nth(n).unwrap_or_default().to_string();
        dependent(&name, &[own(block)])
    };
    let lengths = [3, 4, 6].into_iter().flat_map(|few| [(few, true), (few, false)]);
    let cases = lengths.map(|(few, last)| {
        let notes: Vec<Item> = (0..few).map(|n| note(n, false)).chain([note(few, last)]).collect();
        ask(&web(&[], &leaving(FOREGROUND)), &notes)
    });
    cases.collect()
}

/// Dependents that are called as their owner is, or are of its kind.
fn dependents_like_their_owner() -> Vec<Case> {
    let mut all = Vec::new();
    for (kind, name) in [("ConfigMap", "web-1"), ("Pod", "web-2")] {
        for block in [true, false] {
            let dependent = item(kind, Some("default"), name, "uid-c", &[own(block)], &json!({}));
            let of = |at: usize| web(&[reference(at)], &json!({}));
            let owners = [web(&[], &leaving(FOREGROUND)), of(4), of(2)];
            all.extend(owners.map(|item| ask(&item, std::slice::from_ref(&dependent))));
        }
    }
    all
}

/// In another namespace, where an owner of the same name is another.
fn in_another_namespace() -> Vec<Case> {
    let there = item("ReplicaSet", Some("prod"), "web", "uid-14", &[], &json!({}));
    let cases = ["uid-14", "uid-1"].into_iter().flat_map(|uid| {
        let owners = [owner("ReplicaSet", "web", uid, true)];
        let pod = item("Pod", Some("prod"), "web-1", "uid-p", &owners, &json!({}));
        [ask(&pod, &[]), ask(&pod, std::slice::from_ref(&there))]
    });
    cases.collect()
}

/// A Pod with these finalizers, there and leaving, under owners that are gone or not.
fn with_finalizers(finalizers: &[&str], more: impl Fn(&Value) -> Vec<Case>) -> Vec<Case> {
    let states = [json!({"finalizers": finalizers}), leaving_with(finalizers)];
    let cases = states.iter().flat_map(|state| {
        let usual = [0, 2, 4].map(|at| ask(&web(&[reference(at)], state), &[notes(true)]));
        usual.into_iter().chain(more(state))
    });
    cases.collect()
}

/// Finalizers of others, whose names end alike.
fn finalizers_that_end_alike() -> Vec<Case> {
    let alike = ["example.com/orphan", "example.com/foregroundDeletion"];
    let mut all = with_finalizers(&alike, |state| vec![ask(&web(&[reference(2)], state), &[])]);
    let slow = item("ReplicaSet", Some("default"), "alike", "uid-15", &[], &leaving_with(&alike));
    all.push(ask(&web(&[owner("ReplicaSet", "alike", "uid-15", true)], &json!({})), &[slow]));
    all
}

fn dependents_of_uids_alike() -> Vec<Case> {
    let cases = ["uid-p2", "uid-", "my-uid-p"].into_iter().flat_map(|uid| {
        let other = by("web-1", uid, Some(true));
        let dependents = [item("ConfigMap", Some("default"), "notes", "uid-c", &[other], &json!({}))];
        [web(&[], &leaving(FOREGROUND)), web(&[reference(4)], &json!({}))].map(|item| ask(&item, &dependents))
    });
    cases.collect()
}

/// References whose names or uids begin like those of what is there.
fn owners_alike() -> Vec<Case> {
    let named = [("web", "uid-10"), ("web", "uid-"), ("web-2", "uid-1"), ("we", "uid-1")];
    let cases = named.into_iter().flat_map(|(name, uid)| {
        let alike = owner("ReplicaSet", name, uid, true);
        [vec![alike.clone()], vec![alike, reference(6)]].map(|owners| ask(&web(&owners, &json!({})), &[]))
    });
    cases.collect()
}

/// Namespaces that begin or end alike, of an owner and of the object itself.
fn namespaces_alike() -> Vec<Case> {
    let cases = ["default-2", "def", "my-default"].into_iter().flat_map(|namespace| {
        let far = item("ReplicaSet", Some(namespace), "far", "uid-16", &[], &json!({}));
        let pod = item("Pod", Some(namespace), "web-1", "uid-p", &[reference(0)], &json!({}));
        [ask(&web(&[owner("ReplicaSet", "far", "uid-16", true)], &json!({})), &[far]), ask(&pod, &[])]
    });
    cases.collect()
}

fn finalizers_that_begin_alike() -> Vec<Case> {
    with_finalizers(&["orphan.example.com/keep", "foregroundDeletion.example.com/keep"], |_| Vec::new())
}

/// Of several finalizers the last one matters.
fn the_last_finalizer() -> Vec<Case> {
    let last = ["example.com/one", "example.com/two", "example.com/three", FOREGROUND];
    let mut all = vec![ask(&web(&[reference(2)], &json!({"finalizers": last})), &[])];
    all.extend([true, false].map(|block| ask(&web(&[], &leaving_with(&last)), &[notes(block)])));
    all
}

/// Owners of other kinds that have no namespace, and whether they are there.
fn owners_without_namespace() -> Vec<Case> {
    let cases = ["Namespace", "PriorityClass", "StorageClass"].into_iter().flat_map(|kind| {
        let there = [item(kind, None, "base", "uid-17", &[], &json!({}))];
        let owners = [owner(kind, "base", "uid-17", false)];
        let (dependent, node) = (web(&owners, &json!({})), item("Node", None, "node-9", "uid-n", &owners, &json!({})));
        [ask(&dependent, &there), ask(&dependent, &[]), ask(&node, &there)]
    });
    cases.collect()
}

/// What a reference says besides does not matter.
fn references_that_say_less() -> Vec<Case> {
    let references = [0, 5, 8].into_iter().flat_map(|at| [(at, json!(false)), (at, Value::Null)]);
    let cases = references.flat_map(|(at, block)| {
        let mut one = reference(at);
        (one["blockOwnerDeletion"], one["controller"]) = (block, Value::Null);
        let both = web(&[reference(2), one.clone()], &json!({}));
        [ask(&web(&[one], &json!({})), &[]), ask(&both, &[notes(true)])]
    });
    cases.collect()
}

/// Nor does the kind of the object matter, or its namespace.
fn of_other_kinds() -> Vec<Case> {
    let cases = ["Secret", "Namespace", "PersistentVolumeClaim"].into_iter().flat_map(|kind| {
        let namespace = is_namespaced(kind).then_some("kube-system");
        [6, 7].map(|at| ask(&item(kind, namespace, "thing", "uid-p", &[reference(at)], &json!({})), &[]))
    });
    cases.collect()
}

/// Many of each; the last one decides.
fn many_of_each() -> Vec<Case> {
    let gone = |n: usize| owner("ReplicaSet", &format!("gone-{n}"), &format!("uid-g{n}"), false);
    let of = |last: usize| -> Vec<Value> { (0..5).map(gone).chain([reference(last)]).collect() };
    let mut all: Vec<Case> = [0, 2, 4].map(|last| ask(&web(&of(last), &json!({})), &[])).into();
    let other = |n: usize| item("ConfigMap", Some("default"), &format!("c-{n}"), &format!("uid-c{n}"), &[], &json!({}));
    let crowd: Vec<Item> = (0..40).map(other).collect();
    let with = |last: Item| [&crowd[..], &[last]].concat();
    all.extend([true, false].map(|block| ask(&web(&[], &leaving(FOREGROUND)), &with(notes(block)))));
    let far = item("ReplicaSet", Some("default"), "late", "uid-18", &[], &json!({}));
    all.push(ask(&web(&[owner("ReplicaSet", "late", "uid-18", true)], &json!({})), &with(far)));
    all
}

/// In its grace period an owner is still there; and an owner that waits does so with any `blockOwnerDeletion` in a reference.
fn owners_that_leave() -> Vec<Case> {
    let set = item("ReplicaSet", Some("default"), "brief", "uid-12", &[], &json!({"deletionTimestamp": TIME}));
    let mut all = vec![ask(&web(&[owner("ReplicaSet", "brief", "uid-12", true)], &json!({})), &[set])];
    for said in [Value::Null, json!(false)] {
        for (name, uid) in [("waits", "uid-3"), ("busy", "uid-8")] {
            let waits = with(owner("ReplicaSet", name, uid, true), &json!({"blockOwnerDeletion": said}));
            for owners in [vec![waits.clone()], vec![waits.clone(), reference(0)]] {
                all.push(ask(&web(&owners, &json!({})), &[]));
                all.push(ask(&web(&owners, &json!({})), &[notes(true)]));
            }
        }
    }
    all
}

/// An owner that is to leave its dependents behind is there until it has: then its reference is gone as well.
fn owners_that_orphan() -> Vec<Case> {
    let mut all = Vec::new();
    for finalizers in [&[ORPHAN][..], &["example.com/backup", ORPHAN], &[ORPHAN, "example.com/backup"]] {
        for (kind, namespace) in [("ReplicaSet", Some("default")), ("Node", None)] {
            let leaves = [item(kind, namespace, "parent", "uid-20", &[], &leaving_with(finalizers))];
            let by = owner(kind, "parent", "uid-20", true);
            let beside = [vec![], vec![reference(0)], vec![reference(2)], vec![reference(4)]];
            for owners in beside.map(|others| [vec![by.clone()], others].concat()) {
                all.extend(states().iter().map(|state| ask(&web(&owners, state), &leaves)));
            }
        }
    }
    all
}

/// What is in a namespace may be controlled by what is in none.
fn owners_that_control_from_outside() -> Vec<Case> {
    let cases = [("node-1", "uid-5"), ("node-2", "uid-6")].into_iter().flat_map(|(name, uid)| {
        let by = owner("Node", name, uid, true);
        let beside = [vec![], vec![reference(0)], vec![reference(2)], vec![reference(4)]];
        beside.map(|others| {
            let owners = [vec![by.clone()], others].concat();
            [ask(&web(&owners, &json!({})), &[]), ask(&web(&owners, &json!({})), &[notes(true)])]
        })
    });
    cases.flatten().collect()
}

/// A node's mirror Pods are in namespaces, and the node in none.
fn dependents_of_a_node() -> Vec<Case> {
    let mut all = Vec::new();
    for block in [true, false] {
        let node =
            json!({"apiVersion": "v1", "kind": "Node", "name": "node-9", "uid": "uid-n", "blockOwnerDeletion": block});
        let mirror = item("Pod", Some("kube-system"), "proxy-node-9", "uid-m", &[node], &json!({}));
        for state in states() {
            let node = item("Node", None, "node-9", "uid-n", &[], &state);
            all.extend([ask(&node, &[]), ask(&node, std::slice::from_ref(&mirror))]);
        }
        // Its owner waits, and has no namespace either.
        let waits = item("Node", None, "node-3", "uid-13", &[], &leaving(FOREGROUND));
        let owners = [owner("Node", "node-3", "uid-13", false)];
        let node = item("Node", None, "node-9", "uid-n", &owners, &json!({}));
        all.push(ask(&node, &[waits.clone(), mirror]));
        all.push(ask(&web(&owners, &json!({})), &[waits, notes(block)]));
    }
    all
}

fn item(kind: &str, namespace: Option<&str>, name: &str, uid: &str, owners: &[Value], more: &Value) -> Item {
    let meta = json!({"name": name, "namespace": namespace, "uid": uid, "ownerReferences": owners});
    Item { kind: kind.to_owned(), metadata: read(with(meta, more)) }
}

/// Leaving, with this finalizer.
fn leaving(finalizer: &str) -> Value {
    leaving_with(&[finalizer])
}

fn leaving_with(finalizers: &[&str]) -> Value {
    json!({"deletionTimestamp": TIME, "finalizers": finalizers})
}

/// The owners that are there.
fn existing() -> Vec<Item> {
    let set = |namespace, name, uid, more: Value| item("ReplicaSet", Some(namespace), name, uid, &[], &more);
    vec![
        set("default", "web", "uid-1", json!({})),
        set("other", "far", "uid-2", json!({})),
        set("default", "waits", "uid-3", leaving(FOREGROUND)),
        set("default", "slow", "uid-4", leaving("example.com/backup")),
        // It is to wait for its dependents once it is deleted.
        set("default", "ready", "uid-7", json!({"finalizers": [FOREGROUND]})),
        set("default", "busy", "uid-8", leaving_with(&["example.com/backup", FOREGROUND])),
        item("Node", None, "node-1", "uid-5", &[], &json!({})),
        item("PersistentVolume", None, "disk", "uid-11", &[], &json!({})),
    ]
}

fn owner(kind: &str, name: &str, uid: &str, controller: bool) -> Value {
    let version = match kind {
        "Node" | "ConfigMap" | "PersistentVolume" | "Namespace" => "v1",
        "PriorityClass" => "scheduling.k8s.io/v1",
        "StorageClass" => "storage.k8s.io/v1",
        _ => "apps/v1",
    };
    json!({"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": controller,
        "blockOwnerDeletion": true})
}

/// References that name an object that is there wrongly: by another name, or another kind.
fn misnamed() -> Vec<Value> {
    vec![
        owner("ReplicaSet", "website", "uid-1", true),
        owner("Deployment", "web", "uid-1", true),
        owner("ConfigMap", "web", "uid-1", false),
        owner("Node", "web", "uid-1", false),
    ]
}

/// References to owners that are there, replaced, gone, elsewhere or leaving.
fn references() -> Vec<Value> {
    vec![
        owner("ReplicaSet", "web", "uid-1", true),
        owner("ReplicaSet", "web", "uid-0", true),
        owner("ReplicaSet", "gone", "uid-9", true),
        owner("ReplicaSet", "far", "uid-2", true),
        owner("ReplicaSet", "waits", "uid-3", true),
        owner("ReplicaSet", "slow", "uid-4", false),
        owner("Node", "node-1", "uid-5", false),
        owner("Node", "node-2", "uid-6", false),
        owner("ReplicaSet", "ready", "uid-7", true),
        owner("ReplicaSet", "busy", "uid-8", false),
    ]
}

/// What the object itself can be like.
fn states() -> Vec<Value> {
    vec![
        json!({}),
        json!({"finalizers": [ORPHAN]}),
        json!({"finalizers": ["example.com/backup", FOREGROUND]}),
        leaving("example.com/backup"),
        leaving(FOREGROUND),
        leaving_with(&[FOREGROUND, "example.com/backup"]),
    ]
}

/// A reference to the object with this name and uid, a Pod.
fn by(name: &str, uid: &str, block: Option<bool>) -> Value {
    let mut owner = json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid});
    block.into_iter().for_each(|block| owner["blockOwnerDeletion"] = json!(block));
    owner
}

/// A reference to the Pod that is asked about.
fn own(block: bool) -> Value {
    by("web-1", "uid-p", Some(block))
}

/// A dependent with these owners.
fn dependent(name: &str, owners: &[Value]) -> Item {
    item("ConfigMap", Some("default"), name, &format!("uid-{name}"), owners, &json!({}))
}

/// What the object itself may own; the first four are the usual ones.
fn dependents() -> Vec<Vec<Item>> {
    let other_kind = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "uid-p", "blockOwnerDeletion": true});
    let of = |block: bool, more: Value| item("ConfigMap", Some("default"), "notes", "uid-c", &[own(block)], &more);
    vec![
        Vec::new(),
        vec![of(true, json!({}))],
        vec![of(false, json!({}))],
        vec![of(true, leaving("example.com/backup"))],
        vec![of(true, json!({"deletionTimestamp": TIME}))],
        // Nothing is said of waiting.
        vec![dependent("quiet", &[by("web-1", "uid-p", None)])],
        // It was of another Pod that had this name.
        vec![dependent("old", &[by("web-1", "uid-old", Some(true))])],
        vec![dependent("shared", &[by("web-0", "uid-q", Some(false)), by("web-2", "uid-r", None), own(true)])],
        vec![dependent("shared", &[by("web-0", "uid-q", Some(true)), own(false)])],
        vec![dependent("shared", &[own(true), by("web-0", "uid-q", Some(false))])],
        vec![dependent("one", &[own(false)]), dependent("two", &[own(true)])],
        vec![
            dependent("one", &[by("web-1", "uid-p", None)]),
            dependent("two", &[own(true)]),
            dependent("three", &[own(false)]),
        ],
        // The last of many; one that calls it by another name, and one by another kind.
        vec![dependent("one", &[own(false)]), dependent("two", &[own(false)]), dependent("three", &[own(true)])],
        vec![dependent("renamed", &[by("web", "uid-p", Some(true))])],
        vec![dependent("other-kind", &[other_kind])],
    ]
}
