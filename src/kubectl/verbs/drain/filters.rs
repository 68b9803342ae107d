//! Which Pods a drain takes: each is asked the same questions, and one that must not go keeps all. Mirrors
//! `k8s.io/kubectl/pkg/drain/filters.go`.

use std::time::Duration;

use serde_json::Value;

use crate::args::Args;
use crate::kubectl::Kubectl;
use crate::print::fields::{at, flag, list, text};
use object::Kind;
use object::pod::MIRROR;
use object::time::Instant;

/// The draining of one node.
pub(super) struct Drain<'a> {
    /// Its name.
    pub(super) node: &'a str,
    /// How it was asked for.
    pub(super) args: &'a Args,
    /// Who asks.
    pub(super) cx: &'a Kubectl,
    /// When it gives up, and after how long.
    pub(super) deadline: Option<(Instant, Duration)>,
}

/// What is to become of one Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PodDeleteStatus {
    /// It goes.
    Goes,
    /// It goes, with a warning.
    GoesWith(String),
    /// It stays, without a warning.
    Stays,
    /// It stays, with a warning.
    StaysWith(String),
    /// It must not go, and so nothing does.
    Forbids(String),
}

impl Drain<'_> {
    /// Asks the questions one after the other; the first that keeps the Pod is the last. What a question has to say is
    /// lost with the next one's answer: of warnings only that of the last question is heard. Mirrors `makeFilters`.
    pub(super) async fn judge(&self, pod: &Value) -> PodDeleteStatus {
        let ended = matches!(text(pod, "status.phase"), "Succeeded" | "Failed");
        let owner = list(pod, "metadata.ownerReferences").iter().find(|owner| flag(owner, "controller"));
        if self.is_skipped(pod) {
            return PodDeleteStatus::Stays;
        }
        if let Some(owner) = owner.filter(|owner| is_daemon_set(owner) && !ended) {
            let namespace = text(pod, "metadata.namespace");
            match self.cx.get_once(Kind::DaemonSet, namespace, text(owner, "name")).await {
                Ok(_) if self.args.is_on("ignore-daemonsets") => {
                    return PodDeleteStatus::StaysWith("ignoring DaemonSet-managed Pods".to_owned());
                }
                Ok(_) => {
                    return PodDeleteStatus::Forbids(
                        "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)".to_owned(),
                    );
                }
                Err(fault) if fault.is_not_found() && self.args.is_on("force") => {}
                Err(fault) => return PodDeleteStatus::Forbids(fault.message()),
            }
        }
        if at(pod, "metadata.annotations").get(MIRROR).is_some() {
            return PodDeleteStatus::Stays;
        }
        let local = list(pod, "spec.volumes").iter().any(|volume| volume.get("emptyDir").is_some());
        if local && !ended && !self.args.is_on("delete-emptydir-data") {
            let why = "Pods with local storage (use --delete-emptydir-data to override)";
            return PodDeleteStatus::Forbids(why.to_owned());
        }
        match (owner.is_none() && !ended, self.args.is_on("force")) {
            (false, _) => PodDeleteStatus::Goes,
            (true, true) => PodDeleteStatus::GoesWith("deleting Pods that declare no controller".to_owned()),
            (true, false) => {
                PodDeleteStatus::Forbids("Pods that declare no controller (use --force to override)".to_owned())
            }
        }
    }

    /// A Pod that has been terminating for longer than `--skip-wait-for-delete-timeout`, if that is set.
    pub(super) fn is_skipped(&self, pod: &Value) -> bool {
        let limit: i64 = self.args.value("skip-wait-for-delete-timeout").parse().unwrap_or(0);
        let since = text(pod, "metadata.deletionTimestamp").parse::<jiff::Timestamp>().ok();
        limit > 0 && since.is_some_and(|since| self.cx.now().as_second() - since.as_second() > limit)
    }
}

/// The Pods that go.
pub(super) fn going(pods: Vec<(Value, PodDeleteStatus)>) -> Vec<Value> {
    let goes = |status: &PodDeleteStatus| matches!(status, PodDeleteStatus::Goes | PodDeleteStatus::GoesWith(_));
    pods.into_iter().filter(|(_, status)| goes(status)).map(|(pod, _)| pod).collect()
}

/// The warnings, by reason. Mirrors `PodDeleteList.Warnings`.
pub(super) fn warnings(pods: &[(Value, PodDeleteStatus)]) -> String {
    let of = |status: &PodDeleteStatus| match status {
        PodDeleteStatus::GoesWith(why) | PodDeleteStatus::StaysWith(why) => Some(why.clone()),
        _ => None,
    };
    by_reason(pods, of).join("; ")
}

/// `why: namespace/a, namespace/b` for each reason, in the order in which they came up.
pub(super) fn by_reason(
    pods: &[(Value, PodDeleteStatus)],
    reason: impl Fn(&PodDeleteStatus) -> Option<String>,
) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (pod, status) in pods {
        let Some(why) = reason(status) else { continue };
        let name = format!("{}/{}", text(pod, "metadata.namespace"), text(pod, "metadata.name"));
        match groups.iter_mut().find(|(there, _)| *there == why) {
            Some((_, names)) => names.push(name),
            None => groups.push((why, vec![name])),
        }
    }
    groups.into_iter().map(|(why, names)| format!("{why}: {}", names.join(", "))).collect()
}

/// Whether an owner is a DaemonSet, and none that users have defined. Mirrors `isControllerRefDaemonSet`.
fn is_daemon_set(owner: &Value) -> bool {
    (text(owner, "apiVersion"), text(owner, "kind")) == ("apps/v1", "DaemonSet")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pods_are_told_by_reason() {
        let pod = |name: &str| json!({"metadata": {"namespace": "default", "name": name}});
        let pods = [
            (pod("a"), PodDeleteStatus::GoesWith("x".into())),
            (pod("b"), PodDeleteStatus::StaysWith("y".into())),
            (pod("c"), PodDeleteStatus::GoesWith("x".into())),
            (pod("d"), PodDeleteStatus::Goes),
        ];
        assert_eq!(warnings(&pods), "x: default/a, default/c; y: default/b");
        let names: Vec<String> = going(pods.to_vec()).iter().map(|pod| text(pod, "metadata.name").to_owned()).collect();
        assert_eq!(names, ["a", "c", "d"]);
    }

    #[test]
    fn users_may_have_daemon_sets_of_their_own() {
        for (group, is_it) in [("apps/v1", true), ("apps.example.com/v1", false)] {
            assert_eq!(
                is_daemon_set(&json!({"apiVersion": group, "kind": "DaemonSet", "name": "a"})),
                is_it,
                "{group}"
            );
        }
    }
}
