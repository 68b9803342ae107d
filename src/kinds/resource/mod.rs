//! The kinds of `resource.k8s.io`.

pub mod device_class;
pub mod devices;
pub mod resource_claim;
pub mod resource_claim_template;
pub mod resource_slice;
