use super::*;
use controllers::garbage_collector::attempt_to_delete::{Owners, Verdict, policy_of, waits_for_dependents};
use controllers::garbage_collector::graph::Graph;
use controllers::garbage_collector::requests::claimed_owner;
use object::{Discovery, Kind, Object};

#[test]
fn the_rule_passes_and_every_known_mistake_is_named() {
    crate::function::check::<Collecting>("collect");
}

fn object(item: &Item) -> Object {
    let version = match &*item.kind {
        "ReplicaSet" => "apps/v1",
        "PriorityClass" => "scheduling.k8s.io/v1",
        "StorageClass" => "storage.k8s.io/v1",
        _ => "v1",
    };
    let spec = json!({"selector": {}, "template": {}, "containers": []});
    let mut value = json!({"metadata": item.metadata});
    match &*item.kind {
        "ConfigMap" | "Secret" => {}
        "PriorityClass" => value["value"] = json!(1),
        "StorageClass" => value["provisioner"] = json!("example.com/disk"),
        _ => value["spec"] = spec,
    }
    Kind::from_manifest(version, &item.kind).unwrap().decode(value).unwrap()
}

/// What our collector does, with its own parts: graph, owner's place, verdict and policy.
fn ours(case: &Case) -> Action {
    let mut graph = Graph::default();
    let all: Vec<Object> = case.all.iter().map(object).collect();
    all.iter().for_each(|object| drop(graph.observed(object)));
    let item = object(&case.item);
    let node = graph.get(case.item.metadata.uid.as_deref().unwrap()).unwrap();
    if node.being_deleted() {
        let goes = node.deleting_dependents && node.is_unblocked();
        return if goes { Action::RemoveFinalizer } else { Action::Leave };
    }
    let mut owners = Owners::default();
    for reference in owners_of(item.meta()) {
        let owner = claimed_owner(&Discovery::default(), reference, &node.identity);
        let kind = owner.known_kind(&Discovery::default()).unwrap();
        if kind.info().namespaced && owner.namespace.is_empty() {
            return Action::Leave;
        }
        let found = all.iter().find(|live| {
            let place = (live.kind(), live.namespace(), live.name());
            place == (kind, &*owner.namespace, &*owner.name) && live.meta().uid.as_deref() == Some(&*owner.uid)
        });
        match found {
            None => owners.dangling.push(owner.uid),
            Some(live) if waits_for_dependents(live) => owners.waiting.push(owner.uid),
            Some(_) => owners.solid.push(owner.uid),
        }
    }
    if owners_of(item.meta()).is_empty() {
        return Action::Leave;
    }
    match owners.verdict(!node.dependents.is_empty()) {
        Verdict::Keep => Action::Leave,
        Verdict::Disown => {
            let mut uids: Vec<String> =
                owners.dangling.iter().chain(&owners.waiting).map(ToString::to_string).collect();
            uids.sort();
            Action::RemoveOwners(uids)
        }
        Verdict::DeleteDependentsFirst => Action::Delete(Propagation::Foreground),
        Verdict::Delete => Action::Delete(match policy_of(&item) {
            wire::Propagation::Background => Propagation::Background,
            wire::Propagation::Foreground => Propagation::Foreground,
            wire::Propagation::Orphan => Propagation::Orphan,
        }),
    }
}

#[test]
fn the_rule_is_that_of_our_collector() {
    for case in Collecting::questions() {
        assert_eq!(ours(&case), Collecting::right(&case), "{}", Collecting::show(&case));
    }
}
