//! Exercise 17: one look of the garbage collector at one object. Mirrors `attemptToDeleteItem` of
//! `pkg/controller/garbagecollector`.
//!
//! A Pod is asked about with every owner and every pair of owners out of eight that are there, gone, leaving or elsewhere;
//! itself there, leaving or waiting; with and without objects of its own.
//!
//! Left out: circles of objects that wait for one another, and kinds that the API server does not know.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use super::function::Function;
use super::{Exercise, Judging, controlling, words};
use crate::controllers::garbage_collector::graph::owners_of;
use crate::exercise::collect::{Action, Case, Item, Propagation, is_namespaced};
use crate::object::meta::has_finalizer;
use crate::object::read::from_value;
use crate::object::well_known::{FOREGROUND, ORPHAN};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "17_collect",
    title: "What goes when its owner is gone?",
    outcome: "say which objects the garbage collector deletes, how, and which only lose a reference",
    needs: &["ownership"],
    hints: [
        "Begin with the object itself: is it being deleted, and does it wait for its dependents? Only then do its owners \
         matter. When is an owner there?",
        "An owner is there if an object of its kind, name and uid is, in the namespace of the dependent (or in none, if its \
         kind has none). It waits if it is being deleted with the finalizer foregroundDeletion. All others are gone.",
        "Being deleted: Leave; with foregroundDeletion RemoveFinalizer once no object with blockOwnerDeletion is left. No \
         owners: Leave. An owner there that does not wait: RemoveOwners of all the others, or Leave. None: Delete; Foreground \
         if an owner waits and there are dependents, else as the object's own finalizer says (orphan, foregroundDeletion), \
         else Background.",
    ],
    minutes: 40,
    judging: Judging::of_part::<Collecting>(controlling::with_collect),
};

pub(super) struct Collecting;

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    OrphansDie,
    ByName,
    ByUid,
    NamespacedNode,
    NodeMayDepend,
    OnlyController,
    AnyGone,
    KeepsReferences,
    RemovesGoneOnly,
    WaitingStays,
    LeavingIsGone,
    DeletesTwice,
    NeverLetsGo,
    AllBlock,
    NoneBlocks,
    LeavingIsNoBlock,
    AlwaysBackground,
    NotItsDependents,
    DependentsByName,
    FirstOwnerOfDependent,
    UnsaidBlocks,
    AnyName,
    AnyKind,
    FinalizerWaits,
    DependentsAtHome,
    WaitsIfBlocked,
    OrphanLetsGo,
    LeavesWithFinalizer,
    FinalizerAlike,
    DefaultNamespace,
    DependentsCalledSo,
    ThreeDependents,
    NotOfItsName,
    NotOfItsKind,
    KnownKinds,
    UidAlike,
    FinalizerBegins,
    OnlyBlocking,
    NamespaceAlike,
}

impl Function for Collecting {
    type Question = Case;
    type Answer = Action;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = &[
        ("an object without owners is deleted", Slip::OrphansDie),
        ("an owner is recognised by its name; a new one of the same name has another uid", Slip::ByName),
        ("an owner is looked for in all namespaces; it must be in that of the dependent", Slip::ByUid),
        ("an owner whose kind has no namespace is looked for in one", Slip::NamespacedNode),
        (
            "an object without namespace is deleted because of an owner in one, which can never be found",
            Slip::NodeMayDepend,
        ),
        ("only the owner with controller: true counts; every one keeps its dependents", Slip::OnlyController),
        ("an object goes when one of its owners is gone; it goes with the last", Slip::AnyGone),
        ("references to owners that are gone are left", Slip::KeepsReferences),
        ("references to owners that wait for their dependents are left", Slip::RemovesGoneOnly),
        ("an owner that waits for its dependents counts as one that stays", Slip::WaitingStays),
        ("an owner that is being deleted counts as gone; it may take its time", Slip::LeavingIsGone),
        ("what is being deleted already is deleted once more", Slip::DeletesTwice),
        ("what waits for its dependents is left alone, also when there are none any more", Slip::NeverLetsGo),
        ("all dependents are waited for, not those with blockOwnerDeletion", Slip::AllBlock),
        ("dependents are not waited for", Slip::NoneBlocks),
        ("a dependent that is being deleted is not waited for; it is still there", Slip::LeavingIsNoBlock),
        ("the object's own finalizers do not decide how it is deleted", Slip::AlwaysBackground),
        ("an owner waits, and the object's own dependents are not deleted before it", Slip::NotItsDependents),
        (
            "a dependent is recognised by its owner's name; one of an earlier object has another uid",
            Slip::DependentsByName,
        ),
        ("only the first owner of a dependent is looked at", Slip::FirstOwnerOfDependent),
        ("a dependent that does not say blockOwnerDeletion is waited for; only true is", Slip::UnsaidBlocks),
        ("an owner's name is not compared", Slip::AnyName),
        ("an owner's kind is not compared", Slip::AnyKind),
        ("an owner with foregroundDeletion counts as waiting, though nobody has deleted it", Slip::FinalizerWaits),
        (
            "dependents are looked for in its own namespace; what has none may have some in every namespace",
            Slip::DependentsAtHome,
        ),
        ("an owner counts as waiting only if the reference says blockOwnerDeletion", Slip::WaitsIfBlocked),
        ("the finalizer orphan is taken off; here that is done with foregroundDeletion only", Slip::OrphanLetsGo),
        ("what is being deleted counts so only if it has finalizers", Slip::LeavesWithFinalizer),
        ("a finalizer whose name only ends so is taken for the garbage collector's", Slip::FinalizerAlike),
        ("a dependent that calls its owner by another name is overlooked; the uid decides", Slip::DependentsCalledSo),
        (
            "an owner is looked for in the namespace default; it must be in that of the dependent",
            Slip::DefaultNamespace,
        ),
        ("only the first three dependents are looked at", Slip::ThreeDependents),
        ("a dependent that has its owner's name is taken for the owner itself", Slip::NotOfItsName),
        ("a dependent of its owner's kind is overlooked; what kind it is does not matter", Slip::NotOfItsKind),
        ("only some kinds are taken for ones without namespace; is_namespaced knows them all", Slip::KnownKinds),
        ("a dependent of an object whose uid only begins alike is taken for one's own", Slip::UidAlike),
        ("a finalizer whose name only begins so is taken for the garbage collector's", Slip::FinalizerBegins),
        (
            "an owner counts only if the reference says blockOwnerDeletion; every one keeps its dependents",
            Slip::OnlyBlocking,
        ),
        ("an owner in a namespace whose name only begins alike is taken", Slip::NamespaceAlike),
    ];

    fn questions() -> Vec<Case> {
        let each = references();
        let mut owners: Vec<Vec<Value>> = vec![Vec::new()];
        owners.extend(each.iter().map(|one| vec![one.clone()]));
        let pairs = each.iter().flat_map(|one| each.iter().map(move |two| vec![one.clone(), two.clone()]));
        owners.extend(pairs.filter(|pair| pair[0] != pair[1]));
        owners.push(vec![each[2].clone(), each[4].clone(), each[0].clone()]);
        owners.push(vec![each[4].clone(), each[1].clone(), each[7].clone()]);
        // What is said of an owner is said in several fields, and all of them have to agree.
        owners.extend(misnamed().into_iter().map(|one| vec![one]));
        owners.extend(misnamed().into_iter().map(|one| vec![one, each[6].clone()]));
        owners.push(vec![owner("PersistentVolume", "disk", "uid-11", false)]);
        owners.push(vec![each[2].clone(), each[3].clone(), each[7].clone(), each[4].clone()]);
        owners.push(vec![each[2].clone(), each[3].clone(), each[7].clone(), each[0].clone()]);
        owners.push([2, 3, 7, 1, 6].map(|at| each[at].clone()).to_vec());
        let (existing, usual, mut all) = (existing(), dependents(), Vec::new());
        for (n, owners) in owners.iter().enumerate() {
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
        all.extend(more());
        all
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Action {
        let is = |one| slip == Some(one);
        let meta = &case.item.metadata;
        let dependents = dependents_of(case, slip);
        let held = |meta: &ObjectMeta| meta.finalizers.iter().flatten().next().is_some();
        let leaves = meta.deletion_timestamp.is_some() && (held(meta) || !is(Slip::LeavesWithFinalizer));
        if leaves && !is(Slip::DeletesTwice) {
            let blocks = |(item, owner): &(&Item, &OwnerReference)| {
                (owner.block_owner_deletion.unwrap_or(is(Slip::UnsaidBlocks)) || is(Slip::AllBlock))
                    && (item.metadata.deletion_timestamp.is_none() || !is(Slip::LeavingIsNoBlock))
                    && !is(Slip::NoneBlocks)
            };
            let orphans = has(meta, ORPHAN, slip) && is(Slip::OrphanLetsGo);
            let waits = (has(meta, FOREGROUND, slip) || orphans) && !is(Slip::NeverLetsGo);
            return if waits && !dependents.iter().any(blocks) { Action::RemoveFinalizer } else { Action::Leave };
        }
        let owners: Vec<(&OwnerReference, Owner)> =
            owners_of(meta).iter().map(|owner| (owner, look_up(case, owner, slip))).collect();
        if (owners.is_empty() && !is(Slip::OrphansDie)) || owners.iter().any(|(_, how)| *how == Owner::Impossible) {
            return Action::Leave;
        }
        let counts = |owner: &OwnerReference| match slip {
            Some(Slip::OnlyController) => owner.controller == Some(true),
            Some(Slip::OnlyBlocking) => owner.block_owner_deletion == Some(true),
            _ => true,
        };
        let solid = owners.iter().any(|(owner, how)| *how == Owner::There && counts(owner));
        let any_gone = owners.iter().any(|(_, how)| *how == Owner::Gone);
        if solid && !(any_gone && is(Slip::AnyGone)) {
            let lost = |how: Owner| how == Owner::Gone || (how == Owner::Waits && !is(Slip::RemovesGoneOnly));
            let mut lost: Vec<String> =
                owners.iter().filter(|(_, how)| lost(*how)).map(|(owner, _)| owner.uid.clone()).collect();
            lost.sort();
            return match lost.is_empty() || is(Slip::KeepsReferences) {
                true => Action::Leave,
                false => Action::RemoveOwners(lost),
            };
        }
        let waits = owners.iter().any(|(_, how)| *how == Owner::Waits);
        Action::Delete(match () {
            () if waits && !dependents.is_empty() && !is(Slip::NotItsDependents) => Propagation::Foreground,
            () if is(Slip::AlwaysBackground) => Propagation::Background,
            () if has(meta, ORPHAN, slip) => Propagation::Orphan,
            () if has(meta, FOREGROUND, slip) => Propagation::Foreground,
            () => Propagation::Background,
        })
    }

    fn property(case: &Case, given: Option<&Action>) -> &'static str {
        match (Collecting::rule(case, None), given) {
            (_, None) => "every object gets an answer",
            (Action::Delete(_), Some(Action::Delete(_))) => "it is deleted the way its owners and finalizers ask for",
            (_, Some(Action::Delete(_))) => "what somebody still owns, or nobody ever did, is not deleted",
            (Action::Delete(_), _) => "what has no owner left is deleted",
            (Action::RemoveFinalizer, _) => "what waits for its dependents goes once none of them holds it up",
            (_, Some(Action::RemoveFinalizer)) => "what waits for its dependents does not go before them",
            (Action::RemoveOwners(_), _) => "of several owners those that are gone or wait are taken off",
            (Action::Leave, _) => "what is as it should be is left alone",
        }
    }

    fn show(case: &Case) -> String {
        let related = |other: &&Item| {
            let names = |one: &Item, other: &ObjectMeta| {
                owners_of(&one.metadata)
                    .iter()
                    .any(|owner| Some(&owner.name) == other.name.as_ref() || Some(&owner.uid) == other.uid.as_ref())
            };
            names(&case.item, &other.metadata) || names(other, &case.item.metadata)
        };
        let owners: Vec<Value> = owners_of(&case.item.metadata).iter().map(words::owner).collect();
        let owners = ("ownerReferences", if owners.is_empty() { Value::Null } else { json!(owners) });
        let others = || case.all.iter().filter(|one| **one != case.item);
        let mut text = words::object(&called(&case.item), fields(&case.item.metadata).into_iter().chain([owners]))
            + "\nthere are also:";
        for other in others().filter(related) {
            let fields = fields(&other.metadata).into_iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| format!("{name} {}", words::flow(&value)));
            let owners = owners_of(&other.metadata).iter().map(|owner| {
                let blocks = owner.block_owner_deletion.map_or("not given".to_owned(), |blocks| blocks.to_string());
                format!("owner {} with blockOwnerDeletion {blocks}", owner.uid)
            });
            text += &format!("\n  {}: {}", called(other), words::listed(fields.chain(owners)));
        }
        let rest = others().count() - others().filter(related).count();
        text + &format!("\n  {rest} that have nothing to do with it")
    }
}

/// `Pod web-1 in default`.
fn called(item: &Item) -> String {
    let place = item.metadata.namespace.as_ref().map_or(String::new(), |namespace| format!(" in {namespace}"));
    format!("{} {}{place}", item.kind, item.metadata.name.as_deref().unwrap_or_default())
}

/// What the collector looks at of an object itself.
fn fields(meta: &ObjectMeta) -> [(&'static str, Value); 3] {
    let ObjectMeta { uid, deletion_timestamp, finalizers, .. } = meta;
    [("uid", json!(uid)), ("deletionTimestamp", json!(deletion_timestamp)), ("finalizers", json!(finalizers))]
}

fn item(kind: &str, namespace: Option<&str>, name: &str, uid: &str, owners: &[Value], more: &Value) -> Item {
    let mut meta = json!({"name": name, "namespace": namespace, "uid": uid, "ownerReferences": owners});
    for (key, value) in more.as_object().into_iter().flatten() {
        meta[key] = value.clone();
    }
    Item { kind: kind.to_owned(), metadata: from_value(&meta).expect("it is metadata") }
}

/// Leaving, with this finalizer.
fn leaving(finalizer: &str) -> Value {
    leaving_with(&[finalizer])
}

fn leaving_with(finalizers: &[&str]) -> Value {
    json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers})
}

/// The owners that are there.
fn existing() -> Vec<Item> {
    let set = |namespace, name, uid, more: Value| item("ReplicaSet", Some(namespace), name, uid, &[], &more);
    vec![
        set("default", "web", "uid-1", json!({})),
        set("other", "far", "uid-2", json!({})),
        set("default", "waits", "uid-3", leaving(FOREGROUND)),
        set("default", "slow", "uid-4", leaving("example.com/backup")),
        // It is to wait for its dependents once somebody deletes it.
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

/// What the object itself may own; the first four are the usual ones.
fn dependents() -> Vec<Vec<Item>> {
    let by = |name: &str, uid: &str, block: Option<bool>| {
        let mut owner = json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid});
        block.into_iter().for_each(|block| owner["blockOwnerDeletion"] = json!(block));
        owner
    };
    let own = |block: bool| by("web-1", "uid-p", Some(block));
    let other_kind = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "uid-p", "blockOwnerDeletion": true});
    let with = |name: &str, owners: &[Value]| {
        item("ConfigMap", Some("default"), name, &format!("uid-{name}"), owners, &json!({}))
    };
    let of = |block: bool, more: Value| item("ConfigMap", Some("default"), "notes", "uid-c", &[own(block)], &more);
    vec![
        Vec::new(),
        vec![of(true, json!({}))],
        vec![of(false, json!({}))],
        vec![of(true, leaving("example.com/backup"))],
        // Nothing is said of waiting.
        vec![with("quiet", &[by("web-1", "uid-p", None)])],
        // It was of another Pod that had this name.
        vec![with("old", &[by("web-1", "uid-old", Some(true))])],
        vec![with("shared", &[by("web-0", "uid-q", Some(false)), by("web-2", "uid-r", None), own(true)])],
        vec![with("shared", &[by("web-0", "uid-q", Some(true)), own(false)])],
        vec![with("shared", &[own(true), by("web-0", "uid-q", Some(false))])],
        vec![with("one", &[own(false)]), with("two", &[own(true)])],
        vec![with("one", &[by("web-1", "uid-p", None)]), with("two", &[own(true)]), with("three", &[own(false)])],
        // The last of many; one that calls it by another name, and one by another kind.
        vec![with("one", &[own(false)]), with("two", &[own(false)]), with("three", &[own(true)])],
        vec![with("renamed", &[by("web", "uid-p", Some(true))])],
        vec![with("other-kind", &[other_kind])],
    ]
}

/// Objects that are on their way in other ways, references that say other things, and what has no namespace.
fn more() -> Vec<Case> {
    let mut all = Vec::new();
    let mut ask = |item: &Item, others: &[Item]| {
        let others = [existing(), vec![item.clone()], others.to_vec()].concat();
        all.push(Case { item: item.clone(), all: others });
    };
    let going = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
    let web = |owners: &[Value], more: &Value| item("Pod", Some("default"), "web-1", "uid-p", owners, more);
    let own = |block: bool| json!({"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": "uid-p", "blockOwnerDeletion": block});
    let notes = |block: bool| item("ConfigMap", Some("default"), "notes", "uid-c", &[own(block)], &json!({}));
    for state in [going.clone(), leaving(ORPHAN)] {
        for owners in [vec![], vec![references()[2].clone()], vec![references()[0].clone()]] {
            ask(&web(&owners, &state), &[]);
            [true, false].into_iter().for_each(|block| ask(&web(&owners, &state), &[notes(block)]));
        }
    }
    // So many dependents that the one that decides is far behind.
    for (few, last) in [3, 4, 6].into_iter().flat_map(|few| [(few, true), (few, false)]) {
        let note = |n: usize, block: bool| {
            let name = ('a'..='z').nth(n).unwrap_or_default().to_string();
            item("ConfigMap", Some("default"), &name, &format!("uid-{name}"), &[own(block)], &json!({}))
        };
        let notes: Vec<Item> = (0..few).map(|n| note(n, false)).chain([note(few, last)]).collect();
        ask(&web(&[], &leaving(FOREGROUND)), &notes);
    }
    // Dependents that are called as their owner is, or are of its kind.
    for (kind, name) in [("ConfigMap", "web-1"), ("Pod", "web-2")] {
        for block in [true, false] {
            let dependent = item(kind, Some("default"), name, "uid-c", &[own(block)], &json!({}));
            let of = |at: usize| web(&[references()[at].clone()], &json!({}));
            for item in [web(&[], &leaving(FOREGROUND)), of(4), of(2)] {
                ask(&item, std::slice::from_ref(&dependent));
            }
        }
    }
    // In another namespace, where an owner of the same name is another.
    let there = item("ReplicaSet", Some("prod"), "web", "uid-14", &[], &json!({}));
    for uid in ["uid-14", "uid-1"] {
        let owners = [owner("ReplicaSet", "web", uid, true)];
        let pod = item("Pod", Some("prod"), "web-1", "uid-p", &owners, &json!({}));
        ask(&pod, &[]);
        ask(&pod, std::slice::from_ref(&there));
    }
    // Finalizers of others, whose names end alike.
    let alike = ["example.com/orphan", "example.com/foregroundDeletion"];
    for state in [json!({"finalizers": alike}), leaving_with(&alike)] {
        [0, 2, 4].into_iter().for_each(|at| ask(&web(&[references()[at].clone()], &state), &[notes(true)]));
        ask(&web(&[references()[2].clone()], &state), &[]);
    }
    let slow = item("ReplicaSet", Some("default"), "alike", "uid-15", &[], &leaving_with(&alike));
    ask(&web(&[owner("ReplicaSet", "alike", "uid-15", true)], &json!({})), std::slice::from_ref(&slow));
    // Names, uids and namespaces that begin or end alike, and finalizers.
    for uid in ["uid-p2", "uid-", "my-uid-p"] {
        let other = json!({"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": uid, "blockOwnerDeletion": true});
        let dependent = item("ConfigMap", Some("default"), "notes", "uid-c", &[other], &json!({}));
        ask(&web(&[], &leaving(FOREGROUND)), std::slice::from_ref(&dependent));
        ask(&web(&[references()[4].clone()], &json!({})), &[dependent]);
    }
    for (kind, name, uid) in [
        ("ReplicaSet", "web", "uid-10"),
        ("ReplicaSet", "web", "uid-"),
        ("ReplicaSet", "web-2", "uid-1"),
        ("ReplicaSet", "we", "uid-1"),
    ] {
        ask(&web(&[owner(kind, name, uid, true)], &json!({})), &[]);
        ask(&web(&[owner(kind, name, uid, true), references()[6].clone()], &json!({})), &[]);
    }
    for namespace in ["default-2", "def", "my-default"] {
        let far = item("ReplicaSet", Some(namespace), "far", "uid-16", &[], &json!({}));
        ask(&web(&[owner("ReplicaSet", "far", "uid-16", true)], &json!({})), std::slice::from_ref(&far));
        let pod = item("Pod", Some(namespace), "web-1", "uid-p", &[references()[0].clone()], &json!({}));
        ask(&pod, &[]);
    }
    let alike = ["orphan.example.com/keep", "foregroundDeletion.example.com/keep"];
    for state in [json!({"finalizers": alike}), leaving_with(&alike)] {
        [0, 2, 4].into_iter().for_each(|at| ask(&web(&[references()[at].clone()], &state), &[notes(true)]));
    }
    let last = ["example.com/one", "example.com/two", "example.com/three", FOREGROUND];
    ask(&web(&[references()[2].clone()], &json!({"finalizers": last})), &[]);
    [true, false].into_iter().for_each(|block| ask(&web(&[], &leaving_with(&last)), &[notes(block)]));
    // Owners of which other kinds have no namespace, and whether they are there.
    for kind in ["Namespace", "PriorityClass", "StorageClass"] {
        let there = item(kind, None, "base", "uid-17", &[], &json!({}));
        let dependent = web(&[owner(kind, "base", "uid-17", false)], &json!({}));
        ask(&dependent, std::slice::from_ref(&there));
        ask(&dependent, &[]);
        ask(&item("Node", None, "node-9", "uid-n", &[owner(kind, "base", "uid-17", false)], &json!({})), &[there]);
    }
    // What a reference says besides does not matter, nor in which namespace it is.
    for (at, block) in [0, 5, 8].into_iter().flat_map(|at| [(at, json!(false)), (at, Value::Null)]) {
        let mut one = references()[at].clone();
        (one["blockOwnerDeletion"], one["controller"]) = (block, Value::Null);
        ask(&web(&[one.clone()], &json!({})), &[]);
        ask(&web(&[references()[2].clone(), one], &json!({})), &[notes(true)]);
    }
    for kind in ["Secret", "Namespace", "PersistentVolumeClaim"] {
        let namespace = is_namespaced(kind).then_some("kube-system");
        ask(&item(kind, namespace, "thing", "uid-p", &[references()[6].clone()], &json!({})), &[]);
        ask(&item(kind, namespace, "thing", "uid-p", &[references()[7].clone()], &json!({})), &[]);
    }
    // Many of each, of which the last decides.
    let gone = |n: usize| owner("ReplicaSet", &format!("gone-{n}"), &format!("uid-g{n}"), false);
    for last in [0, 2, 4] {
        let owners: Vec<Value> = (0..5).map(gone).chain([references()[last].clone()]).collect();
        ask(&web(&owners, &json!({})), &[]);
    }
    let other = |n: usize| item("ConfigMap", Some("default"), &format!("c-{n}"), &format!("uid-c{n}"), &[], &json!({}));
    let crowd: Vec<Item> = (0..40).map(other).collect();
    for block in [true, false] {
        ask(&web(&[], &leaving(FOREGROUND)), &[&crowd[..], &[notes(block)]].concat());
    }
    let far = item("ReplicaSet", Some("default"), "late", "uid-18", &[], &json!({}));
    ask(&web(&[owner("ReplicaSet", "late", "uid-18", true)], &json!({})), &[&crowd[..], &[far]].concat());
    // In its grace period an owner is still there.
    let set = item("ReplicaSet", Some("default"), "brief", "uid-12", &[], &going);
    ask(&web(&[owner("ReplicaSet", "brief", "uid-12", true)], &json!({})), std::slice::from_ref(&set));
    for (said, name) in [Value::Null, json!(false)]
        .iter()
        .flat_map(|said| [("waits", "uid-3"), ("busy", "uid-8")].map(|name| (said, name)))
    {
        let mut waits = owner("ReplicaSet", name.0, name.1, true);
        waits["blockOwnerDeletion"] = said.clone();
        for owners in [vec![waits.clone()], vec![waits.clone(), references()[0].clone()]] {
            ask(&web(&owners, &json!({})), &[]);
            ask(&web(&owners, &json!({})), &[notes(true)]);
        }
    }
    // A node's mirror Pods are in namespaces, and the node in none.
    for block in [true, false] {
        let node =
            json!({"apiVersion": "v1", "kind": "Node", "name": "node-9", "uid": "uid-n", "blockOwnerDeletion": block});
        let mirror = item("Pod", Some("kube-system"), "proxy-node-9", "uid-m", &[node], &json!({}));
        for state in states() {
            ask(&item("Node", None, "node-9", "uid-n", &[], &state), &[]);
            ask(&item("Node", None, "node-9", "uid-n", &[], &state), std::slice::from_ref(&mirror));
        }
        // Its owner waits, and has no namespace either.
        let waits = item("Node", None, "node-3", "uid-13", &[], &leaving(FOREGROUND));
        let owners = [owner("Node", "node-3", "uid-13", false)];
        ask(&item("Node", None, "node-9", "uid-n", &owners, &json!({})), &[waits.clone(), mirror]);
        ask(&web(&owners, &json!({})), &[waits, notes(block)]);
    }
    all
}

/// What is known of an owner.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    There,
    Waits,
    Gone,
    Impossible,
}

fn look_up(case: &Case, owner: &OwnerReference, slip: Option<Slip>) -> Owner {
    let is = |one| slip == Some(one);
    let home = case.item.metadata.namespace.as_ref();
    let default = "default".to_owned();
    let home_or_default = if is(Slip::DefaultNamespace) { Some(&default) } else { home };
    let known = ["Node", "PersistentVolume"].contains(&&*owner.kind);
    let is_namespaced = |kind: &str| if is(Slip::KnownKinds) { !known } else { is_namespaced(kind) };
    let namespace = if is_namespaced(&owner.kind) || is(Slip::NamespacedNode) { home_or_default } else { None };
    if is_namespaced(&owner.kind) && home.is_none() && !is(Slip::NodeMayDepend) {
        return Owner::Impossible;
    }
    let found = case.all.iter().find(|item| {
        let meta = &item.metadata;
        (item.kind == owner.kind || is(Slip::AnyKind))
            && (meta.name.as_ref() == Some(&owner.name) || is(Slip::AnyName))
            && (meta.namespace.as_ref() == namespace
                || is(Slip::ByUid)
                || is(Slip::NamespaceAlike) && begins(meta.namespace.as_ref(), namespace))
            && (meta.uid.as_ref() == Some(&owner.uid) || is(Slip::ByName))
    });
    match found
        .map(|item| &item.metadata)
        .map(|meta| (meta.deletion_timestamp.is_some(), has(meta, FOREGROUND, slip)))
        .map(|(leaves, waits)| (leaves || is(Slip::FinalizerWaits) && waits, waits))
    {
        None => Owner::Gone,
        Some((true, true)) if is(Slip::WaitsIfBlocked) && owner.block_owner_deletion != Some(true) => Owner::There,
        Some((true, true)) if !is(Slip::WaitingStays) => Owner::Waits,
        Some((true, false)) if is(Slip::LeavingIsGone) => Owner::Gone,
        Some(_) => Owner::There,
    }
}

fn begins(long: Option<&String>, short: Option<&String>) -> bool {
    short.is_some_and(|short| long.is_some_and(|long| long.starts_with(short.as_str())))
}

fn has(meta: &ObjectMeta, finalizer: &str, slip: Option<Slip>) -> bool {
    let alike = |one: &String| match slip {
        Some(Slip::FinalizerAlike) => one.ends_with(finalizer),
        Some(Slip::FinalizerBegins) => one.starts_with(finalizer),
        _ => false,
    };
    has_finalizer(meta, finalizer) || meta.finalizers.iter().flatten().any(alike)
}

/// The objects that name this one as an owner, and how.
fn dependents_of(case: &Case, slip: Option<Slip>) -> Vec<(&Item, &OwnerReference)> {
    let ObjectMeta { uid, name, .. } = &case.item.metadata;
    let is_it = |owner: &OwnerReference| match slip {
        Some(Slip::DependentsByName) => owner.kind == case.item.kind && Some(&owner.name) == name.as_ref(),
        Some(Slip::DependentsCalledSo) => Some(&owner.uid) == uid.as_ref() && Some(&owner.name) == name.as_ref(),
        Some(Slip::UidAlike) => begins(Some(&owner.uid), uid.as_ref()),
        _ => Some(&owner.uid) == uid.as_ref(),
    };
    let most = if slip == Some(Slip::FirstOwnerOfDependent) { 1 } else { usize::MAX };
    let named = |item: &'_ Item| owners_of(&item.metadata).iter().take(most).position(is_it);
    let home =
        |item: &&Item| slip != Some(Slip::DependentsAtHome) || item.metadata.namespace == case.item.metadata.namespace;
    let alike = |item: &&Item| match slip {
        Some(Slip::NotOfItsName) => item.metadata.name == *name,
        Some(Slip::NotOfItsKind) => item.kind == case.item.kind,
        _ => false,
    };
    let all = case
        .all
        .iter()
        .filter(|item| home(item) && !alike(item))
        .filter_map(|item| Some((item, &owners_of(&item.metadata)[named(item)?])));
    all.take(if slip == Some(Slip::ThreeDependents) { 3 } else { usize::MAX }).collect()
}

#[cfg(test)]
mod tests;
