//! What claims of devices, and what they are made from, have in common. Mirrors `pkg/apis/resource/validation` and
//! `pkg/apis/resource/v1/defaults.go`.
//!
//! A selector is compiled when it is written, so that what cannot be asked of a device is refused at once.
//!
//! Left out: capacities and tolerations; and what a selector costs, and gives: nothing here allocates devices.

use std::collections::BTreeSet;

use k8s_openapi::api::resource::v1::{
    DeviceClaim, DeviceConstraint, DeviceRequest, DeviceSelector, OpaqueDeviceConfiguration,
};
use serde_json::Value;

use crate::defaults::fields::or_text;
use crate::validation::volumes::driver_name;
use object::selector::names::check_subdomain;
use object::validation::field::{Literal, Path, Problems};
use object::validation::names::check_dns_label;
use rules::cel::Program;
use rules::cel::types::{QUANTITY, Type};

const MODES: &[&str] = &["All", "ExactCount"];
const EXACT_COUNT: &str = "ExactCount";
/// How long an expression may be, in bytes.
const EXPRESSION_MAX: usize = 10 * 1024;
/// The most requests of a claim; and as many constraints, configurations, and selectors of a request.
pub const REQUESTS_MAX: usize = 32;
/// The most subrequests in `firstAvailable`, where the first that can be met is enough.
const FIRST_AVAILABLE_MAX: usize = 8;
/// The longest name of an attribute or a capacity, behind its domain.
const ID_LEN_MAX: usize = 32;
const C_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of \
    alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
    '[A-Za-z_][A-Za-z0-9_]*')";
const NO_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/// A request that does not say how many wants one.
pub fn fill_in(claim: Option<&mut DeviceClaim>) {
    for request in claim.into_iter().flat_map(|claim| claim.requests.iter_mut().flatten()) {
        if let Some(exact) = &mut request.exactly {
            fill_in_count(&mut exact.allocation_mode, &mut exact.count);
        }
        for wanted in request.first_available.iter_mut().flatten() {
            fill_in_count(&mut wanted.allocation_mode, &mut wanted.count);
        }
    }
}

fn fill_in_count(mode: &mut Option<String>, count: &mut Option<i64>) {
    or_text(mode, EXACT_COUNT);
    if mode.as_deref() == Some(EXACT_COUNT) && count.unwrap_or(0) == 0 {
        *count = Some(1);
    }
}

/// What a claim asks for.
pub fn validate_claim(problems: &mut Problems, path: &Path, claim: Option<&DeviceClaim>) {
    let path = path.child("devices");
    let list = path.child("requests");
    let requests = claim.and_then(|claim| claim.requests.as_deref()).unwrap_or_default();
    if is_short(problems, &list, requests, REQUESTS_MAX) {
        validate_requests(problems, &list, requests);
    }
    let Some(claim) = claim else { return };
    let list = path.child("constraints");
    let constraints = claim.constraints.as_deref().unwrap_or_default();
    if is_short(problems, &list, constraints, REQUESTS_MAX) {
        for (i, constraint) in constraints.iter().enumerate() {
            validate_constraint(problems, &list.index(i), constraint, requests);
        }
    }
    let list = path.child("config");
    let configurations = claim.config.as_deref().unwrap_or_default();
    if is_short(problems, &list, configurations, REQUESTS_MAX) {
        for (i, configuration) in configurations.iter().enumerate() {
            let path = list.index(i);
            validate_references(problems, &path, configuration.requests.as_deref(), requests);
            validate_configuration(problems, &path, configuration.opaque.as_ref());
        }
    }
}

/// Whether a list is not too long. Of one that is, nothing more is said.
pub fn is_short<T>(problems: &mut Problems, path: &Path, list: &[T], max: usize) -> bool {
    if list.len() > max {
        problems.too_many(path, list.len(), max);
    }
    list.len() <= max
}

fn validate_requests(problems: &mut Problems, list: &Path, requests: &[DeviceRequest]) {
    for (i, request) in requests.iter().enumerate() {
        let path = list.index(i);
        problems.all_invalid(&path.child("name"), &request.name, check_dns_label(&request.name));
        let others = request.first_available.as_deref().unwrap_or_default();
        match (&request.exactly, others.is_empty()) {
            (None, true) => problems.required(&path, "exactly one of `exactly` or `firstAvailable` is required"),
            (Some(_), false) => {
                const WHY: &str =
                    "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
                problems.invalid(&path, Literal("null"), WHY);
            }
            (Some(exact), true) => {
                let path = path.child("exactly");
                let wanted = (exact.allocation_mode.as_deref(), exact.count);
                validate_wanted(problems, &path, &exact.device_class_name, exact.selectors.as_deref(), wanted);
            }
            (None, false) => {
                let list = path.child("firstAvailable");
                if !is_short(problems, &list, others, FIRST_AVAILABLE_MAX) {
                    continue;
                }
                for (i, other) in others.iter().enumerate() {
                    let path = list.index(i);
                    problems.all_invalid(&path.child("name"), &other.name, check_dns_label(&other.name));
                    let wanted = (other.allocation_mode.as_deref(), other.count);
                    validate_wanted(problems, &path, &other.device_class_name, other.selectors.as_deref(), wanted);
                }
                unique(problems, &list, others.iter().map(|other| other.name.as_str()));
            }
        }
    }
    unique(problems, list, requests.iter().map(|request| request.name.as_str()));
}

/// Each of these once.
pub fn unique<'a>(problems: &mut Problems, list: &Path, names: impl Iterator<Item = &'a str>) {
    let mut seen = BTreeSet::new();
    for (i, name) in names.enumerate() {
        if !seen.insert(name) {
            problems.duplicate(&list.index(i), name);
        }
    }
}

/// What devices have in common.
fn validate_constraint(
    problems: &mut Problems,
    path: &Path,
    constraint: &DeviceConstraint,
    requests: &[DeviceRequest],
) {
    validate_references(problems, path, constraint.requests.as_deref(), requests);
    for (field, name) in
        [("matchAttribute", &constraint.match_attribute), ("distinctAttribute", &constraint.distinct_attribute)]
    {
        let Some(name) = name else { continue };
        let path = path.child(field);
        qualified_name(problems, &path, name);
        if !name.contains('/') {
            const WHY: &str = "a fully qualified name must be a domain and a name separated by a slash";
            problems.invalid(&path, name.as_str(), WHY);
        }
        return;
    }
}

/// The requests that something is about, by their names.
fn validate_references(problems: &mut Problems, path: &Path, names: Option<&[String]>, requests: &[DeviceRequest]) {
    let list = path.child("requests");
    let names = names.unwrap_or_default();
    if !is_short(problems, &list, names, REQUESTS_MAX) {
        return;
    }
    let known = |name: &str| {
        let (name, other) = name.split_once('/').map_or((name, None), |(name, other)| (name, Some(other)));
        let request = requests.iter().find(|request| request.name == name);
        let others = request.and_then(|request| request.first_available.as_deref()).unwrap_or_default();
        request.is_some() && other.is_none_or(|other| others.iter().any(|it| it.name == other))
    };
    for (i, name) in names.iter().enumerate() {
        let path = list.index(i);
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() <= 2 {
            parts.iter().for_each(|part| problems.all_invalid(&path, part, check_dns_label(part)));
        }
        if parts.len() > 2 || !known(name) {
            problems.invalid(&path, name.as_str(), NO_REQUEST);
        }
    }
    unique(problems, &list, names.iter().map(String::as_str));
}

/// What a driver is told: an object of any form.
pub fn validate_configuration(problems: &mut Problems, path: &Path, opaque: Option<&OpaqueDeviceConfiguration>) {
    let path = path.child("opaque");
    let Some(opaque) = opaque else { return problems.required(&path, "") };
    driver_name(problems, &path.child("driver"), &opaque.driver);
    let path = path.child("parameters");
    match &opaque.parameters.0 {
        Value::Null => problems.required(&path, ""),
        Value::Object(_) => {}
        _ => problems.invalid(&path, "<value omitted>", "must be a valid JSON object"),
    }
}

/// The name of an attribute or a capacity, with a domain or without. Mirrors `validateQualifiedName`.
pub fn qualified_name(problems: &mut Problems, path: &Path, name: &str) {
    let (domain, id) = match name.split_once('/') {
        Some((_, id)) if id.contains('/') => {
            return problems.invalid(path, name, "must not contain more than one slash");
        }
        Some((domain, id)) => (Some(domain), id),
        None => (None, name),
    };
    match domain {
        Some("") => problems.invalid(path, "", "the domain must not be empty"),
        Some(domain) => driver_name(problems, path, domain),
        None => {}
    }
    if domain.is_some() && id.is_empty() {
        return problems.invalid(path, "", "the name must not be empty");
    }
    if id.len() > ID_LEN_MAX {
        problems.too_long(path, ID_LEN_MAX);
    }
    let inner = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    if id.is_empty() || id.starts_with(|c: char| c.is_ascii_digit()) || !id.bytes().all(inner) {
        problems.invalid(path, id, C_IDENTIFIER);
    }
}

/// The class of the devices, and how many.
fn validate_wanted(
    problems: &mut Problems,
    path: &Path,
    class: &str,
    selectors: Option<&[DeviceSelector]>,
    (mode, count): (Option<&str>, Option<i64>),
) {
    match class {
        "" => problems.required(&path.child("deviceClassName"), ""),
        class => problems.all_invalid(&path.child("deviceClassName"), class, check_subdomain(class)),
    }
    validate_selectors(problems, path, selectors);
    let count = count.unwrap_or(0);
    match mode.unwrap_or_default() {
        EXACT_COUNT if count <= 0 => problems.invalid(&path.child("count"), count, "must be greater than zero"),
        "All" if count != 0 => {
            problems.invalid(&path.child("count"), count, "must not be specified when allocationMode is 'All'");
        }
        EXACT_COUNT | "All" => {}
        other => problems.not_supported(&path.child("allocationMode"), other, MODES),
    }
}

/// Expressions about a device; each must be given, and compile.
pub fn validate_selectors(problems: &mut Problems, path: &Path, selectors: Option<&[DeviceSelector]>) {
    let list = path.child("selectors");
    let selectors = selectors.unwrap_or_default();
    if !is_short(problems, &list, selectors, REQUESTS_MAX) {
        return;
    }
    for (i, selector) in selectors.iter().enumerate() {
        let path = list.index(i);
        let path = path.child("cel");
        match &selector.cel {
            None => problems.required(&path, ""),
            Some(cel) if cel.expression.is_empty() => problems.required(&path.child("expression"), ""),
            Some(cel) if cel.expression.len() > EXPRESSION_MAX => {
                problems.too_long(&path.child("expression"), EXPRESSION_MAX);
            }
            Some(cel) => {
                if let Err(why) = compile(&cel.expression) {
                    problems.invalid(&path.child("expression"), cel.expression.as_str(), &why);
                }
            }
        }
    }
}

/// What is wrong with the expression of a selector. Mirrors `GetCompiler` of `k8s.io/dynamic-resource-allocation/cel`.
fn compile(expression: &str) -> Result<(), String> {
    let program = Program::compile(expression, &vec![("device".to_owned(), device())]);
    let gives = program.map_err(|why| format!("compilation failed: {why}"))?.gives;
    match gives {
        Type::Bool | Type::Dyn => Ok(()),
        other => Err(format!("must evaluate to bool or the unknown type, not {other}")),
    }
}

/// What an expression knows of a device: whose it is, and by domain and name what it is like and how much of it there is.
fn device() -> Type {
    let by_domain = |value| {
        let by_name = Type::Map(Box::new(Type::String), Box::new(value));
        Type::Map(Box::new(Type::String), Box::new(by_name))
    };
    let fields = [
        ("driver", Type::String),
        ("allowMultipleAllocations", Type::Bool),
        ("attributes", by_domain(Type::Dyn)),
        ("capacity", by_domain(Type::Opaque(QUANTITY))),
    ];
    Type::object("kubernetes.DRADevice", fields.map(|(name, of)| (name.to_owned(), of)))
}
