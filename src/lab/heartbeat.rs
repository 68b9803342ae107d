//! Exercise 17: what becomes of a silent node, and of the Pods on it? Mirrors `tryUpdateNodeHealth`, the taints of the node
//! lifecycle controller, and `processPodOnNode` of the taint eviction controller, in one look.
//!
//! Left out: the grace of a node that has never been heard of, whole zones that are silent, and rates.

use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

use super::function::Function;
use super::making::{TIME, read};
use super::mistake::{Mistake, mistakes};
use super::words::{Part, part};
use super::{Exercise, Judging, controlling, words};
use controllers::node_lifecycle::health::GRACE;
use exercise::heartbeat::{Case, Fate, Look, tolerates};
use kubectl::print::describe::taint_text;
use object::Accessor;
use object::node::{is_cordoned, taints_of};
use object::well_known::{NOT_READY, UNREACHABLE};

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "17_heartbeat",
    title: "What becomes of a silent node?",
    outcome: "say what happens, and when, from a kubelet's last sign of life to the deletion of a Pod",
    needs: &["ownership", "score"],
    hints: [
        "No message says that a node is lost. What does it see of a node that has crashed, and what of one that \
         is cut off and works on? Which word is honest for both?",
        "Go in three steps, each from the one before: the status of Ready, the taint, the Pods. For a Pod collect all taints \
         with the effect NoExecute, the new one too, and look for a toleration for each.",
        "silent > 50 means Unknown. A Pod with a taint that none of its tolerations is for: GoesAfter(0). Else the smallest \
         toleration_seconds of those that it needed; if none of them has one: Stays. A negative number is 0.",
    ],
    minutes: 25,
    judging: Judging::of_part::<Looking>(controlling::with_heartbeat),
};

pub(super) struct Looking;

impl Function for Looking {
    type Question = Case;
    type Answer = Look;
    type Rule = Rule;

    const RULE: Rule = RULE;
    const MISTAKES: &'static [Mistake<Rule>] = MISTAKES;

    fn questions() -> Vec<Case> {
        let mut all = Vec::new();
        let nodes = ["node-1", "worker-a", "node-12"];
        for (n, pods) in pods().into_iter().enumerate() {
            for (turn, taints) in taints().into_iter().enumerate() {
                for said in ["True", "False"] {
                    for silent in SILENT[(n + turn) % 2] {
                        let mut spec = taints.as_ref().map(|taints| json!({"taints": taints}));
                        let spec_of = spec.iter_mut().filter(|_| (n + turn) % 4 == 1);
                        spec_of.for_each(|spec| spec["unschedulable"] = json!(true));
                        let status = json!({"conditions": conditions(said, n + turn)});
                        let name = nodes[(n + turn) % nodes.len()];
                        let node = json!({"metadata": {"name": name}, "spec": spec, "status": status});
                        let mut pods: Vec<Pod> = read(json!(pods));
                        for (at, pod) in (1..).zip(&mut pods) {
                            // Not in the order of their names.
                            pod.metadata.name = Some(format!("web-{}", at * 5 % 23));
                            pod.metadata.owner_references = ((n + turn + at) % 5 == 2).then(of_daemon_set);
                            if (n + turn + at) % 5 == 3 {
                                pod.metadata.namespace = Some("kube-system".to_owned());
                                pod.spec.get_or_insert_default().priority_class_name = Some(CRITICAL.to_owned());
                            }
                        }
                        all.push(Case { node: read(node), silent: *silent, pods });
                    }
                }
            }
        }
        // What does not matter is in none of the first.
        all.sort_by_key(|case| {
            is_cordoned(&case.node) || case.pods.iter().any(|pod| is_of_daemon_set(pod) || is_critical(pod))
        });
        all
    }

    fn answer(rule: &Rule, case: &Case) -> Look {
        look(rule, case)
    }

    fn property(case: &Case, given: Option<&Look>) -> &'static str {
        let right = Looking::right(case);
        let stays = |look: &Look| look.pods.iter().filter(|fate| **fate == Fate::Stays).count();
        match given {
            None => "every node gets an answer",
            Some(given) if given.ready != right.ready => "Ready is Unknown when the node is silent, and only then",
            Some(given) if given.taint != right.taint => "a node has the taint that says why it is not ready",
            Some(given) if given.pods.len() != right.pods.len() => "every Pod gets one answer",
            Some(given) if stays(given) < stays(&right) => "a Pod that tolerates all taints for ever stays",
            Some(given) if stays(given) > stays(&right) => {
                "a Pod that does not tolerate a taint, or not for ever, goes"
            }
            Some(_) => "a Pod goes when the shortest of its tolerations is over, and without one at once",
        }
    }

    fn show(case: &Case) -> String {
        let said = case.node.status.as_ref().and_then(|status| status.conditions.as_ref());
        let mut said = said.into_iter().flatten();
        let said = said.find(|one| one.type_ == "Ready").map_or("", |ready| &ready.status);
        let taints: Value = taints_of(&case.node).iter().map(|taint| taint_text(&json!(taint))).collect();
        let mut text = format!("the node was heard of {} s ago and said: Ready is {said}\n", case.silent);
        text += &words::field("taints that it has from others", &taints);
        if is_cordoned(&case.node) {
            text += "\nunschedulable: true";
        }
        for (n, pod) in case.pods.iter().enumerate() {
            let whose = match () {
                () if is_of_daemon_set(pod) => ", of a DaemonSet,",
                () if is_critical(pod) => ", of kube-system,",
                () => "",
            };
            let name = pod.metadata.name();
            text += &format!("\npods[{n}] {name}{whose} tolerates {}", tolerated(pod));
        }
        text
    }

    fn say(_: &Case, Look { ready, taint, pods }: &Look) -> Vec<Part> {
        let mut parts = vec![part("gave as ready", ready.clone()), part("gave as taint", taint.clone())];
        let fate = |(n, fate): (usize, &Fate)| part(format!("gave as pods[{n}]"), format!("{fate:?}"));
        parts.extend(pods.iter().enumerate().map(fate));
        parts
    }
}

/// How long a node has been silent: both sides of the limit, and far from it.
const SILENT: [&[u64]; 2] = [&[5, 45, 50, 51, 400, (1 << 32) + 3], &[0, 49, 50, 51, 65_540]];

/// What the kubelet has said last, of Ready and of other things, in any order.
fn conditions(ready: &str, turn: usize) -> Vec<Value> {
    let of = |what: &str, status: &str| json!({"type": what, "status": status});
    let mut all = vec![of("DiskPressure", "False"), of("Ready", ready), of("NetworkUnavailable", "True")];
    all.push(of("example.com/AlmostReady", if ready == "True" { "False" } else { "True" }));
    all.push(of("ReadyToDrain", if ready == "True" { "False" } else { "True" }));
    all.push(of("MemoryPressure", "True"));
    let turn = turn % all.len();
    all.rotate_left(turn);
    all
}

/// What a Pod tolerates. No effect said: NoExecute, or every one.
fn tolerated(pod: &Pod) -> String {
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let one = |one: &Toleration| {
        let key = one.key.as_deref().map_or("every taint", |key| key.trim_start_matches("node.kubernetes.io/"));
        let value = one.value.as_ref().map_or(String::new(), |value| format!("={value}"));
        let effect = one.effect.as_deref().filter(|effect| *effect != "NoExecute");
        let value = value + &effect.map_or(String::new(), |effect| format!(" ({effect})"));
        let time = one.toleration_seconds.map_or("for ever".to_owned(), |seconds| format!("for {seconds} s"));
        format!("{key}{value} {time}")
    };
    if tolerations.is_empty() { "nothing".to_owned() } else { words::listed(tolerations.iter().map(one)) }
}

/// The class of Pods that the system cannot do without.
const CRITICAL: &str = "system-node-critical";

fn is_critical(pod: &Pod) -> bool {
    pod.spec.as_ref().is_some_and(|spec| spec.priority_class_name.is_some())
}

fn of_daemon_set() -> Vec<OwnerReference> {
    read(json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web", "uid": "uid-1", "controller": true}]))
}

fn is_of_daemon_set(pod: &Pod) -> bool {
    pod.metadata.owner_references.iter().flatten().any(|owner| owner.kind == "DaemonSet")
}

/// None: nothing is said of them.
fn taints() -> Vec<Option<Value>> {
    let many = (1..=12).map(|n| json!({"key": format!("rack-{n}"), "effect": "NoSchedule"}));
    vec![
        Some(json!([])),
        None,
        Some(json!([{"key": "gpu", "effect": "NoSchedule"}])),
        Some(json!([{"key": "maintenance", "value": "soon", "effect": "NoExecute"}])),
        Some(json!([{"key": "old", "effect": "NoExecute"}, {"key": "gpu", "effect": "NoSchedule"}])),
        Some(json!([{"key": "gpu", "effect": "PreferNoSchedule"}, {"key": "old", "effect": "NoExecute"},
                    {"key": "maintenance", "value": "soon", "effect": "NoExecute"}])),
        // One key, two effects.
        Some(json!([{"key": "maintenance", "value": "soon", "effect": "NoSchedule"},
                    {"key": "maintenance", "value": "soon", "effect": "NoExecute"}])),
        Some(
            json!([{"key": "old", "effect": "NoExecute"}, {"key": "maintenance", "value": "soon", "effect": "NoExecute"},
                    {"key": "spare", "effect": "NoExecute"}]),
        ),
        // As a controller puts it there, with the time.
        Some(json!([{"key": "old", "effect": "NoExecute", "timeAdded": TIME}])),
        // A user has put it there by hand.
        Some(json!([{"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}])),
        // The one that matters is the last of many.
        Some(many.chain([json!({"key": "old", "effect": "NoExecute"})]).collect()),
    ]
}

/// The Pods of a node, by their tolerations: none, one, and some of each sort.
fn pods() -> Vec<Vec<Value>> {
    // As the API server gives them to every Pod: with the effect.
    let exists = |key: &str, seconds: Option<i64>| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
    let maintenance =
        |seconds: Option<i64>| json!({"key": "maintenance", "value": "soon", "tolerationSeconds": seconds});
    let usual = |seconds: i64| vec![exists(NOT_READY, Some(seconds)), exists(UNREACHABLE, Some(seconds))];
    let tolerations = [
        vec![],
        usual(300),
        vec![exists(UNREACHABLE, Some(60))],
        vec![exists(NOT_READY, None), exists(UNREACHABLE, None)],
        vec![json!({"operator": "Exists"})],
        [usual(30), vec![maintenance(Some(600))]].concat(),
        [usual(300), vec![maintenance(Some(20))]].concat(),
        [usual(300), vec![maintenance(None)]].concat(),
        vec![maintenance(Some(20))],
        [usual(-1), vec![exists("old", None)]].concat(),
        [usual(0), vec![exists("old", Some(100))]].concat(),
        [usual(70), vec![exists("old", Some(50)), maintenance(Some(60))]].concat(),
        [vec![maintenance(None), exists("old", Some(4_294_967_297))], usual(4_294_967_396)].concat(),
        [usual(90), vec![maintenance(Some(-5)), exists("old", None)]].concat(),
        // Of three taints the last counts too.
        [usual(10), vec![maintenance(Some(60)), exists("old", None), exists("spare", None)]].concat(),
        vec![maintenance(None), exists("old", None), exists("spare", None)],
    ];
    let pods: Vec<Value> =
        tolerations.iter().map(|all| json!({"spec": {"containers": [], "tolerations": all}})).collect();
    let alone = pods.iter().map(|pod| vec![pod.clone()]);
    // Nothing is said of its tolerations.
    let unsaid = json!({"spec": {"containers": []}});
    let pairs = pods.windows(2).step_by(2).map(<[Value]>::to_vec);
    // Nearly: another effect, another value or none, or for a time only.
    let nearly = [
        json!([{"key": UNREACHABLE, "operator": "Exists", "effect": "NoSchedule"}]),
        json!([{"key": "maintenance", "value": "later"}]),
        json!([{"key": "maintenance"}, {"operator": "Exists", "effect": "NoSchedule"}]),
        json!([{"operator": "Exists", "tolerationSeconds": 40}]),
        json!([{"key": "old", "value": "x"}, {"key": UNREACHABLE, "operator": "Exists"}]),
        // The first of a key is not for the taint, but the second is.
        json!([{"key": "maintenance", "value": "later"}, {"key": "maintenance", "value": "soon"}]),
        json!([{"key": UNREACHABLE, "operator": "Exists", "effect": "NoSchedule"},
               {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]),
        // The value of its own taints is none.
        json!([{"key": UNREACHABLE, "tolerationSeconds": 60}, {"key": NOT_READY, "value": "true"}]),
    ];
    let nearly = nearly.map(|all| vec![json!({"spec": {"containers": [], "tolerations": all}})]);
    let all = [vec![]].into_iter().chain(alone).chain([vec![unsaid]]).chain(nearly).chain(pairs);
    let more = [4, 1, 0, 3, 8, 2, 1, 8, 3].map(|n: usize| pods[n].clone()).to_vec();
    all.chain(pods.chunks(6).map(<[Value]>::to_vec)).chain([more]).collect()
}

/// What decides.
pub(super) struct Rule {
    /// Whether a node is given up after so many seconds.
    is_silent: fn(u64) -> bool,
    /// Which of its conditions is Ready.
    condition: fn(&[NodeCondition]) -> Option<&NodeCondition>,
    /// What is said of Ready: by what the node has said, and whether it is silent.
    ready: for<'a> fn(&'a str, bool, &Node) -> &'a str,
    /// The taint that says so.
    taint: fn(&str) -> Option<&'static str>,
    /// Which of the taints of others drive Pods away.
    counts: fn(&Taint, &[Taint]) -> bool,
    /// Which of all that do so are looked at.
    seen: fn(&mut Vec<Taint>),
    /// The order of the answers.
    order: fn(&mut Vec<&Pod>),
    /// Whether a Pod stays, without regard to its tolerations.
    stays: fn(&Pod) -> bool,
    /// Whether a toleration is for a taint.
    tolerates: fn(&Toleration, &Taint) -> bool,
    /// Whether it is enough to tolerate so many of so many taints.
    is_enough: fn(usize, usize) -> bool,
    /// For how long one tolerates; none: for ever.
    seconds: fn(&Toleration) -> Option<i64>,
    /// And all that were needed.
    together: fn(&[i64]) -> Option<i64>,
}

const RULE: Rule = Rule {
    is_silent: |seconds| seconds > GRACE.as_secs(),
    condition: |all| all.iter().find(|condition| condition.type_ == "Ready"),
    ready,
    taint,
    counts: |taint, _| drives_away(taint),
    seen: |_| {},
    order: |_| {},
    stays: |_| false,
    tolerates,
    is_enough: |tolerated, taints| tolerated == taints,
    seconds: |toleration| toleration.toleration_seconds,
    together: |all| all.iter().copied().min(),
};

fn ready<'a>(said: &'a str, is_silent: bool, _: &Node) -> &'a str {
    if is_silent { "Unknown" } else { said }
}

fn taint(ready: &str) -> Option<&'static str> {
    match ready {
        "True" => None,
        "Unknown" => Some(UNREACHABLE),
        _ => Some(NOT_READY),
    }
}

fn drives_away(taint: &Taint) -> bool {
    taint.effect == "NoExecute"
}

fn look(rule: &Rule, case: &Case) -> Look {
    let conditions = case.node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let said = (rule.condition)(conditions).map_or("Unknown", |ready| &ready.status);
    let ready = (rule.ready)(said, (rule.is_silent)(case.silent), &case.node);
    let own = (rule.taint)(ready);
    let mut taints = taints_of(&case.node).to_vec();
    taints.retain(|taint| (rule.counts)(taint, taints_of(&case.node)));
    taints.extend(own.map(|key| Taint { key: key.into(), effect: "NoExecute".into(), ..Taint::default() }));
    (rule.seen)(&mut taints);
    let mut pods: Vec<&Pod> = case.pods.iter().collect();
    (rule.order)(&mut pods);
    let pods = pods.into_iter().map(|pod| fate(rule, pod, &taints)).collect();
    Look { ready: ready.to_owned(), taint: own.map(str::to_owned), pods }
}

fn fate(rule: &Rule, pod: &Pod, taints: &[Taint]) -> Fate {
    let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let toleration = |taint: &Taint| tolerations.iter().find(|one| (rule.tolerates)(one, taint));
    if (rule.stays)(pod) {
        return Fate::Stays;
    }
    let used: Vec<&Toleration> = taints.iter().filter_map(toleration).collect();
    if !(rule.is_enough)(used.len(), taints.len()) {
        return Fate::GoesAfter(0);
    }
    let seconds: Vec<i64> = used.into_iter().filter_map(rule.seconds).collect();
    (rule.together)(&seconds).map_or(Fate::Stays, |seconds| Fate::GoesAfter(u64::try_from(seconds).unwrap_or(0)))
}

/// What learners really write, and how to say so.
const MISTAKES: &[Mistake<Rule>] = mistakes! {
    too_soon: "a node is given up after 40 seconds; it takes 50" => { is_silent: |seconds| seconds > 40 };
    at_grace: "a node that was heard of just 50 seconds ago is given up; it takes more than that"
        => { is_silent: |seconds| seconds >= GRACE.as_secs() };
    believes: "what the kubelet said last is believed, however long ago it was" => { ready: |said, _, _| said };
    silent_is_false: "Ready of a silent node is said to be False; it is Unknown"
        => { ready: |said, is_silent, _| if is_silent { "False" } else { said } };
    one_taint: "a silent node gets the taint of one that is not ready"
        => { taint: |ready| if ready == "True" { None } else { Some(NOT_READY) } };
    no_taint: "a node that says that it is not ready gets no taint"
        => { taint: |ready| if ready == "False" { None } else { taint(ready) } };
    all_effects: "taints without the effect NoExecute drive Pods away" => { counts: |_, _| true };
    only_own: "the taints that others have put on the node are not looked at" => { counts: |_, _| false };
    ignores_tolerations: "Pods go at once; their tolerations are not looked at" => { tolerates: |_, _| false };
    ignores_seconds: "tolerationSeconds is not looked at" => { seconds: |_| None };
    longest: "the longest toleration counts; it is the shortest" => { together: |all| all.iter().copied().max() };
    one_is_enough: "a Pod that tolerates one of the taints stays, though it does not tolerate another"
        => { is_enough: |tolerated, taints| taints == 0 || tolerated > 0 };
    last_condition: "the last condition is taken for Ready; conditions come in any order"
        => { condition: |all| all.last() };
    first_condition: "the first condition is taken for Ready; conditions come in any order"
        => { condition: |all| all.first() };
    negative_stays: "a toleration for less than 0 seconds counts as one for ever"
        => { seconds: |toleration| toleration.toleration_seconds.filter(|seconds| *seconds >= 0) };
    contains_ready: "a condition whose name contains Ready is taken for it"
        => { condition: |all| all.iter().find(|condition| condition.type_.contains("Ready")) };
    by_key: "a toleration is taken for a taint's by its key; value and effect have to agree too"
        => { tolerates: |toleration, taint| toleration.key.as_ref().is_none_or(|key| *key == taint.key) };
    one_of_a_key: "of two taints with one key only the first is looked at"
        => {
            counts: |taint, all| {
                let first = all.iter().find(|one| one.key == taint.key);
                drives_away(taint) && first.is_none_or(|first| first.effect == taint.effect)
            }
        };
    two_taints: "only the first two taints are looked at" => { seen: |taints| taints.truncate(2) };
    own_by_prefix: "every taint whose key begins with node.kubernetes.io/ is taken for one of its own"
        => { counts: |taint, _| drives_away(taint) && !taint.key.starts_with("node.kubernetes.io/") };
    daemon_stays: "Pods of a DaemonSet always stay; their tolerations decide"
        => { stays: is_of_daemon_set };
    by_name: "the answers are in the order of the Pods' names, and not of the Pods"
        => { order: |pods| pods.sort_by_key(|pod| pod.metadata.name.clone()) };
    only_new: "a taint that says when it was added is not looked at"
        => { seen: |taints| taints.retain(|taint| taint.time_added.is_none()) };
    narrow: "the seconds of silence are put into a number that is too small for them"
        => { is_silent: |seconds| seconds & u64::from(u32::MAX) > GRACE.as_secs() };
    critical_stays: "Pods of the system always stay; their tolerations decide"
        => { stays: is_critical };
    cordoned_is_not_ready: "a node that takes no new Pods is taken for one that is not ready"
        => {
            ready: |said, is_silent, node| match is_cordoned(node) && !is_silent {
                true => "False",
                false => ready(said, is_silent, node),
            }
        };
};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use controllers::node_lifecycle::health::NodeHealth;
    use controllers::taint_eviction::{Bears, bears};
    use object::time::Instant;

    #[test]
    fn the_rule_passes_and_every_known_mistake_is_named() {
        crate::function::check::<Looking>("heartbeat");
    }

    #[test]
    fn the_rule_is_that_of_the_controllers() {
        for case in Looking::questions() {
            let right = Looking::right(&case);
            let now = Instant::default();
            let health = NodeHealth::observe(None, &case.node, None, now);
            let is_silent = health.is_silent(now + Duration::from_secs(case.silent));
            assert_eq!(right.ready == "Unknown", is_silent, "{}", Looking::show(&case));
            let own = right.taint.map(|key| Taint { key, effect: "NoExecute".to_owned(), ..Taint::default() });
            let others = taints_of(&case.node).iter().filter(|taint| taint.effect == "NoExecute");
            let taints: Vec<Taint> = others.cloned().chain(own).collect();
            for (pod, fate) in case.pods.iter().zip(right.pods) {
                let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.clone()).unwrap_or_default();
                let borne = match bears(&taints, &tolerations) {
                    Bears::Not => Fate::GoesAfter(0),
                    Bears::For(time) => Fate::GoesAfter(time.as_secs()),
                    Bears::Always => Fate::Stays,
                };
                assert_eq!(fate, borne, "{}", Looking::show(&case));
            }
        }
    }
}
