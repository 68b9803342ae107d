//! What claims of devices, and what they are made from, have in common. Mirrors `pkg/apis/resource/validation` and
//! `pkg/apis/resource/v1/defaults.go`.
//!
//! A selector is compiled when it is written, so that what cannot be asked of a device is refused at once.
//!
//! Left out: constraints, configurations and capacities; and what a selector costs, and gives: nothing here allocates devices.

use std::collections::BTreeSet;

use k8s_openapi::api::resource::v1::{DeviceClaim, DeviceSelector};

use crate::defaults::fields::or_text;
use object::selector::names::check_subdomain;
use object::validation::field::{Literal, Path, Problems};
use object::validation::names::check_dns_label;
use rules::cel::Program;
use rules::cel::types::{QUANTITY, Type};

const MODES: &[&str] = &["All", "ExactCount"];
const EXACT_COUNT: &str = "ExactCount";
/// How long an expression may be, in bytes.
const EXPRESSION_MAX: usize = 10 * 1024;
/// The most requests of a claim.
const REQUESTS_MAX: usize = 32;

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
    if requests.len() > REQUESTS_MAX {
        problems.too_many(&list, requests.len(), REQUESTS_MAX);
    }
    let mut seen = BTreeSet::new();
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
                for (i, other) in others.iter().enumerate() {
                    let path = list.index(i);
                    problems.all_invalid(&path.child("name"), &other.name, check_dns_label(&other.name));
                    let wanted = (other.allocation_mode.as_deref(), other.count);
                    validate_wanted(problems, &path, &other.device_class_name, other.selectors.as_deref(), wanted);
                }
            }
        }
        if !seen.insert(request.name.as_str()) {
            problems.duplicate(&path, request.name.as_str());
        }
    }
}

/// Of which class, and how many.
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

/// Expressions about a device, of which each has to be there.
pub fn validate_selectors(problems: &mut Problems, path: &Path, selectors: Option<&[DeviceSelector]>) {
    let list = path.child("selectors");
    for (i, selector) in selectors.into_iter().flatten().enumerate() {
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
