//! What both sorts of webhook configurations have in common. Mirrors `pkg/apis/admissionregistration`.
//!
//! Left out: certificates, which nothing here looks at.

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, ServiceReference, WebhookClientConfig};
use serde_json::Value;

use crate::admissionregistration::matching::{match_conditions, rule};
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, integer};
use crate::printers::fields::list;
use crate::row::Table;
use crate::validation::metadata::label_selector;
use object::selector::names::check_subdomain;
use object::validation::field::{Json, Path, Problems};
use object::validation::names::{check_dns_1035_label, check_port};
use rules::webhook::hook::as_named;

const WEBHOOKS: Path = Path::new("webhooks");
const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];
const SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const TIMEOUT_SECONDS_MAX: i32 = 30;

/// A name such as `pods.example.com` has at least so many parts.
const NAME_PARTS_MIN: usize = 3;

/// What both sorts of webhooks leave out.
macro_rules! webhook_defaults {
    ($hook:expr) => {
        let hook = $hook;
        hook.failure_policy.get_or_insert_with(|| "Fail".into());
        hook.match_policy.get_or_insert_with(|| "Equivalent".into());
        hook.namespace_selector.get_or_insert_default();
        hook.object_selector.get_or_insert_default();
        hook.timeout_seconds.get_or_insert(rules::webhook::hook::TIMEOUT_SECONDS);
        if let Some(service) = &mut hook.client_config.service {
            service.port.get_or_insert(rules::webhook::hook::PORT);
        }
        for rule in hook.rules.iter_mut().flatten() {
            rule.scope.get_or_insert_with(|| "*".into());
        }
    };
}
pub(super) use webhook_defaults;

/// The webhooks of a configuration, seen as those that change objects.
pub fn webhooks(problems: &mut Problems, all: &[MutatingWebhook]) {
    for (i, hook) in all.iter().enumerate() {
        let path = WEBHOOKS.index(i);
        webhook(problems, &path, hook);
        review_versions(problems, &path.child("admissionReviewVersions"), &hook.admission_review_versions);
        if !hook.name.is_empty() && all[..i].iter().any(|before| before.name == hook.name) {
            problems.duplicate(&path.child("name"), hook.name.as_str());
        }
    }
}

/// The table of MutatingWebhookConfigurations, or of ValidatingWebhookConfigurations.
pub const TABLE: Table = Table { columns: &[NAME, integer("Webhooks"), AGE], cells };

fn cells(configuration: &Value, now: Timestamp) -> Vec<Value> {
    let webhooks = list(configuration, "webhooks").len();
    cells![name(configuration), webhooks, created(configuration, now)]
}

/// Mirrors `validateMutatingWebhook`.
fn webhook(problems: &mut Problems, path: &Path, hook: &MutatingWebhook) {
    qualified_name(problems, &path.child("name"), &hook.name);
    let rules = path.child("rules");
    for (i, one) in hook.rules.iter().flatten().enumerate() {
        rule(problems, &rules.index(i), &as_named(one));
    }
    let chosen: [(&str, Option<&str>, &[&str]); 4] = [
        ("failurePolicy", hook.failure_policy.as_deref(), &FAILURE_POLICIES),
        ("matchPolicy", hook.match_policy.as_deref(), &MATCH_POLICIES),
        ("sideEffects", Some(hook.side_effects.as_str()), &SIDE_EFFECTS),
        ("reinvocationPolicy", hook.reinvocation_policy.as_deref(), &REINVOCATION_POLICIES),
    ];
    for (field, value, known) in chosen {
        match value {
            Some("") if field == "sideEffects" => {
                problems.required(&path.child(field), &format!("must specify one of {}", known.join(", ")));
            }
            Some(value) if !known.contains(&value) => problems.not_supported(&path.child(field), value, known),
            _ => {}
        }
    }
    if let Some(seconds) = hook.timeout_seconds.filter(|seconds| !(1..=TIMEOUT_SECONDS_MAX).contains(seconds)) {
        let why = format!("the timeout value must be between 1 and {TIMEOUT_SECONDS_MAX} seconds");
        problems.invalid(&path.child("timeoutSeconds"), seconds, &why);
    }
    for (field, selector) in
        [("namespaceSelector", &hook.namespace_selector), ("objectSelector", &hook.object_selector)]
    {
        selector.iter().for_each(|selector| label_selector(problems, &path.child(field), selector));
    }
    client(problems, &path.child("clientConfig"), &hook.client_config);
    let conditions = hook.match_conditions.as_deref().unwrap_or_default();
    match_conditions(problems, &path.child("matchConditions"), conditions, false);
}

/// Mirrors `IsFullyQualifiedName`.
fn qualified_name(problems: &mut Problems, path: &Path, name: &str) {
    let wrong = check_subdomain(name);
    if name.is_empty() {
        problems.required(path, "");
    } else if !wrong.is_empty() {
        problems.invalid(path, name, &wrong.join(","));
    } else if name.split('.').count() < NAME_PARTS_MIN {
        problems.invalid(path, name, "should be a domain with at least three segments separated by dots");
    }
}

/// Mirrors `validateAdmissionReviewVersions`.
fn review_versions(problems: &mut Problems, path: &Path, versions: &[String]) {
    let known = REVIEW_VERSIONS.join(", ");
    if versions.is_empty() {
        return problems.required(path, &format!("must specify one of {known}"));
    }
    for (i, version) in versions.iter().enumerate() {
        if versions[..i].contains(version) {
            problems.invalid(&path.index(i), version.as_str(), "duplicate version");
        } else {
            problems.all_invalid(&path.index(i), version, check_dns_1035_label(version));
        }
    }
    if !versions.iter().any(|version| REVIEW_VERSIONS.contains(&version.as_str())) {
        problems.invalid(path, Json(&versions), &format!("must include at least one of {known}"));
    }
}

fn client(problems: &mut Problems, path: &Path, client: &WebhookClientConfig) {
    match (&client.url, &client.service) {
        (Some(address), None) => url(problems, &path.child("url"), address),
        (None, Some(there)) => service(problems, &path.child("service"), there),
        _ => problems.required(path, "exactly one of url or service is required"),
    }
}

/// Mirrors `ValidateWebhookURL`.
fn url(problems: &mut Problems, path: &Path, url: &str) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        problems.invalid(path, scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = host.rsplit_once('@').unwrap_or(("", host));
    if host.is_empty() {
        problems.invalid(path, host, &format!("host must be specified{FORM}"));
    }
    for (part, what) in [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ] {
        if !part.is_empty() {
            problems.invalid(path, part, what);
        }
    }
}

/// Mirrors `ValidateWebhookService`.
fn service(problems: &mut Problems, path: &Path, service: &ServiceReference) {
    // Kubernetes takes the one for the other.
    for (field, text) in [("name", &service.namespace), ("namespace", &service.name)] {
        if text.is_empty() {
            problems.required(&path.child(field), "");
        }
    }
    let port = service.port.unwrap_or(0);
    if let Some(why) = check_port(port) {
        problems.invalid(&path.child("port"), port, &format!("port is not valid: {why}"));
    }
    let at = path.child("path");
    let Some(text) = service.path.as_deref().filter(|text| !matches!(*text, "" | "/")) else { return };
    if text == "//" {
        return problems.invalid(&at, text, "segment[0] may not be empty");
    }
    if !text.starts_with('/') {
        problems.invalid(&at, text, "must start with a '/'");
    }
    let steps = text.strip_prefix('/').unwrap_or(text);
    for (i, step) in steps.strip_suffix('/').unwrap_or(steps).split('/').enumerate() {
        if step.is_empty() {
            problems.invalid(&at, text, &format!("segment[{i}] may not be empty"));
            continue;
        }
        for why in check_subdomain(step) {
            problems.invalid(&at, text, &format!("segment[{i}]: {why}"));
        }
    }
}
