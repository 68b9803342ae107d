//! csrapproving: approves what kubelets ask for, if they may ask for it. Mirrors `pkg/controller/certificates/approver`.
//!
//! Whether they may, a SubjectAccessReview says: whether the requester could create a part of a request that does not exist.
//! A cluster's administrator binds the roles that allow it, to `system:bootstrappers` for the first certificate of a node and to
//! `system:nodes` for the next ones.

use std::rc::Rc;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use client::{Change, Controller, ControllerContext, Error, Registration};
use object::certificates::{APPROVED, DENIED, GROUP, KUBELET_CLIENT, check_kubelet_client, has};
use object::{Accessor, Key, Kind, x509};

use super::{ACCOUNT, Requests, with_condition};

/// The row of this controller.
pub const REGISTRATION: Registration = Registration {
    watches: &[Kind::CertificateSigningRequest],
    workers: 5,
    account: Some(ACCOUNT),
    ..Registration::new("certificatesigningrequest-approving-controller", &|context| Rc::new(Approver::new(context)))
};

/// What a kubelet may ask for.
struct Recognizer {
    /// Whether this is it.
    is_it: fn(&CertificateSigningRequest, &x509::Request) -> bool,
    /// What the requester must be able to create.
    part: &'static str,
    /// What is said then.
    message: &'static str,
}

const RECOGNIZERS: [Recognizer; 2] = [
    Recognizer {
        is_it: |request, parsed| {
            is_node_client(request, parsed) && request.spec.username.as_deref() == Some(parsed.common_name())
        },
        part: "selfnodeclient",
        message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
    },
    Recognizer {
        is_it: is_node_client,
        part: "nodeclient",
        message: "Auto approving kubelet client certificate after SubjectAccessReview.",
    },
];

/// Keys are CertificateSigningRequests.
struct Approver(Requests);

impl Approver {
    fn new(context: &ControllerContext) -> Approver {
        Approver(Requests::new(context))
    }

    async fn is_allowed(&self, request: &CertificateSigningRequest, part: &str) -> Result<bool, Error> {
        let spec = &request.spec;
        let text = |text: &str| Some(text.to_owned());
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: spec.username.clone(),
                uid: spec.uid.clone(),
                groups: spec.groups.clone(),
                extra: spec.extra.clone(),
                resource_attributes: Some(ResourceAttributes {
                    group: text(GROUP),
                    resource: text("certificatesigningrequests"),
                    subresource: text(part),
                    verb: text("create"),
                    version: text("*"),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let answer = self.0.client.create(review).await?;
        Ok(answer.status.as_ref().is_some_and(|status| status.allowed))
    }
}

impl Controller for Approver {
    fn on_change(&self, change: &Change) {
        self.0.on_change(change);
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let Some(request) = self.0.open(&key) else { return Ok(()) };
        if has(&request, APPROVED) || has(&request, DENIED) {
            return Ok(());
        }
        let name = request.metadata.name();
        let parsed = x509::Request::parse(&request.spec.request.0)
            .map_err(|why| Error::Other(format!("unable to parse csr {name:?}: {why}")))?;
        let mut tried = Vec::new();
        for Recognizer { is_it, part, message } in RECOGNIZERS {
            if !is_it(&request, &parsed) {
                continue;
            }
            tried.push(part);
            if self.is_allowed(&request, part).await? {
                let approved = with_condition(&request, APPROVED, "AutoApproved", message.to_owned());
                self.0.client.update_approval(approved).await?;
                return Ok(());
            }
        }
        if tried.is_empty() {
            return Ok(());
        }
        let tried = tried.join(" ");
        let why = format!("recognized csr {name:?} as [{tried}] but subject access review was not approved");
        Err(Error::Unchanged(why))
    }
}

fn is_node_client(request: &CertificateSigningRequest, parsed: &x509::Request) -> bool {
    let usages = request.spec.usages.as_deref().unwrap_or_default();
    request.spec.signer_name == KUBELET_CLIENT && check_kubelet_client(parsed, usages).is_ok()
}
