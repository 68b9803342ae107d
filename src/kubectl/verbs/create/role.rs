//! `create role`, `clusterrole`, `rolebinding` and `clusterrolebinding`. Mirrors `create_role.go` and its like.
//!
//! Sub-resources of a kind are written as `pods/log`, like there.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::targets::no_resource_type;
use object::Discovery;
use object::well_known::RBAC;

const API: &str = "rbac.authorization.k8s.io/v1";

/// Verbs that are known to be of use with resources; others get a warning.
#[rustfmt::skip]
const VERBS: &[&str] = &[
    "*", "get", "delete", "list", "create", "update", "patch", "watch", "proxy", "deletecollection", "use", "bind",
    "escalate", "impersonate",
];

/// Verbs that may be used with paths.
const METHODS: &[&str] = &["*", "get", "post", "put", "delete", "patch", "head", "options"];

/// Verbs that mean something only with these, by group and resource: no other may be written beside them. Mirrors
/// `specialVerbs`.
const SPECIAL: &[(&str, &[(&str, &str)])] = &[
    ("use", &[("policy", "podsecuritypolicies"), ("extensions", "podsecuritypolicies")]),
    ("bind", ROLES),
    ("escalate", ROLES),
    ("impersonate", &[("", "users"), ("", "serviceaccounts"), ("", "groups"), ("authentication.k8s.io", "userextras")]),
];
const ROLES: &[(&str, &str)] = &[(RBAC, "roles"), (RBAC, "clusterroles")];

/// A Role or ClusterRole with one rule for each group of the kinds that `--resource` names.
pub async fn role(kind: &str, name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let verbs = all_or_each(split(args.values("verb")), |verb| verb == "*");
    let words = all_or_each(split(args.values("resource")), |word| word == "*");
    let urls = split(args.values("non-resource-url"));
    if args.has("aggregation-rule") && kind == "ClusterRole" {
        return aggregated(name, args);
    }
    if verbs.is_empty() {
        return Err(Failure::text("at least one verb must be specified"));
    }
    if !urls.is_empty() && kind == "Role" {
        return Err(Failure::text("--non-resource-url is of create clusterrole only: paths are in no namespace"));
    }
    if kind == "ClusterRole" && words.is_empty() && urls.is_empty() {
        return Err(Failure::text("one of resource or nonResourceURL must be specified"));
    }
    let mut groups = BTreeMap::new();
    if kind == "Role" || !words.is_empty() {
        let strange = verbs.iter().filter(|verb| !VERBS.contains(&verb.as_str()));
        strange.for_each(|verb| cx.complain(format!("Warning: '{verb}' is not a standard resource verb")));
        if words.is_empty() {
            return Err(Failure::text("at least one resource must be specified"));
        }
        let known = cx.discover().await?;
        let resources: Vec<Resource> = words.iter().map(|word| Resource::read(word, &known)).collect();
        check_resources(&resources, &verbs, cx)?;
        groups = by_group(resources);
    }
    check_urls(&urls, &verbs)?;
    let names = distinct(args.values("resource-name").iter().cloned());
    let rule = |(group, resources): (String, Vec<String>)| {
        let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rule
    };
    let mut rules: Vec<Value> = groups.into_iter().map(rule).collect();
    if !urls.is_empty() {
        rules.push(json!({"nonResourceURLs": urls, "verbs": verbs}));
    }
    Ok(json!({"apiVersion": API, "kind": kind, "metadata": {"name": name}, "rules": rules}))
}

/// What a word of `--resource` means: `deployments.apps/scale`.
struct Resource {
    /// As the server has it; as it is written, if no server has it.
    group: String,
    resource: String,
    part: String,
    is_known: bool,
}

impl Resource {
    fn read(word: &str, known: &Discovery) -> Resource {
        let (word, part) = word.split_once('/').unwrap_or((word, ""));
        let kind = known.from_word(word);
        let (resource, group) = match kind {
            Some(kind) => (kind.info().plural, kind.info().group),
            None => word.split_once('.').unwrap_or((word, "")),
        };
        let [group, resource, part] = [group, resource, part].map(str::to_owned);
        Resource { group, resource, part, is_known: kind.is_some() }
    }
}

/// Whether there are such resources, and the verbs are of use with them. Mirrors `validateResource`.
fn check_resources(resources: &[Resource], verbs: &[String], cx: &Kubectl) -> Result<(), Failure> {
    for Resource { group, resource, is_known, .. } in resources {
        match resource.as_str() {
            "" => return Err(Failure::text("resource must be specified if apiGroup/subresource specified")),
            // Nothing behind it is looked at either.
            "*" => return Ok(()),
            _ => {}
        }
        let mut is_special = false;
        for verb in verbs {
            let Some((_, with)) = SPECIAL.iter().find(|(name, _)| name == verb) else { continue };
            is_special = with.contains(&(group.as_str(), resource.as_str()));
            if !is_special {
                return Err(Failure::text(format!("can not perform '{verb}' on '{resource}' in group '{group}'")));
            }
        }
        if !is_known && !is_special {
            let missing = no_resource_type(resource);
            return Err(match group.as_str() {
                "" => cx.told(&missing),
                _ => cx.told(&Failure::text(format!("{} in group {group:?}", missing.message()))),
            });
        }
    }
    Ok(())
}

/// The resources of each group, in the order of the groups. Mirrors `generateResourcePolicyRules`.
fn by_group(resources: Vec<Resource>) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Resource { group, resource, part, .. } in resources {
        let resource = if part.is_empty() { resource } else { format!("{resource}/{part}") };
        let there = groups.entry(group).or_default();
        if !there.contains(&resource) {
            there.push(resource);
        }
    }
    groups
}

/// The one that means all of them, or each.
fn all_or_each(words: Vec<String>, is_all: impl Fn(&String) -> bool) -> Vec<String> {
    match words.iter().find(|word| is_all(word)) {
        Some(all) => vec![all.clone()],
        None => words,
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
        let malformed = || args.invalid("aggregation-rule", "malformed pair, expect string=string");
        let (key, value) = pair.split_once('=').ok_or_else(malformed)?;
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
    let person = |kind: &'static str| move |name: &String| json!({"apiGroup": RBAC, "kind": kind, "name": name});
    // A name may have commas in it.
    let mut subjects: Vec<Value> = args.values("user").iter().map(person("User")).collect();
    subjects.extend(args.values("group").iter().map(person("Group")));
    for account in args.values("serviceaccount") {
        let wrong = || Failure::text("serviceaccount must be <namespace>:<name>");
        let (namespace, name) = account.split_once(':').filter(|(_, name)| !name.contains(':')).ok_or_else(wrong)?;
        if namespace.is_empty() || name.is_empty() {
            return Err(wrong());
        }
        subjects.push(json!({"kind": "ServiceAccount", "name": name, "namespace": namespace}));
    }
    let mut binding = json!({"apiVersion": API, "kind": kind, "metadata": {"name": name}, "roleRef": role});
    if !subjects.is_empty() {
        binding["subjects"] = json!(subjects);
    }
    Ok(binding)
}

fn split(values: &[String]) -> Vec<String> {
    let parts = values.iter().flat_map(|value| value.split(','));
    distinct(parts.filter(|part| !part.is_empty()).map(str::to_owned))
}

/// Each once, where it comes first.
fn distinct(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in words {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    all
}
