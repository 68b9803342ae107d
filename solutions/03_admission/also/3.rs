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

/// Works all out first, and changes the Pod at the end.
pub fn admit(pod: &mut Pod, cluster: &Cluster) -> Result<(), String> {
    let spec = pod.spec.clone().unwrap_or_default();
    let (name, namespace) = (pod.metadata.name.clone(), pod.metadata.namespace.clone());
    let forbidden = |why: String| Err(format!(r#"pods "{}" is forbidden: {why}"#, name.as_deref().unwrap_or_default()));

    let account = spec.service_account_name.clone().unwrap_or_else(|| "default".to_owned());
    let is_it = |meta: (&Option<String>, &Option<String>)| meta == (&Some(account.clone()), &namespace);
    if !cluster.accounts.iter().any(|one| is_it((&one.metadata.name, &one.metadata.namespace))) {
        let at = namespace.clone().unwrap_or_default();
        return forbidden(format!(
            r#"error looking up service account {at}/{account}: serviceaccount "{account}" not found"#
        ));
    }

    let mut class = None;
    for one in &cluster.classes {
        let wanted = match &spec.priority_class_name {
            Some(_) => one.metadata.name == spec.priority_class_name,
            None => one.global_default == Some(true),
        };
        if wanted {
            class = Some(one);
        }
    }
    if let (Some(wanted), None) = (&spec.priority_class_name, class) {
        return forbidden(format!("no PriorityClass with name {wanted} was found"));
    }
    let (class, priority) = class.map_or((None, 0), |one| (one.metadata.name.clone(), one.value.unwrap_or(0)));
    if spec.priority.unwrap_or(priority) != priority {
        return forbidden(format!(
            "the integer value of priority ({}) must not be provided in pod spec; priority admission controller computed \
             {priority} from the given PriorityClass name",
            spec.priority.unwrap_or_default()
        ));
    }

    let after = pod.spec.get_or_insert_default();
    after.service_account_name = Some(account);
    (after.priority_class_name, after.priority) = (class, Some(priority));
    for container in after.containers.iter_mut() {
        complete(container);
    }
    for container in after.init_containers.iter_mut().flatten() {
        complete(container);
    }
    let covered = |key: &str| {
        let mut all = spec.tolerations.iter().flatten();
        all.any(|one| match (one.key.as_deref(), one.effect.as_deref()) {
            (None, None | Some("NoExecute")) => true,
            (Some(its), None | Some("NoExecute")) => its == key,
            _ => false,
        })
    };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        if !covered(key) {
            let json = toleration(key);
            after.tolerations.get_or_insert_with(Vec::new).push(json);
        }
    }
    Ok(())
}

fn toleration(key: &str) -> Toleration {
    let text = |text: &str| Some(text.to_owned());
    Toleration {
        key: text(key),
        operator: text("Exists"),
        effect: text("NoExecute"),
        toleration_seconds: Some(5 * 60),
        value: None,
    }
}

fn complete(container: &mut Container) {
    let Container { image: Some(image), image_pull_policy: policy @ None, .. } = container else { return };
    let path = image.split('@').next().unwrap_or_default();
    let file = path.split('/').next_back().unwrap_or_default();
    let mut parts = file.splitn(2, ':').skip(1);
    *policy = Some(match parts.next() {
        Some("latest") => "Always".to_owned(),
        None if !image.contains('@') => "Always".to_owned(),
        _ => "IfNotPresent".to_owned(),
    });
}
