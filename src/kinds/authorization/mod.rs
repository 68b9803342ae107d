//! The kinds of `authorization.k8s.io`.

pub mod local_subject_access_review;
pub mod review;
pub mod self_subject_access_review;
pub mod self_subject_rules_review;
pub mod subject_access_review;
