//! The kinds of `apiextensions.k8s.io`.

pub mod custom_resource_definition;
pub mod formats;
