//! What roles allow, as `auth can-i --list` and describe pages show it. Mirrors `k8s.io/kubectl/pkg/util/rbac`.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::PolicyRule;

/// The heads of the columns.
pub const HEAD: &str = "Resources\tNon-Resource URLs\tResource Names\tVerbs";

/// A row for each rule, in the order of the real ones.
pub fn rows(rules: &[PolicyRule]) -> Vec<String> {
    let row = |rule: PolicyRule| {
        let [urls, names] = [&rule.non_resource_urls, &rule.resource_names].map(|list| go_list(list.as_deref()));
        format!("{}\t{urls}\t{names}\t{}", resource(&rule), go_list(Some(&rule.verbs)))
    };
    compact(rules).into_iter().map(row).collect()
}

/// One rule for each resource or object in each group, those that differ in their verbs alone made one, and in order.
/// Mirrors `BreakdownRule`, `CompactRules` and `SortableRuleSlice`.
fn compact(rules: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut merged: BTreeMap<(String, String, Option<String>), Vec<String>> = BTreeMap::new();
    let mut whole = Vec::new();
    for rule in rules {
        for url in rule.non_resource_urls.iter().flatten() {
            let of = |verb: &String| PolicyRule {
                verbs: vec![verb.clone()],
                non_resource_urls: Some(vec![url.clone()]),
                ..PolicyRule::default()
            };
            whole.extend(rule.verbs.iter().map(of));
        }
        let names: Vec<Option<String>> = match rule.resource_names.as_deref().unwrap_or_default() {
            [] => vec![None],
            names => names.iter().cloned().map(Some).collect(),
        };
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                for name in &names {
                    let verbs = merged.entry((group.clone(), resource.clone(), name.clone())).or_default();
                    verbs.extend(rule.verbs.iter().filter(|verb| !verbs.contains(verb)).cloned().collect::<Vec<_>>());
                }
            }
        }
    }
    let of = |((group, resource, name), verbs): ((String, String, Option<String>), Vec<String>)| PolicyRule {
        verbs,
        api_groups: Some(vec![group]),
        resources: Some(vec![resource]),
        resource_names: name.map(|name| vec![name]),
        non_resource_urls: None,
    };
    whole.extend(merged.into_iter().map(of));
    let key = |rule: &PolicyRule| {
        let [groups, resources, names, urls] =
            [&rule.api_groups, &rule.resources, &rule.resource_names, &rule.non_resource_urls]
                .map(|list| go_list(list.as_deref()));
        format!("Verbs:{},{groups},{resources},{names},{urls}", go_list(Some(&rule.verbs)))
    };
    whole.sort_by_key(key);
    whole
}

/// `deployments.apps/scale`. Mirrors `CombineResourceGroup`.
fn resource(rule: &PolicyRule) -> String {
    let first = |list: &Option<Vec<String>>| list.iter().flatten().next().cloned().unwrap_or_default();
    let (resource, group) = (first(&rule.resources), first(&rule.api_groups));
    let (plural, part) = resource.split_once('/').map_or((resource.as_str(), ""), |(plural, part)| (plural, part));
    let qualified = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
    if part.is_empty() { qualified } else { format!("{qualified}/{part}") }
}

/// As Go prints a list of strings.
pub fn go_list(list: Option<&[String]>) -> String {
    format!("[{}]", list.unwrap_or_default().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_taken_apart_and_put_together_again() {
        let list = |words: &str| Some(words.split(' ').map(|word| word.trim_matches('-').to_owned()).collect());
        let rule = |verbs: &str, groups: &str, resources: &str| PolicyRule {
            verbs: list(verbs).unwrap_or_default(),
            api_groups: list(groups),
            resources: list(resources),
            ..PolicyRule::default()
        };
        let urls =
            PolicyRule { verbs: vec!["get".to_owned()], non_resource_urls: list("/healthz"), ..rule("get", "-", "-") };
        let urls = PolicyRule { api_groups: None, resources: None, ..urls };
        let named = PolicyRule { resource_names: list("a b"), ..rule("get", "-", "secrets") };
        let rules = [rule("list get", "- apps", "pods deployments/scale"), rule("get watch", "-", "pods"), urls, named];
        let want = [
            "\t[/healthz]\t[]\t[get]",
            "secrets\t[]\t[a]\t[get]",
            "secrets\t[]\t[b]\t[get]",
            "pods\t[]\t[]\t[list get watch]",
            "deployments/scale\t[]\t[]\t[list get]",
            "deployments.apps/scale\t[]\t[]\t[list get]",
            "pods.apps\t[]\t[]\t[list get]",
        ];
        assert_eq!(rows(&rules), want);
    }
}
