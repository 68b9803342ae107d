//! `auth reconcile -f`: roles and bindings get what a manifest has and they have not, rule by rule. Mirrors
//! `k8s.io/kubectl/pkg/cmd/auth/reconcile.go` and `k8s.io/component-helpers/auth/rbac/reconciliation`.

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::manifest::Manifest;
use crate::options::{Query, plain_options};
use crate::print::fields::{namespace_and_name, text};
use crate::print::rules::go_list;
use object::Kind;
use object::status::Reason;
use rules::rbac::uncovered;
use wire::DeleteOptions;

/// How many attempts there are when other writers are faster.
const ATTEMPTS: usize = 3;
/// An object with the value `false` is left as it is.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// `kubectl auth reconcile -f FILE`. What is no role and no binding is passed over.
pub async fn reconcile(words: &[&str], args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if !args.gives_manifests() {
        return Err(Failure::text("must specify one of -f and -k"));
    }
    if !words.is_empty() {
        return Err(Failure::text("no arguments are allowed"));
    }
    if args.value("dry-run") == "server" {
        return Err(Failure::text("--dry-run=server for command reconcile is not supported yet"));
    }
    let query = plain_options("", args)?;
    let manifests = cx.some_manifests("reconcile", args).await?;
    let mut failed: Vec<Failure> = manifests.faults.into_iter().map(Failure::from).collect();
    for manifest in manifests.known {
        let done = match manifest.kind {
            Kind::Role | Kind::ClusterRole | Kind::RoleBinding | Kind::ClusterRoleBinding => {
                reconciled(&manifest, &query, args, cx).await
            }
            _ => continue,
        };
        match done {
            Ok(outcome) => outcome.tell(args, cx)?,
            Err(fault) => failed.push(fault),
        }
    }
    Failure::all(failed)
}

/// What has to be done, and the difference that makes it necessary.
#[derive(Default)]
struct Outcome {
    /// As it should be; as it is, once that is done.
    object: Value,
    operation: Operation,
    /// It does not want to be changed.
    is_protected: bool,
    missing: Vec<String>,
    /// Only what is taken away.
    extra: Vec<String>,
    /// `rules` or `subjects`.
    of: &'static str,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Operation {
    #[default]
    None,
    Create,
    Update,
    Recreate,
}

impl Outcome {
    fn tell(&self, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
        cx.tell_struct(&self.object, "reconciled", args)?;
        let operation = match self.operation {
            Operation::None => return Ok(()),
            Operation::Create => "create",
            Operation::Update => "update",
            Operation::Recreate => "recreate",
        };
        let caveat =
            if self.is_protected { format!(", but object opted out ({AUTO_UPDATE}: false)") } else { String::new() };
        cx.complain(format!("\treconciliation required {operation}{caveat}"));
        for (what, those) in [("missing", &self.missing), ("extra", &self.extra)] {
            if !those.is_empty() {
                cx.complain(format!("\t{what} {} {}:", self.of, if what == "missing" { "added" } else { "removed" }));
                those.iter().for_each(|one| cx.complain(format!("\t\t{one}")));
            }
        }
        Ok(())
    }
}

/// Looks what is there, and does what has to be done.
async fn reconciled(manifest: &Manifest, query: &Query, args: &Args, cx: &Kubectl) -> Result<Outcome, Failure> {
    let (kind, expected) = (manifest.kind, &manifest.object);
    let (namespace, name) = namespace_and_name(expected);
    let mut last = Failure::text("exceeded maximum attempts");
    for _ in 0..ATTEMPTS {
        let existing = match cx.get_once(kind, namespace, name).await {
            Err(fault) if fault.is_not_found() => None,
            existing => Some(existing?),
        };
        let mut outcome = compare(kind, existing.as_ref(), expected, args)?;
        if outcome.is_protected || query.only_here {
            return Ok(outcome);
        }
        match perform(kind, existing.as_ref(), &outcome, query, args, cx).await {
            Ok(object) => {
                outcome.object = object;
                return Ok(outcome);
            }
            Err(fault) if has_changed(&fault, outcome.operation) => last = fault,
            Err(fault) => return Err(fault),
        }
    }
    Err(last)
}

/// Whether another client has written, made or deleted it since it was looked at.
fn has_changed(fault: &Failure, operation: Operation) -> bool {
    let exists = matches!(fault, Failure::Server { status, .. } if status.reason == Reason::AlreadyExists);
    exists || fault.is_conflict() || fault.is_not_found() && operation == Operation::Update
}

async fn perform(
    kind: Kind,
    existing: Option<&Value>,
    outcome: &Outcome,
    query: &Query,
    args: &Args,
    cx: &Kubectl,
) -> Result<Value, Failure> {
    let object = &outcome.object;
    let (namespace, name) = namespace_and_name(object);
    match outcome.operation {
        Operation::None => return Ok(object.clone()),
        Operation::Update => return cx.put(kind, object, "", args).await,
        Operation::Create => {}
        Operation::Recreate => {
            let uid = existing.map(|existing| text(existing, "metadata.uid").to_owned());
            let options = DeleteOptions { uid, ..DeleteOptions::default() };
            match cx.remove(kind, namespace, name, options, query.clone()).await {
                Err(fault) if fault.is_not_found() => {}
                done => drop(done?),
            }
        }
    }
    if kind.info().namespaced {
        ensure_namespace(namespace, query, cx).await?;
    }
    cx.post(kind, namespace, object, query.clone()).await
}

/// A user who may only write roles gets on without the namespace. Mirrors `tryEnsureNamespace`.
async fn ensure_namespace(name: &str, query: &Query, cx: &Kubectl) -> Result<(), Failure> {
    let is = |fault: &Failure, reasons: &[Reason]| matches!(fault, Failure::Server { status, .. } if reasons.contains(&status.reason));
    match cx.get_once(Kind::Namespace, "", name).await {
        Err(fault) if is(&fault, &[Reason::NotFound, Reason::Forbidden]) => {}
        there => return there.map(drop),
    }
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    match cx.post(Kind::Namespace, "", &namespace, query.clone()).await {
        Err(fault) if !is(&fault, &[Reason::AlreadyExists, Reason::Forbidden]) => Err(fault),
        _ => Ok(()),
    }
}

/// What is there beside what should be. Mirrors `computeReconciledRole` and `computeReconciledRoleBinding`.
fn compare(kind: Kind, existing: Option<&Value>, expected: &Value, args: &Args) -> Result<Outcome, Failure> {
    let is_role = matches!(kind, Kind::Role | Kind::ClusterRole);
    let of = if is_role { "rules" } else { "subjects" };
    let Some(existing) = existing else {
        let missing = match is_role {
            true => listed::<PolicyRule>(expected, of)?.iter().map(rule_text).collect(),
            false => listed::<Value>(expected, of)?.iter().map(subject_text).collect(),
        };
        let object = expected.clone();
        return Ok(Outcome { object, operation: Operation::Create, missing, of, ..Outcome::default() });
    };
    let is_protected = existing["metadata"]["annotations"][AUTO_UPDATE] == "false";
    if !is_role && role_ref(existing) != role_ref(expected) {
        let object = expected.clone();
        return Ok(Outcome { object, operation: Operation::Recreate, is_protected, of, ..Outcome::default() });
    }
    let mut outcome = Outcome { object: existing.clone(), is_protected, of, ..Outcome::default() };
    for marks in ["annotations", "labels"] {
        let merged = merged(&expected["metadata"][marks], &existing["metadata"][marks]);
        if merged != existing["metadata"][marks].as_object().cloned().unwrap_or_default() {
            outcome.object["metadata"][marks] = Value::Object(merged);
            outcome.operation = Operation::Update;
        }
    }
    match is_role {
        true => outcome.compare_rules(existing, expected, args.is_on("remove-extra-permissions"))?,
        false => outcome.compare_subjects(existing, expected, args.is_on("remove-extra-subjects"))?,
    }
    Ok(outcome)
}

impl Outcome {
    fn compare_rules(&mut self, existing: &Value, expected: &Value, remove: bool) -> Result<(), Failure> {
        let [there, wanted] = [listed::<PolicyRule>(existing, "rules")?, listed::<PolicyRule>(expected, "rules")?];
        let gathers = |role: &Value| role["aggregationRule"].is_object();
        let missing = uncovered(&there, &wanted);
        // Others write the rules of a role that gathers them.
        let extra = if gathers(existing) && gathers(expected) { Vec::new() } else { uncovered(&wanted, &there) };
        let sum = [&there[..], &missing[..]].concat();
        self.settle(json!(wanted), json!(sum), missing.is_empty(), extra.is_empty(), remove);
        self.missing = missing.iter().map(rule_text).collect();
        self.extra = extra.iter().filter(|_| remove).map(rule_text).collect();
        self.compare_aggregation(existing, expected, remove)
    }

    fn compare_aggregation(&mut self, existing: &Value, expected: &Value, remove: bool) -> Result<(), Failure> {
        let selectors = |role: &Value| listed::<Value>(&role["aggregationRule"], "clusterRoleSelectors");
        let [there, wanted] = [selectors(existing)?, selectors(expected)?];
        let [missing, extra] = [only_in(&wanted, &there), only_in(&there, &wanted)];
        if expected["aggregationRule"].is_null() {
            if existing["aggregationRule"].is_object() {
                self.object["aggregationRule"] = Value::Null;
                self.operation = Operation::Update;
            }
        } else if remove && !(missing.is_empty() && extra.is_empty()) {
            self.object["aggregationRule"] = expected["aggregationRule"].clone();
            self.operation = Operation::Update;
        } else if !missing.is_empty() {
            self.object["aggregationRule"] = json!({"clusterRoleSelectors": ([there, missing].concat())});
            self.operation = Operation::Update;
        }
        Ok(())
    }

    fn compare_subjects(&mut self, existing: &Value, expected: &Value, remove: bool) -> Result<(), Failure> {
        let [there, wanted] = [listed::<Value>(existing, "subjects")?, listed::<Value>(expected, "subjects")?];
        let [missing, extra] = [only_in(&wanted, &there), only_in(&there, &wanted)];
        let sum = [&there[..], &missing[..]].concat();
        self.settle(json!(wanted), json!(sum), missing.is_empty(), extra.is_empty(), remove);
        self.missing = missing.iter().map(subject_text).collect();
        self.extra = extra.iter().filter(|_| remove).map(subject_text).collect();
        Ok(())
    }

    /// Either what is wanted and nothing else, or that beside what is there.
    fn settle(&mut self, wanted: Value, sum: Value, has_all: bool, has_no_more: bool, remove: bool) {
        if has_all && (has_no_more || !remove) {
            return;
        }
        self.object[self.of] = if remove { wanted } else { sum };
        self.operation = Operation::Update;
    }
}

/// A list of an object; none is an empty one.
fn listed<T: DeserializeOwned>(object: &Value, field: &str) -> Result<Vec<T>, Failure> {
    match &object[field] {
        Value::Null => Ok(Vec::new()),
        list => serde_json::from_value(list.clone()).map_err(|why| Failure::text(format!("{field}: {why}"))),
    }
}

/// What is there has the last word.
fn merged(expected: &Value, existing: &Value) -> Map<String, Value> {
    let both = [expected, existing].into_iter().filter_map(Value::as_object).flatten();
    both.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn only_in(these: &[Value], others: &[Value]) -> Vec<Value> {
    let mut only: Vec<Value> = Vec::new();
    for one in these {
        let is_same = |other: &Value| same(one, other);
        if !others.iter().any(is_same) && !only.iter().any(is_same) {
            only.push(one.clone());
        }
    }
    only
}

/// A field that is not there is an empty one.
fn same(one: &Value, other: &Value) -> bool {
    let filled = |value: &Value| -> Map<String, Value> {
        let fields = value.as_object().into_iter().flatten().filter(|(_, value)| **value != "" && !value.is_null());
        fields.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    filled(one) == filled(other)
}

fn role_ref(binding: &Value) -> [&str; 3] {
    ["roleRef.apiGroup", "roleRef.kind", "roleRef.name"].map(|path| text(binding, path))
}

/// A rule as Go's `%+v` prints it.
fn rule_text(rule: &PolicyRule) -> String {
    let [groups, resources, names, urls] =
        [&rule.api_groups, &rule.resources, &rule.resource_names, &rule.non_resource_urls]
            .map(|list| go_list(list.as_deref()));
    let verbs = go_list(Some(&rule.verbs));
    format!("{{Verbs:{verbs} APIGroups:{groups} Resources:{resources} ResourceNames:{names} NonResourceURLs:{urls}}}")
}

fn subject_text(subject: &Value) -> String {
    let [kind, group, name, namespace] = ["kind", "apiGroup", "name", "namespace"].map(|path| text(subject, path));
    format!("{{Kind:{kind} APIGroup:{group} Name:{name} Namespace:{namespace}}}")
}
