//! Exercise 05: a new Pod, and what the API server has beside it.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Pod, ServiceAccount, Toleration};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::process;

/// What the API server looks at beside the Pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cluster {
    /// All service accounts, of all namespaces.
    pub accounts: Vec<ServiceAccount>,
    /// All priority classes; one of them at most has `globalDefault: true`.
    pub classes: Vec<PriorityClass>,
}

/// What is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// The new Pod.
    pub pod: Pod,
    /// What there is beside it.
    pub cluster: Cluster,
}

/// The part of the Pod that is looked at.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Admitted {
    /// `imagePullPolicy` of each container, init containers first.
    pub pull_policies: Vec<Option<String>>,
    /// `serviceAccountName`.
    pub account: Option<String>,
    /// `priorityClassName`.
    pub class: Option<String>,
    /// `priority`.
    pub priority: Option<i32>,
    /// `tolerations`.
    pub tolerations: Vec<Toleration>,
    /// What else is not as it was: `spec.nodeName`.
    pub changed: Vec<String>,
}

/// What is looked at of an admitted Pod, which was another one before.
pub fn admitted(before: &Pod, pod: &Pod) -> Admitted {
    let spec = pod.spec.clone().unwrap_or_default();
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    let mut changed = Vec::new();
    compare("", &json!(all_else(before)), &json!(all_else(pod)), &mut changed);
    Admitted {
        pull_policies: containers.map(|one| one.image_pull_policy.clone()).collect(),
        account: spec.service_account_name,
        class: spec.priority_class_name,
        priority: spec.priority,
        tolerations: spec.tolerations.unwrap_or_default(),
        changed,
    }
}

/// A Pod without what is set here. `serviceAccount` is the old name of `serviceAccountName`.
fn all_else(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    let spec = pod.spec.get_or_insert_default();
    (spec.service_account_name, spec.service_account) = (None, None);
    (spec.priority_class_name, spec.priority, spec.tolerations) = (None, None, None);
    let containers = spec.init_containers.iter_mut().flatten().chain(&mut spec.containers);
    containers.for_each(|container| container.image_pull_policy = None);
    pod
}

/// Notes the paths of the fields that differ.
fn compare(path: &str, before: &Value, after: &Value, changed: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(one), Value::Object(two)) => {
            let keys: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            for key in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(&path, &before[key.as_str()], &after[key.as_str()], changed);
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let each = (0..).zip(one.iter().zip(two));
            each.for_each(|(n, (one, two))| compare(&format!("{path}[{n}]"), one, two, changed));
        }
        _ if before != after => changed.push(path.to_owned()),
        _ => {}
    }
}

/// Answers with this function.
pub fn answer(admit: fn(&mut Pod, &Cluster) -> Result<(), String>) {
    process::answer(|case: &Case| -> Result<Admitted, String> {
        let mut pod = case.pod.clone();
        admit(&mut pod, &case.cluster).map(|()| admitted(&case.pod, &pod))
    });
}
