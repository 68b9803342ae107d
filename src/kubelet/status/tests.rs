//! Statuses as the recordings have them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Container;

use super::inputs::*;
use super::sizes::Sizes;
use super::*;
use crate::ending::Ending;
use crate::runtime_pod::{RuntimeContainer, RuntimePod};
use crate::testing::{container, exited, pod, running, sandboxed};
use object::Pod;
use object::pod::status::{ContainerState, ContainerStateTerminated, ContainerStatus, PodStatus};
use object::time::Instant;

fn status(pod: &Pod, runtime: &RuntimePod, old: &PodStatus, reasons: &Reasons, terminal: bool) -> PodStatus {
    let probed = |_: &ContainerStatus, _: Option<&ContainerStatus>| Probed { started: true, ready: true };
    let overdue = false;
    generate(&Inputs {
        pod,
        runtime,
        old,
        reasons,
        terminal,
        overdue,
        restarting: false,
        resize: None,
        sizes: &Sizes::of(pod, None),
        host_ip: "172.18.0.11",
        probed: &probed,
    })
}

/// Phase, then `type=status/reason` of each condition, then the first container's state.
fn summary(status: &PodStatus) -> String {
    let conditions = status
        .conditions
        .iter()
        .flatten()
        .map(|c| format!("{}={}/{}", c.type_, c.status, c.reason.as_deref().unwrap_or("-")));
    let conditions: Vec<String> = conditions.collect();
    let first = &status.container_statuses.as_ref().unwrap()[0];
    let state = first.state.as_ref().unwrap();
    let state = match (&state.waiting, &state.running, &state.terminated) {
        (Some(w), _, _) => format!("waiting {}", w.reason.as_deref().unwrap_or("-")),
        (_, Some(_), _) => "running".to_owned(),
        (_, _, Some(t)) => format!("terminated {}", t.exit_code),
        _ => "nothing".to_owned(),
    };
    format!("{} | {} | {state} ready={}", status.phase.as_deref().unwrap(), conditions.join(" "), first.ready)
}

#[test]
fn a_normal_start_goes_from_creating_to_ready() {
    let pod = pod(&["web"]);
    let none = Reasons::new();
    let first = status(&pod, &RuntimePod::default(), pod.status.as_ref().unwrap(), &none, false);
    let expected = "Pending | PodReadyToStartContainers=False/- Initialized=True/- Ready=False/ContainersNotReady \
                    ContainersReady=False/ContainersNotReady PodScheduled=True/- | waiting ContainerCreating ready=false";
    assert_eq!(summary(&first), expected);
    let message = first.conditions.as_ref().unwrap()[2].message.as_deref();
    assert_eq!(message, Some("containers with unready status: [web]"));
    assert_eq!((first.host_ip.as_deref(), first.pod_ip.as_deref()), (Some("172.18.0.11"), None));
    let last = status(&pod, &sandboxed(vec![running("web")]), &first, &none, false);
    let expected = "Running | PodReadyToStartContainers=True/- Initialized=True/- Ready=True/- ContainersReady=True/- \
                    PodScheduled=True/- | running ready=true";
    assert_eq!(summary(&last), expected);
    assert_eq!(last.pod_ip.as_deref(), Some("10.244.1.2"));
}

#[test]
fn the_address_outlives_the_sandbox_but_not_the_kubelet() {
    let pod = pod(&["web"]);
    let up = sandboxed(vec![running("web")]);
    let mut down = sandboxed(vec![exited("web", 0)]);
    down.sandboxes[0].ready = false;
    down.ips.clear();
    let (old, none) = (status(&pod, &up, &PodStatus::default(), &Reasons::new(), false), Reasons::new());
    let kept = RuntimePod { ips: down.addresses(&up), ..down.clone() };
    assert_eq!(status(&pod, &kept, &old, &none, true).pod_ip.as_deref(), Some("10.244.1.2"));
    let found = RuntimePod { ips: down.addresses(&RuntimePod::default()), ..down };
    let again = status(&pod, &found, &old, &none, false);
    assert_eq!((again.pod_ip, again.pod_ips), (None, None), "what the API server holds is not asked");
}

#[test]
fn a_crash_shows_terminated_first_and_the_back_off_in_the_next_status() {
    let pod = pod(&["web"]);
    let old = PodStatus::default();
    let crashed = sandboxed(vec![exited("web", 1)]);
    let first = status(&pod, &crashed, &old, &Reasons::new(), false);
    assert!(summary(&first).starts_with("Running |") && summary(&first).ends_with("terminated 1 ready=false"));
    let waiting = WaitingReason { reason: "CrashLoopBackOff".into(), message: "back-off 10s …".into() };
    let reasons = BTreeMap::from([("web".to_owned(), waiting)]);
    let second = status(&pod, &crashed, &first, &reasons, false);
    assert!(summary(&second).starts_with("Running |"), "a crash loop stays Running: {}", summary(&second));
    assert!(summary(&second).ends_with("waiting CrashLoopBackOff ready=false"));
    let last = second.container_statuses.unwrap()[0].last_state.clone().unwrap();
    assert_eq!(last.terminated.unwrap().exit_code, 1);
}

/// The container's state, last state and count of starts.
fn story(status: &ContainerStatus) -> String {
    let text = |state: &Option<ContainerState>| {
        let state = state.clone().unwrap_or_default();
        let waiting = state.waiting.map(|waiting| waiting.reason.unwrap_or_default());
        let ended = state.terminated.map(|end| format!("{} {}", end.exit_code, end.reason.unwrap_or_default()));
        waiting.or(ended.map(Into::into)).unwrap_or_else(|| state.running.map_or("-", |_| "running").into())
    };
    format!("{}, before {}, {}", text(&status.state), text(&status.last_state), status.restart_count)
}

#[test]
fn the_end_before_this_one_is_told_though_the_runtime_has_forgotten_it() {
    let pod = pod(&["web"]);
    let of = |id: &str, restart_count: i32, container: RuntimeContainer| RuntimeContainer {
        id: id.into(),
        restart_count,
        ..container
    };
    let told = |containers: Vec<RuntimeContainer>, old: &PodStatus| {
        status(&pod, &sandboxed(containers), old, &Reasons::new(), false)
    };
    let stories = |made: &PodStatus| story(&made.container_statuses.as_ref().unwrap()[0]);
    let (first, second) = (|| of("a", 0, exited("web", 3)), || of("b", 1, exited("web", 4)));
    let both = told(vec![second(), first()], &PodStatus::default());
    assert_eq!(stories(&both), "4 Error, before 3 Error, 1");
    let removed = told(vec![second()], &both);
    assert_eq!(stories(&removed), "4 Error, before 3 Error, 1");
    let third = told(vec![of("c", 2, running("web"))], &removed);
    assert_eq!(stories(&third), "running, before 4 Error, 2");
    let forgotten = status(&pod, &RuntimePod::default(), &third, &Reasons::new(), false);
    assert_eq!(stories(&forgotten), "ContainerCreating, before 4 Error, 3", "an end is known");
    let up = told(vec![of("a", 0, running("web"))], &PodStatus::default());
    let forgotten = status(&pod, &RuntimePod::default(), &up, &Reasons::new(), false);
    assert_eq!(stories(&forgotten), "ContainerCreating, before 137 ContainerStatusUnknown, 1", "none is");
}

#[test]
fn an_init_container_is_done_when_it_has_ended_well_or_is_forgotten() {
    let mut pod = pod(&["web"]);
    let sidecar = Container { restart_policy: Some("Always".into()), ..container("proxy") };
    pod.spec.as_mut().unwrap().init_containers = Some(vec![container("setup"), sidecar]);
    let waiting = WaitingReason { reason: "CrashLoopBackOff".into(), message: "back-off 10s …".into() };
    let reasons = BTreeMap::from(["setup", "proxy"].map(|name| (name.to_owned(), waiting.clone())));
    let told = |containers: Vec<RuntimeContainer>| {
        let made = status(&pod, &sandboxed(containers), &PodStatus::default(), &reasons, false);
        made.init_container_statuses.unwrap().iter().map(story).collect::<Vec<_>>()
    };
    let failed = told(vec![exited("proxy", 1), exited("setup", 0)]);
    assert_eq!(failed, ["0 Completed, before -, 0", "CrashLoopBackOff, before 1 Error, 0"]);
    let ended = told(vec![exited("proxy", 0), exited("setup", 0)]);
    assert_eq!(ended[1], "0 Completed, before -, 0", "of a sidecar that has ended well no back-off is told");
    let forgotten = told(vec![running("web"), running("proxy")]);
    assert_eq!(forgotten, ["0 Completed, before -, 0", "running, before -, 0"]);
    assert_eq!(told(vec![])[0], "CrashLoopBackOff, before -, 0");
}

#[test]
fn phases_follow_the_restart_policy() {
    let table = [
        ("Always", vec![exited("a", 0), exited("b", 0)], false, "Running"),
        ("Always", vec![exited("a", 0), exited("b", 0)], true, "Succeeded"),
        ("Always", vec![exited("a", 0), exited("b", 1)], true, "Failed"),
        ("OnFailure", vec![exited("a", 0), exited("b", 1)], false, "Running"),
        ("OnFailure", vec![exited("a", 0), exited("b", 0)], false, "Succeeded"),
        ("Never", vec![exited("a", 0), exited("b", 1)], false, "Failed"),
        ("Never", vec![exited("a", 1), running("b")], false, "Running"),
        ("Never", vec![running("b")], false, "Pending"),
    ];
    for (policy, containers, terminal, phase) in table {
        let mut pod = pod(&["a", "b"]);
        pod.spec.as_mut().unwrap().restart_policy = Some(policy.into());
        let runtime = sandboxed(containers.clone());
        let made = status(&pod, &runtime, &PodStatus::default(), &Reasons::new(), terminal);
        assert_eq!(made.phase.as_deref(), Some(phase), "{policy} terminal={terminal} {containers:?}");
    }
}

#[test]
fn rules_for_exit_codes_come_before_the_policy() {
    let mut pod = pod(&["a"]);
    let rule: k8s_openapi::api::core::v1::ContainerRestartRule =
        serde_json::from_str(r#"{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}"#).unwrap();
    let spec = pod.spec.as_mut().unwrap();
    spec.restart_policy = Some("Never".into());
    spec.containers[0].restart_policy_rules = Some(vec![rule]);
    for (code, phase) in [(42, "Running"), (1, "Failed"), (0, "Succeeded")] {
        let runtime = sandboxed(vec![exited("a", code)]);
        let made = status(&pod, &runtime, &PodStatus::default(), &Reasons::new(), false);
        assert_eq!(made.phase.as_deref(), Some(phase), "{code}");
    }
}

#[test]
fn a_pod_that_was_active_for_too_long_has_failed_and_stays_so() {
    let pod = pod(&["work"]);
    let generate = |containers: Vec<RuntimeContainer>, old: &PodStatus, terminal: bool| {
        let probed = |_: &ContainerStatus, _: Option<&ContainerStatus>| Probed { started: true, ready: true };
        let (runtime, reasons, host_ip) = (sandboxed(containers), Reasons::new(), "172.18.0.11");
        let (runtime, reasons, probed) = (&runtime, &reasons, &probed);
        super::generate(&Inputs {
            pod: &pod,
            runtime,
            old,
            reasons,
            terminal,
            overdue: true,
            restarting: false,
            resize: None,
            sizes: &Sizes::of(&pod, None),
            host_ip,
            probed,
        })
    };
    let said = |status: &PodStatus| [&status.phase, &status.reason].map(|text| text.clone().unwrap_or_default());
    let first = generate(vec![running("work")], &PodStatus::default(), false);
    assert_eq!(said(&first), ["Failed", "DeadlineExceeded"]);
    assert_eq!(first.message.as_deref(), Some("Pod was active on the node longer than the specified deadline"));
    assert!(summary(&first).contains("Ready=False/PodFailed"), "{}", summary(&first));
    let stopped = generate(vec![exited("work", 0)], &first, true);
    assert_eq!(said(&stopped), ["Failed", "DeadlineExceeded"], "though its container ended well when it was stopped");
    let done = PodStatus { phase: Some("Succeeded".into()), ..PodStatus::default() };
    assert_eq!(said(&generate(vec![exited("work", 0)], &done, true)), ["Succeeded", ""], "it was in time");
}

/// As recording 20 has it of a victim: the first status that says Succeeded still has them, the last has not.
#[test]
fn the_resources_of_a_pod_go_with_the_first_status_after_its_end() {
    let mut pod = pod(&["work"]);
    let resources = serde_json::from_value(serde_json::json!({"requests": {"cpu": "1800m"}})).unwrap();
    pod.spec.as_mut().unwrap().containers[0].resources = Some(resources);
    let told = |status: &PodStatus| serde_json::json!(status.resources).to_string();
    let none = Reasons::new();
    let runs = status(&pod, &sandboxed(vec![running("work")]), &PodStatus::default(), &none, false);
    let ended = status(&pod, &sandboxed(vec![exited("work", 0)]), &runs, &none, true);
    assert_eq!((ended.phase.as_deref(), told(&ended)), (Some("Succeeded"), r#"{"requests":{"cpu":"1800m"}}"#.into()));
    let over = status(&pod, &sandboxed(vec![exited("work", 0)]), &ended, &none, true);
    assert_eq!((told(&over), &over.allocated_resources), ("{}".into(), &ended.allocated_resources));
    let failed = PodStatus { phase: Some("Failed".into()), ..PodStatus::default() };
    let never_ran = status(&pod, &sandboxed(vec![]), &failed, &none, true);
    assert_eq!(told(&never_ran), r#"{"requests":{"cpu":"1800m"}}"#);
}

#[test]
fn init_containers_hold_the_pod() {
    let mut pod = pod(&["web"]);
    pod.spec.as_mut().unwrap().init_containers = Some(vec![container("setup")]);
    let none = Reasons::new();
    let made = status(&pod, &sandboxed(vec![running("setup")]), &PodStatus::default(), &none, false);
    let initialized = &made.conditions.as_ref().unwrap()[1];
    assert_eq!(initialized.message.as_deref(), Some("containers with incomplete status: [setup]"));
    assert!(summary(&made).ends_with("waiting PodInitializing ready=false"));
    let done = sandboxed(vec![running("web"), exited("setup", 0)]);
    let made = status(&pod, &done, &made, &none, false);
    assert_eq!(made.phase.as_deref(), Some("Running"));
    assert!(made.init_container_statuses.unwrap()[0].ready);
}

#[test]
fn a_terminal_phase_waits_until_nothing_can_run() {
    let mut pod = pod(&["work"]);
    pod.spec.as_mut().unwrap().restart_policy = Some("Never".into());
    pod.status.as_mut().unwrap().phase = Some("Running".into());
    let now = Instant(5_000_000_000);
    let failed = sandboxed(vec![exited("work", 3)]);
    let mut made = status(&pod, &failed, &PodStatus::default(), &Reasons::new(), false);
    merge::stamp(&mut made, &PodStatus::default(), now);
    let held = merge::merge(&pod, &made.clone().into(), true, now);
    assert_eq!(held.phase.as_deref(), Some("Running"));
    assert_eq!(held.conditions.as_ref().unwrap()[2].reason.as_deref(), Some("PodFailed"));
    assert_eq!(merge::merge(&pod, &made.clone().into(), false, now).phase.as_deref(), Some("Failed"));
}

#[test]
fn why_the_kubelet_ended_a_pod_is_told_with_its_end() {
    let mut pod = pod(&["web"]);
    let now = Instant(5_000_000_000);
    let condition = |type_: &str, reason: &str| object::pod::status::PodCondition {
        type_: type_.into(),
        status: "True".into(),
        reason: Some(reason.into()),
        ..Default::default()
    };
    let stopped = sandboxed(vec![exited("web", 137)]);
    let mut made = status(&pod, &stopped, &PodStatus::default(), &Reasons::new(), true);
    let ending = Ending { reason: "Evicted", message: "too much".into(), disruption: Some("too much".into()) };
    ending.tell(&mut made, &pod);
    let mut told = |held: &[(&str, &str)], may_run: bool| {
        let held = held.iter().map(|(type_, reason)| condition(type_, reason)).collect();
        pod.status =
            Some(PodStatus { phase: Some("Running".into()), conditions: Some(held), ..PodStatus::default() }.into());
        let merged = merge::merge(&pod, &made.clone().into(), may_run, now);
        let first: Vec<_> = merged.conditions.iter().flatten().take(2).collect();
        let text =
            |c: &object::pod::status::PodCondition| format!("{}/{}", c.type_, c.reason.as_deref().unwrap_or("-"));
        first.into_iter().map(text).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(told(&[], true), "PodReadyToStartContainers/- Initialized/-", "not before its containers have ended");
    assert_eq!(told(&[], false), "DisruptionTarget/TerminationByKubelet PodReadyToStartContainers/-");
    let gate = [("example.com/gate", "Open")];
    assert_eq!(told(&gate, false), "example.com/gate/Open DisruptionTarget/TerminationByKubelet");
    let preempted = [("DisruptionTarget", "PreemptionByScheduler"), ("example.com/gate", "Open")];
    let both = "DisruptionTarget/TerminationByKubelet example.com/gate/Open";
    assert_eq!(told(&preempted, false), both, "the kubelet's word counts");
}

#[test]
fn a_condition_that_others_add_is_nothing_to_put_right() {
    let mut pod = pod(&["web"]);
    let now = Instant(5_000_000_000);
    let mut made = status(&pod, &sandboxed(vec![running("web")]), &PodStatus::default(), &Reasons::new(), false);
    merge::stamp(&mut made, &PodStatus::default(), now);
    let mut held = made.clone();
    let gate = object::pod::status::PodCondition { type_: "example.com/gate".into(), ..Default::default() };
    held.conditions.get_or_insert_default().push(gate);
    let says_as_much = |pod: &Pod| {
        let merged = merge::merge(pod, &made.clone().into(), true, now);
        merge::says_as_much(pod.status.as_deref(), &merged)
    };
    pod.status = Some(held.clone().into());
    assert!(says_as_much(&pod));
    held.conditions.get_or_insert_default()[2].status = "False".into();
    pod.status = Some(held.into());
    assert!(!says_as_much(&pod), "Ready is the kubelet's own");
}

#[test]
fn a_pod_deleted_before_it_ran_ends_as_failed_with_137() {
    let mut pod = pod(&["web"]);
    pod.metadata.deletion_timestamp = Some(Instant(0).time());
    pod.metadata.generation = Some(2);
    let reasons = BTreeMap::from([("web".to_owned(), crate::images::pull_failed("not found"))]);
    let mut made = status(&pod, &RuntimePod::default(), &PodStatus::default(), &reasons, true);
    assert!(summary(&made).ends_with("waiting ContainerCreating ready=false"), "no reason once it is deleted");
    assert_eq!(made.phase.as_deref(), Some("Pending"));
    merge::finish(&pod, &mut made);
    assert_eq!(made.phase.as_deref(), Some("Failed"));
    let written = merge::merge(&pod, &made.clone().into(), false, Instant(0));
    let reason = written.conditions.as_ref().unwrap()[2].reason.as_deref();
    assert_eq!(reason, Some("ContainersNotReady"), "it was not ready before, and nothing more is said of it");
    let end = made.container_statuses.unwrap()[0].state.clone().unwrap().terminated.unwrap();
    assert_eq!((end.exit_code, end.reason.as_deref()), (137, Some("ContainerStatusUnknown")));
}

#[test]
fn a_pod_that_never_got_past_its_init_containers_ends_without_an_end_of_the_others() {
    let mut pod = pod(&["web"]);
    let spec = pod.spec.as_mut().unwrap();
    spec.init_containers = Some(vec![container("first"), container("second")]);
    spec.restart_policy = Some("Never".into());
    let ends = |inits: Vec<RuntimeContainer>| {
        let none = Reasons::new();
        let mut made = status(&pod, &sandboxed(inits), &PodStatus::default(), &none, true);
        merge::finish(&pod, &mut made);
        let all = made.init_container_statuses.into_iter().chain(made.container_statuses).flatten();
        let end = |s: ContainerStatus| s.state.unwrap().terminated.map(|end| end.exit_code);
        all.map(end).collect::<Vec<_>>()
    };
    assert_eq!(ends(vec![exited("first", 2)]), [Some(2), None, None]);
    assert_eq!(ends(vec![]), [Some(137), None, None]);
    assert_eq!(ends(vec![exited("first", 0), exited("second", 0)]), [Some(0), Some(0), Some(137)]);
}

#[test]
fn equal_statuses_are_written_once_and_changes_coalesce() {
    let pod = pod(&["web"]);
    let mut manager = manager::StatusManager::default();
    let now = Instant(1_000_000_000);
    let make = |runtime: &RuntimePod| status(&pod, runtime, &PodStatus::default(), &Reasons::new(), false);
    assert!(manager.set(&pod, make(&RuntimePod::default()), now));
    assert!(!manager.set(&pod, make(&RuntimePod::default()), now));
    assert!(manager.set(&pod, make(&sandboxed(vec![running("web")])), now));
    let batch = manager.batch();
    assert_eq!(batch.len(), 1);
    assert_eq!(batch[0].status.phase.as_deref(), Some("Running"));
    manager.written("u1", batch[0].version, 7);
    assert!(manager.batch().is_empty());
}

#[test]
fn many_containers_have_few_last_words_each() {
    let last_words = |containers: usize| {
        let names: Vec<String> = (0..containers).map(|n| format!("c{n}")).collect();
        let pod = pod(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let terminated = ContainerStateTerminated { message: Some("é".repeat(2048).into()), ..Default::default() };
        let state = Some(ContainerState { terminated: Some(terminated.into()), ..ContainerState::default() });
        let container_statuses = Some(vec![ContainerStatus { state, ..ContainerStatus::default() }]);
        let mut status = PodStatus { container_statuses, ..PodStatus::default() };
        merge::shorten_messages(&mut status, &pod);
        status.container_statuses.unwrap()[0].state.clone().unwrap().terminated.unwrap().message.unwrap().len()
    };
    assert_eq!([1, 3, 4, 7].map(last_words), [4096, 4096, 3072, 1754]);
}

#[test]
fn a_static_pod_that_never_ran_has_not_failed() {
    let mut pod = pod(&["web"]);
    let phase = |pod: &Pod| {
        let mut status = PodStatus { phase: Some("Pending".into()), ..PodStatus::default() };
        merge::finish(pod, &mut status);
        status.phase
    };
    assert_eq!(phase(&pod).as_deref(), Some("Failed"));
    let from = ("kubernetes.io/config.source".to_owned(), "file".to_owned());
    pod.metadata.annotations = Some([from].into());
    assert_eq!(phase(&pod).as_deref(), Some("Pending"));
}
