//! Exercise 01: what a ReplicaSet does with a Pod that it sees. Mirrors ClaimObject in
//! `pkg/controller/controller_ref_manager.go`.
//!
//! Every combination of a few labels, selectors, owners, deletions and namespaces is asked, so what is judged is the
//! rule and not an example of it.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ReplicaSetSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use super::function::Function;
use super::making::begins;
use super::mistake::{Mistake, mistakes};
use super::{Exercise, Judging, controlling, words};
use exercise::ownership::{Case, Claim};
use object::selector::selects;

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "01_ownership",
    title: "Which Pods are mine?",
    outcome: "tell selection (labels) from ownership (ownerReferences), and say when a controller adopts or releases",
    needs: &[],
    hints: [
        "Two questions decide everything: does the selector match, and who controls the Pod? Which comes first?",
        "The controller is the owner reference with controller: true, and it is the same object only if its uid is.",
        "Another's: Leave. Mine: Keep if selected, else Release, but not while I am being deleted. No controller: Adopt if \
         selected, in my namespace, and neither of us is being deleted.",
    ],
    minutes: 30,
    judging: Judging::of_part::<Ownership>(controlling::with_ownership),
};

pub(super) struct Ownership;

impl Function for Ownership {
    type Question = Case;
    type Answer = Claim;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn answer(rule: &Rule, case: &Case) -> Claim {
        claim(rule, case)
    }

    fn property(case: &Case, given: Option<&Claim>) -> &'static str {
        match (given, Ownership::right(case)) {
            (None, _) => "every Pod gets an answer",
            (_, Claim::Keep) => "a Pod that is mine and selected is kept",
            (_, Claim::Adopt) => "a selected Pod without a controller is adopted",
            (_, Claim::Release) => "a Pod that is mine but no longer selected is released",
            (_, Claim::Leave) => "a Pod that is not mine to take or to release is left alone",
        }
    }

    fn show(case: &Case) -> String {
        let (set, pod) = (&case.replica_set.metadata, &case.pod.metadata);
        let name = |kind: &str, meta: &ObjectMeta| {
            let [name, namespace] = [&meta.name, &meta.namespace].map(|text| text.as_deref().unwrap_or_default());
            format!("{kind} {name} in {namespace}")
        };
        let leaving = |meta: &ObjectMeta| ("deletionTimestamp", json!(meta.deletion_timestamp));
        let selector = case.replica_set.spec.as_ref().map(|spec| &spec.selector);
        let owners: Vec<Value> = pod.owner_references.iter().flatten().map(words::owner).collect();
        let labels = pod.labels.clone().unwrap_or_default();
        let template = case.replica_set.spec.as_ref().and_then(|spec| spec.template.as_ref());
        let template = template.and_then(|template| template.metadata.as_ref()?.labels.clone());
        let replicas = case.replica_set.spec.as_ref().and_then(|spec| spec.replicas);
        let fields = [("uid", json!(set.uid)), leaving(set), ("finalizers", json!(set.finalizers))];
        let fields = fields.into_iter().chain([("labels", json!(set.labels)), ("replicas", json!(replicas))]);
        let fields =
            fields.into_iter().chain([("selector", json!(selector)), ("labels of the template", json!(template))]);
        let set = words::object(&name("ReplicaSet", set), fields);
        let node = case.pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref());
        let fields = [leaving(pod), ("finalizers", json!(pod.finalizers)), ("labels", json!(labels))];
        let fields = fields.into_iter().chain([("annotations", json!(pod.annotations)), ("nodeName", json!(node))]);
        let fields = fields.into_iter().chain([("ownerReferences", json!(owners))]);
        format!("{set}\n{}", words::object(&name("Pod", pod), fields))
    }
}

/// What decides.
pub(super) struct Rule {
    /// Which of a Pod's owners controls it.
    controller: for<'a> fn(&'a [OwnerReference], &ObjectMeta) -> Option<&'a OwnerReference>,
    /// Whether an owner is this ReplicaSet.
    is_mine: fn(&OwnerReference, &ObjectMeta) -> bool,
    /// Whether the ReplicaSet selects a Pod with these labels.
    is_selected: fn(&ReplicaSetSpec, Option<&Labels>) -> bool,
    /// Whether an object is being deleted.
    goes: fn(&ObjectMeta) -> bool,
    /// Whether a Pod may be adopted, when the ReplicaSet or the Pod is being deleted.
    may_adopt: fn(bool, bool) -> bool,
    /// Whether a Pod of this namespace may be adopted, by the ReplicaSet's own.
    same_namespace: fn(Option<&String>, Option<&String>) -> bool,
    /// What else is asked for of a Pod that is adopted.
    suits: fn(&ObjectMeta, &ObjectMeta) -> bool,
    /// What is done with a Pod that is mine and not selected, when the ReplicaSet is being deleted or not.
    not_selected: fn(bool) -> Claim,
}

type Labels = BTreeMap<String, String>;

const RULE: Rule = Rule {
    controller,
    is_mine,
    is_selected: |spec, labels| selects(&spec.selector, labels),
    goes: |meta| meta.deletion_timestamp.is_some(),
    may_adopt: |mine_goes, pod_goes| !mine_goes && !pod_goes,
    same_namespace: |its, mine| its == mine,
    suits: |_, _| true,
    not_selected: |mine_goes| if mine_goes { Claim::Leave } else { Claim::Release },
};

fn controller<'a>(owners: &'a [OwnerReference], _: &ObjectMeta) -> Option<&'a OwnerReference> {
    owners.iter().find(|owner| owner.controller == Some(true))
}

fn is_mine(owner: &OwnerReference, mine: &ObjectMeta) -> bool {
    Some(&owner.uid) == mine.uid.as_ref()
}

/// The labels that are asked for.
fn wanted(spec: &ReplicaSetSpec) -> Labels {
    spec.selector.match_labels.clone().unwrap_or_default()
}

/// What else is asked for.
fn expressions(spec: &ReplicaSetSpec) -> LabelSelector {
    LabelSelector { match_labels: None, ..spec.selector.clone() }
}

fn has(labels: Option<&Labels>, key: &str) -> bool {
    labels.is_some_and(|labels| labels.contains_key(key))
}

fn claim(rule: &Rule, case: &Case) -> Claim {
    let (mine, pod) = (&case.replica_set.metadata, &case.pod.metadata);
    let spec = case.replica_set.spec.as_ref();
    let is_selected = spec.is_some_and(|spec| (rule.is_selected)(spec, pod.labels.as_ref()));
    let mine_goes = (rule.goes)(mine);
    let Some(owner) = (rule.controller)(pod.owner_references.as_deref().unwrap_or_default(), mine) else {
        let may = (rule.may_adopt)(mine_goes, (rule.goes)(pod))
            && (rule.same_namespace)(pod.namespace.as_ref(), mine.namespace.as_ref())
            && (rule.suits)(pod, mine);
        return if is_selected && may { Claim::Adopt } else { Claim::Leave };
    };
    match ((rule.is_mine)(owner, mine), is_selected) {
        (false, _) => Claim::Leave,
        (true, true) => Claim::Keep,
        (true, false) => (rule.not_selected)(mine_goes),
    }
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    by_name: "an owner is recognised by its name; a new ReplicaSet of the same name has another uid"
        => { is_mine: |owner, mine| Some(&owner.name) == mine.name.as_ref() };
    any_owner: "any owner reference counts; only the one with controller: true does"
        => {
            controller: |owners, mine| {
                owners.iter().find(|owner| Some(&owner.uid) == mine.uid.as_ref()).or_else(|| owners.first())
            }
        };
    first_owner: "only the first owner reference is looked at"
        => { controller: |owners, _| owners.first().filter(|owner| owner.controller == Some(true)) };
    ignores_owner: "labels alone decide; the Pods of others are taken"
        => { controller: |owners, mine| owners.iter().find(|owner| Some(&owner.uid) == mine.uid.as_ref()) };
    ignores_expressions: "matchExpressions are not looked at"
        => {
            is_selected: |spec, labels| {
                selects(&LabelSelector { match_expressions: None, ..spec.selector.clone() }, labels)
            }
        };
    any_label: "one equal label is taken for a match; every one must be equal"
        => {
            is_selected: |spec, labels| {
                let is_equal =
                    |(key, value): (&String, &String)| labels.is_some_and(|labels| labels.get(key) == Some(value));
                wanted(spec).iter().any(is_equal) && selects(&expressions(spec), labels)
            }
        };
    needs_key: "NotIn asks for the label to be there; it also holds when the label is absent"
        => {
            is_selected: |spec, labels| {
                let parts = spec.selector.match_expressions.iter().flatten();
                parts.filter(|part| part.operator == "NotIn").all(|part| has(labels, &part.key)) && selects(&spec.selector, labels)
            }
        };
    takes_dying: "a Pod that is being deleted is adopted" => { may_adopt: |mine_goes, _| !mine_goes };
    takes_when_dying: "a ReplicaSet that is being deleted still adopts" => { may_adopt: |_, pod_goes| !pod_goes };
    lets_go_when_dying: "a ReplicaSet that is being deleted still releases" => { not_selected: |_| Claim::Release };
    crosses_namespaces: "a Pod of another namespace is adopted" => { same_namespace: |_, _| true };
    never_releases: "a Pod that is no longer selected is kept"
        => { not_selected: |mine_goes| if mine_goes { Claim::Leave } else { Claim::Keep } };
    never_adopts: "a Pod without a controller is not adopted" => { may_adopt: |_, _| false };
    first_expression: "only the first of the matchExpressions is looked at"
        => {
            is_selected: |spec, labels| {
                let mut selector = spec.selector.clone();
                selector.match_expressions.iter_mut().for_each(|all| all.truncate(1));
                selects(&selector, labels)
            }
        };
    first_value: "only the first value of In and NotIn is looked at"
        => {
            is_selected: |spec, labels| {
                let mut selector = spec.selector.clone();
                let values = selector.match_expressions.iter_mut().flatten().flat_map(|part| &mut part.values);
                values.for_each(|values| values.truncate(1));
                selects(&selector, labels)
            }
        };
    unsaid_controls: "an owner that does not say `controller` is taken for the controller"
        => { controller: |owners, _| owners.iter().find(|owner| owner.controller != Some(false)) };
    value_ignored: "only the keys of matchLabels are looked at, not their values"
        => {
            is_selected: |spec, labels| {
                wanted(spec).keys().all(|key| has(labels, key)) && selects(&expressions(spec), labels)
            }
        };
    any_other_owner: "a Pod with another owner is not adopted, though that one does not control it"
        => {
            suits: |pod, mine| {
                let mut owners = pod.owner_references.iter().flatten();
                owners.all(|owner| Some(&owner.uid) == mine.uid.as_ref())
            }
        };
    empty_is_none: "a label with an empty value is taken for none"
        => {
            is_selected: |spec, labels| {
                let mut labels = labels.cloned();
                labels.iter_mut().for_each(|labels| labels.retain(|_, value| !value.is_empty()));
                selects(&spec.selector, labels.as_ref())
            }
        };
    two_expressions: "only the first two of the matchExpressions are looked at"
        => {
            is_selected: |spec, labels| {
                let mut selector = spec.selector.clone();
                selector.match_expressions.iter_mut().for_each(|all| all.truncate(2));
                selects(&selector, labels)
            }
        };
    any_expression: "one of the matchExpressions is enough; every one must hold"
        => {
            is_selected: |spec, labels| {
                let parts = spec.selector.match_expressions.clone().unwrap_or_default();
                let alone = |part| LabelSelector { match_expressions: Some(vec![part]), ..LabelSelector::default() };
                let holds = parts.is_empty() || parts.into_iter().any(|part| selects(&alone(part), labels));
                holds && selects(&LabelSelector { match_expressions: None, ..spec.selector.clone() }, labels)
            }
        };
    own_kind: "only an owner of the own kind is looked at; Pods that another kind controls are taken"
        => { controller: |owners, mine| controller(owners, mine).filter(|owner| owner.kind == "ReplicaSet") };
    three_owners: "only the first three owner references are looked at"
        => { controller: |owners, _| owners.iter().take(3).find(|owner| owner.controller == Some(true)) };
    finalizer_is_leaving: "what has a finalizer is taken for something that is being deleted"
        => { goes: |meta| meta.deletion_timestamp.is_some() || meta.finalizers.is_some() };
    by_template: "the labels of the template are asked for; those of the selector decide"
        => {
            is_selected: |spec, labels| {
                let template = spec.template.as_ref().and_then(|template| template.metadata.as_ref());
                let match_labels = template.and_then(|meta| meta.labels.clone());
                selects(&LabelSelector { match_labels, ..LabelSelector::default() }, labels)
            }
        };
    any_case: "capitals in the value of a label are not looked at"
        => {
            is_selected: |spec, labels| {
                let small = |(key, value): (&String, &String)| (key.clone(), value.to_lowercase());
                let labels = labels.map(|labels| labels.iter().map(small).collect());
                selects(&spec.selector, labels.as_ref())
            }
        };
    own_names: "a Pod that has another name than its own is not adopted; names do not matter"
        => { suits: |pod, mine| begins(pod.name.as_ref(), mine.name.as_ref()) };
    namespace_alike: "a namespace that only begins as the own one does is taken for it"
        => { same_namespace: |its, mine| its == mine || begins(its, mine) };
    uid_alike: "a uid that only begins as the own one does is taken for it"
        => { is_mine: |owner, mine| begins(mine.uid.as_ref(), Some(&owner.uid)) };
    name_too: "an owner is recognised by its uid and its name; the uid alone tells it"
        => { is_mine: |owner, mine| is_mine(owner, mine) && Some(&owner.name) == mine.name.as_ref() };
    key_alike: "a label whose key only ends alike is taken for the one that is asked for"
        => {
            is_selected: |spec, labels| {
                let is_alike = |(key, value): (&String, &String)| {
                    labels.is_some_and(|labels| labels.iter().any(|(its, has)| its.ends_with(key) && has == value))
                };
                wanted(spec).iter().all(is_alike) && selects(&expressions(spec), labels)
            }
        };
    none_selected: "a ReplicaSet of no replicas selects nothing; how many it wants does not matter here"
        => { is_selected: |spec, labels| spec.replicas != Some(0) && selects(&spec.selector, labels) };
};

mod questions;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Ownership>("ownership");
    }
}
