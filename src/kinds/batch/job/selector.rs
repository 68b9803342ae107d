//! The labels by which a Job knows its Pods.
//!
//! Users do not choose a Job's selector: two Jobs with the same labels would count each other's Pods. The server writes the
//! Job's uid into the template's labels, and selects by that. Mirrors `generateSelector` of `pkg/registry/batch/job`.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job;

/// The Job's uid, on its Pods.
const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
/// The Job's name, on its Pods.
const JOB_NAME: &str = "batch.kubernetes.io/job-name";

/// The same two labels as they were before labels had prefixes.
const LEGACY: [&str; 2] = ["controller-uid", "job-name"];

/// The labels of the Pods of a Job that chooses none.
pub fn generated_labels(uid: &str, name: &str) -> [(String, String); 4] {
    [(LEGACY[0], uid), (LEGACY[1], name), (CONTROLLER_UID, uid), (JOB_NAME, name)]
        .map(|(label, value)| (label.to_owned(), value.to_owned()))
}

/// Gives a new Job its selector and its template's labels, unless its maker wants to choose the selector. A Job without
/// labels of its own takes those of its template.
pub fn generate_selector(job: &mut Job) {
    let uid = job.metadata.uid.clone().unwrap_or_default();
    let name = job.metadata.name.clone().unwrap_or_default();
    let spec = job.spec.get_or_insert_default();
    if spec.manual_selector != Some(true) {
        let labels = spec.template.metadata.get_or_insert_default().labels.get_or_insert_default();
        for (label, value) in generated_labels(&uid, &name) {
            labels.entry(label).or_insert(value);
        }
        let selector = spec.selector.get_or_insert_default().match_labels.get_or_insert_with(BTreeMap::new);
        selector.entry(CONTROLLER_UID.to_owned()).or_insert(uid);
    }
    let template = spec.template.metadata.as_ref().and_then(|meta| meta.labels.clone());
    if job.metadata.labels.as_ref().is_none_or(|labels| labels.is_empty()) {
        job.metadata.labels = template;
    }
}
