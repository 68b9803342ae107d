//! CertificateSigningRequests. Mirrors `pkg/apis/certificates/validation` and `pkg/registry/certificates`.
//!
//! Left out: whether the request is signed with the key that it brings; see [`object::x509`].

use std::cmp::Ordering;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{int, list, text, text_or_none};
use crate::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use object::certificates::{APPROVED, DENIED, FAILED, LEGACY, certificate, conditions};
use object::selector::names::check_subdomain;
use object::time::Instant;
use object::validation::field::{Json, Path, Problems};
use object::validation::names::check_dns_label;
use object::x509::{CERTIFICATE, Request, pem};

/// What the server knows of CertificateSigningRequests.
pub const ROW: Row<CertificateSigningRequest> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|request, _| request.status = Some(CertificateSigningRequestStatus::default())),
        // No client changes what was asked for; who tries is not told.
        prepare_for_update: Some(|new, old| new.spec = old.spec.clone()),
        prepare_for_status_update: Some(date),
        note_requester: Some(note_requester),
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
                    condition_cell(o),
                ]
            },
        },
        ..Facts::new("/registry/certificatesigningrequests/", 3)
    })
};

const SPEC: Path = Path::new("spec");
const STATUS: Path = Path::new("status");
/// The longest domain of a signer: a subdomain; behind it and a slash, a label, a dot and a subdomain may stand.
const DOMAIN_LEN_MAX: usize = 253;
const SIGNER_LEN_MAX: usize = DOMAIN_LEN_MAX + 1 + 63 + 1 + 253;
/// The shortest time that a client may ask for: ten minutes.
const SECONDS_MIN: i32 = 600;
#[rustfmt::skip]
const USAGES: &[&str] = &[
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
];
/// Conditions that never go. The first two only come by `approval`.
const LASTING: [&str; 3] = [APPROVED, DENIED, FAILED];

/// Mirrors `ValidateCertificateSigningRequestCreate`.
fn validate(problems: &mut Problems, request: &CertificateSigningRequest) {
    let spec = &request.spec;
    if let Err(why) = Request::parse(&spec.request.0) {
        problems.invalid(&SPEC.child("request"), Json(&spec.request), &why);
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
    let signer = SPEC.child("signerName");
    match spec.signer_name.as_str() {
        LEGACY => problems.invalid(&signer, LEGACY, "the legacy signerName is not allowed via this API version"),
        name => signer_name(problems, &signer, name),
    }
    if let Some(seconds) = spec.expiration_seconds.filter(|seconds| *seconds < SECONDS_MIN) {
        problems.invalid(
            &SPEC.child("expirationSeconds"),
            seconds,
            "may not specify a duration less than 600 seconds (10 minutes)",
        );
    }
}

/// A domain and a path, both checked label by label. Mirrors `ValidateSignerName`.
fn signer_name(problems: &mut Problems, path: &Path, name: &str) {
    let (domain, rest) = match name.split_once('/') {
        _ if name.is_empty() => return problems.required(path, ""),
        Some((domain, rest)) if !rest.contains('/') => (domain, rest),
        _ => {
            const WHY: &str = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
            return problems.invalid(path, name, WHY);
        }
    };
    if domain.len() > DOMAIN_LEN_MAX {
        problems.too_long(path, DOMAIN_LEN_MAX);
    }
    // Of several parts that are wrong, the first is told of.
    let first_wrong = |problems: &mut Problems, text: &str, check: fn(&str) -> Vec<String>| {
        let wrong = text.split('.').map(|part| (part, check(part))).find(|(_, wrong)| !wrong.is_empty());
        for (part, why) in wrong.into_iter().flat_map(|(part, wrong)| wrong.into_iter().map(move |why| (part, why))) {
            problems.invalid(path, text, &format!("validating label {part:?}: {why}"));
        }
    };
    first_wrong(problems, domain, check_dns_label);
    if !domain.contains('.') {
        problems.invalid(path, domain, "should be a domain with at least two segments separated by dots");
    }
    first_wrong(problems, rest, check_subdomain);
    if name.len() > SIGNER_LEN_MAX {
        problems.too_long(path, SIGNER_LEN_MAX);
    }
}

/// A write of the status neither approves nor denies. Mirrors `ValidateCertificateSigningRequestStatusUpdate`.
fn validate_status(problems: &mut Problems, new: &CertificateSigningRequest, old: &CertificateSigningRequest) {
    validate_update(problems, new, old, Part::Status);
}

/// An approval or denial sets no certificate. Mirrors `ValidateCertificateSigningRequestApprovalUpdate`.
pub(crate) fn validate_approval(
    problems: &mut Problems,
    new: &CertificateSigningRequest,
    old: &CertificateSigningRequest,
) {
    validate_update(problems, new, old, Part::Approval);
}

/// What is written of a request once it is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Status,
    Approval,
}

/// Mirrors `validateCertificateSigningRequestUpdate`.
fn validate_update(
    problems: &mut Problems,
    new: &CertificateSigningRequest,
    old: &CertificateSigningRequest,
    part: Part,
) {
    if !conditions(new).eq(conditions(old)) {
        validate_conditions(problems, new);
    }
    let (list, content) = (STATUS.child("conditions"), STATUS.child("certificate"));
    let (signed, signed_before) = (certificate(new), certificate(old));
    if signed != signed_before && signed.is_some_and(|bytes| pem::decode(bytes, CERTIFICATE).is_none()) {
        problems.invalid(&content, "<certificate data>", "must contain at least one CERTIFICATE PEM block");
    }
    for type_ in LASTING {
        let of = |request| conditions(request).filter(|condition| condition.type_ == type_).collect::<Vec<_>>();
        let (before, now) = (of(old), of(new));
        let what = match now.len().cmp(&before.len()) {
            Ordering::Less => "remove",
            _ if part == Part::Approval || type_ == FAILED => continue,
            Ordering::Greater => "add",
            Ordering::Equal if now != before => "modify",
            Ordering::Equal => continue,
        };
        problems.forbidden(&list, &format!("updates may not {what} a condition of type {type_:?}"));
    }
    if signed != signed_before {
        match part {
            Part::Approval => problems.forbidden(&content, "updates may not set certificate content"),
            Part::Status if signed_before.is_some() => {
                problems.forbidden(&content, "updates may not modify existing certificate content");
            }
            Part::Status => {}
        }
    }
}

/// Mirrors `validateConditions`.
fn validate_conditions(problems: &mut Problems, request: &CertificateSigningRequest) {
    let list = STATUS.child("conditions");
    let mut seen: Vec<&str> = Vec::new();
    for (i, condition) in conditions(request).enumerate() {
        let path = list.index(i);
        let (type_, status) = (condition.type_.as_str(), condition.status.as_str());
        if type_.is_empty() {
            problems.required(&path.child("type"), "");
        }
        let statuses = if LASTING.contains(&type_) { &["True"][..] } else { &["False", "True", "Unknown"] };
        match status {
            "" => problems.required(&path.child("status"), ""),
            status if !statuses.contains(&status) => problems.not_supported(&path.child("status"), status, statuses),
            _ => {}
        }
        if seen.contains(&type_) {
            problems.duplicate(&path.child("type"), type_);
        }
        let decided = |other: &str| type_ == other || seen.contains(&other);
        if !seen.contains(&type_) && [APPROVED, DENIED].contains(&type_) && decided(APPROVED) && decided(DENIED) {
            problems.invalid(&list, type_, "Approved and Denied conditions are mutually exclusive");
        }
        seen.push(type_);
    }
}

/// Before an approver decides: only the conditions may change. Mirrors `csrApprovalStrategy.PrepareForUpdate`.
pub(crate) fn prepare_for_approval(new: &mut CertificateSigningRequest, old: &CertificateSigningRequest, now: Instant) {
    new.spec = old.spec.clone();
    let conditions = new.status.take().and_then(|status| status.conditions);
    new.status = Some(CertificateSigningRequestStatus { conditions, ..old.status.clone().unwrap_or_default() });
    date(new, old, now);
}

/// Says of each condition when it was written, and when it began to hold. Mirrors `populateConditionTimestamps`.
fn date(new: &mut CertificateSigningRequest, old: &CertificateSigningRequest, now: Instant) {
    for condition in new.status.iter_mut().flat_map(|status| status.conditions.iter_mut().flatten()) {
        condition.last_update_time.get_or_insert_with(|| now.time());
        if condition.last_transition_time.is_none() {
            let same = |there: &&CertificateSigningRequestCondition| {
                there.type_ == condition.type_ && there.status == condition.status
            };
            let since = conditions(old).find(same).and_then(|there| there.last_transition_time.clone());
            condition.last_transition_time = Some(since.unwrap_or_else(|| now.time()));
        }
    }
}

/// The server fills in the requester, and overwrites what the client has sent.
fn note_requester(request: &mut CertificateSigningRequest, user: UserInfo) {
    let spec = &mut request.spec;
    (spec.username, spec.uid, spec.groups, spec.extra) = (user.username, user.uid, user.groups, user.extra);
}

/// How long the certificate is to be good.
fn duration(request: &Value) -> String {
    match int(request, "spec.expirationSeconds") {
        0 => "<none>".to_owned(),
        seconds => crate::printers::duration::human(seconds),
    }
}

/// `Approved,Issued`. Mirrors `extractCSRStatus`.
fn condition_cell(request: &Value) -> String {
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
