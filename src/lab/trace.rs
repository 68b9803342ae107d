//! Exercise 00: reading a run. Nothing is programmed: a learner says what will happen in the scenario `deployment`, and
//! the grader runs it and looks. So no answer is written down here that could be out of date.
//!
//! A question with so few answers is soon guessed by trial. So three are judged together, and a verdict does not say which of
//! them is wrong, nor what is right: to look takes three commands, and to guess up to seventy trials. Only a mistake that
//! many make is named, if it is the only one of the three.
//!
//! Left out: everything with a moment or a number in it. What is asked is so in a real cluster, too.

use std::sync::LazyLock;

use super::function::Function;
use super::mistake::Mistake;
use super::started::started_as;
use super::{Exercise, Judging};
use apiserver::host::Engine;
use cluster::scenario::Scenario;
use debugger::facts::Facts;
use engine::{Note, Step, What};
use exercise::trace::{Answer, Answers, QUESTIONS, TOGETHER, Who};
use object::pod::{address_of, is_ready};
use object::{Kind, Object, Pod};
use wire::Verb;

pub(super) const EXERCISE: Exercise = Exercise {
    folder: "00_trace",
    title: "Who does what when a Deployment becomes Pods?",
    outcome: "read a run: which program asked for what, what was stored, and what followed",
    needs: &[],
    hints: [
        "`cargo run -- step deployment`, then `tour`, again and again: it stops at most of what is asked about here \
         and says what it is. Say what comes before you look.",
        "`until create replicasets request` goes to the step in which the ReplicaSet is asked for; the line with the \
         arrow says by whom. In the same way: `until create pods request`, `until create pods/binding request`, `until \
         pods/status request if new.status.podIP`.",
        "Each looks one floor down only: kubectl asks for the Deployment, its controller for the ReplicaSet, that \
         one's for the Pods, and the scheduler gives each a node. The kubelet says what became of them, and the \
         news goes up the same floors. `until deployment-controller 409` stops at a refusal.",
    ],
    minutes: 10,
    judging: Judging::of::<Trace>(),
};

/// What there is to say to one of the [`QUESTIONS`].
struct Remark {
    /// Where it is seen in `cargo run -- step deployment`.
    look: &'static str,
    /// What many believe instead.
    believed: Answer,
    /// The name of that mistake.
    name: &'static str,
    /// And why it is one.
    mistake: &'static str,
}

/// In their order.
const REMARKS: [Remark; QUESTIONS.len()] = [
    // Who asks the API server to create the ReplicaSet?
    Remark {
        look: "until create replicasets request",
        believed: Answer::Who(Who::Kubectl),
        name: "kubectl_makes_set",
        mistake: "kubectl makes the ReplicaSet; it only asks for the Deployment",
    },
    // Who asks it to create the Pods?
    Remark {
        look: "until create pods request",
        believed: Answer::Who(Who::DeploymentController),
        name: "deployment_makes_pods",
        mistake: "the Deployment controller makes the Pods; it makes ReplicaSets only",
    },
    // Is any update refused because it was made from an old version of the object?
    Remark {
        look: "until deployment-controller 409",
        believed: Answer::Is(false),
        name: "nothing_refused",
        mistake: "no update is refused when nothing goes wrong; it is an everyday thing",
    },
    // Is any kubelet notified of a Pod while the Pod has no node?
    Remark {
        look: "until notification pod to=kubelet/*",
        believed: Answer::Is(true),
        name: "kubelets_hear_early",
        mistake: "kubelets hear of Pods that have no node; each watches only its own",
    },
    // Who decides on which node a Pod runs, and asks to have that written into it?
    Remark {
        look: "until create pods/binding request",
        believed: Answer::Who(Who::Kubelet),
        name: "kubelet_chooses",
        mistake: "a kubelet takes Pods for itself; the scheduler gives them to it",
    },
    // Who asks to have a Pod's address written into its status?
    Remark {
        look: "until pods/status request if new.status.podIP",
        believed: Answer::Who(Who::ApiServer),
        name: "server_gives_addresses",
        mistake: "the API server hands out the addresses of Pods; it stores what the node has found out",
    },
    // Is the first Pod stored as ready before its ReplicaSet counts one ready Pod?
    Remark {
        look: "until condition=Ready:True, then: until rs request if new.status.readyReplicas == 1",
        believed: Answer::Is(false),
        name: "set_counts_first",
        mistake: "a ReplicaSet counts a Pod as ready before the Pod is; it counts what is stored",
    },
    // Who asks to have it written into the Deployment's status that two Pods are ready?
    Remark {
        look: "until deploy request if new.status.readyReplicas == 2",
        believed: Answer::Who(Who::Kubelet),
        name: "kubelet_tells_deployment",
        mistake: "the kubelet tells the Deployment that its Pods are ready; it speaks of Pods only",
    },
    // Does one of these six ever turn to another of them, past the API server?
    Remark {
        look: "tour, to its end; each line with an arrow says from whom and to whom",
        believed: Answer::Is(true),
        name: "programs_call",
        mistake: "the programs call one another; each talks to the API server only",
    },
];

/// The rule behind so many questions.
const PROPERTIES: [&str; QUESTIONS.len() / TOGETHER] = [
    "who asks for which object, and what becomes of an update from an old version",
    "who chooses a Pod's node, and who reports what is so on it",
    "which way the news of a Pod goes, until its Deployment says that it is ready",
];

struct Trace;

impl Function for Trace {
    type Question = usize;
    type Answer = Vec<Answer>;
    /// The question to which the answer is what many believe.
    type Rule = Option<usize>;

    const RULE: Option<usize> = None;

    const MISTAKES: &'static [Mistake<Option<usize>>] = &{
        let mut mistakes = [Mistake { name: "", says: "", does: None }; REMARKS.len()];
        let mut n = 0;
        while n < REMARKS.len() {
            mistakes[n] = Mistake { name: REMARKS[n].name, says: REMARKS[n].mistake, does: Some(n) };
            n += 1;
        }
        mistakes
    };

    const TELLS: bool = false;

    fn questions() -> Vec<usize> {
        (0..PROPERTIES.len()).collect()
    }

    fn answer(believed: &Option<usize>, group: &usize) -> Vec<Answer> {
        let mut answers = HAPPENS.all();
        believed.iter().for_each(|asked| answers[*asked] = REMARKS[*asked].believed);
        answers[group * TOGETHER..][..TOGETHER].to_vec()
    }

    fn property(group: &usize, _: Option<&Vec<Answer>>) -> &'static str {
        PROPERTIES[*group]
    }

    fn show(group: &usize) -> String {
        let asked = QUESTIONS.iter().zip(&REMARKS).skip(group * TOGETHER).take(TOGETHER);
        let see = format!("three answers together; to see what is so: {} step deployment", started_as());
        asked.fold(see, look_for)
    }
}

/// What is to be typed has a line of its own.
fn look_for(text: String, (question, remark): (&&str, &Remark)) -> String {
    let look = remark.look.replace(", then: ", "\n  ");
    format!("{text}\n{question}\n  {look}")
}

/// What does happen.
static HAPPENS: LazyLock<Answers> = LazyLock::new(|| {
    let scenario = Scenario::find("deployment").unwrap_or_else(|error| unreachable!("it is shipped: {error}"));
    let mut cluster = bugs::cluster(&scenario);
    let mut seen = Seen::default();
    while !cluster.is_quiet()
        && let Some(step) = cluster.step()
    {
        seen.note(&cluster.engine, &step);
    }
    seen.answers().unwrap_or_else(|| unreachable!("a test says that all of it happens in this scenario"))
});

/// What was seen of a run so far.
#[derive(Default)]
struct Seen {
    creates_replica_set: Option<Who>,
    creates_pods: Option<Who>,
    chooses_node: Option<Who>,
    reports_address: Option<Who>,
    counts_ready: Option<Who>,
    kubelets_hear_first: bool,
    past_api_server: bool,
    write_refused: bool,
    pod_ready_at: Option<u64>,
    set_counts_at: Option<u64>,
}

impl Seen {
    fn note(&mut self, engine: &Engine, step: &Step) {
        let (from, to) = (engine.name(step.event.from), engine.name(step.event.to));
        self.past_api_server |= from != to && is_client(from) && is_client(to);
        match &step.event.what {
            What::Notification { .. } if who(to) == Some(Who::Kubelet) => {
                let heard = Facts::of(engine, step).subjects;
                self.kubelets_hear_first |= heard.iter().filter_map(|subject| subject.new).any(has_no_node);
            }
            What::Request { request, .. } => {
                let by = who(&request.user.agent);
                for note in &step.notes {
                    match note {
                        Note::Stands { .. } => self.write_refused |= request.verb == Verb::Update,
                        Note::Stored { old, new: Some(new), .. } => self.stored(step.id.0, by, old.as_ref(), new),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn stored(&mut self, step: u64, by: Option<Who>, old: Option<&Object>, new: &Object) {
        match (old, new) {
            (None, new) if new.kind() == Kind::ReplicaSet => self.creates_replica_set = by,
            (None, new) if new.kind() == Kind::Pod => self.creates_pods = by,
            (Some(Object::Pod(old)), Object::Pod(new)) => {
                if node_of(old) != node_of(new) {
                    self.chooses_node = by;
                }
                if address_of(old) != address_of(new) {
                    self.reports_address = by;
                }
                if is_ready(new) {
                    self.pod_ready_at.get_or_insert(step);
                }
            }
            (Some(_), Object::ReplicaSet(set)) if ready(&set.status, |status| status.ready_replicas) > 0 => {
                self.set_counts_at.get_or_insert(step);
            }
            (Some(_), Object::Deployment(deployment))
                if ready(&deployment.status, |status| status.ready_replicas) == 2 =>
            {
                self.counts_ready = self.counts_ready.or(by);
            }
            _ => {}
        }
    }

    fn answers(&self) -> Option<Answers> {
        Some(Answers {
            creates_replica_set: self.creates_replica_set?,
            creates_pods: self.creates_pods?,
            write_refused: self.write_refused,
            kubelets_hear_first: self.kubelets_hear_first,
            chooses_node: self.chooses_node?,
            reports_address: self.reports_address?,
            pod_first: self.pod_ready_at? < self.set_counts_at?,
            counts_ready: self.counts_ready?,
            past_api_server: self.past_api_server,
        })
    }
}

/// Whose name this is: of one who sends, or gets, or asks.
fn who(name: &str) -> Option<Who> {
    Some(match name.split(['/', ' ']).next()? {
        "user" | "kubectl" => Who::Kubectl,
        "kube-apiserver" => Who::ApiServer,
        "deployment-controller" => Who::DeploymentController,
        "replicaset-controller" => Who::ReplicaSetController,
        "kube-scheduler" => Who::Scheduler,
        "kubelet" => Who::Kubelet,
        _ => return None,
    })
}

/// Whether this is one of the programs that ask the API server. What a kubelet has beside it on its node is none.
fn is_client(name: &str) -> bool {
    name == "kube-controller-manager" || who(name).is_some_and(|who| who != Who::ApiServer)
}

fn ready<S>(status: &Option<S>, count: fn(&S) -> Option<i32>) -> i32 {
    status.as_ref().and_then(count).unwrap_or(0)
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

fn has_no_node(object: &Object) -> bool {
    matches!(object, Object::Pod(pod) if node_of(pod).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function;
    use debugger::breakpoint::Breakpoints;
    use debugger::{Advance, Goal, Session};

    /// Not `function::check`, which asks for hundreds of questions: here there are as many as one can think about.
    #[test]
    fn what_happens_passes_and_every_known_mistake_is_named() {
        let given = |rule: &Option<usize>| -> Vec<String> {
            let answers = Trace::questions().into_iter().map(|asked| Trace::answer(rule, &asked));
            answers.map(|answer| serde_json::to_string(&answer).unwrap()).collect()
        };
        assert_eq!(function::judge::<Trace>(&given(&None)), Ok(PROPERTIES.len()));
        let mut failures = Vec::new();
        for (n, Mistake { name, says, does }) in Trace::MISTAKES.iter().enumerate() {
            let (_, failure) = function::judge::<Trace>(&given(does)).expect_err(name);
            let property = PROPERTIES[n / TOGETHER];
            assert_eq!((failure.mistake.as_deref(), &*failure.property), (Some(*says), property));
            failures.push(failure);
        }
        for everywhere in ["[\"Kubectl\",\"Kubectl\",true]", "[true,true,true]", "[]", "null"] {
            assert!(function::judge::<Trace>(&vec![everywhere.to_owned(); PROPERTIES.len()]).is_err(), "{everywhere}");
        }
        assert!(function::judge::<Trace>(&[]).is_err());
        function::golden::check("trace", &failures);
    }

    /// Of two wrong answers the verdict says neither which they are nor what is right.
    #[test]
    fn a_verdict_does_not_say_what_is_right() {
        let wrong = [Who::ReplicaSetController, Who::DeploymentController].map(Answer::Who);
        for first in wrong {
            let mut given: Vec<Vec<Answer>> = (0..PROPERTIES.len()).map(|group| Trace::right(&group)).collect();
            given[0] = vec![first, wrong[1], Answer::Is(true)];
            let texts: Vec<String> = given.iter().map(|group| serde_json::to_string(group).unwrap()).collect();
            let (n, failure) = function::judge::<Trace>(&texts).unwrap_err();
            let end = format!("\nyours gave {:?}\nnot all of it is so", given[0]);
            assert!(n == 0 && failure.case.ends_with(&end), "{}", failure.case);
            assert!(QUESTIONS[..TOGETHER].iter().all(|question| failure.case.contains(question)), "{}", failure.case);
        }
    }

    /// A learner reads the questions in the file, in this order, and none of them is answered there already.
    #[test]
    fn the_file_asks_all_questions_and_answers_none() {
        let stub = include_str!("../../exercises/00_trace/stub.rs");
        let mut lines = stub.split_once("    Answers {\n").unwrap().1.lines().map(str::trim);
        for question in QUESTIONS {
            assert_eq!(lines.next(), Some(&*format!("// {question}")));
            let field = lines.next().unwrap();
            assert!(field.ends_with(": kubestep_exercise::not_started(),"), "{field}");
        }
        assert_eq!(lines.next(), Some("}"));
    }

    /// Each place to look at is one that a run comes to.
    #[test]
    fn a_run_comes_to_every_place_to_look_at() {
        for asked in REMARKS {
            let mut session = Session::of(Scenario::find("deployment").unwrap());
            for until in asked.look.split(", then: ").filter_map(|move_to| move_to.strip_prefix("until ")) {
                let mut condition = Breakpoints::default();
                condition.add(until, true, &session.names()).unwrap();
                assert_eq!(session.go(&mut Goal::Until(Box::new(condition)), 0), Advance::Stopped, "{until}");
            }
        }
    }
}
