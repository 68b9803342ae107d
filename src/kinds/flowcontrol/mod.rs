//! The kinds of `flowcontrol.apiserver.k8s.io`.

pub mod flow_schema;
pub mod priority_level_configuration;
