//! How objects are read and made in Rust, in small examples. The course's page "Objects in Rust" explains them; no exercise
//! asks for any of these.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use crate::kube::{Action, Api, Context, Error, ListParams, Patch, PatchParams};
use object::Accessor;

/// The value of one of the Pod's labels, if it has that label.
pub fn label<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    let labels = pod.metadata.labels.as_ref()?;
    labels.get(key).map(String::as_str)
}

/// Which of two programs must look after the Pod next. The empty text is no node: that is how a Pod says it in JSON too.
pub fn whose_turn(pod: &Pod) -> &'static str {
    let spec = pod.spec.as_ref();
    match spec.and_then(|spec| spec.node_name.as_deref()) {
        None | Some("") => "the scheduler's",
        Some(_) => "that node's kubelet's",
    }
}

/// What a taint does to Pods that do not tolerate it.
pub fn in_words(taint: &Taint) -> &'static str {
    match taint.effect.as_str() {
        "NoExecute" => "they end",
        "NoSchedule" => "no new ones come",
        _ => "new ones come only if there is no better place",
    }
}

/// Whether the Pod only shows what a file on this node asks for: then the node is one of its owners.
pub fn mirrors_file_of(pod: &Pod, node: &Node) -> bool {
    let uid = node.metadata.uid.as_ref();
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.kind == "Node" && Some(&owner.uid) == uid)
}

/// Seconds that the Pod's containers have to end. Who says nothing gets 30.
pub fn grace_seconds(pod: &Pod) -> i64 {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(30)
}

/// The images of all the Pod's containers, init containers first.
pub fn images(pod: &Pod) -> Vec<&str> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    containers.filter_map(|container| container.image.as_deref()).collect()
}

/// The labels as `kubectl get --show-labels` prints them.
pub fn labels(pod: &Pod) -> String {
    let labels = pod.metadata.labels.iter().flatten();
    let each: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    each.join(",")
}

/// A new ConfigMap with one entry.
pub fn settings(namespace: &str, name: &str, mode: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("mode".to_owned(), mode.to_owned())])),
        ..ConfigMap::default()
    }
}

/// Writes one annotation into the object; the others stay.
pub fn annotate(pod: &mut Pod, key: &str, value: &str) {
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert(key.to_owned(), value.to_owned());
}

/// A whole controller: it keeps in each ConfigMap how many Pods there are in its namespace.
///
/// # Errors
/// Of either call: the caller tries again later.
pub async fn count_pods(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    let namespace = map.metadata.namespace();
    let name = map.metadata.name();

    // The current state.
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), namespace);
    let found = pods.list(&ListParams::default()).await?;
    let count = found.items.len().to_string();

    // What is written down. If it is the same there is nothing to do.
    let written = map.data.as_ref().and_then(|data| data.get("pods"));
    if written == Some(&count) {
        return Ok(Action::await_change());
    }

    // Only what changes is sent.
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
    let patch = json!({ "data": { "pods": count } });
    maps.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(Action::await_change())
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::host::Host;
    use crate::wire::{Answer, Ask, Say};
    use object::{Kind, Object};

    fn pod(text: serde_json::Value) -> Pod {
        serde_json::from_value(text).expect("it is a Pod")
    }

    #[test]
    fn what_is_there_is_read_and_what_is_not_has_its_default() {
        let whole = pod(json!({
            "metadata": { "labels": { "app": "web" } },
            "spec": {
                "nodeName": "node-1",
                "terminationGracePeriodSeconds": 5,
                "initContainers": [{ "name": "first", "image": "busybox" }],
                "containers": [{ "name": "web", "image": "nginx" }, { "name": "unsaid" }]
            }
        }));
        assert_eq!((label(&whole, "app"), label(&whole, "tier")), (Some("web"), None));
        assert_eq!(whose_turn(&whole), "that node's kubelet's");
        assert_eq!((grace_seconds(&whole), images(&whole)), (5, vec!["busybox", "nginx"]));

        assert_eq!(labels(&whole), "app=web");

        let bare = Pod::default();
        assert_eq!(labels(&bare), "");
        assert_eq!((label(&bare, "app"), whose_turn(&bare)), (None, "the scheduler's"));
        assert_eq!((grace_seconds(&bare), images(&bare).len()), (30, 0));
        assert_eq!(whose_turn(&pod(json!({ "spec": { "nodeName": "", "containers": [] } }))), "the scheduler's");
    }

    #[test]
    fn what_is_always_there_is_compared() {
        let taint = |effect: &str| Taint { effect: effect.to_owned(), ..Taint::default() };
        assert_eq!((in_words(&taint("NoExecute")), in_words(&taint("NoSchedule"))), ("they end", "no new ones come"));
        assert!(in_words(&taint("PreferNoSchedule")).starts_with("new ones come only"));
        let node = |uid: Option<&str>| {
            let metadata = ObjectMeta { uid: uid.map(str::to_owned), ..ObjectMeta::default() };
            Node { metadata, ..Node::default() }
        };
        let owner = json!({ "apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "1" });
        let mirror = pod(json!({ "metadata": { "ownerReferences": [owner] } }));
        assert!(mirrors_file_of(&mirror, &node(Some("1"))));
        assert!(!mirrors_file_of(&mirror, &node(Some("2"))) && !mirrors_file_of(&mirror, &node(None)));
        assert!(!mirrors_file_of(&Pod::default(), &node(Some("1"))));
    }

    #[test]
    fn objects_are_made_and_changed() {
        let made = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "default", "name": "web" },
            "data": { "mode": "fast" } });
        assert_eq!(serde_json::to_value(settings("default", "web", "fast")).ok(), Some(made));
        let mut noted = pod(json!({ "metadata": { "annotations": { "old": "1" } } }));
        annotate(&mut noted, "new", "2");
        assert_eq!(noted.metadata.annotations.into_iter().flatten().count(), 2);
        let mut first = Pod::default();
        annotate(&mut first, "new", "2");
        assert_eq!(first.metadata.annotations.into_iter().flatten().count(), 1);
    }

    /// Asks the controller about a ConfigMap with these data, while there are two Pods. Says what it writes, if anything.
    fn written(data: serde_json::Value) -> Option<serde_json::Value> {
        let object = |kind: Kind, value| kind.decode(value).expect("it is one");
        let mut host = Host::new(Rc::new(|_| Vec::new()), count_pods);
        let map = json!({ "metadata": { "namespace": "default", "name": "count" }, "data": data });
        let map = object(Kind::ConfigMap, map);
        let begin = Ask::Reconcile { task: 1, object: map.clone(), memory: serde_json::Value::Null };
        let Some(Say::Call { request, memory, .. }) = host.hear(begin) else { panic!("it asks for the Pods") };
        assert_eq!((request.verb.as_str(), request.kind.as_str()), ("list", "pods"));
        let two = ["a", "b"].map(|name| object(Kind::Pod, json!({ "metadata": { "name": name } })));
        let reply = |answer, memory| Ask::<Object>::Reply { task: 1, answer: Ok(answer), memory };
        match host.hear(reply(Answer::Many(two.into()), memory)) {
            Some(Say::Done { result: Ok(None), .. }) => None,
            Some(Say::Call { request, memory, .. }) => {
                assert_eq!((request.verb.as_str(), request.name.as_str()), ("patch", "count"));
                let end = host.hear(reply(Answer::One(map), memory));
                assert!(matches!(end, Some(Say::Done { result: Ok(None), .. })), "{end:?}");
                Some(request.body)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_controller_writes_what_differs_and_nothing_else() {
        assert_eq!(written(json!({})), Some(json!({ "data": { "pods": "2" } })));
        assert_eq!(written(json!({ "pods": "3", "mine": "stays" })), Some(json!({ "data": { "pods": "2" } })));
        assert_eq!(written(json!({ "pods": "2" })), None);
    }
}
