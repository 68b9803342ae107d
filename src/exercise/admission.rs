//! Exercise 03: a new Pod, and what the API server has beside it.

use k8s_openapi::api::core::v1::{Pod, ServiceAccount, Toleration};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::process;
use object::patch::diff_merge;
use object::pod::containers;

/// What the API server looks at beside the Pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cluster {
    /// All service accounts, of all namespaces.
    pub accounts: Vec<ServiceAccount>,
    /// All priority classes; one of them at most has `globalDefault: true`.
    pub classes: Vec<PriorityClass>,
}

/// A question to the function.
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
    /// What else is not as it was, as a merge patch.
    pub changed: Value,
}

/// What is looked at of an admitted Pod, which was another one before.
pub fn admitted(before: &Pod, pod: &Pod) -> Admitted {
    let spec = pod.spec.clone().unwrap_or_default();
    let changed = diff_merge(&json!(all_else(before)), &json!(all_else(pod)));
    Admitted {
        pull_policies: containers(&spec).map(|one| one.image_pull_policy.clone()).collect(),
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

/// Answers with this function.
pub fn answer(admit: fn(&mut Pod, &Cluster) -> Result<(), String>) {
    process::answer(|case: &Case| -> Result<Admitted, String> {
        let mut pod = case.pod.clone();
        admit(&mut pod, &case.cluster).map(|()| admitted(&case.pod, &pod))
    });
}
