//! Exercise 01: what a ReplicaSet does with a Pod that it sees. Mirrors ClaimObject in
//! `pkg/controller/controller_ref_manager.go`.
//!
//! Every combination of a few labels, selectors, owners, deletions and namespaces is asked, so what is judged is the
//! rule and not an example of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde_json::{Value, json};

use super::function::Function;
use super::making::begins;
use super::{Exercise, Judging, controlling, words};
use crate::exercise::ownership::{Case, Claim};
use crate::object::meta::controller_of;
use crate::object::selector::selects;

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "01_ownership",
    title: "Which Pods are mine?",
    outcome: "tell selection (labels) from ownership (ownerReferences), and say when a controller adopts or releases",
    needs: &[],
    hints: [
        "Two questions decide everything: does the selector match, and who controls the Pod? Which comes first?",
        "The controller is the owner reference with controller: true, and it is the same object only if its uid is.",
        "Another's: Leave. Mine: Keep if selected, else Release, but not while I am being deleted. Nobody's: Adopt if \
         selected, in my namespace, and neither of us is being deleted.",
    ],
    minutes: 30,
    judging: Judging::of_part::<Ownership>(controlling::with_ownership),
};

pub(super) struct Ownership;

impl Function for Ownership {
    type Question = Case;
    type Answer = Claim;
    type Slip = Slip;

    const MISTAKES: &'static [(&'static str, Slip)] = MISTAKES;

    fn questions() -> Vec<Case> {
        questions::all()
    }

    fn rule(case: &Case, slip: Option<Slip>) -> Claim {
        rule(case, slip)
    }

    fn property(case: &Case, given: Option<&Claim>) -> &'static str {
        match (given, rule(case, None)) {
            (None, _) => "every Pod gets an answer",
            (_, Claim::Keep) => "a Pod that is mine and selected is kept",
            (_, Claim::Adopt) => "a selected Pod that nobody controls is adopted",
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

/// A part of the rule that a wrong solution has wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slip {
    ByName,
    AnyOwner,
    FirstOwner,
    IgnoresOwner,
    IgnoresExpressions,
    AnyLabel,
    NeedsKey,
    TakesDying,
    TakesWhenDying,
    LetsGoWhenDying,
    CrossesNamespaces,
    NeverReleases,
    NeverAdopts,
    FirstExpression,
    FirstValue,
    UnsaidControls,
    ValueIgnored,
    AnyOtherOwner,
    EmptyIsNone,
    TwoExpressions,
    AnyExpression,
    OwnKind,
    ThreeOwners,
    FinalizerIsLeaving,
    ByTemplate,
    AnyCase,
    OwnNames,
    NamespaceAlike,
    UidAlike,
    NameToo,
    KeyAlike,
    NoneSelected,
}

/// What learners really write, and how to say so.
const MISTAKES: &[(&str, Slip)] = &[
    ("an owner is recognised by its name; a new ReplicaSet of the same name has another uid", Slip::ByName),
    ("any owner reference counts; only the one with controller: true does", Slip::AnyOwner),
    ("only the first owner reference is looked at", Slip::FirstOwner),
    ("labels alone decide; the Pods of others are taken", Slip::IgnoresOwner),
    ("matchExpressions are not looked at", Slip::IgnoresExpressions),
    ("one equal label is taken for a match; every one must be equal", Slip::AnyLabel),
    ("NotIn asks for the label to be there; it also holds when the label is absent", Slip::NeedsKey),
    ("a Pod that is being deleted is adopted", Slip::TakesDying),
    ("a ReplicaSet that is being deleted still adopts", Slip::TakesWhenDying),
    ("a ReplicaSet that is being deleted still releases", Slip::LetsGoWhenDying),
    ("a Pod of another namespace is adopted", Slip::CrossesNamespaces),
    ("a Pod that is no longer selected is kept", Slip::NeverReleases),
    ("a Pod that nobody controls is not adopted", Slip::NeverAdopts),
    ("only the first of the matchExpressions is looked at", Slip::FirstExpression),
    ("only the first value of In and NotIn is looked at", Slip::FirstValue),
    ("an owner that does not say `controller` is taken for the controller", Slip::UnsaidControls),
    ("only the keys of matchLabels are looked at, not their values", Slip::ValueIgnored),
    ("a Pod with another owner is not adopted, though that one does not control it", Slip::AnyOtherOwner),
    ("a label with an empty value is taken for none", Slip::EmptyIsNone),
    ("only the first two of the matchExpressions are looked at", Slip::TwoExpressions),
    ("one of the matchExpressions is enough; every one must hold", Slip::AnyExpression),
    ("only an owner of the own kind is looked at; Pods that another kind controls are taken", Slip::OwnKind),
    ("only the first three owner references are looked at", Slip::ThreeOwners),
    ("what has a finalizer is taken for something that is being deleted", Slip::FinalizerIsLeaving),
    ("the labels of the template are asked for; those of the selector decide", Slip::ByTemplate),
    ("capitals in the value of a label are not looked at", Slip::AnyCase),
    ("a Pod that has another name than its own is not adopted; names do not matter", Slip::OwnNames),
    ("a namespace that only begins as the own one does is taken for it", Slip::NamespaceAlike),
    ("a uid that only begins as the own one does is taken for it", Slip::UidAlike),
    ("an owner is recognised by its uid and its name; the uid alone tells it", Slip::NameToo),
    ("a label whose key only ends alike is taken for the one that is asked for", Slip::KeyAlike),
    ("a ReplicaSet of no replicas selects nothing; how many it wants does not matter here", Slip::NoneSelected),
];

/// The rule, with at most one part of it wrong.
fn rule(case: &Case, slip: Option<Slip>) -> Claim {
    let is = |one| slip == Some(one);
    let (mine, pod) = (&case.replica_set.metadata, &case.pod.metadata);
    let owners = pod.owner_references.as_deref().unwrap_or_default();
    let controller = match slip {
        Some(Slip::IgnoresOwner) => owners.iter().find(|owner| Some(&owner.uid) == mine.uid.as_ref()),
        Some(Slip::AnyOwner) => {
            owners.iter().find(|owner| Some(&owner.uid) == mine.uid.as_ref()).or_else(|| owners.first())
        }
        Some(Slip::UnsaidControls) => owners.iter().find(|owner| owner.controller != Some(false)),
        Some(Slip::OwnKind) => controller_of(pod).filter(|owner| owner.kind == "ReplicaSet"),
        Some(Slip::ThreeOwners) => owners.iter().take(3).find(|owner| owner.controller == Some(true)),
        Some(Slip::FirstOwner) => owners.first().filter(|owner| owner.controller == Some(true)),
        _ => controller_of(pod),
    };
    let selected = is_selected(case, slip);
    let goes = |meta: &ObjectMeta| {
        meta.deletion_timestamp.is_some() || is(Slip::FinalizerIsLeaving) && meta.finalizers.is_some()
    };
    let leaving = goes(mine);
    let Some(owner) = controller else {
        let may = (!leaving || is(Slip::TakesWhenDying))
            && (!goes(pod) || is(Slip::TakesDying))
            && (!is(Slip::OwnNames) || begins(pod.name.as_ref(), mine.name.as_ref()))
            && (pod.namespace == mine.namespace
                || is(Slip::CrossesNamespaces)
                || is(Slip::NamespaceAlike) && begins(pod.namespace.as_ref(), mine.namespace.as_ref()))
            && !(is(Slip::AnyOtherOwner) && owners.iter().any(|owner| Some(&owner.uid) != mine.uid.as_ref()))
            && !is(Slip::NeverAdopts);
        return if selected && may { Claim::Adopt } else { Claim::Leave };
    };
    let by_name = Some(&owner.name) == mine.name.as_ref();
    let same = match slip {
        Some(Slip::ByName) => by_name,
        Some(Slip::UidAlike) => begins(mine.uid.as_ref(), Some(&owner.uid)),
        _ => Some(&owner.uid) == mine.uid.as_ref() && (by_name || !is(Slip::NameToo)),
    };
    match (same, selected) {
        (false, _) => Claim::Leave,
        (true, true) => Claim::Keep,
        (true, false) if leaving && !is(Slip::LetsGoWhenDying) => Claim::Leave,
        (true, false) if is(Slip::NeverReleases) => Claim::Keep,
        (true, false) => Claim::Release,
    }
}

fn is_selected(case: &Case, slip: Option<Slip>) -> bool {
    let mut labels = case.pod.metadata.labels.clone();
    if slip == Some(Slip::EmptyIsNone) {
        labels.iter_mut().for_each(|labels| labels.retain(|_, value| !value.is_empty()));
    }
    let labels = labels.as_ref();
    let Some(mut selector) = case.replica_set.spec.as_ref().map(|spec| spec.selector.clone()) else { return false };
    let has = |key: &str| labels.is_some_and(|labels| labels.contains_key(key));
    match slip {
        Some(Slip::NoneSelected) if case.replica_set.spec.as_ref().is_some_and(|spec| spec.replicas == Some(0)) => {
            return false;
        }
        Some(Slip::KeyAlike) => {
            let wanted = selector.match_labels.take().unwrap_or_default();
            let alike = |(key, value): (&String, &String)| {
                labels.is_some_and(|labels| labels.iter().any(|(its, has)| its.ends_with(key) && has == value))
            };
            return wanted.iter().all(alike) && selects(&selector, labels);
        }
        Some(Slip::IgnoresExpressions) => selector.match_expressions = None,
        Some(Slip::FirstExpression) => selector.match_expressions.iter_mut().for_each(|all| all.truncate(1)),
        Some(Slip::TwoExpressions) => selector.match_expressions.iter_mut().for_each(|all| all.truncate(2)),
        Some(Slip::FirstValue) => {
            let values = selector.match_expressions.iter_mut().flatten().flat_map(|part| &mut part.values);
            values.for_each(|values| values.truncate(1));
        }
        Some(Slip::ValueIgnored) => {
            let wanted = selector.match_labels.take().unwrap_or_default();
            return wanted.keys().all(|key| has(key)) && selects(&selector, labels);
        }
        Some(Slip::AnyLabel) => {
            let wanted = selector.match_labels.take().unwrap_or_default();
            let equal = |(key, value)| labels.is_some_and(|labels| labels.get(key) == Some(value));
            return wanted.iter().any(equal) && selects(&selector, labels);
        }
        Some(Slip::AnyExpression) => {
            let parts = selector.match_expressions.take().unwrap_or_default();
            let alone = |part| LabelSelector { match_expressions: Some(vec![part]), ..LabelSelector::default() };
            let holds = parts.is_empty() || parts.into_iter().any(|part| selects(&alone(part), labels));
            return holds && selects(&selector, labels);
        }
        Some(Slip::ByTemplate) => {
            let template = case.replica_set.spec.as_ref().and_then(|spec| spec.template.as_ref());
            let wanted = template.and_then(|template| template.metadata.as_ref()?.labels.clone());
            return selects(&LabelSelector { match_labels: wanted, ..LabelSelector::default() }, labels);
        }
        Some(Slip::AnyCase) => {
            let small = |text: &mut String| *text = text.to_lowercase();
            let labels = labels.cloned().map(|mut labels| {
                labels.values_mut().for_each(small);
                labels
            });
            return selects(&selector, labels.as_ref());
        }
        Some(Slip::NeedsKey) => {
            let parts = selector.match_expressions.iter().flatten();
            if parts.filter(|part| part.operator == "NotIn").any(|part| !has(&part.key)) {
                return false;
            }
        }
        _ => {}
    }
    selects(&selector, labels)
}

mod questions;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::lab::function::check::<Ownership>("ownership");
    }
}
