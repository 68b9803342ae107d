//! Exercise 03: what becomes of a Pod before it is stored?
//!
//! The API server completes a new Pod or refuses it. Four things, in this order, and no others; the first that is wrong is
//! the reason.
//!
//! 1. Each container, init containers too: `imagePullPolicy`, if it is not said, is `Always` for the tag `latest` and for an
//!    image with neither tag nor digest, else `IfNotPresent`. (`host:5000/team/name:tag@sha256:...`: all but name can be absent.)
//! 2. `serviceAccountName`, if it is not said, is `default`. It must be in the Pod's namespace: "error looking up service
//!    account NAMESPACE/NAME: serviceaccount "NAME" not found".
//! 3. `priority` is the value of the class in `priorityClassName`: "no PriorityClass with name NAME was found". Without a
//!    class it is that of the global default, whose name is written too; 0 if there is none. If the Pod says another number:
//!    "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the
//!    given PriorityClass name".
//! 4. Tolerations are added for the taints node.kubernetes.io/not-ready and then node.kubernetes.io/unreachable: `Exists`,
//!    `NoExecute`, 300 seconds; each only if no toleration has this key (or none) and this effect (or none).
//!
//! All reasons begin with `pods "NAME" is forbidden: `.

#![allow(unused_imports)]

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Toleration};
use kubestep_exercise::admission::Cluster;

// Yours from here.

const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Completes a new Pod, or says why it is refused.
pub fn admit(pod: &mut Pod, cluster: &Cluster) -> Result<(), String> {
    let name = pod.metadata.name.clone().unwrap_or_default();
    let namespace = pod.metadata.namespace.clone().unwrap_or_default();
    let spec = pod.spec.get_or_insert_default();
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        set_pull_policy(container);
    }
    let result = set_account(spec, cluster, &namespace).and_then(|()| set_priority(spec, cluster));
    result.map_err(|why| format!("pods \"{name}\" is forbidden: {why}"))?;
    add_tolerations(spec);
    Ok(())
}

fn set_pull_policy(container: &mut Container) {
    let policy = if is_latest(container.image.as_deref().unwrap_or_default()) { "Always" } else { "IfNotPresent" };
    container.image_pull_policy.get_or_insert(policy.to_owned());
}

fn is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').unwrap_or((image, ""));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_empty(),
    }
}

fn set_account(spec: &mut PodSpec, cluster: &Cluster, namespace: &str) -> Result<(), String> {
    let account = spec.service_account_name.get_or_insert("default".to_owned());
    let mut all = cluster.accounts.iter().map(|one| &one.metadata);
    if all.any(|one| one.name.as_ref() == Some(account) && one.namespace.as_deref() == Some(namespace)) {
        return Ok(());
    }
    Err(format!("error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found"))
}

fn set_priority(spec: &mut PodSpec, cluster: &Cluster) -> Result<(), String> {
    let mut classes = cluster.classes.iter();
    let class = match &spec.priority_class_name {
        None => classes.find(|class| class.global_default == Some(true)),
        Some(name) => Some(
            classes
                .find(|class| class.metadata.name.as_ref() == Some(name))
                .ok_or_else(|| format!("no PriorityClass with name {name} was found"))?,
        ),
    };
    let computed = class.and_then(|class| class.value).unwrap_or(0);
    let given = *spec.priority.get_or_insert(computed);
    if given != computed {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
             computed {computed} from the given PriorityClass name"
        ));
    }
    spec.priority_class_name = class.and_then(|class| class.metadata.name.clone());
    Ok(())
}

fn add_tolerations(spec: &mut PodSpec) {
    let all = spec.tolerations.get_or_insert_default();
    for taint in TAINTS {
        let covers = |one: &Toleration| {
            one.key.as_ref().is_none_or(|key| key == taint)
                && one.effect.as_ref().is_none_or(|effect| effect == "NoExecute")
        };
        if !all.iter().any(covers) {
            all.push(Toleration {
                key: Some(taint.to_owned()),
                operator: Some("Exists".to_owned()),
                effect: Some("NoExecute".to_owned()),
                toleration_seconds: Some(300),
                ..Toleration::default()
            });
        }
    }
}
