//! What CertificateSigningRequests say, in words that several components use: signers, decisions, and what the kubelet's own
//! requests look like. Mirrors `pkg/apis/certificates/helpers.go` and `pkg/controller/certificates/certificate_controller_utils.go`.

use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};

use crate::x509::Request;

/// The group of these kinds.
pub const GROUP: &str = "certificates.k8s.io";

/// Signs what clients show to the API server.
pub const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
/// Signs what kubelets show to the API server.
pub const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// Signs what kubelets show to their own clients.
pub const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
/// Signs what was asked for in an older version of the API.
pub const LEGACY: &str = "kubernetes.io/legacy-unknown";

/// Decided: it is to be signed.
pub const APPROVED: &str = "Approved";
/// Decided: it is not.
pub const DENIED: &str = "Denied";
/// The signer could not sign it.
pub const FAILED: &str = "Failed";

/// The conditions of a request.
pub fn conditions(request: &CertificateSigningRequest) -> impl Iterator<Item = &CertificateSigningRequestCondition> {
    request.status.iter().flat_map(|status| status.conditions.iter().flatten())
}

/// Whether a request has a condition of this type.
pub fn has(request: &CertificateSigningRequest, type_: &str) -> bool {
    conditions(request).any(|condition| condition.type_ == type_)
}

/// The certificate that was signed for a request.
pub fn certificate(request: &CertificateSigningRequest) -> Option<&[u8]> {
    let bytes = &request.status.as_ref()?.certificate.as_ref()?.0;
    Some(bytes.as_slice()).filter(|bytes| !bytes.is_empty())
}

/// What is wrong with a request for the certificate by which the API server knows a kubelet. Mirrors `ValidateKubeletClientCSR`.
pub fn check_kubelet_client(request: &Request, usages: &[String]) -> Result<(), String> {
    check_node_groups(request)?;
    const NOT_ALLOWED: &str = "subjectAltNames are not allowed";
    let has = request.has;
    for (count, what) in [(has.dns, "DNS"), (has.email, "Email"), (has.ip, "IP"), (has.uri, "URI")] {
        if count > 0 {
            return Err(format!("{what} {NOT_ALLOWED}"));
        }
    }
    check_node_name(request)?;
    check_usages(usages, "client auth")
}

/// What is wrong with a request for the certificate by which a kubelet's clients know it. Mirrors `ValidateKubeletServingCSR`.
pub fn check_kubelet_serving(request: &Request, usages: &[String]) -> Result<(), String> {
    check_node_groups(request)?;
    let has = request.has;
    let wrong = match () {
        () if has.dns == 0 && has.ip == 0 => "DNS or IP subjectAltName is required",
        () if has.email > 0 => "Email subjectAltNames are not allowed",
        () if has.uri > 0 => "URI subjectAltNames are not allowed",
        () => "",
    };
    if !wrong.is_empty() {
        return Err(wrong.to_owned());
    }
    check_usages(usages, "server auth")?;
    check_node_name(request)
}

/// What is wrong with the usages that a client asks for. Mirrors `validAPIServerClientUsages`.
pub fn check_client(usages: &[String]) -> Result<(), String> {
    const AUTH: &str = "client auth";
    if let Some(other) = usages.iter().find(|usage| !matches!(usage.as_str(), AUTH | SIGNATURE | ENCIPHERMENT)) {
        return Err(format!("invalid usage for client certificate: {other}"));
    }
    match usages.iter().any(|usage| usage == AUTH) {
        true => Ok(()),
        false => Err(format!("missing required usage for client certificate: {AUTH}")),
    }
}

const SIGNATURE: &str = "digital signature";
const ENCIPHERMENT: &str = "key encipherment";

fn check_node_groups(request: &Request) -> Result<(), String> {
    match request.organizations().eq(["system:nodes"]) {
        true => Ok(()),
        false => Err("subject organization is not system:nodes".to_owned()),
    }
}

fn check_node_name(request: &Request) -> Result<(), String> {
    match request.common_name().starts_with("system:node:") {
        true => Ok(()),
        false => Err("subject common name does not begin with system:node:".to_owned()),
    }
}

/// All three usages, or the two that a key which cannot encipher has.
fn check_usages(usages: &[String], auth: &str) -> Result<(), String> {
    let mut wanted = [auth, SIGNATURE, ENCIPHERMENT];
    wanted.sort_unstable();
    let known = usages.iter().all(|usage| wanted.contains(&usage.as_str()));
    let has = |usage: &str| usages.iter().any(|there| there == usage);
    match known && has(auth) && has(SIGNATURE) {
        true => Ok(()),
        false => Err(format!("usages did not match [{}]", wanted.join(" "))),
    }
}
