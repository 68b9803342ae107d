//! A Pod and a cluster, and what became of the Pod, in words.

use k8s_openapi::api::core::v1::{Container, ServiceAccount, Toleration};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde_json::{Value, json};

use super::{Admitted, Case, Cluster};
use crate::words::{self, Part, part};
use kubectl::print::describe::toleration_text;
use object::Accessor;

/// What is asked.
pub(super) fn case(case: &Case) -> String {
    let spec = case.pod.spec.clone().unwrap_or_default();
    let init = spec.init_containers.as_deref().map_or(Value::Null, containers);
    let tolerations = spec.tolerations.as_deref().filter(|all| !all.is_empty());
    let fields = [
        ("initContainers", init),
        ("containers", containers(&spec.containers)),
        ("serviceAccountName", json!(spec.service_account_name)),
        ("priorityClassName", json!(spec.priority_class_name)),
        ("priority", json!(spec.priority)),
        ("tolerations", tolerations.map_or(Value::Null, tolerated)),
    ];
    let meta = &case.pod.metadata;
    let [name, namespace] = [&meta.name, &meta.namespace].map(|text| text.as_deref().unwrap_or_default());
    let more = [
        ("generateName", json!(meta.generate_name)),
        ("ownerReferences", meta.owner_references.iter().flatten().map(words::owner).collect()),
        ("hostNetwork", json!(spec.host_network)),
        ("nodeName", json!(spec.node_name)),
    ];
    let fields = more.into_iter().filter(|(_, value)| *value != json!([])).chain(fields);
    let pod = words::object(&format!("Pod {name} in {namespace}"), fields);
    let Cluster { accounts, classes } = &case.cluster;
    let accounts = words::field("service accounts", &accounts.iter().map(account).collect());
    let classes = words::field("priority classes", &classes.iter().map(class).collect());
    format!("{pod}\n{accounts}\n{classes}")
}

/// What was answered.
pub(super) fn answer(case: &Case, answer: &Result<Admitted, String>) -> Vec<Part> {
    let admitted = match answer {
        Ok(admitted) => admitted,
        Err(why) => return vec![part("gave", format!("Err: {why}"))],
    };
    let spec = case.pod.spec.as_ref();
    let init = spec.into_iter().flat_map(|spec| spec.init_containers.iter().flatten());
    let names = init.chain(spec.into_iter().flat_map(|spec| &spec.containers)).map(|one| &one.name);
    let policies = names.zip(&admitted.pull_policies);
    let mut parts = vec![part("gave", "Ok(())")];
    parts.extend(policies.map(|(name, policy)| part(format!("left as imagePullPolicy of {name}"), policy.clone())));
    parts.extend([
        part("left as serviceAccountName", admitted.account.clone()),
        part("left as priorityClassName", admitted.class.clone()),
        part("left as priority", json!(admitted.priority)),
        part("left as tolerations", tolerated(&admitted.tolerations)),
        part("changed besides", admitted.changed.clone()),
    ]);
    parts
}

fn containers(all: &[Container]) -> Value {
    let one = |one: &Container| {
        let image = one.image.as_deref().map(short);
        json!({"name": one.name, "image": image, "imagePullPolicy": one.image_pull_policy, "restartPolicy": one.restart_policy})
    };
    all.iter().map(one).collect()
}

/// An image without the end of its digest.
fn short(image: &str) -> String {
    match image.split_once('@') {
        Some((name, digest)) => format!("{name}@{}…", digest.chars().take(13).collect::<String>()),
        None => image.to_owned(),
    }
}

/// `dev/default`, and whether it is on its way out.
fn account(one: &ServiceAccount) -> String {
    let path = [&one.metadata.namespace, &one.metadata.name].map(|part| part.as_deref().unwrap_or_default()).join("/");
    if one.metadata.deletion_timestamp.is_some() { format!("{path} (being deleted)") } else { path }
}

/// `high (1000)`.
fn class(one: &PriorityClass) -> String {
    let default = if one.global_default == Some(true) { ", global default" } else { "" };
    let going = if one.metadata.deletion_timestamp.is_some() { ", being deleted" } else { "" };
    format!("{} ({}{default}{going})", one.metadata.name(), one.value.unwrap_or(0))
}

/// Tolerations as kubectl shows them.
fn tolerated(all: &[Toleration]) -> Value {
    all.iter().map(|one| toleration_text(&json!(one))).collect()
}
