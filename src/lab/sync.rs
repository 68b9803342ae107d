//! Exercise 12: what does the kubelet do to a Pod now? Mirrors `computePodActions` of
//! `pkg/kubelet/kuberuntime/kuberuntime_manager.go`.
//!
//! Every state of up to two init containers and two containers, and of three, is asked, under each restart policy, in a sandbox that
//! stands and in one that is lost; those too that only a crash of the kubelet or of the node leaves behind.
//!
//! Left out: sidecars, probes, rules of single containers, Pods that are being deleted, and the wait before a restart.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::function::Function;
use super::making::read;
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, placing, words};
use exercise::sync::{Actions, Case, Sandbox, Seen, State};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "12_sync",
    title: "What does the kubelet do to a Pod now?",
    outcome: "say what one sync does from the Pod and what the runtime has, and why a kubelet may crash at any time",
    needs: &[],
    hints: [
        "Three questions, one after another: does the sandbox stand? Is the Pod initialised? Which containers should run and \
         do not? What makes a Pod initialised?",
        "A new sandbox means that all starts over: everything is killed, and the first init container comes next. In one that \
         stands the first init container that has not ended well decides; once any container has run, none of them matters.",
        "Lost: kill_pod only, if the policy is Never and anything has run, or no container is to run again (one that runs is); \
         else kill_pod, create_sandbox and the first init container, or the containers to run. Ready: the first init container \
         not ended with 0: wait if it runs, kill_pod if it failed under Never, else start it. Then start what should run; \
         kill_pod if nothing runs or starts.",
    ],
    minutes: 40,
    judging: Judging::of_part::<Syncing>(placing::with_sync),
};

pub(super) struct Syncing;

impl Function for Syncing {
    type Question = Case;
    type Answer = Actions;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        const STATES: usize = 4;
        let mut all = Vec::new();
        for (inits, containers) in [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2), (0, 3), (3, 1), (0, 5), (5, 1)] {
            let names: Vec<&str> = INITS[..inits].iter().chain(&APPS[..containers]).copied().collect();
            for policy in ["Always", "OnFailure", "Never"] {
                let pod = pod(policy, inits, containers);
                all.push(Case { pod: pod.clone(), seen: Seen { sandbox: Sandbox::None, containers: BTreeMap::new() } });
                for n in 0..STATES.pow(u32::try_from(names.len()).unwrap_or(0)) {
                    for (turn, sandbox) in [Sandbox::Ready, Sandbox::Lost].into_iter().enumerate() {
                        // Of many only some states, and all that init containers can be in.
                        if names.len() > 4 && n % 31 != 0 && (inits == 0 || sandbox == Sandbox::Lost) {
                            continue;
                        }
                        let state = |at: usize| match n / STATES.pow(u32::try_from(at).unwrap_or(0)) % STATES {
                            0 => None,
                            1 => Some(State::Running),
                            2 => Some(State::Exited(0)),
                            // Each failure is another one.
                            _ => Some(State::Exited(CODES[(n + at + turn) % CODES.len()])),
                        };
                        let states =
                            names.iter().enumerate().filter_map(|(at, name)| Some(((*name).to_owned(), state(at)?)));
                        let case = Case { pod: pod.clone(), seen: Seen { sandbox, containers: states.collect() } };
                        all.extend(Some(case).filter(is_decided));
                    }
                }
            }
        }
        all.extend(["Always", "OnFailure", "Never"].into_iter().flat_map(besides));
        all
    }

    fn answer(rule: &Rule, case: &Case) -> Actions {
        match (rule.sandbox)(case.seen.sandbox) {
            Sandbox::None | Sandbox::Lost => with_new_sandbox(rule, case),
            Sandbox::Ready => in_sandbox(rule, case),
        }
    }

    fn property(case: &Case, given: Option<&Actions>) -> &'static str {
        let right = Syncing::right(case);
        match given {
            None => "every Pod gets an answer",
            Some(given) if given.kill_pod != right.kill_pod => {
                "a Pod is stopped when it is over or its sandbox is lost, and only then"
            }
            Some(given) if given.create_sandbox != right.create_sandbox => {
                "a sandbox is made when there is none and something is to run"
            }
            Some(given) if given.start_init != right.start_init => {
                "init containers run one after another, until each ends well"
            }
            Some(_) => "the containers that should run and do not are started, once the Pod is initialised",
        }
    }

    fn show(case: &Case) -> String {
        let (inits, containers) = names(case);
        let state = |name: &String| match case.seen.containers.get(name) {
            None => "has never run".to_owned(),
            Some(state) => format!("{state:?}"),
        };
        let line = |what: &'static str, all: Vec<&String>| -> String {
            all.into_iter().map(|name| format!("\n{what} {name}: {}", state(name))).collect()
        };
        let empty = case.pod.spec.as_ref().is_some_and(|spec| spec.init_containers.as_ref().is_some_and(Vec::is_empty));
        let none = if empty { "\ninitContainers: []" } else { "" };
        let (inits, containers) = (line("init container", inits) + none, line("container", containers));
        format!("restartPolicy: {}\nsandbox: {:?}{inits}{containers}", policy(case), case.seen.sandbox)
    }

    fn say(_: &Case, Actions { kill_pod, create_sandbox, start_init, start }: &Actions) -> Vec<Part> {
        let listed = |what: &str, names: &[String]| {
            (!names.is_empty()).then(|| format!("{what} {}", words::flow(&json!(names))))
        };
        let all = [
            kill_pod.then(|| "kill_pod".to_owned()),
            create_sandbox.then(|| "create_sandbox".to_owned()),
            listed("start_init", start_init),
            listed("start", start),
        ];
        let all: Vec<String> = all.into_iter().flatten().collect();
        vec![part("gave", if all.is_empty() { "nothing to do".to_owned() } else { all.join(", ") })]
    }
}

/// Names that are not in the order of the alphabet.
const INITS: [&str; 7] = ["init-b", "init-a", "fetch", "build", "check", "wait", "copy"];
const APPS: [&str; 7] = ["web", "log", "app", "proxy", "cache", "tail", "auth"];

/// How containers fail: as they say themselves, killed, told to end, and as a runtime says that knows no better.
const CODES: [i32; 10] = [1, 137, 2, 1, 255, -1, 1, 143, 256, 1];

/// Each way in which an init container can end, and a list in which there is none.
fn besides(policy: &str) -> Vec<Case> {
    let seen = |sandbox, states: &[(&str, State)]| Seen {
        sandbox,
        containers: states.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect(),
    };
    let mut all = Vec::new();
    for code in CODES {
        let (first, last) = ((INITS[0], State::Exited(0)), (INITS[1], State::Exited(code)));
        all.push(Case { pod: pod(policy, 2, 1), seen: seen(Sandbox::Ready, &[first, last]) });
        all.push(Case { pod: pod(policy, 1, 1), seen: seen(Sandbox::Ready, &[(INITS[0], State::Exited(code))]) });
    }
    // Every code but 0 is a failure, even one with a meaning of its own.
    for code in (2..=255).chain([65_536, 1 << 24, i32::MAX, i32::MIN]) {
        all.push(Case { pod: pod(policy, 0, 1), seen: seen(Sandbox::Ready, &[(APPS[0], State::Exited(code))]) });
        all.push(Case { pod: pod(policy, 1, 1), seen: seen(Sandbox::Ready, &[(INITS[0], State::Exited(code))]) });
    }
    // Many of each, and what else is said of a Pod.
    let done: Vec<(&str, State)> = INITS.iter().map(|name| (*name, State::Exited(0))).collect();
    let run: Vec<(&str, State)> = APPS.iter().map(|name| (*name, State::Running)).collect();
    for count in [5, 6, 7] {
        all.push(Case { pod: pod(policy, 7, 1), seen: seen(Sandbox::Ready, &done[..count]) });
        all.push(Case { pod: pod(policy, 0, 7), seen: seen(Sandbox::Ready, &run[..count]) });
        all.push(Case { pod: pod(policy, 0, 7), seen: seen(Sandbox::Lost, &run[..count]) });
    }
    for (name, state) in APPS.iter().flat_map(|name| [State::Running, State::Exited(0)].map(|state| (*name, state))) {
        all.push(Case { pod: pod(policy, 1, 7), seen: seen(Sandbox::Ready, &[(name, state)]) });
        all.push(Case { pod: pod(policy, 2, 7), seen: seen(Sandbox::Ready, &[done[0], (name, state)]) });
    }
    let mut system = pod(policy, 1, 2);
    system.metadata.namespace = Some("kube-system".to_owned());
    system.status = Some(read(json!({"phase": "Pending"})));
    for states in [&[][..], &done[..1], &[(INITS[0], State::Exited(0)), (APPS[0], State::Running)]] {
        all.push(Case { pod: system.clone(), seen: seen(Sandbox::Ready, states) });
        all.push(Case { pod: system.clone(), seen: seen(Sandbox::Lost, states) });
    }
    let mut empty = pod(policy, 0, 2);
    empty.spec.iter_mut().for_each(|spec| spec.init_containers = Some(Vec::new()));
    for (sandbox, states) in [
        (Sandbox::None, vec![]),
        (Sandbox::Ready, vec![]),
        (Sandbox::Lost, vec![]),
        (Sandbox::Lost, vec![(APPS[0], State::Running), (APPS[1], State::Exited(1))]),
    ] {
        all.push(Case { pod: empty.clone(), seen: seen(sandbox, &states) });
    }
    all
}

/// Init containers run one after another, so one that has a state says of those before it that they ended well: the kubelet
/// believes the last. Where the runtime says otherwise there are two answers, and it is not asked.
fn is_decided(case: &Case) -> bool {
    let (inits, _) = names(case);
    let states: Vec<_> = inits.iter().map(|name| case.seen.containers.get(*name)).collect();
    let last = states.iter().rposition(Option::is_some).unwrap_or(0);
    case.seen.sandbox != Sandbox::Ready || states[..last].iter().all(|state| *state == Some(&State::Exited(0)))
}

fn pod(policy: &str, inits: usize, containers: usize) -> Pod {
    let named = |names: &[&str]| -> Vec<_> {
        names.iter().map(|name| json!({"name": name, "image": "busybox:1.37"})).collect()
    };
    let mut spec = json!({"restartPolicy": policy, "containers": named(&APPS[..containers])});
    if inits > 0 {
        spec["initContainers"] = json!(named(&INITS[..inits]));
    }
    read(json!({"metadata": {"name": "web", "namespace": "default"}, "spec": spec}))
}

/// The names of init containers and of containers.
fn names(case: &Case) -> (Vec<&String>, Vec<&String>) {
    let spec = case.pod.spec.as_ref();
    let inits = spec.into_iter().flat_map(|spec| spec.init_containers.iter().flatten());
    let containers = spec.into_iter().flat_map(|spec| &spec.containers);
    (inits.map(|one| &one.name).collect(), containers.map(|one| &one.name).collect())
}

fn policy(case: &Case) -> &str {
    case.pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref()).unwrap_or("Always")
}

/// What becomes of an init container.
pub(super) enum Init {
    /// It is done.
    Done,
    /// It runs.
    Runs,
    /// It is started.
    Starts,
    /// It has failed for good.
    Failed,
}

/// What is started beside an init container that is not done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Nothing,
    Containers,
    OtherInits,
}

/// What decides.
pub(super) struct Rule {
    /// In which order init containers are started.
    order: fn(&mut Vec<&String>),
    /// What a sandbox is taken for.
    sandbox: fn(Sandbox) -> Sandbox,
    /// Whether a container that ended with this is to run again, by the policy.
    runs_again: fn(&str, i32) -> bool,
    /// Whether one that was in this state is started in a new sandbox, under any policy.
    moves: fn(Option<&State>) -> bool,
    /// Whether a Pod that has lost its sandbox is over, by the policy, if it has run.
    is_over: fn(&str, bool) -> bool,
    /// Whether a new sandbox is needed for these containers.
    is_needed: fn(&[String]) -> bool,
    /// Whether what is left in a lost one is killed.
    kills_lost: bool,
    /// Whether an init container is not run again in a new one.
    skips_init: fn(Option<&State>) -> bool,
    /// Whether the containers wait, while these init containers are started in a new one.
    waits: fn(&Case, &[String]) -> bool,
    /// So many containers are looked at to see whether any has run.
    looked_at: usize,
    /// Whether the Pod is initialised, if any has run.
    is_initialised: fn(bool) -> bool,
    /// What becomes of an init container, by the policy and its state.
    init: fn(&str, Option<&State>) -> Init,
    /// What is started beside one.
    after_init: After,
    /// So many containers are started.
    started: usize,
    /// Whether a Pod ends, by whether something in it runs, and by which containers are started.
    ends: fn(bool, &[String]) -> bool,
}

const RULE: Rule = Rule {
    order: |_| {},
    sandbox: |sandbox| sandbox,
    runs_again,
    moves: |state| state == Some(&State::Running),
    is_over: |policy, has_run| policy == "Never" && has_run,
    is_needed: |wanted| !wanted.is_empty(),
    kills_lost: true,
    skips_init: |_| false,
    waits: |_, inits| !inits.is_empty(),
    looked_at: usize::MAX,
    is_initialised: |has_run| has_run,
    init,
    after_init: After::Nothing,
    started: usize::MAX,
    ends: |runs, started| !runs && started.is_empty(),
};

fn runs_again(policy: &str, code: i32) -> bool {
    policy == "Always" || policy == "OnFailure" && code != 0
}

fn init(policy: &str, state: Option<&State>) -> Init {
    match state {
        Some(State::Exited(0)) => Init::Done,
        Some(State::Exited(_)) if policy == "Never" => Init::Failed,
        Some(State::Running) => Init::Runs,
        Some(State::Exited(_)) | None => Init::Starts,
    }
}

/// The same names, the init containers in the order in which they are started.
fn in_order<'a>(rule: &Rule, case: &'a Case) -> (Vec<&'a String>, Vec<&'a String>) {
    let (mut inits, containers) = names(case);
    (rule.order)(&mut inits);
    (inits, containers)
}

/// Whether a container that does not run should.
fn should_start(rule: &Rule, case: &Case, name: &str) -> bool {
    match case.seen.containers.get(name) {
        None => true,
        Some(State::Running) => false,
        Some(State::Exited(code)) => (rule.runs_again)(policy(case), *code),
    }
}

fn with_new_sandbox(rule: &Rule, case: &Case) -> Actions {
    let (inits, containers) = in_order(rule, case);
    let (lost, seen) = (case.seen.sandbox == Sandbox::Lost, &case.seen.containers);
    let is_wanted = |name: &&String| (rule.moves)(seen.get(*name)) || should_start(rule, case, name);
    let wanted: Vec<String> = containers.into_iter().filter(is_wanted).cloned().collect();
    if lost && ((rule.is_over)(policy(case), !seen.is_empty()) || !(rule.is_needed)(&wanted)) {
        return Actions { kill_pod: true, ..Actions::default() };
    }
    let first = inits.into_iter().find(|name| !(rule.skips_init)(seen.get(*name)));
    let start_init: Vec<String> = first.into_iter().cloned().collect();
    let start = if (rule.waits)(case, &start_init) { Vec::new() } else { wanted };
    Actions { kill_pod: lost && rule.kills_lost, create_sandbox: true, start_init, start }
}

fn in_sandbox(rule: &Rule, case: &Case) -> Actions {
    let (inits, containers) = in_order(rule, case);
    let seen = &case.seen.containers;
    let has_run = containers.iter().take(rule.looked_at).any(|name| seen.contains_key(*name));
    let (mut actions, mut waits) = (Actions::default(), false);
    for name in inits.into_iter().filter(|_| !(rule.is_initialised)(has_run)) {
        match (rule.init)(policy(case), seen.get(name)) {
            Init::Done => continue,
            Init::Failed => return Actions { kill_pod: true, ..Actions::default() },
            Init::Runs => {}
            Init::Starts => actions.start_init.push(name.clone()),
        }
        waits = rule.after_init != After::Containers;
        if rule.after_init != After::OtherInits {
            break;
        }
    }
    if waits {
        return actions;
    }
    let started = containers.iter().take(rule.started).filter(|name| should_start(rule, case, name));
    actions.start = started.map(|name| (*name).clone()).collect();
    let runs = containers.iter().any(|name| seen.get(*name) == Some(&State::Running));
    if (rule.ends)(runs, &actions.start) {
        return Actions { kill_pod: true, ..Actions::default() };
    }
    actions
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    ignores_policy: "a container that has ended is started again under every restart policy"
        => { runs_again: |_, _| true };
    only_failed: "Always starts only what has failed; it starts what ended well too"
        => { runs_again: |policy, code| policy != "Never" && code != 0 };
    on_failure_never: "OnFailure starts nothing again" => { runs_again: |policy, _| policy == "Always" };
    inits_together: "all init containers are started at once; they run one after another"
        => { after_init: After::OtherInits };
    does_not_wait: "the containers are started while an init container runs" => { after_init: After::Containers };
    failed_init_is_done: "an init container that failed counts as done"
        => {
            init: |policy, state| if matches!(state, Some(State::Exited(_))) { Init::Done } else { init(policy, state) }
        };
    init_never_again: "an init container that failed under Never is run again; the Pod has failed"
        => { init: |_, state| init("OnFailure", state) };
    inits_again: "init containers are run again when a container has run already" => { is_initialised: |_| false };
    init_until_always: "an init container that ended well is run again under Always"
        => {
            init: |policy, state| match (policy, state) {
                ("Always", Some(State::Exited(0))) => Init::Starts,
                _ => init(policy, state),
            }
        };
    keeps_sandbox: "containers are started in a sandbox that is lost"
        => { sandbox: |sandbox| if sandbox == Sandbox::Lost { Sandbox::Ready } else { sandbox } };
    lost_not_killed: "what is left in a lost sandbox is not killed" => { kills_lost: false };
    lost_keeps_running: "what ran in a lost sandbox is not started in the new one" => { moves: |_| false };
    lost_keeps_inits: "in a new sandbox init containers that ran in the old one are not run again"
        => { skips_init: |state| state == Some(&State::Exited(0)) };
    lost_ignores_never: "a Pod that has run under Never is started again in a new sandbox" => { is_over: |_, _| false };
    lost_for_nothing: "a sandbox is made for a Pod that has no container to run again" => { is_needed: |_| true };
    keeps_empty_pod: "a Pod that has no container running or to be started keeps its sandbox" => { ends: |_, _| false };
    one_is_failure: "OnFailure starts only what ended with 1; every code but 0 is a failure"
        => { runs_again: |policy, code| policy == "Always" || policy == "OnFailure" && code == 1 };
    init_one_is_failure: "an init container has failed only if it ended with 1; every code but 0 is a failure"
        => {
            init: |policy, state| match (policy, state) {
                ("Never", Some(State::Exited(code))) if !matches!(code, 0 | 1) => Init::Starts,
                _ => init(policy, state),
            }
        };
    told_to_end: "a container that was told to end (143) is taken for one that has ended well"
        => { runs_again: |policy, code| runs_again(policy, if code == 143 { 0 } else { code }) };
    inits_sorted: "init containers are started in the order of their names; it is that of the Pod"
        => { order: |inits| inits.sort() };
    killed_init_is_done: "an init container that was killed (137) counts as done"
        => { init: |policy, state| if state == Some(&State::Exited(137)) { Init::Done } else { init(policy, state) } };
    empty_is_some: "an empty list of init containers is waited for; there is nothing in it"
        => { waits: |case, _| case.pod.spec.as_ref().is_some_and(|spec| spec.init_containers.is_some()) };
    interrupted: "a container that was interrupted (130) is taken for one that has ended well"
        => { runs_again: |policy, code| runs_again(policy, if code == 130 { 0 } else { code }) };
    five_containers: "only the first five containers are looked at" => { started: 5 };
    two_have_run: "whether any container has run is seen from the first two only" => { looked_at: 2 };
};

#[cfg(test)]
mod tests {
    use super::*;
    use kubelet::actions::{Failed, compute};
    use kubelet::runtime_pod::{RunState, RuntimeContainer, RuntimePod, RuntimeSandbox};

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Syncing>("sync");
    }

    #[test]
    fn the_rule_is_that_of_our_kubelet() {
        for case in Syncing::questions() {
            let spec = case.pod.spec.clone().unwrap_or_default();
            let all = || spec.containers.iter().chain(spec.init_containers.iter().flatten());
            let container = |(name, state): (&String, &State)| {
                let (state, exit_code) = match state {
                    State::Running => (RunState::Running, 0),
                    State::Exited(code) => (RunState::Exited, *code),
                };
                RuntimeContainer {
                    id: name.as_str().into(),
                    name: name.as_str().into(),
                    // The image that it runs has not changed.
                    image: all().find(|c| c.name == *name).and_then(|c| c.image.clone()).unwrap_or_default().into(),
                    state,
                    exit_code,
                    ..RuntimeContainer::default()
                }
            };
            let ready = case.seen.sandbox == Sandbox::Ready;
            let sandbox = RuntimeSandbox { ready, ip: "10.244.1.2".to_owned(), ..RuntimeSandbox::default() };
            let sandboxes = if case.seen.sandbox == Sandbox::None { Vec::new() } else { vec![sandbox] };
            let containers = case.seen.containers.iter().map(container).collect();
            let runtime = RuntimePod { sandboxes, containers, ..RuntimePod::default() };
            let ours = compute(&case.pod.clone().into(), &runtime, &Failed { probe: &|_| None, started: &|_, _| true });
            let named = |names: &[&str], indexes: Vec<usize>| indexes.iter().map(|n| names[*n].to_owned()).collect();
            let ours = Actions {
                kill_pod: ours.kill_pod,
                create_sandbox: ours.create_sandbox.is_some(),
                start_init: named(&INITS, ours.start_init),
                start: named(&APPS, ours.start),
            };
            assert_eq!(ours, Syncing::right(&case), "{}", Syncing::show(&case));
        }
    }
}
