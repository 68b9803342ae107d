//! Exercise 08: a Deployment and its ReplicaSets.

use std::future::Future;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::PodTemplateSpec;

use crate::kube::{Action, Context, Error};
use crate::process;
use object::template;

pub use object::template::TEMPLATE_HASH;

/// The hash of a template, as names and the label [`TEMPLATE_HASH`] carry it.
pub fn template_hash(template: &PodTemplateSpec) -> String {
    template::hash(template, None)
}

/// Answers with this function.
pub fn answer<F>(reconcile: impl Fn(Arc<Deployment>, Arc<Context>) -> F + 'static)
where
    F: Future<Output = Result<Action, Error>> + 'static,
{
    process::reconcile(reconcile);
}
