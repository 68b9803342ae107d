//! Requests for certificates: some are approved, those that are approved are signed, and in the end all are thrown away.
//!
//! A kubelet that joins asks for a certificate, and asks anew before it ends. [`approving`] lets it have one if the cluster's
//! roles say that it may, all other requests wait for `kubectl certificate`. [`signing`] answers what is approved. The request
//! is only a record then, and [`cleaner`] deletes it an hour later; or after a day if it was left undecided.
//!
//! All three act as one service account, and cost nothing while there are no requests.
//!
//! Left out: the kubelets here are given their certificates when they are made, and send no requests.
//!
//! Mirrors `pkg/controller/certificates`.

pub mod approving;
pub mod cleaner;
pub mod signing;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};

use client::{Change, Client, ControllerContext, Lister, Queue};
use object::Key;
use object::certificates::certificate;

/// The service account of all three.
const ACCOUNT: &str = "certificate-controller";

/// How long after a failure a request is looked at again: at first, and at most.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(1000));

/// What the approver and the signer have in common: each looks at requests that have no certificate. Mirrors
/// `CertificateController`.
struct Requests {
    client: Client,
    queue: Queue,
    requests: Lister<CertificateSigningRequest>,
}

impl Requests {
    fn new(context: &ControllerContext) -> Requests {
        let queue = context.queue.clone();
        queue.retry_from(RETRY_DELAYS.0);
        queue.retry_within(RETRY_DELAYS.1);
        Requests { client: context.client.clone(), queue, requests: context.lister() }
    }

    fn on_change(&self, change: &Change) {
        self.queue.add(change.key());
    }

    /// The request, if there is something to do about it.
    fn open(&self, key: &Key) -> Option<Arc<CertificateSigningRequest>> {
        self.requests.get(key).filter(|request| certificate(request).is_none())
    }
}

/// The request with one more condition, which holds.
fn with_condition(
    request: &CertificateSigningRequest,
    type_: &str,
    reason: &str,
    message: String,
) -> CertificateSigningRequest {
    let mut request = request.clone();
    let conditions = request.status.get_or_insert_default().conditions.get_or_insert_default();
    conditions.push(CertificateSigningRequestCondition {
        type_: type_.to_owned(),
        status: "True".to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message),
        ..CertificateSigningRequestCondition::default()
    });
    request
}
