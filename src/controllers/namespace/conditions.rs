//! What blocks the deletion of a Namespace, for people to read: five conditions in its status; True means trouble.
//! Mirrors `deletion/status_condition_utils.go`.

use k8s_openapi::api::core::v1::{NamespaceCondition, NamespaceStatus};

use object::time::Instant;

use super::content::Totals;

/// The types, with the reason and the message of each when all is well, in the order in which they are written.
const WELL: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (CONTENT_FAILURE, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    (CONTENT_REMAINING, "ContentRemoved", "All content successfully removed"),
    (FINALIZERS_REMAINING, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];
const CONTENT_FAILURE: &str = "NamespaceDeletionContentFailure";
const CONTENT_REMAINING: &str = "NamespaceContentRemaining";
const FINALIZERS_REMAINING: &str = "NamespaceFinalizersRemaining";

/// What went wrong in one attempt to empty a Namespace.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    failures: Vec<String>,
    /// Type, reason and message.
    troubles: Vec<(&'static str, &'static str, String)>,
}

impl Conditions {
    /// Deleting a kind failed.
    pub(super) fn deletion_failed(&mut self, error: String) {
        self.failures.push(error);
    }

    /// What could be listed after all was deleted. Mirrors `ProcessContentTotals`.
    pub(super) fn remaining(&mut self, totals: &Totals) {
        let kind = |(kind, count): (&object::Kind, &usize)| {
            let info = kind.info();
            format!("{}.{} has {count} resource instances", info.plural, info.group)
        };
        let mut kinds: Vec<String> = totals.kinds.iter().map(kind).collect();
        if !kinds.is_empty() {
            kinds.sort();
            let message = format!("Some resources are remaining: {}", kinds.join(", "));
            self.troubles.push((CONTENT_REMAINING, "SomeResourcesRemain", message));
        }
        let finalizer = |(name, count): (&String, &usize)| format!("{name} in {count} resource instances");
        let mut finalizers: Vec<String> = totals.finalizers.iter().map(finalizer).collect();
        if !finalizers.is_empty() {
            finalizers.sort();
            let message = format!("Some content in the namespace has finalizers remaining: {}", finalizers.join(", "));
            self.troubles.push((FINALIZERS_REMAINING, "SomeFinalizersRemain", message));
        }
    }

    /// Brings the conditions of a status up to date, and says whether that changed any.
    pub(super) fn update(mut self, status: &mut NamespaceStatus, now: Instant) -> bool {
        if !self.failures.is_empty() {
            self.failures.sort();
            let (count, list) = (self.failures.len(), self.failures.join(", "));
            let message = format!("Failed to delete all resource types, {count} remaining: {list}");
            self.troubles.push((CONTENT_FAILURE, "ContentDeletionFailed", message));
        }
        let mut changed = false;
        for (what, reason, message) in WELL {
            let trouble = self.troubles.iter().find(|(type_, ..)| *type_ == what);
            let (is, reason, message) =
                trouble.map_or(("False", reason, message), |(_, reason, message)| ("True", *reason, message));
            let wanted = NamespaceCondition {
                type_: what.to_owned(),
                status: is.to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message.to_owned()),
                last_transition_time: Some(now.time()),
            };
            changed |= put(status.conditions.get_or_insert_default(), wanted);
        }
        changed
    }
}

/// Adds or exchanges a condition, if it says anything new. Its time is that of the last change of its status.
fn put(conditions: &mut Vec<NamespaceCondition>, mut wanted: NamespaceCondition) -> bool {
    let Some(there) = conditions.iter_mut().find(|condition| condition.type_ == wanted.type_) else {
        conditions.push(wanted);
        return true;
    };
    if there.status == wanted.status {
        wanted.last_transition_time.clone_from(&there.last_transition_time);
    }
    let changed = *there != wanted;
    *there = wanted;
    changed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use object::Kind;

    fn lines(status: &NamespaceStatus) -> Vec<String> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let conditions = status.conditions.iter().flatten();
        conditions.map(|c| format!("{} {} {}: {}", c.type_, c.status, text(&c.reason), text(&c.message))).collect()
    }

    #[test]
    fn trouble_is_told_and_taken_back() {
        let mut status = NamespaceStatus::default();
        assert!(Conditions::default().update(&mut status, Instant(0)));
        let well = [
            "NamespaceDeletionDiscoveryFailure False ResourcesDiscovered: All resources successfully discovered",
            "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions: All legacy kube types successfully parsed",
            "NamespaceDeletionContentFailure False ContentDeleted: All content successfully deleted, may be waiting on \
             finalization",
            "NamespaceContentRemaining False ContentRemoved: All content successfully removed",
            "NamespaceFinalizersRemaining False ContentHasNoFinalizers: All content-preserving finalizers finished",
        ];
        assert_eq!(lines(&status), well);
        assert!(!Conditions::default().update(&mut status, Instant(5_000_000_000)), "nothing is new");

        let mut conditions = Conditions::default();
        conditions.remaining(&Totals {
            kinds: BTreeMap::from([(Kind::Deployment, 2), (Kind::ConfigMap, 1)]),
            finalizers: BTreeMap::from([("example.com/b".into(), 2), ("example.com/a".into(), 1)]),
        });
        conditions.deletion_failed("b".into());
        conditions.deletion_failed("a".into());
        assert!(conditions.update(&mut status, Instant(9_000_000_000)));
        assert_eq!(
            lines(&status)[2..],
            [
                "NamespaceDeletionContentFailure True ContentDeletionFailed: Failed to delete all resource types, 2 remaining: \
                 a, b",
                "NamespaceContentRemaining True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource \
                 instances, deployments.apps has 2 resource instances",
                "NamespaceFinalizersRemaining True SomeFinalizersRemain: Some content in the namespace has finalizers \
                 remaining: example.com/a in 1 resource instances, example.com/b in 2 resource instances",
            ]
        );
        let since = |status: &NamespaceStatus, n: usize| {
            status.conditions.as_ref().and_then(|c| c[n].last_transition_time.clone())
        };
        assert_eq!(since(&status, 0), Some(Instant(0).time()), "its status never changed");
        assert_eq!(since(&status, 3), Some(Instant(9_000_000_000).time()));
        assert!(Conditions::default().update(&mut status, Instant(9_000_000_000)));
        assert_eq!(lines(&status), well);
    }
}
