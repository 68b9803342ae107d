//! CertificateApproval, CertificateSigning and CertificateSubjectRestriction: who may decide about a request for a certificate,
//! who may sign it, and what no client may be called. Mirrors `plugin/pkg/admission/certificates`.
//!
//! RBAC lets a user write `approval` or `status`; for whose certificates, a rule about the resource `signers` says, which is no
//! kind: its names are those of signers.

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use object::certificates::{CLIENT, GROUP};
use object::x509;
use object::{Object, Status};
use wire::{MASTERS, Subresource};

use super::{Attributes, forbidden};
use crate::authorization;

/// A user who approves or denies a request must be allowed to `approve` for its signer.
pub fn approval(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    match request_before(attributes, Subresource::Approval) {
        Some(old) => may(attributes, object, "approve", &old.spec.signer_name),
        None => Ok(()),
    }
}

/// A user who answers a request, or says that it cannot be answered, must be allowed to `sign` for its signer.
pub fn signing(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    let Object::CertificateSigningRequest(new) = object else { return Ok(()) };
    let Some(old) = request_before(attributes, Subresource::Status) else { return Ok(()) };
    let said = |request: &CertificateSigningRequest| {
        let status = request.status.clone().unwrap_or_default();
        (status.certificate, status.conditions.unwrap_or_default())
    };
    match said(new) == said(old) {
        true => Ok(()),
        false => may(attributes, object, "sign", &old.spec.signer_name),
    }
}

/// A certificate that makes its bearer an administrator is not for the asking.
pub fn subject(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    let Object::CertificateSigningRequest(request) = object else { return Ok(()) };
    if !attributes.is_create() || request.spec.signer_name != CLIENT {
        return Ok(());
    }
    let refuse = |why: String| forbidden(attributes.request, Some(object), &why);
    let parsed = x509::Request::parse(&request.spec.request.0);
    let parsed = parsed.map_err(|why| refuse(format!("failed to parse CSR: {why}")))?;
    match parsed.organizations().any(|group| group == MASTERS) {
        true => Err(refuse(format!("use of {CLIENT} signer with {MASTERS} group is not allowed"))),
        false => Ok(()),
    }
}

/// The request for a certificate as it was, if this part of it is written.
fn request_before<'a>(attributes: &Attributes<'a>, part: Subresource) -> Option<&'a CertificateSigningRequest> {
    match (attributes.request.subresource, attributes.old) {
        (there, Some(Object::CertificateSigningRequest(old))) if there == Some(part) => Some(old),
        _ => None,
    }
}

/// Whether the user may do this for a signer, or for all signers of its domain. Mirrors `IsAuthorizedForSignerName`.
fn may(attributes: &Attributes, object: &Object, verb: &str, signer: &str) -> Result<(), Status> {
    let request = attributes.request;
    let all = signer.split_once('/').map_or(String::new(), |(domain, _)| format!("{domain}/*"));
    let is_allowed = |name: &str| {
        let asked = authorization::Attributes {
            user: &request.user,
            verb,
            group: GROUP,
            resource: "signers".into(),
            namespace: "",
            name,
            path: "",
        };
        attributes.authorizer.decide(&asked, None, attributes.reader).is_ok()
    };
    match is_allowed(signer) || is_allowed(&all) {
        true => Ok(()),
        false => {
            let why = format!("user not permitted to {verb} requests with signerName {signer:?}");
            Err(forbidden(request, Some(object), &why))
        }
    }
}
