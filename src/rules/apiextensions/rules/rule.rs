//! One rule of a schema.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::ValidationRule;

use crate::cel::Program;

/// A rule, ready to be asked.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(super) said: ValidationRule,
    pub(super) program: Program,
    pub(super) message: Option<Program>,
    /// Where a problem is told of, below the value; empty: at the value.
    pub(super) at: String,
}
