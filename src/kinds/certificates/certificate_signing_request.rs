//! CertificateSigningRequests. Mirrors `pkg/apis/certificates/validation` and `pkg/registry/certificates`.
//!
//! Left out: what the request says inside its PEM block, and who sent it, which the server writes into the spec.

use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{int, list, text, text_or_none};
use crate::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use object::validation::field::{Json, Path, Problems};
use object::validation::names::prefixed_path;

/// What the server knows of CertificateSigningRequests.
pub const ROW: Row<CertificateSigningRequest> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|request, _| request.status = Some(CertificateSigningRequestStatus::default())),
        // Nobody changes what was asked for; who tries is not told.
        prepare_for_update: Some(|new, old| new.spec = old.spec.clone()),
        ..Strategy::DEFAULT
    },
    validation: Validation { create: validate, status: validate_status, ..Validation::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[
                NAME,
                AGE,
                column("SignerName"),
                column("Requestor"),
                column("RequestedDuration"),
                column("Condition"),
            ],
            cells: |o, now| {
                cells![
                    name(o),
                    created(o, now),
                    text_or_none(o, "spec.signerName"),
                    text(o, "spec.username"),
                    duration(o),
                    conditions(o),
                ]
            },
        },
        ..Facts::new("/registry/certificatesigningrequests/", 3)
    })
};

const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");
const PEM: &str = "-----BEGIN CERTIFICATE REQUEST-----";
/// The shortest time that somebody may ask for: ten minutes.
const SECONDS_MIN: i32 = 600;
#[rustfmt::skip]
const USAGES: &[&str] = &[
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
];
/// Conditions that only come by `approval`, and never go.
const DECISIONS: &[&str] = &["Approved", "Denied"];

/// Mirrors `ValidateCertificateSigningRequestCreate`.
fn validate(problems: &mut Problems, request: &CertificateSigningRequest) {
    let spec = &request.spec;
    if !String::from_utf8_lossy(&spec.request.0).contains(PEM) {
        problems.invalid(&SPEC.child("request"), Json(&spec.request), "PEM block type must be CERTIFICATE REQUEST");
    }
    let usages = spec.usages.as_deref().unwrap_or_default();
    let list = SPEC.child("usages");
    if usages.is_empty() {
        problems.required(&list, "usages must contain at least one value");
    }
    for (i, usage) in usages.iter().enumerate() {
        if !USAGES.contains(&usage.as_str()) {
            problems.not_supported(&list.index(i), usage.as_str(), USAGES);
        }
        if usages[..i].contains(usage) {
            problems.duplicate(&list.index(i), usage.as_str());
        }
    }
    prefixed_path(problems, &SPEC.child("signerName"), &spec.signer_name);
    if let Some(seconds) = spec.expiration_seconds.filter(|seconds| *seconds < SECONDS_MIN) {
        problems.invalid(
            &SPEC.child("expirationSeconds"),
            seconds,
            "may not specify a duration less than 600 seconds (10 minutes)",
        );
    }
}

/// Whoever writes the status decides nothing. Mirrors `ValidateCertificateSigningRequestStatusUpdate`.
fn validate_status(problems: &mut Problems, new: &CertificateSigningRequest, old: &CertificateSigningRequest) {
    let path = STATUS.child("conditions");
    for decision in DECISIONS {
        let has =
            |request: &CertificateSigningRequest| decisions(request).any(|condition| condition.type_ == *decision);
        match (has(old), has(new)) {
            (true, false) => {
                problems.forbidden(&path, &format!("updates may not remove a condition of type {decision:?}"));
            }
            (false, true) => {
                problems.forbidden(&path, &format!("updates may not add a condition of type {decision:?}"))
            }
            _ => {}
        }
    }
    let certificate = new.status.as_ref().and_then(|status| status.certificate.as_ref());
    if certificate.is_some_and(|bytes| !String::from_utf8_lossy(&bytes.0).contains("-----BEGIN CERTIFICATE-----")) {
        const WHY: &str = "must contain at least one CERTIFICATE PEM block";
        problems.invalid(&STATUS.child("certificate"), "<certificate data>", WHY);
    }
}

fn decisions(request: &CertificateSigningRequest) -> impl Iterator<Item = &CertificateSigningRequestCondition> {
    request.status.iter().flat_map(|status| status.conditions.iter().flatten())
}

/// How long the certificate is to be good.
fn duration(request: &Value) -> String {
    match int(request, "spec.expirationSeconds") {
        0 => "<none>".to_owned(),
        seconds => crate::printers::duration::human(seconds),
    }
}

/// `Approved,Issued`. Mirrors `extractCSRStatus`.
fn conditions(request: &Value) -> String {
    let has = |kind: &str| list(request, "status.conditions").iter().any(|condition| text(condition, "type") == kind);
    let mut said = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied".to_owned(),
        (false, true) => "Approved".to_owned(),
        (false, false) => "Pending".to_owned(),
    };
    if has("Failed") {
        said.push_str(",Failed");
    }
    if !text(request, "status.certificate").is_empty() {
        said.push_str(",Issued");
    }
    said
}
