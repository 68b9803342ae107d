//! The kinds of `resource.k8s.io`.

pub mod resource_claim;
pub mod resource_claim_template;
