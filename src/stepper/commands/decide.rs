//! What comes next, and what breaks. Every choice is kept, so that the run can be saved and repeated.

use debugger::breakpoint::parse::VERBS;

use super::super::{Clock, Stepper};
use super::Run::{Says, Stops};
use super::clients;
use super::{Answer, Command, Group, Line, Reply, Takes, Text};

/// Commands about the order of events.
pub const GROUP: Group = Group {
    name: "decide",
    acts: true,
    commands: &[
        Command {
            names: &["choose"],
            usage: "choose EVENT",
            takes: &[&[Takes::Event]],
            about: "deliver this one next: choose e45",
            more: "pending shows the numbers. Events of one watch stay in order.\n",
            run: Stops(step),
        },
        Command {
            names: &["hold"],
            usage: "hold COMPONENT [KIND]",
            takes: &[&[Takes::Component], &[Takes::Kind]],
            about: "keep back what it gets, or one of its watches",
            more: "  hold kube-scheduler            it hangs\n  hold kube-scheduler pods       its watch of Pods lags\n  \
                hold link kubelet/node-1 kube-apiserver\nhold alone shows what is held. Held events stay pending.\n",
            run: Stops(|stepper, line| match line.arguments().is_empty() {
                true => Ok(Answer::says(stepper.session.cluster.what_is_held() + "\n")),
                false => step(stepper, line),
            }),
        },
        Command {
            names: &["release"],
            usage: "release [COMPONENT [KIND]]",
            takes: &[&[Takes::Component], &[Takes::Kind]],
            about: "let it go again; alone: everything",
            more: "",
            run: Stops(step),
        },
        Command {
            names: &["delay"],
            usage: "delay EVENT SECONDS",
            takes: &[&[Takes::Event]],
            about: "let it arrive later",
            more: "What follows it in the same watch stays behind it.\n",
            run: Says(act),
        },
        Command {
            names: &["drop"],
            usage: "drop EVENT",
            takes: &[&[Takes::Event]],
            about: "lose it, where that can happen",
            more: "Of a request or its answer the client sees a lost connection. A notification is lost as by a faulty \
                watch cache.\nTimers and calls on one machine cannot get lost.\n",
            run: Stops(step),
        },
        Command {
            names: &["seed"],
            usage: "seed N",
            takes: &[],
            about: "let hops take other times from now on",
            more: "",
            run: Says(act),
        },
        Command {
            names: &["when"],
            usage: "when TERM… [if EXPR] do CHOICE",
            takes: &[&[Takes::Term, Takes::Again]],
            about: "decide or break something there, once",
            more: "Terms are those of break.\n  when create pods if new.metadata.name ~ \"web-*\" do crash \
                kube-controller-manager\n  when if step == 40 do cut node-1\n",
            run: Says(when),
        },
        Command {
            names: &["choices"],
            usage: "choices",
            takes: &[],
            about: "what was decided so far, and after which step",
            more: "",
            run: Says(|stepper, line| line.nothing().map(|()| choices(stepper))),
        },
    ],
};

/// Commands that break something.
pub const FAULTS: Group = Group {
    name: "break it",
    acts: true,
    commands: &[
        Command {
            names: &["crash"],
            usage: "crash COMPONENT",
            takes: &[&[Takes::Component]],
            about: "its caches and queues are lost, and it starts again",
            more: "  crash kube-controller-manager\n  crash kubelet/node-1\n  crash kube-apiserver     every watch breaks\n",
            run: Stops(step),
        },
        Command {
            names: &["stop", "start"],
            usage: "stop, start COMPONENT",
            takes: &[&[Takes::Component]],
            about: "a crash in two moves",
            more: "",
            run: Stops(step),
        },
        Command {
            names: &["fail"],
            usage: "fail COMPONENT [VERB] [KIND] with HOW",
            takes: &[&[Takes::Component], &[Takes::One(VERBS), Takes::Kind], &[Takes::Kind, Takes::One(&["with"])]],
            about: "let its next call fail",
            more: "HOW is 409, 429, 500, 503, lost (before it arrives) or lost-after (it took effect); times N for \
                more than one.\n  fail replicaset-controller create pods with lost-after\n  \
                fail kubelet/* patch pods with 500 times 3\n",
            run: Stops(step),
        },
        Command {
            names: &["kill", "oom"],
            usage: "kill, oom POD [CONTAINER]",
            takes: &[&[Takes::Pod], &[Takes::Container]],
            about: "end a container's process",
            more: "",
            run: Stops(step),
        },
        Command {
            names: &["file"],
            usage: "file on|off POD PATH",
            takes: &[&[Takes::One(&["on", "off"])], &[Takes::Pod]],
            about: "what a probe that reads the file finds",
            more: "",
            run: Stops(step),
        },
        Command {
            names: &["answer"],
            usage: "answer POD CODE",
            takes: &[&[Takes::Pod]],
            about: "what its servers answer with from now on",
            more: "  answer web 503\n",
            run: Stops(step),
        },
        Command {
            names: &["cut", "mend"],
            usage: "cut, mend NODE",
            takes: &[&[Takes::Node]],
            about: "no message between it and the API server",
            more: "What is on the node goes on. Messages wait until the link is mended; none times out.\n",
            run: Stops(step),
        },
        Command {
            names: &["disconnect"],
            usage: "disconnect COMPONENT KIND",
            takes: &[&[Takes::Component], &[Takes::Kind]],
            about: "its watch breaks; it lists again",
            more: "  disconnect kube-scheduler nodes\n",
            run: Stops(step),
        },
        Command {
            names: &["stale"],
            usage: "stale COMPONENT KIND REVISION",
            takes: &[&[Takes::Component], &[Takes::Kind]],
            about: "its next list shows the past",
            more: "As from a watch cache of the API server's that lags behind; crash the component, and it lists.\n  \
                stale kubelet/node-1 pods 57\nOnly where informers do not use WatchList, as in the scenario api-servers.\n",
            run: Stops(step),
        },
        Command {
            names: &["compact"],
            usage: "compact",
            takes: &[],
            about: "etcd forgets the past; watches behind get 410",
            more: "",
            run: Stops(step),
        },
        Command {
            names: &["full", "relieve"],
            usage: "full NODE memory|disk|pids, relieve NODE",
            takes: &[&[Takes::Node], &[Takes::One(&["memory", "disk", "pids"])]],
            about: "it takes no more Pods, or again",
            more: "Its status says MemoryPressure, DiskPressure or PIDPressure soon,\n\
                   which becomes a taint that the scheduler heeds.\n\
                   Until then Pods still come, and are refused: all of them, or without memory those that ask for nothing.\n\
                   Without memory or disk it evicts the Pods that run, one every ten seconds, those first that use more than\n\
                   they ask for.\n",
            run: Stops(step),
        },
        Command {
            names: &["fill"],
            usage: "fill POD SIZE [CONTAINER]",
            takes: &[&[Takes::Pod]],
            about: "it has written that much to its node's disk",
            more: "Or volume=NAME instead of the container, for an emptyDir. More than the Pod's limits allow and it is evicted;\nso \
                much that the node's disk is nearly full, and its node says DiskPressure and evicts the Pod that takes most\n\
                beyond what it asked for.\n  \
                fill web-1 90Gi\n  fill web-1 600Mi volume=cache\n",
            run: Stops(step),
        },
        Command {
            names: &["skew"],
            usage: "skew NODE SECONDS",
            takes: &[&[Takes::Node]],
            about: "its clock is fast, or slow with a minus",
            more: "It is to be seen in the node's Lease. One that is fast does no harm: how long a Lease stays as it is, is\n\
                measured by the watcher's own clock. One that goes back does: a Lease counts as renewed only if its\n\
                time has grown. After 50 s without that the node is Unknown; its kubelet's next report makes it Ready\n\
                again, and so on, until its clock is where it was. Less than 50 s does no harm. skew NODE 0 mends it.\n",
            run: Stops(step),
        },
        Command {
            names: &["leader-change"],
            usage: "leader-change [COMPONENT]",
            takes: &[&[Takes::Component]],
            about: "its leader cannot renew its Lease",
            more: "Of kube-controller-manager, unless kube-scheduler is named. After ten seconds the leader gives up; five\n\
                seconds later another may take over. Scenarios say how many there are: managers: 2.\n",
            run: Stops(step),
        },
        Command {
            names: &["busy"],
            usage: "busy SELECTOR cpu=N memory=N",
            takes: &[],
            about: "what Pods use from now on, for an autoscaler",
            more: "Each of the Pods that the selector selects, in its first container, unless container=NAME follows; with\n\
                shared, all of them together, and the ready ones share it evenly. kubectl top shows it half a minute later. One that takes\n\
                more memory than its limit is killed (OOMKilled); those that share keep to theirs.\n  \
                busy app=web cpu=900m\n  busy app=web cpu=2 memory=1Gi shared\n",
            run: Stops(step),
        },
        Command {
            names: &["slow"],
            usage: "slow IMAGE SECONDS",
            takes: &[],
            about: "pulling it takes that long",
            more: "",
            run: Stops(step),
        },
    ],
};

/// Commands about clients outside.
pub const CLIENTS: Group = Group {
    name: "clients",
    acts: true,
    commands: &[
        Command {
            names: &["clients"],
            usage: "clients",
            takes: &[],
            about: "clients outside and their requests",
            more: "Each program that comes by the network is an actor, such as wire/kubectl-1: break, hold and fail take that\n\
                name.\n",
            run: Says(|stepper, line| line.nothing().map(|()| clients::list(&stepper.session))),
        },
        Command {
            names: &["clock"],
            usage: "clock [running | stepped | fast]",
            takes: &[&[Takes::One(&["running", "stepped", "fast"])]],
            about: "how time passes while clients wait",
            more: "running: virtual time follows the clock on the wall\n\
                stepped: time stands, and clients wait until you step\n\
                fast: each request is answered, and all that follows happens, at once\n",
            run: Says(|stepper, line| clients::clock(&mut stepper.clock, &line.arguments())),
        },
        Command {
            names: &["go"],
            usage: "go",
            takes: &[],
            about: "let time run: the running clock",
            more: "In the past, it starts a new branch from there.\n",
            run: Says(|stepper, line| {
                line.nothing()?;
                stepper.clock.is_some().then(|| stepper.session.part());
                clients::set(&mut stepper.clock, Clock::Running)
            }),
        },
        Command {
            names: &["pause"],
            usage: "pause",
            takes: &[],
            about: "let time stand: the stepped clock",
            more: "",
            run: Says(|stepper, line| line.nothing().and_then(|()| clients::set(&mut stepper.clock, Clock::Stepped))),
        },
        Command {
            names: &["arrive"],
            usage: "arrive REQUEST",
            takes: &[],
            about: "a request comes from a client outside",
            more: "  arrive {\"method\":\"GET\",\"target\":\"/api/v1/pods\",\"user\":{\"name\":\"jane\"}}\n",
            run: Says(act),
        },
        Command {
            names: &["data"],
            usage: "data NUMBER BASE64",
            takes: &[],
            about: "a frame comes by a client's connection",
            more: "",
            run: Says(act),
        },
        Command {
            names: &["hang-up"],
            usage: "hang-up NUMBER",
            takes: &[],
            about: "the client of this request has gone",
            more: "clients lists the numbers.\n",
            run: Says(act),
        },
    ],
};

/// Does what the line says, which is a step.
pub fn step(stepper: &mut Stepper, line: &Line) -> Reply {
    stepper.session.act(line.text())?;
    Ok(stepper.stopped())
}

/// Does what the line says, and keeps it among the choices.
fn act(stepper: &mut Stepper, line: &Line) -> Text {
    Ok(stepper.session.act(line.text())? + "\n")
}

fn when(stepper: &mut Stepper, line: &Line) -> Text {
    let names = stepper.session.names();
    let breakpoint = stepper.session.breakpoints.when(line.rest(), &names)?;
    Ok(format!("{breakpoint}\n"))
}

fn choices(stepper: &Stepper) -> String {
    let choices = stepper.session.choices();
    if choices.is_empty() {
        return "nothing was decided: the run is its scenario's\n".to_owned();
    }
    choices.iter().map(|chosen| format!("after {:<7} {}\n", format!("#{}", chosen.after), chosen.choice)).collect()
}
