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

type Step = fn(&mut PodSpec, &Cluster, &str) -> Result<(), String>;

/// A row of plugins. Each may refuse the Pod.
pub fn admit(pod: &mut Pod, cluster: &Cluster) -> Result<(), String> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default().to_owned();
    let name = pod.metadata.name.as_deref().unwrap_or_default().to_owned();
    let steps: [Step; 4] = [pull_policies, account, priority, tolerations];
    let spec = pod.spec.get_or_insert_default();
    steps
        .iter()
        .try_for_each(|step| step(spec, cluster, &namespace))
        .map_err(|why| format!("pods {name:?} is forbidden: {why}"))
}

fn pull_policies(spec: &mut PodSpec, _: &Cluster, _: &str) -> Result<(), String> {
    let tag = |image: &str| -> Option<String> {
        let (name, digest) = match image.split_once('@') {
            Some((name, _)) => (name, true),
            None => (image, false),
        };
        match name.rsplit_once(':') {
            Some((_, tag)) if !tag.contains('/') => Some(tag.to_owned()),
            _ if digest => None,
            _ => Some("latest".to_owned()),
        }
    };
    let all = spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten());
    all.filter(|one| one.image_pull_policy.is_none()).for_each(|one| {
        let latest = tag(one.image.as_deref().unwrap_or_default()).as_deref() == Some("latest");
        one.image_pull_policy = Some(String::from(if latest { "Always" } else { "IfNotPresent" }));
    });
    Ok(())
}

fn account(spec: &mut PodSpec, cluster: &Cluster, namespace: &str) -> Result<(), String> {
    let name = spec.service_account_name.clone().unwrap_or("default".into());
    spec.service_account_name = Some(name.clone());
    let here = cluster.accounts.iter().filter(|one| one.metadata.namespace.as_deref() == Some(namespace));
    let mut names = here.filter_map(|one| one.metadata.name.clone());
    match names.any(|one| one == name) {
        true => Ok(()),
        false => Err(format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found")),
    }
}

fn priority(spec: &mut PodSpec, cluster: &Cluster, _: &str) -> Result<(), String> {
    if spec.priority_class_name.is_none() {
        let default = cluster.classes.iter().find(|class| class.global_default.unwrap_or_default());
        spec.priority_class_name = default.and_then(|class| class.metadata.name.clone());
    }
    let computed = match spec.priority_class_name.clone() {
        None => 0,
        Some(name) => {
            let class = cluster.classes.iter().find(|class| class.metadata.name == spec.priority_class_name);
            class.ok_or(format!("no PriorityClass with name {name} was found"))?.value.unwrap_or_default()
        }
    };
    if let Some(given) = spec.priority.replace(computed)
        && given != computed
    {
        let start = format!("the integer value of priority ({given}) must not be provided in pod spec; ");
        return Err(
            start + &format!("priority admission controller computed {computed} from the given PriorityClass name")
        );
    }
    Ok(())
}

fn tolerations(spec: &mut PodSpec, _: &Cluster, _: &str) -> Result<(), String> {
    let before = spec.tolerations.take().unwrap_or_default();
    let agrees = |said: &Option<String>, with: &str| said.as_deref().unwrap_or(with) == with;
    let missing = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].into_iter();
    let missing =
        missing.filter(|key| !before.iter().any(|one| agrees(&one.key, key) && agrees(&one.effect, "NoExecute")));
    let added: Vec<Toleration> = missing
        .map(|key| Toleration {
            key: Some(key.into()),
            operator: Some("Exists".into()),
            value: None,
            effect: Some("NoExecute".into()),
            toleration_seconds: Some(300),
        })
        .collect();
    spec.tolerations = Some([before, added].concat());
    Ok(())
}
