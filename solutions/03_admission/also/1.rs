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

/// All in one, with early returns.
pub fn admit(pod: &mut Pod, cluster: &Cluster) -> Result<(), String> {
    let meta = pod.metadata.clone();
    let prefix = format!("pods \"{}\" is forbidden: ", meta.name.unwrap());
    let namespace = meta.namespace.unwrap();
    let spec = pod.spec.as_mut().unwrap();
    let mut containers: Vec<&mut Container> = spec.containers.iter_mut().collect();
    if let Some(init) = spec.init_containers.as_mut() {
        containers.extend(init.iter_mut());
    }
    for container in containers {
        if container.image_pull_policy.is_some() {
            continue;
        }
        let image = container.image.clone().unwrap_or_default();
        let slash = image.rfind('/').map_or(0, |n| n + 1);
        let name = &image[slash..];
        let always = if name.contains('@') {
            name.contains(":latest@")
        } else {
            !name.contains(':') || name.ends_with(":latest")
        };
        container.image_pull_policy = Some(if always { "Always" } else { "IfNotPresent" }.to_string());
    }
    if spec.service_account_name.is_none() {
        spec.service_account_name = Some("default".to_string());
    }
    let account = spec.service_account_name.clone().unwrap();
    let mut found = false;
    for one in &cluster.accounts {
        if one.metadata.name == Some(account.clone()) && one.metadata.namespace == Some(namespace.clone()) {
            found = true;
        }
    }
    if !found {
        return Err(format!(
            "{prefix}error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found"
        ));
    }
    let mut computed = 0;
    if let Some(name) = &spec.priority_class_name {
        match cluster.classes.iter().find(|class| class.metadata.name.as_deref() == Some(name.as_str())) {
            Some(class) => computed = class.value.unwrap(),
            None => return Err(format!("{prefix}no PriorityClass with name {name} was found")),
        }
    } else {
        for class in &cluster.classes {
            if class.global_default == Some(true) {
                spec.priority_class_name = class.metadata.name.clone();
                computed = class.value.unwrap();
            }
        }
    }
    match spec.priority {
        Some(given) if given != computed => {
            return Err(format!(
                "{prefix}the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {computed} from the given PriorityClass name"
            ));
        }
        _ => spec.priority = Some(computed),
    }
    let mut tolerations = spec.tolerations.clone().unwrap_or_default();
    for key in ["not-ready", "unreachable"] {
        let key = format!("node.kubernetes.io/{key}");
        let mut there = false;
        for one in &tolerations {
            let same_key = one.key.is_none() || one.key == Some(key.clone());
            let same_effect = one.effect.is_none() || one.effect == Some("NoExecute".to_string());
            there |= same_key && same_effect;
        }
        if !there {
            let mut one = Toleration::default();
            one.key = Some(key);
            one.operator = Some("Exists".into());
            one.effect = Some("NoExecute".into());
            one.toleration_seconds = Some(300);
            tolerations.push(one);
        }
    }
    spec.tolerations = Some(tolerations);
    Ok(())
}
