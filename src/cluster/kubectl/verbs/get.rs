//! `get`, `describe`, `events`: reading.

use serde_json::Value;

use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::client::{failure, targets};
use crate::cluster::kubectl::print::describe::{self, Related};
use crate::cluster::kubectl::print::table::{self, Look};
use crate::cluster::kubectl::print::{self, Output};
use crate::cluster::kubectl::{Failure, Kubectl};
use crate::object::Kind;

/// `kubectl get KIND[,KIND] [NAME…]`.
pub async fn get(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let kubectl = &everywhere(args, kubectl);
    let output = Output::parse(args.flag("output")).map_err(Failure::error)?;
    let words = expand_all(&args.words);
    let targets = targets(&words)?;
    let single = targets.len() == 1 && !targets[0].1.is_empty();
    let several_kinds = targets.iter().any(|(kind, _)| *kind != targets[0].0);
    let (mut groups, mut missing): (Vec<(Kind, Vec<Value>)>, Option<Failure>) = (Vec::new(), None);
    for (kind, name) in targets {
        let found = if name.is_empty() {
            kubectl.list(kind, args.flag("selector"), args.flag("field-selector")).await
        } else {
            kubectl.get(kind, &name).await.map(|object| vec![object])
        };
        match found {
            Ok(objects) => match groups.iter_mut().find(|(k, _)| *k == kind) {
                Some((_, group)) => group.extend(objects),
                None => groups.push((kind, objects)),
            },
            Err(status) => missing = Some(failure(&status, "")),
        }
    }
    for (_, group) in &mut groups {
        sort_by(group, args.flag("sort-by"));
    }
    match output {
        Output::Table { wide } => tables(args, kubectl, &groups, wide, several_kinds),
        output => {
            let objects: Vec<Value> = groups.into_iter().flat_map(|(_, group)| group).collect();
            if missing.is_none() || !objects.is_empty() {
                kubectl.print(&print::print(&output, &objects, single, kubectl.now()).map_err(Failure::error)?);
            }
        }
    }
    missing.map_or(Ok(()), Err)
}

fn tables(args: &Args, kubectl: &Kubectl, groups: &[(Kind, Vec<Value>)], wide: bool, prefixed: bool) {
    let mut shown = 0;
    for (kind, objects) in groups.iter().filter(|(_, objects)| !objects.is_empty()) {
        if shown > 0 {
            kubectl.print("\n");
        }
        let look = Look {
            wide,
            labels: args.is_set("show-labels"),
            prefix: prefixed,
            namespaces: args.is_set("all-namespaces"),
            no_headers: args.is_set("no-headers"),
        };
        kubectl.print(&table::table(*kind, objects, look, kubectl.now()));
        shown += 1;
    }
    if shown == 0 && groups.iter().any(|(kind, _)| kind.info().namespaced) && !args.is_set("all-namespaces") {
        kubectl.print(&format!("No resources found in {} namespace.\n", kubectl.namespace));
    } else if shown == 0 {
        kubectl.print("No resources found\n");
    }
}

/// `get all` means the usual kinds.
fn expand_all(words: &[String]) -> Vec<String> {
    match words {
        [first, rest @ ..] if first == "all" => {
            ["pods,services,deployments,replicasets".to_owned()].into_iter().chain(rest.iter().cloned()).collect()
        }
        words => words.to_vec(),
    }
}

fn everywhere(args: &Args, kubectl: &Kubectl) -> Kubectl {
    let mut kubectl = kubectl.clone();
    if args.is_set("all-namespaces") {
        kubectl.namespace = String::new();
    }
    kubectl
}

fn sort_by(objects: &mut [Value], path: &str) {
    if path.is_empty() {
        return;
    }
    let pointer = path.trim_matches(['{', '}']).replace('.', "/");
    objects.sort_by_key(|object| {
        object.pointer(&pointer).map_or(String::new(), |v| v.as_str().map_or_else(|| v.to_string(), str::to_owned))
    });
}

/// `kubectl events`.
pub async fn events(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let kubectl = &everywhere(args, kubectl);
    let mut events = kubectl.list(Kind::Event, "", "").await.map_err(|status| failure(&status, ""))?;
    sort_by(&mut events, ".lastTimestamp");
    tables(args, kubectl, &[(Kind::Event, events)], false, false);
    Ok(())
}

/// `kubectl describe KIND [NAME…]`.
pub async fn describe(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let mut pages = 0;
    for (kind, name) in targets(&args.words)? {
        let names = if name.is_empty() || kubectl.get(kind, &name).await.is_err() {
            let listed = kubectl.list(kind, args.flag("selector"), "").await.map_err(|status| failure(&status, ""))?;
            let all = listed.iter().map(|o| o["metadata"]["name"].as_str().unwrap_or_default().to_owned());
            all.filter(|candidate| candidate.starts_with(&name)).collect()
        } else {
            vec![name.clone()]
        };
        if names.is_empty() && !name.is_empty() {
            let status = crate::object::Status::not_found(kind, &name);
            return Err(failure(&status, ""));
        }
        for name in names {
            if pages > 0 {
                kubectl.print("\n\n");
            }
            pages += 1;
            let page = describe_one(kubectl, kind, &name).await?;
            kubectl.print(&page);
        }
    }
    if pages == 0 {
        kubectl.print(&format!("No resources found in {} namespace.\n", kubectl.namespace));
    }
    Ok(())
}

async fn describe_one(kubectl: &Kubectl, kind: Kind, name: &str) -> Result<String, Failure> {
    let refused = |status: crate::object::Status| failure(&status, "");
    let object = kubectl.get(kind, name).await.map_err(refused)?;
    let mut related = Related::default();
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (uid, namespace) = (text("/metadata/uid"), text("/metadata/namespace"));
    let fields = if kind == Kind::Node {
        format!("involvedObject.name={name},involvedObject.kind=Node")
    } else {
        format!("involvedObject.name={name},involvedObject.namespace={namespace},involvedObject.uid={uid}")
    };
    let events_in = if kind == Kind::Node { kubectl.in_namespace("default") } else { kubectl.in_namespace(&namespace) };
    related.events = events_in.list(Kind::Event, "", &fields).await.map_err(refused)?;
    let selector = labels_of(&object);
    match kind {
        Kind::Deployment => {
            related.replica_sets = kubectl.list(Kind::ReplicaSet, &selector, "").await.map_err(refused)?
        }
        Kind::ReplicaSet => related.pods = kubectl.list(Kind::Pod, &selector, "").await.map_err(refused)?,
        Kind::Node => {
            let mut all = kubectl.clone();
            all.namespace = String::new();
            let on_node = format!("spec.nodeName={name},status.phase!=Failed,status.phase!=Succeeded");
            related.pods = all.list(Kind::Pod, "", &on_node).await.map_err(refused)?;
            related.lease = kubectl.in_namespace("kube-node-lease").get(Kind::Lease, name).await.ok();
        }
        _ => {}
    }
    Ok(describe::describe(kind, &object, &related, kubectl.now()))
}

/// The selector of a workload as text.
fn labels_of(object: &Value) -> String {
    let labels = object.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let pairs = labels.into_iter().flatten().map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()));
    pairs.collect::<Vec<_>>().join(",")
}
