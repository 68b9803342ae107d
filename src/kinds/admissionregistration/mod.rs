//! The kinds of `admissionregistration.k8s.io`.

pub mod matching;
pub mod mutating_admission_policy;
pub mod mutating_admission_policy_binding;
pub mod mutating_webhook_configuration;
pub mod policy;
pub mod policy_binding;
pub mod validating_admission_policy;
pub mod validating_admission_policy_binding;
pub mod validating_webhook_configuration;
pub mod webhooks;
