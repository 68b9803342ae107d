//! Exercise 21: what does a Job still need? Mirrors `manageJob` and the decisions of `syncJob` of the Job controller.
//!
//! Left out: indexes, policies of failure and success, deadlines, and the pause before a Pod that failed is replaced.

use k8s_openapi::api::batch::v1::JobSpec;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::function::Function;
use super::making::{TIME, longer, read};
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, controlling, words};
use controllers::job::TRACKING;
use exercise::job::{Case, End, Step};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "21_job",
    title: "What does a Job still need?",
    outcome: "say how many Pods of a Job run at any time, when it is over, and what its failures do to it",
    needs: &["replicaset", "restart"],
    hints: [
        "A ReplicaSet counts who is there. Whom does a Job count besides, and why may it never forget them?",
        "Count three sorts: active, succeeded, failed; a Pod that another client deletes before it has succeeded is \
         the third. Look at the failures first, then whether it is complete, then at what is missing.",
        "What is missing is completions - succeeded, and no more than parallelism of them run at once. Compare that with the \
         active ones: the difference is created or deleted. Without completions the number is parallelism until one has \
         succeeded, and then just as many as are active; it is complete when none is active any more.",
    ],
    minutes: 25,
    judging: Judging::of_part::<Running>(controlling::with_job),
};

pub(super) struct Running;

impl Function for Running {
    type Question = Case;
    type Answer = Step;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        let case = |job: &Value, pods: &Vec<Value>| Case { job: read(job.clone()), pods: read(json!(pods)) };
        let (specs, mut all) = (specs(), Vec::new());
        // Not every two of them: of more Pods only some, and others each time.
        let mut add = |pods: &Vec<Value>, n: usize, each: usize| {
            let some = specs.iter().enumerate().filter(|(at, _)| (at + n).is_multiple_of(each));
            all.extend(some.map(|(_, job)| case(job, pods)));
        };
        for (n, pods) in all_pods().iter().enumerate() {
            add(pods, n, [1, 1, 17, 503][pods.len().min(3)]);
        }
        for (n, pods) in all_counts().iter().enumerate() {
            add(pods, n, 19);
        }
        all.extend(many().iter().map(|(job, pods)| case(job, pods)));
        all
    }

    fn answer(rule: &Rule, case: &Case) -> Step {
        step(rule, &case.job, &case.pods)
    }

    fn property(case: &Case, given: Option<&Step>) -> &'static str {
        let right = Running::right(case);
        match given {
            None => "every Job gets an answer",
            Some(given) if given.end != right.end => "a Job ends when it should, and as it should",
            Some(given) if given.create > right.create => {
                "no more Pods run than parallelism allows and completions still needs"
            }
            Some(given) if given.create < right.create => "what a Job still needs is started",
            Some(_) => "what is not to run is deleted, and nothing else",
        }
    }

    fn show(case: &Case) -> String {
        let word = |pod: &Pod| {
            let going = if pod.metadata.deletion_timestamp.is_some() { " and being deleted" } else { "" };
            let phase = if phase(pod).is_empty() { "without a phase" } else { phase(pod) };
            format!("{phase}{going}")
        };
        let pods: Vec<String> = case.pods.iter().map(word).collect();
        let pods: Value =
            pods.chunk_by(|one, other| one == other).map(|same| format!("{} {}", same.len(), same[0])).collect();
        let spec = json!(case.job);
        let fields = ["completions", "parallelism", "backoffLimit", "suspend"];
        let job = fields.map(|field| (field, spec.get(field).cloned().unwrap_or("not given".into())));
        let title = if case.pods.iter().any(is_tracked) { "Pods, each with the Job's finalizer" } else { "Pods" };
        format!("{}\n{}", words::object("Job", job), words::field(title, &pods))
    }

    fn say(_: &Case, Step { create, delete, end }: &Step) -> Vec<Part> {
        let end = end.map_or("None".to_owned(), |end| format!("{end:?}"));
        vec![part("gave", format!("create {create}, delete {delete}, end {end}"))]
    }
}

fn specs() -> Vec<Value> {
    let mut all = Vec::new();
    for completions in [json!(1), json!(3), Value::Null, json!(2), json!(0)] {
        for parallelism in [json!(2), Value::Null, json!(3), json!(0)] {
            for limit in [Value::Null, json!(0), json!(1)] {
                // The API server writes `false` where nothing is said.
                for suspend in [Value::Null, json!(true), json!(false)] {
                    all.push(spec(&completions, &parallelism, &limit, &suspend));
                }
            }
        }
    }
    all
}

fn spec(completions: &Value, parallelism: &Value, limit: &Value, suspend: &Value) -> Value {
    let mut spec = json!({"template": {}});
    let given = [("completions", completions), ("parallelism", parallelism)];
    let given = given.into_iter().chain([("backoffLimit", limit), ("suspend", suspend)]);
    given.filter(|(_, value)| !value.is_null()).for_each(|(name, value)| spec[name] = value.clone());
    spec
}

fn pod(phase: Option<&str>, going: bool) -> Value {
    let going = going.then_some(TIME);
    let status = phase.map(|phase| json!({"phase": phase}));
    json!({"metadata": {"namespace": "default", "deletionTimestamp": going}, "status": status})
}

/// As one namespace has them: each has another name. Some rows still have the finalizer by which the real controller knows
/// which Pods it has not yet counted in the status; there is no such status here.
fn named(pods: &[Value]) -> Vec<Value> {
    let mut pods = pods.to_vec();
    let finalizers = pods.len().is_multiple_of(2).then(|| json!([TRACKING]));
    for (n, pod) in (1..).zip(&mut pods) {
        pod["metadata"]["name"] = json!(format!("sum-{n}"));
        pod["metadata"]["finalizers"] = json!(finalizers);
    }
    pods
}

/// Whether the Job's controller would still have to count it.
fn is_tracked(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().flatten().any(|one| one == TRACKING)
}

/// All rows of up to three Pods.
fn all_pods() -> Vec<Vec<Value>> {
    let kinds = [
        pod(Some("Running"), false),
        pod(Some("Succeeded"), false),
        pod(Some("Failed"), false),
        pod(Some("Pending"), false),
        pod(Some("Running"), true),
        pod(Some("Succeeded"), true),
        pod(Some("Failed"), true),
        pod(Some("Pending"), true),
        // Its node does not report any more.
        pod(Some("Unknown"), false),
        pod(None, false),
        pod(Some("Unknown"), true),
        json!({"metadata": {"deletionTimestamp": TIME}, "status": {}}),
    ];
    let mut all: Vec<Vec<Value>> = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..3 {
        last = longer(&last, &kinds);
        all.extend(last.clone());
    }
    all.iter().map(|pods| named(pods)).collect()
}

/// So many Pods of each sort.
fn of(sorts: &[(&str, usize)]) -> Vec<Value> {
    named(&sorts.iter().flat_map(|(phase, count)| vec![pod(Some(phase), false); *count]).collect::<Vec<_>>())
}

/// Up to four Pods of each sort.
fn all_counts() -> Vec<Vec<Value>> {
    let counts = 0..=4;
    let pairs = counts.clone().flat_map(|one| counts.clone().map(move |other| (one, other)));
    let rows = pairs.flat_map(|(failed, running)| {
        counts.clone().map(move |succeeded| of(&[("Failed", failed), ("Running", running), ("Succeeded", succeeded)]))
    });
    rows.collect()
}

/// Large Jobs, and what is just before and after a limit.
fn many() -> Vec<(Value, Vec<Value>)> {
    let mut many = Vec::new();
    for completions in [json!(3), Value::Null] {
        let spec = |limit: Value| spec(&completions, &json!(3), &limit, &json!(false));
        for (limit, failed) in [(json!(6), 6), (Value::Null, 6), (json!(8), 8)] {
            many.push((spec(limit.clone()), of(&[("Failed", failed), ("Running", 2)])));
            many.push((spec(limit), of(&[("Failed", failed + 1), ("Running", 2)])));
        }
        many.push((spec(Value::Null), of(&[("Running", 5)])));
    }
    let large = |completions: Value| spec(&completions, &json!(270), &json!(260), &json!(false));
    many.push((large(json!(300)), Vec::new()));
    many.push((large(Value::Null), Vec::new()));
    many.push((large(json!(300)), of(&[("Succeeded", 279), ("Running", 1)])));
    many.push((large(json!(300)), of(&[("Failed", 261), ("Running", 1)])));
    many.push((large(json!(300)), of(&[("Failed", 260), ("Running", 1)])));
    many.push((large(json!(300)), of(&[("Failed", 20), ("Running", 1)])));
    for number in [256, 65_536, i32::MAX] {
        // Who wants no end to the failures says so.
        let endless = spec(&json!(3), &json!(2), &json!(number), &json!(false));
        many.push((endless, of(&[("Failed", 2), ("Running", 1)])));
        let endless = spec(&json!(number), &json!(2), &json!(1), &json!(false));
        many.push((endless, of(&[("Succeeded", 2), ("Running", 1)])));
        many.push((spec(&json!(3), &json!(number), &json!(1), &json!(false)), of(&[("Running", 1)])));
    }
    many.push((spec(&json!(30), &json!(25), &json!(1), &json!(true)), of(&[("Running", 25)])));
    many
}

/// What a Pod counts as.
#[derive(PartialEq, Eq)]
pub(super) enum Sort {
    Active,
    Succeeded,
    Failed,
    Overlooked,
}

/// What decides.
pub(super) struct Rule {
    /// What a Pod counts as.
    sort: fn(&Pod) -> Sort,
    /// So many are active, by those that count so and all.
    active: fn(usize, usize) -> usize,
    /// What a number of the spec is.
    number: fn(i32) -> usize,
    /// How many may fail.
    limit: fn(Option<i32>) -> i32,
    /// Whether so many failures are too many for that.
    too_often: fn(usize, usize) -> bool,
    /// So many of the active ones are deleted when the Job has failed.
    deleted_at_failure: fn(usize) -> usize,
    /// How many have to succeed, where that is said.
    completions: fn(i32) -> i32,
    /// Where it is not: whether the Job is complete after a success, when so many are active.
    ends_after_success: fn(usize) -> bool,
    /// How many run then, of so many that are active, and may be.
    after_success: fn(usize, usize) -> usize,
    /// How many may run at a time.
    parallelism: fn(usize) -> usize,
    /// Whether the Job is suspended.
    is_suspended: fn(&JobSpec) -> bool,
    /// How many of the active ones run while it is.
    while_suspended: fn(usize) -> usize,
    /// How many run: by parallelism, completions, and how many have succeeded.
    wanted: fn(usize, usize, usize) -> usize,
    /// How many of those that are too many are deleted.
    deleted: fn(usize) -> usize,
}

const RULE: Rule = Rule {
    sort,
    active: |active, _| active,
    number: |number| number as usize,
    limit: |limit| limit.unwrap_or(6),
    too_often: |failed, limit| failed > limit,
    deleted_at_failure: |active| active,
    completions: |completions| completions,
    ends_after_success: |active| active == 0,
    after_success: |active, _| active,
    parallelism: |parallelism| parallelism,
    is_suspended: |job| job.suspend == Some(true),
    while_suspended: |_| 0,
    wanted: |parallelism, completions, succeeded| parallelism.min(completions - succeeded),
    deleted: |too_many| too_many,
};

fn sort(pod: &Pod) -> Sort {
    match phase(pod) {
        "Succeeded" => Sort::Succeeded,
        "Failed" => Sort::Failed,
        _ if pod.metadata.deletion_timestamp.is_some() => Sort::Failed,
        _ => Sort::Active,
    }
}

fn step(rule: &Rule, job: &JobSpec, pods: &[Pod]) -> Step {
    let sorts: Vec<Sort> = pods.iter().map(rule.sort).collect();
    let count = |sort: Sort| sorts.iter().filter(|one| **one == sort).count();
    let (active, succeeded, failed) =
        ((rule.active)(count(Sort::Active), pods.len()), count(Sort::Succeeded), count(Sort::Failed));
    let over = |end, delete| Step { create: 0, delete, end: Some(end) };
    if (rule.too_often)(failed, (rule.number)((rule.limit)(job.backoff_limit))) {
        return over(End::Failed, (rule.deleted_at_failure)(active));
    }
    let completions = job.completions.map(rule.completions).map(rule.number);
    let is_complete = match completions {
        Some(completions) => succeeded >= completions,
        None => succeeded > 0 && (rule.ends_after_success)(active),
    };
    if is_complete {
        return over(End::Complete, active);
    }
    let parallelism = (rule.parallelism)((rule.number)(job.parallelism.unwrap_or(1)));
    let is_suspended = (rule.is_suspended)(job);
    let wanted = match completions {
        _ if is_suspended => (rule.while_suspended)(active),
        Some(completions) => (rule.wanted)(parallelism, completions, succeeded),
        None if succeeded > 0 => (rule.after_success)(active, parallelism),
        None => parallelism,
    };
    let too_many = active.saturating_sub(wanted);
    let delete = if is_suspended { too_many } else { (rule.deleted)(too_many) };
    Step { create: wanted.saturating_sub(active), delete, end: None }
}

fn has_ended(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    counts_ended: "Pods that have ended count as running" => { active: |_, all| all };
    counts_going: "a Pod that is being deleted counts as running"
        => {
            sort: |pod| match phase(pod) {
                "Succeeded" => Sort::Succeeded,
                "Failed" => Sort::Failed,
                _ => Sort::Active,
            }
        };
    going_is_failed: "a Pod that has succeeded counts as failed once it is being deleted"
        => { sort: |pod| if pod.metadata.deletion_timestamp.is_some() { Sort::Failed } else { sort(pod) } };
    ignores_missing: "it runs as many as parallelism allows, though fewer are missing"
        => { wanted: |parallelism, _, _| parallelism };
    ignores_parallelism: "it runs all that are missing, however few may run at a time"
        => { wanted: |_, completions, succeeded| completions - succeeded };
    keeps_completions: "it runs as many as completions says, as if those that have succeeded had to run again"
        => { wanted: |parallelism, completions, _| parallelism.min(completions) };
    limit_is_reached: "as many failures as backoffLimit end the Job; it takes one more"
        => { too_often: |failed, limit| failed >= limit };
    no_limit: "backoffLimit is not looked at" => { too_often: |_, _| false };
    leaves_running: "a Job that has failed leaves its Pods running" => { deleted_at_failure: |_| 0 };
    never_deletes: "more run than may, and none of them is deleted" => { deleted: |_| 0 };
    none_is_unsaid: "backoffLimit 0 is taken for one that is not given"
        => { limit: |limit| limit.filter(|limit| *limit > 0).unwrap_or(6) };
    first_success_ends: "without completions, one success ends the Job while others still run"
        => { ends_after_success: |_| true };
    begins_more: "without completions, new Pods begin although one has succeeded"
        => { after_success: |_, parallelism| parallelism };
    ignores_suspend: "a suspended Job goes on" => { is_suspended: |_| false };
    suspend_keeps: "a suspended Job starts nothing, but does not stop what runs"
        => { while_suspended: |active| active };
    suspend_said: "a Job with `suspend: false` counts as suspended" => { is_suspended: |job| job.suspend.is_some() };
    never_pauses: "parallelism 0 is taken for 1; it pauses the Job"
        => { parallelism: |parallelism| parallelism.max(1) };
    needs_one: "a Job that asks for 0 completions runs a Pod; it is complete from the beginning"
        => { completions: |completions| completions.max(1) };
    unknown_is_failed: "a Pod whose phase is Unknown counts as failed; it may still run"
        => { sort: |pod| if phase(pod) == "Unknown" { Sort::Failed } else { sort(pod) } };
    narrow: "a large number is cut off, so that 256 counts as 0" => { number: |number| number as u8 as usize };
    only_tracked: "Pods that have ended count only as long as they have the Job's finalizer"
        => { sort: |pod| if has_ended(pod) && !is_tracked(pod) { Sort::Overlooked } else { sort(pod) } };
    only_counted: "Pods that have ended count only once they have lost the Job's finalizer"
        => { sort: |pod| if has_ended(pod) && is_tracked(pod) { Sort::Overlooked } else { sort(pod) } };
    ten_at_most: "more than ten failures are too many, even if backoffLimit allows them"
        => { limit: |limit| limit.unwrap_or(6).min(10) };
    ends_more:
        "without completions, Pods that run are deleted after a success, if parallelism allows fewer; they may go on"
        => { after_success: |active, parallelism| active.min(parallelism) };
};

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use controllers::job::manage::wanted;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Running>("job");
    }

    #[test]
    fn the_rule_is_that_of_the_controller() {
        for case in Running::questions() {
            let right = Running::right(&case);
            let count = |of: fn(&Pod) -> bool| case.pods.iter().filter(|pod| of(pod)).count() as i32;
            let succeeded = count(|pod| phase(pod) == "Succeeded");
            let active =
                count(|pod| !matches!(phase(pod), "Succeeded" | "Failed") && pod.metadata.deletion_timestamp.is_none());
            if right.end.is_none() {
                let difference = right.create as i32 - right.delete as i32;
                assert_eq!(wanted(&case.job, succeeded, active) - active, difference, "{}", Running::show(&case));
            }
        }
    }
}
