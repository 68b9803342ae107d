//! APIServices: which server answers for a group and version. Mirrors `pkg/apis/apiregistration` of kube-aggregator.
//!
//! Those of the server's own groups are local. Of another server the API server says whether it can answer; it never asks it.

use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::{
    APIService, APIServiceCondition, APIServiceSpec, APIServiceStatus,
};
use serde_json::Value;

use crate::defaults::fields::or;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{at, list, text};
use crate::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use object::Accessor;
use object::selector::names::check_subdomain;
use object::time::Instant;
use object::validation::field::{Literal, Path, Problems};
use object::validation::names::{check_dns_1035_label, check_path_segment, check_port};

/// What the server knows of APIServices.
pub const ROW: Row<APIService> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(prepare_for_create),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        // What it has to be follows from the spec.
        check_name: check_path_segment,
        table: Table {
            columns: &[NAME, column("Service"), column("Available"), AGE],
            cells: |o, now| cells![name(o), service(o), available(o), created(o, now)],
        },
        ..Facts::new("/registry/apiregistration.k8s.io/apiservices/", 3)
    })
};

const SPEC: Path = Path::new("spec");
/// Where another server listens.
const PORT: i32 = 443;
const GROUP_PRIORITY_MAX: i32 = 20_000;
const VERSION_PRIORITY_MAX: i32 = 1000;

fn defaults(service: &mut APIService) {
    if let Some(service) = service.spec.as_mut().and_then(|spec| spec.service.as_mut()) {
        or(&mut service.port, PORT);
    }
}

/// One that is local is available at once.
fn prepare_for_create(service: &mut APIService, now: Instant) {
    let is_local = service.spec.as_ref().is_some_and(|spec| spec.service.is_none());
    let local = APIServiceCondition {
        type_: "Available".into(),
        status: "True".into(),
        reason: Some("Local".into()),
        message: Some("Local APIServices are always available".into()),
        last_transition_time: Some(now.time()),
    };
    service.status = Some(APIServiceStatus { conditions: is_local.then(|| vec![local]) });
}

/// Mirrors `ValidateAPIService`.
fn validate(problems: &mut Problems, service: &APIService) {
    let default = APIServiceSpec::default();
    let spec = service.spec.as_ref().unwrap_or(&default);
    let (group, version) = (spec.group.as_deref().unwrap_or_default(), spec.version.as_deref().unwrap_or_default());
    let (found, wanted) = (service.metadata.name(), format!("{version}.{group}"));
    if found != wanted {
        let metadata = Path::new("metadata");
        let why = format!("must be `spec.version+\".\"+spec.group`: {wanted:?}");
        problems.invalid(&metadata.child("name"), found, &why);
    }
    match (group, version) {
        ("", "v1") => {}
        ("", _) => {
            problems.required(&SPEC.child("group"), "only v1 may have an empty group and it better be legacy kube")
        }
        _ => problems.all_invalid(&SPEC.child("group"), group, check_subdomain(group)),
    }
    problems.all_invalid(&SPEC.child("version"), version, check_dns_1035_label(version));
    priority(problems, "groupPriorityMinimum", spec.group_priority_minimum, GROUP_PRIORITY_MAX);
    priority(problems, "versionPriority", spec.version_priority, VERSION_PRIORITY_MAX);
    validate_server(problems, spec);
}

fn priority(problems: &mut Problems, field: &'static str, value: i32, max: i32) {
    if value <= 0 || value > max {
        problems.invalid(&SPEC.child(field), value, &format!("must be positive and less than {max}"));
    }
}

/// How another server is reached; nothing of that where there is none.
fn validate_server(problems: &mut Problems, spec: &APIServiceSpec) {
    let insecure = spec.insecure_skip_tls_verify == Some(true);
    let bytes = spec.ca_bundle.as_ref().map_or(0, |bundle| bundle.0.len());
    let certificates = bytes > 0;
    let path = SPEC.child("insecureSkipTLSVerify");
    let Some(service) = &spec.service else {
        if certificates {
            let why = "local APIServices may not have a caBundle";
            problems.invalid(&SPEC.child("caBundle"), format!("{bytes} bytes").as_str(), why);
        }
        if insecure {
            problems.invalid(&path, Literal("true"), "local APIServices may not have insecureSkipTLSVerify");
        }
        return;
    };
    for (field, value) in [("namespace", &service.namespace), ("name", &service.name)] {
        if value.as_deref().unwrap_or_default().is_empty() {
            problems.required(&SPEC.child("service").child(field), "");
        }
    }
    let port = service.port.unwrap_or(0);
    if let Some(why) = check_port(port) {
        problems.invalid(&SPEC.child("service").child("port"), port, &format!("port is not valid: {why}"));
    }
    if insecure && certificates {
        problems.invalid(&path, Literal("true"), "may not be true if caBundle is present");
    }
}

fn service(of: &Value) -> String {
    match at(of, "spec.service") {
        Value::Null => "Local".to_owned(),
        service => format!("{}/{}", text(service, "namespace"), text(service, "name")),
    }
}

/// `True`, or `False (ServiceNotFound)`.
fn available(of: &Value) -> String {
    let found = list(of, "status.conditions").iter().find(|condition| text(condition, "type") == "Available");
    match found.map(|condition| (text(condition, "status"), text(condition, "reason"))) {
        None => "Unknown".to_owned(),
        Some(("True", _)) => "True".to_owned(),
        Some((status, reason)) => format!("{status} ({reason})"),
    }
}
