//! What the user wrote about failure and success: which exit codes fail a Job at once or do not count, which successes
//! are enough. Mirrors `pkg/controller/job/pod_failure_policy.go` and `success_policy.go`.

use k8s_openapi::api::batch::v1::{
    JobSpec, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern, SuccessPolicy,
};

use super::indexes::Indexes;
use object::pod::status::ContainerStatus;
use object::{Key, Pod};

/// What is to be done about a failed Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureAction {
    /// It counts as a failure.
    Count,
    /// It does not.
    Ignore,
    /// Its index has failed, even if it has retries left.
    FailIndex,
    /// The Job has failed: this is what is said of it.
    FailJob(String),
}

/// What the Job's failure policy says of a failed Pod: the first rule that fits. Mirrors `matchPodFailurePolicy`.
pub fn judge(spec: &JobSpec, pod: &Pod) -> FailureAction {
    for (i, rule) in spec.pod_failure_policy.iter().flat_map(|policy| &policy.rules).enumerate() {
        let name = Key::of_meta(&pod.metadata);
        let found = match (&rule.on_exit_codes, rule.on_pod_conditions.as_deref()) {
            (Some(codes), _) => failed_container(pod, codes).map(|(container, code)| {
                format!("Container {container} for pod {name} failed with exit code {code} matching FailJob rule at index {i}")
            }),
            (None, patterns) => fitting_condition(pod, patterns.unwrap_or_default())
                .map(|type_| format!("Pod {name} has condition {type_} matching FailJob rule at index {i}")),
        };
        match (found, rule.action.as_str()) {
            (Some(_), "Ignore") => return FailureAction::Ignore,
            (Some(_), "FailIndex") => return FailureAction::FailIndex,
            (Some(message), "FailJob") => return FailureAction::FailJob(message),
            (Some(_), _) => return FailureAction::Count,
            (None, _) => {}
        }
    }
    FailureAction::Count
}

/// The first container that ended with one of the codes, and its code.
fn failed_container(pod: &Pod, codes: &PodFailurePolicyOnExitCodesRequirement) -> Option<(String, i32)> {
    let status = pod.status.as_ref()?;
    let statuses = status.container_statuses.iter().flatten().chain(status.init_container_statuses.iter().flatten());
    let meant = |status: &&ContainerStatus| codes.container_name.as_ref().is_none_or(|name| *name == status.name);
    let fits = |code: i32| code != 0 && codes.values.contains(&code) == (codes.operator == "In");
    statuses.filter(meant).find_map(|status| {
        let code = status.state.as_ref()?.terminated.as_ref()?.exit_code;
        fits(code).then(|| (status.name.to_string(), code))
    })
}

fn fitting_condition(pod: &Pod, patterns: &[PodFailurePolicyOnPodConditionsPattern]) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let fits = |pattern: &PodFailurePolicyOnPodConditionsPattern, type_: &str, status: &str| {
        pattern.type_ == type_ && pattern.status.as_deref().unwrap_or("True") == status
    };
    let found = conditions.iter().find(|c| patterns.iter().any(|pattern| fits(pattern, &c.type_, &c.status)));
    found.map(|condition| condition.type_.clone()).map(Into::into)
}

/// What is said when one of the rules of the success policy holds. Before the first success none does, not even one that
/// asks for no success at all. Mirrors `matchSuccessPolicy`.
pub fn success(policy: &SuccessPolicy, completions: i32, succeeded: &Indexes) -> Option<String> {
    if succeeded.total() == 0 {
        return None;
    }
    let holds = |(_, rule): &(usize, &k8s_openapi::api::batch::v1::SuccessPolicyRule)| {
        let Some(text) = &rule.succeeded_indexes else {
            return rule.succeeded_count.is_some_and(|count| succeeded.total() >= count);
        };
        let wanted = Indexes::parse(text, completions);
        wanted.common(succeeded) >= rule.succeeded_count.unwrap_or(wanted.total())
    };
    let rule = policy.rules.iter().enumerate().find(holds)?.0;
    Some(format!("Matched rules at index {rule}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn spec(rules: Value) -> JobSpec {
        serde_json::from_value(json!({"template": {}, "podFailurePolicy": {"rules": rules}})).unwrap()
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let spec = spec(json!([
            {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1, 42]}},
        ]));
        let fail = "Container main for pod ns/p failed with exit code 42 matching FailJob rule at index 0";
        for (container, code, condition, want) in [
            ("main", 42, "Ready", FailureAction::FailJob(fail.into())),
            ("side", 42, "Ready", FailureAction::Count),
            ("main", 1, "DisruptionTarget", FailureAction::Ignore),
            ("main", 7, "Ready", FailureAction::FailIndex),
            ("main", 1, "Ready", FailureAction::Count),
            ("main", 0, "Ready", FailureAction::Count),
        ] {
            let pod = json!({"metadata": {"namespace": "ns", "name": "p"}, "status": {
                "conditions": [{"type": condition, "status": "True"}],
                "containerStatuses": [{"name": container, "image": "i", "imageID": "i", "ready": false,
                    "restartCount": 0, "state": {"terminated": {"exitCode": code}}}],
            }});
            assert_eq!(judge(&spec, &serde_json::from_value(pod).unwrap()), want, "{container} {code} {condition}");
        }
    }

    #[test]
    fn enough_is_what_the_rules_say() {
        let policy = json!({"rules": [{"succeededIndexes": "0-2", "succeededCount": 2}, {"succeededIndexes": "4"},
            {"succeededCount": 4}]});
        let policy: SuccessPolicy = serde_json::from_value(policy).unwrap();
        for (succeeded, want) in
            [("", None), ("0", None), ("0,2", Some(0)), ("4", Some(1)), ("5,6,7", None), ("1,5,6,7", Some(2))]
        {
            let want = want.map(|i| format!("Matched rules at index {i}"));
            assert_eq!(success(&policy, 8, &Indexes::parse(succeeded, 8)), want, "{succeeded}");
        }
        let none: SuccessPolicy = serde_json::from_value(json!({"rules": [{"succeededCount": 0}]})).unwrap();
        assert_eq!(success(&none, 8, &Indexes::default()), None);
        assert!(success(&none, 8, &Indexes::parse("3", 8)).is_some());
    }
}
