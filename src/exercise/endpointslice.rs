//! Exercise 15: a Service and its EndpointSlices.

use std::future::Future;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;

use crate::kube::{Action, Context, Error};
use crate::process;

/// Answers with this function.
pub fn answer<F>(reconcile: impl Fn(Arc<Service>, Arc<Context>) -> F + 'static)
where
    F: Future<Output = Result<Action, Error>> + 'static,
{
    process::reconcile(reconcile);
}
