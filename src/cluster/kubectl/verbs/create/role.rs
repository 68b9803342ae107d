//! `create role`, `clusterrole`, `rolebinding` and `clusterrolebinding`. Mirrors `create_role.go` and its like.
//!
//! Left out: which verbs go only with some kinds, such as `bind`. Sub-resources of a kind are written as `pods/log`, like
//! there.

use serde_json::{Value, json};

use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::{Args, one_kind};
use crate::cluster::kubectl::calls::Failure;
use crate::object::well_known::RBAC;

const API: &str = "rbac.authorization.k8s.io/v1";

/// Verbs that are known to be of use with resources; others get a warning.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "*", "get", "delete", "list", "create", "update", "patch", "watch", "proxy", "deletecollection", "use", "bind",
    "escalate", "impersonate",
];

/// Verbs that may be used with paths.
const METHODS: &[&str] = &["*", "get", "post", "put", "delete", "patch", "head", "options"];

/// A Role or ClusterRole with one rule for each group of the kinds that `--resource` names.
pub async fn role(kind: &str, name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    if args.has("aggregation-rule") && kind == "ClusterRole" {
        return aggregated(name, args);
    }
    let verbs = split(args.values("verb"));
    if verbs.is_empty() {
        return Err(Failure::text("at least one verb must be specified"));
    }
    let urls = split(args.values("non-resource-url"));
    if !urls.is_empty() && kind == "Role" {
        return Err(Failure::text("--non-resource-url is of create clusterrole only: paths are in no namespace"));
    }
    if args.values("resource").is_empty() && urls.is_empty() {
        let missing = match kind {
            "Role" => "at least one resource must be specified",
            _ => "one of resource or nonResourceURL must be specified",
        };
        return Err(Failure::text(missing));
    }
    if args.has("resource") {
        let strange = verbs.iter().filter(|verb| !VERBS.contains(&verb.as_str()));
        strange.for_each(|verb| cx.complain(format!("Warning: '{verb}' is not a standard resource verb")));
    }
    check_urls(&urls, &verbs)?;
    let known = cx.discover().await?;
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for word in split(args.values("resource")) {
        let (word, part) = word.split_once('/').map_or((word.as_str(), None), |(word, part)| (word, Some(part)));
        if word == "*" && part.is_none() {
            groups = vec![("*".to_owned(), vec!["*".to_owned()])];
            break;
        }
        if let Some((group, resource)) = whom_to_impersonate(word, &verbs) {
            add(&mut groups, group, resource.to_owned());
            continue;
        }
        let info = one_kind(word, &known)
            .map_err(|fault| match word.split_once('.') {
                Some((_, group)) => cx.told(&Failure::text(format!("{} in group {group:?}", fault.message()))),
                None => cx.told(&fault),
            })?
            .info();
        let resource = part.map_or(info.plural.to_owned(), |part| format!("{}/{part}", info.plural));
        add(&mut groups, info.group, resource);
    }
    let names = args.values("resource-name");
    let rule = |(group, resources): &(String, Vec<String>)| {
        let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rule
    };
    let mut rules: Vec<Value> = groups.iter().map(rule).collect();
    if !urls.is_empty() {
        rules.push(json!({"nonResourceURLs": urls, "verbs": verbs}));
    }
    Ok(json!({"apiVersion": API, "kind": kind, "metadata": {"name": name}, "rules": rules}))
}

fn add(groups: &mut Vec<(String, Vec<String>)>, group: &str, resource: String) {
    match groups.iter_mut().find(|(known, _)| known == group) {
        Some((_, resources)) => resources.push(resource),
        None => groups.push((group.to_owned(), vec![resource])),
    }
}

/// What no server has, but may stand in a rule with `impersonate`. Mirrors `specialVerbs`.
fn whom_to_impersonate<'a>(word: &'a str, verbs: &[String]) -> Option<(&'static str, &'a str)> {
    if !verbs.iter().any(|verb| verb == "impersonate") {
        return None;
    }
    match word {
        "users" | "groups" => Some(("", word)),
        "userextras.authentication.k8s.io" => Some(("authentication.k8s.io", "userextras")),
        _ => None,
    }
}

/// What is wrong with paths, and with what is to be done with them.
fn check_urls(urls: &[String], verbs: &[String]) -> Result<(), Failure> {
    if let Some(verb) = verbs.iter().find(|verb| !urls.is_empty() && !METHODS.contains(&verb.as_str())) {
        return Err(Failure::text(format!("invalid verb: '{verb}' for nonResourceURL")));
    }
    for url in urls.iter().filter(|url| *url != "*") {
        if !url.starts_with('/') {
            return Err(Failure::text("nonResourceURL should start with /"));
        }
        if url.trim_end_matches('*').contains('*') || url.ends_with("**") {
            return Err(Failure::text("nonResourceURL only supports wildcard matches when '*' is at the end"));
        }
    }
    Ok(())
}

/// A ClusterRole that gathers the rules of others.
fn aggregated(name: &str, args: &Args) -> Result<Value, Failure> {
    if ["verb", "resource", "resource-name", "non-resource-url"].iter().any(|flag| args.has(flag)) {
        const WHY: &str =
            "aggregation rule must be specified without nonResourceURLs, verbs, resources or resourceNames";
        return Err(Failure::text(WHY));
    }
    let mut labels = serde_json::Map::new();
    for pair in split(args.values("aggregation-rule")) {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| Failure::text(format!("{pair} must be formatted as key=value")))?;
        labels.insert(key.to_owned(), value.into());
    }
    let rule = json!({"clusterRoleSelectors": [{"matchLabels": labels}]});
    let meta = json!({"name": name});
    Ok(json!({"apiVersion": API, "kind": "ClusterRole", "metadata": meta, "aggregationRule": rule, "rules": null}))
}

/// A RoleBinding or ClusterRoleBinding of the users, groups and ServiceAccounts that are named.
pub fn binding(kind: &str, name: &str, args: &Args) -> Result<Value, Failure> {
    let role = match (kind, args.value("role"), args.value("clusterrole")) {
        ("ClusterRoleBinding", "", "") => return Err(Failure::text("required flag(s) \"clusterrole\" not set")),
        ("RoleBinding", "", "") | ("RoleBinding", _, _) if args.has("role") == args.has("clusterrole") => {
            return Err(Failure::text("exactly one of clusterrole or role must be specified"));
        }
        (_, role, "") => json!({"apiGroup": RBAC, "kind": "Role", "name": role}),
        (_, _, role) => json!({"apiGroup": RBAC, "kind": "ClusterRole", "name": role}),
    };
    let person = |kind: &'static str| move |name: String| json!({"apiGroup": RBAC, "kind": kind, "name": name});
    let mut subjects: Vec<Value> = split(args.values("user")).into_iter().map(person("User")).collect();
    subjects.extend(split(args.values("group")).into_iter().map(person("Group")));
    for account in split(args.values("serviceaccount")) {
        let wrong = || Failure::text("serviceaccount must be <namespace>:<name>");
        let (namespace, name) = account.split_once(':').filter(|(_, name)| !name.contains(':')).ok_or_else(wrong)?;
        if namespace.is_empty() || name.is_empty() {
            return Err(wrong());
        }
        subjects.push(json!({"kind": "ServiceAccount", "name": name, "namespace": namespace}));
    }
    Ok(json!({"apiVersion": API, "kind": kind, "metadata": {"name": name}, "roleRef": role, "subjects": subjects}))
}

fn split(values: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in values.iter().flat_map(|value| value.split(',')).filter(|part| !part.is_empty()) {
        if !all.iter().any(|there| there == part) {
            all.push(part.to_owned());
        }
    }
    all
}
