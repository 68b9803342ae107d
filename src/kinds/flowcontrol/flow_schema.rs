//! FlowSchemas: which requests wait in which flow. Mirrors `pkg/apis/flowcontrol`.
//!
//! Nothing here holds requests back; `apiserver/flow_control.rs` says in which flow one would wait.

use k8s_openapi::api::flowcontrol::v1::{
    FlowSchema, FlowSchemaStatus, NonResourcePolicyRule, PolicyRulesWithSubjects, ResourcePolicyRule, Subject,
};
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{int, list, text, text_or_none};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, spec_and_status};
use object::selector::names::check_subdomain;
use object::validation::field::{Json, Path, Problems};
use object::validation::internal::Internal;
use object::validation::names::check_dns_label;

/// What the server knows of FlowSchemas.
pub const ROW: Row<FlowSchema> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        status: spec_and_status!(),
        prepare_for_create: Some(|schema, _| schema.status = Some(FlowSchemaStatus::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        table: Table {
            columns: &[
                NAME,
                column("PriorityLevel"),
                column("MatchingPrecedence"),
                column("DistinguisherMethod"),
                AGE,
                column("MissingPL"),
            ],
            cells: |o, now| {
                cells![
                    name(o),
                    text(o, "spec.priorityLevelConfiguration.name"),
                    int(o, "spec.matchingPrecedence"),
                    text_or_none(o, "spec.distinguisherMethod.type"),
                    created(o, now),
                    missing_level(o),
                ]
            },
        },
        ..Facts::new("/registry/flowschemas/", 3)
    })
};

const SPEC: Path = Path::new("spec");
/// Where a schema stands that does not say so.
const PRECEDENCE: i32 = 1000;
const PRECEDENCE_MAX: i32 = 10_000;
const METHODS: &[&str] = &["ByNamespace", "ByUser"];
/// In a list it stands for everything, and so alone.
const ALL: &str = "*";
const SUBJECTS: &[&str] = &["Group", "ServiceAccount", "User"];
const VERBS: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

fn defaults(schema: &mut FlowSchema) {
    let spec = schema.spec.get_or_insert_default();
    if spec.matching_precedence.unwrap_or(0) == 0 {
        spec.matching_precedence = Some(PRECEDENCE);
    }
}

fn validate(problems: &mut Problems, schema: &FlowSchema) {
    let Some(spec) = &schema.spec else { return };
    let precedence = spec.matching_precedence.unwrap_or(0);
    let path = SPEC.child("matchingPrecedence");
    if precedence <= 0 {
        problems.invalid(&path, precedence, "must be a positive value");
    }
    if precedence > PRECEDENCE_MAX {
        problems.invalid(&path, precedence, &format!("must not be greater than {PRECEDENCE_MAX}"));
    }
    if precedence == 1 && schema.metadata.name.as_deref() != Some("exempt") {
        problems.invalid(&path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
    if let Some(method) = spec.distinguisher_method.as_ref().filter(|method| !METHODS.contains(&method.type_.as_str()))
    {
        let path = SPEC.child("distinguisherMethod");
        problems.not_supported(&path.child("type"), Internal("FlowDistinguisherMethod", method), METHODS);
    }
    let path = SPEC.child("priorityLevelConfiguration");
    match spec.priority_level_configuration.name.as_str() {
        "" => problems.required(&path.child("name"), "must reference a priority level"),
        level => problems.all_invalid(&path.child("name"), level, check_subdomain(level)),
    }
    let list = SPEC.child("rules");
    for (i, rule) in spec.rules.iter().flatten().enumerate() {
        validate_rule(problems, &list.index(i), rule);
    }
}

/// The subjects, and what they ask for. Mirrors `ValidateFlowSchemaPolicyRulesWithSubjects`.
fn validate_rule(problems: &mut Problems, path: &Path, rule: &PolicyRulesWithSubjects) {
    let list = path.child("subjects");
    if rule.subjects.is_empty() {
        problems.required(&list, "subjects must contain at least one value");
    }
    for (i, subject) in rule.subjects.iter().enumerate() {
        validate_subject(problems, &list.index(i), subject);
    }
    let resources = rule.resource_rules.as_deref().unwrap_or_default();
    let others = rule.non_resource_rules.as_deref().unwrap_or_default();
    if resources.is_empty() && others.is_empty() {
        problems.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    let list = path.child("resourceRules");
    for (i, rule) in resources.iter().enumerate() {
        validate_resources(problems, &list.index(i), rule);
    }
    let list = path.child("nonResourceRules");
    for (i, rule) in others.iter().enumerate() {
        validate_urls(problems, &list.index(i), rule);
    }
}

/// A subject has the one field that its kind asks for.
fn validate_subject(problems: &mut Problems, path: &Path, subject: &Subject) {
    let (user, group, account) = (&subject.user, &subject.group, &subject.service_account);
    let kind = subject.kind.as_str();
    if !SUBJECTS.contains(&kind) {
        return problems.not_supported(&path.child("kind"), kind, SUBJECTS);
    }
    let named = |problems: &mut Problems, field: &str, name: Option<&str>| match name {
        None => problems.required(&path.child(field), &format!("{field} is required when subject kind is '{kind}'")),
        Some("") => problems.required(&path.child(field).child("name"), ""),
        Some(_) => {}
    };
    match (kind, account) {
        ("User", _) => named(problems, "user", user.as_ref().map(|user| user.name.as_str())),
        ("Group", _) => named(problems, "group", group.as_ref().map(|group| group.name.as_str())),
        (_, None) => named(problems, "serviceAccount", None),
        (_, Some(account)) => {
            let path = path.child("serviceAccount");
            match account.name.as_str() {
                "" => problems.required(&path.child("name"), ""),
                ALL => {}
                name => problems.all_invalid(&path.child("name"), name, check_subdomain(name)),
            }
            match account.namespace.as_str() {
                "" => problems.required(&path.child("namespace"), "must specify namespace for service account"),
                name => problems.all_invalid(&path.child("namespace"), name, check_dns_label(name)),
            }
        }
    }
    for (field, of, is_there) in [
        ("serviceAccount", "ServiceAccount", account.is_some()),
        ("user", "User", user.is_some()),
        ("group", "Group", group.is_some()),
    ] {
        if is_there && kind != of {
            problems.forbidden(&path.child(field), &format!("{field} is forbidden when subject kind is not '{of}'"));
        }
    }
}

/// Mirrors `ValidateFlowSchemaResourcePolicyRule`.
fn validate_resources(problems: &mut Problems, path: &Path, rule: &ResourcePolicyRule) {
    validate_verbs(problems, path, &rule.verbs);
    for (field, names, one, others) in [
        ("apiGroups", &rule.api_groups, "api group", "api groups"),
        ("resources", &rule.resources, "resource", "resources"),
    ] {
        let path = path.child(field);
        if names.is_empty() {
            problems.required(&path, &format!("resource rules must supply at least one {one}"));
        }
        alone(problems, &path, names, others);
    }
    let path = path.child("namespaces");
    let namespaces = rule.namespaces.as_deref().unwrap_or_default();
    if namespaces.is_empty() && rule.cluster_scope != Some(true) {
        const WHY: &str = "resource rules that are not cluster scoped must supply at least one namespace";
        problems.required(&path, WHY);
    }
    if alone(problems, &path, namespaces, "namespaces") {
        return;
    }
    for (i, name) in namespaces.iter().enumerate() {
        for why in check_dns_label(name) {
            let why = format!("each member of this list must be '*' or a DNS-1123 label; {why}");
            problems.invalid(&path.index(i), name.as_str(), &why);
        }
    }
}

/// Mirrors `ValidateFlowSchemaNonResourcePolicyRule`.
fn validate_urls(problems: &mut Problems, path: &Path, rule: &NonResourcePolicyRule) {
    validate_verbs(problems, path, &rule.verbs);
    let path = path.child("nonResourceURLs");
    if rule.non_resource_urls.is_empty() {
        problems.required(&path, "nonResourceURLs must contain at least one value");
    }
    if alone(problems, &path, &rule.non_resource_urls, "non-resource URLs") {
        return;
    }
    for (i, url) in rule.non_resource_urls.iter().enumerate() {
        if let Some(why) = check_url(url) {
            problems.invalid(&path.index(i), url.as_str(), why);
        }
    }
}

/// What is wrong with the path of what is no resource. Mirrors `ValidateNonResourceURLPath`.
fn check_url(url: &str) -> Option<&'static str> {
    match url {
        "" => Some("must not be empty"),
        "/" => None,
        _ if !url.starts_with('/') => Some("must start with slash"),
        _ if url.contains(' ') => Some("must not contain white-space"),
        _ if url.contains("//") => Some("must not contain double slash"),
        _ if url.strip_suffix("/*").unwrap_or(url).contains('*') => Some("wildcard can only do suffix matching"),
        _ => None,
    }
}

fn validate_verbs(problems: &mut Problems, path: &Path, verbs: &[String]) {
    let path = path.child("verbs");
    if verbs.is_empty() {
        problems.required(&path, "verbs must contain at least one value");
    } else if !alone(problems, &path, verbs, "verbs") && verbs.iter().any(|verb| !VERBS.contains(&verb.as_str())) {
        problems.not_supported(&path, Json(verbs), VERBS);
    }
}

/// Whether the list has what stands for everything, which has to stand alone.
fn alone(problems: &mut Problems, path: &Path, names: &[String], others: &str) -> bool {
    let all = names.iter().any(|name| name == ALL);
    if all && names.len() > 1 {
        problems.invalid(path, Json(names), &format!("if '*' is present, must not specify other {others}"));
    }
    all
}

/// Whether the level is not there, if it was looked for.
fn missing_level(schema: &Value) -> String {
    let dangling = list(schema, "status.conditions").iter().find(|condition| text(condition, "type") == "Dangling");
    dangling.map_or("?", |condition| text(condition, "status")).to_owned()
}
