//! Where to stop: breakpoints, watches and logpoints.

use debugger::breakpoint::Breakpoint;
use debugger::breakpoint::parse::split_watch;
use debugger::{Session, explain, target};
use object::Kind;

use super::super::Stepper;
use super::Run::Says;
use super::{Command, Group, Line, Takes, Text, print};

/// Commands about breakpoints.
pub const GROUP: Group = Group {
    name: "stop",
    acts: true,
    commands: &[
        Command {
            names: &["break", "b"],
            usage: "break [TERM…] [if EXPR] [print TEXT]",
            takes: &[&[Takes::Term, Takes::Again]],
            about: "stop there, or print and go on",
            more: BREAK,
            run: Says(|stepper, line| add(stepper, line, false)),
        },
        Command {
            names: &["tbreak", "tb"],
            usage: "tbreak TERM… [if EXPR]",
            takes: &[&[Takes::Term, Takes::Again]],
            about: "the same, once",
            more: "A breakpoint that goes away when it has stopped once.\n",
            run: Says(|stepper, line| add(stepper, line, true)),
        },
        Command {
            names: &["watch"],
            usage: "watch OBJECT.path",
            takes: &[&[Takes::Watched]],
            about: "stop when a field changes",
            more: WATCH,
            run: Says(watch),
        },
        Command {
            names: &["breakpoints", "bl"],
            usage: "breakpoints",
            takes: &[],
            about: "list them",
            more: "Each with its number, what it stops at, and how often it did.\n",
            run: Says(|stepper, line| line.nothing().map(|()| list(stepper))),
        },
        Command {
            names: &["condition"],
            usage: "condition N [EXPR]",
            takes: &[&[Takes::Breakpoint], &[Takes::Value, Takes::Again]],
            about: "stop at N only if this holds; without it, always",
            more: "  condition 1 new.status.phase == \"Running\"\n",
            run: Says(condition),
        },
        Command {
            names: &["commands"],
            usage: "commands N LINE[; LINE]",
            takes: &[&[Takes::Breakpoint], &[Takes::Command]],
            about: "what to show when N stops",
            more: "Lines that only look, such as get pods, where, print new.status; without any, none.\n",
            run: Says(print::commands),
        },
        Command {
            names: &["display"],
            usage: "display [EXPR|OBJECT]",
            takes: &[&[Takes::Value, Takes::Again]],
            about: "show this value at every stop",
            more: print::VALUES,
            run: Says(print::display),
        },
        Command {
            names: &["undisplay"],
            usage: "undisplay N…",
            takes: &[&[Takes::Display, Takes::Again]],
            about: "no longer; all without a number",
            more: "",
            run: Says(print::undisplay),
        },
        Command {
            names: &["ignore"],
            usage: "ignore N COUNT",
            takes: &[&[Takes::Breakpoint]],
            about: "pass over the next COUNT hits of N",
            more: "",
            run: Says(ignore),
        },
        Command {
            names: &["disable"],
            usage: "disable N…",
            takes: &[&[Takes::Breakpoint, Takes::Again]],
            about: "pass there until enabled; all without a number",
            more: "",
            run: Says(|stepper, line| each(stepper, line, |breakpoint| breakpoint.enabled = false)),
        },
        Command {
            names: &["enable"],
            usage: "enable N…",
            takes: &[&[Takes::Breakpoint, Takes::Again]],
            about: "stop there again",
            more: "",
            run: Says(|stepper, line| each(stepper, line, |breakpoint| breakpoint.enabled = true)),
        },
        Command {
            names: &["unbreak", "clear"],
            usage: "unbreak N…",
            takes: &[&[Takes::Breakpoint, Takes::Again]],
            about: "take breakpoints away; all without a number",
            more: "`delete N` does the same; `delete pod web` is kubectl's.\n",
            run: Says(unbreak),
        },
    ],
};

const BREAK: &str = "\
All terms must hold. A term is one of
  pod, rs, deployments          a kind
  pod/web-*, pod/shop/web-*     objects, with their namespace if one is given
  -l app=web                    objects with these labels
  ns=shop  name=web-*           a namespace, a name
  request response notification timer runtime packet fault   a class of events
  kube-scheduler, kubelet/*, replicaset-controller   the component that sends, gets or works
  from=NAME  to=NAME            the sender alone, the receiver alone
  create, update, pods/status   a verb, a subresource
  409, 4xx                      an answer's code
  reason=FailedScheduling       an Event that is written
  verdict=unschedulable, verdict='node-2 chosen', verdict='TaintToleration*'
  condition=Ready, condition=Ready:True            a condition that changes
  method=RunPodSandbox          a call to the runtime, or a timer of that name
  replicaset/mod.rs:120, fn=put_status             code that comes to wait there:
                                it calls the API, the runtime or the clock
After `if` comes an expression over old, new, object, event, message, step and time:
  break pod if new.status.phase == \"Running\"             at the write that makes it so, once a Pod; with a
  break pod notification if new.status.phase == \"Running\"   class of events, at each of those
  break pod if new.metadata.name.startsWith(\"web\") and new.spec.nodeName matches \"node-[12]\"
  break rs if changed(status.replicas) or event.code >= 500
  break pod if new.status.containerStatuses[*].restartCount > 2
or, behind `cel:`, one in CEL, the language of Kubernetes' own rules:
  break deploy if cel: object.spec.replicas > 3 && has(object.spec.paused)
  break pod if cel: object.spec.containers.exists(c, c.image.startsWith(\"nginx:\"))
After `print` comes a text to print instead of stopping:
  break pods/status print {new.metadata.name} is {new.status.phase}
";

const WATCH: &str = "\
Stops at the write that changes the field, wherever it comes from.
  watch pod/web.status.phase
  watch deploy/web.status.conditions[Available].status
  watch pod/web-*.spec.nodeName
";

fn add(stepper: &mut Stepper, line: &Line, once: bool) -> Text {
    let names = stepper.session.names();
    let breakpoint = stepper.session.breakpoints.add(line.rest(), once, &names)?;
    Ok(format!("{breakpoint}\n"))
}

/// `watch` stops at changes; without a path it is not kubectl's, so it says how it is written.
fn watch(stepper: &mut Stepper, line: &Line) -> Text {
    let names = stepper.session.names();
    let there = watched(&stepper.session, line.rest())?;
    let breakpoint = stepper.session.breakpoints.watch(line.rest(), &names)?;
    Ok(format!("{breakpoint}\n{there}"))
}

/// What is said of an object that is not there yet. A field that its kind does not have would never change.
fn watched(session: &Session, text: &str) -> Text {
    let (object, path) = split_watch(text)?;
    let Some((word, kind)) = object.split('/').next().and_then(|word| Some((word, Kind::from_word(word)?))) else {
        return Ok(String::new());
    };
    explain::explain(session, &format!("{word}.{path}"))?;
    Ok(match target::is_known(session, &object) {
        true => String::new(),
        false => format!("there is no such {kind} yet; it stops once there is one\n"),
    })
}

fn list(stepper: &Stepper) -> String {
    let lines: String = stepper.session.breakpoints.list().iter().map(|b| format!("{b}\n")).collect();
    if lines.is_empty() { "there are no breakpoints; break makes one, help break says how\n".to_owned() } else { lines }
}

fn condition(stepper: &mut Stepper, line: &Line) -> Text {
    let (word, condition) = line.rest().split_once(char::is_whitespace).unwrap_or((line.rest(), ""));
    if word.is_empty() {
        return Err("write for example: condition 1 new.status.phase == \"Running\"".to_owned());
    }
    let names = stepper.session.names();
    let condition = condition.trim().trim_start_matches("if ");
    Ok(format!("{}\n", stepper.session.breakpoints.set_condition(number(word)?, condition, &names)?))
}

/// The number of a breakpoint, as it is typed.
pub fn number(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("{word:?} is not the number of a breakpoint; breakpoints lists them"))
}

fn ignore(stepper: &mut Stepper, line: &Line) -> Text {
    let [breakpoint, count] = line.arguments()[..] else {
        return Err("write for example: ignore 1 5".to_owned());
    };
    let count = count.parse().map_err(|_| format!("{count:?} is not a number of hits; write: ignore 1 5"))?;
    let breakpoint = stepper.session.breakpoints.get(number(breakpoint)?)?;
    breakpoint.ignore = count;
    Ok(format!("{breakpoint}\n"))
}

/// The numbers that were typed; all breakpoints if none were.
fn numbers(stepper: &Stepper, line: &Line) -> Result<Vec<u32>, String> {
    match line.arguments().as_slice() {
        [] => Ok(stepper.session.breakpoints.list().iter().map(|breakpoint| breakpoint.number).collect()),
        words => words.iter().map(|word| number(word)).collect(),
    }
}

fn each(stepper: &mut Stepper, line: &Line, change: fn(&mut Breakpoint)) -> Text {
    for number in numbers(stepper, line)? {
        change(stepper.session.breakpoints.get(number)?);
    }
    Ok(list(stepper))
}

/// Takes breakpoints away.
pub fn unbreak(stepper: &mut Stepper, line: &Line) -> Text {
    // The name is gdb's; but a user who writes no more than that means the screen.
    if line.name() == "clear" && line.arguments().is_empty() {
        return Err("Ctrl-L clears the screen; unbreak takes all breakpoints away, unbreak 1 one of them".to_owned());
    }
    let mut said = String::new();
    for number in numbers(stepper, line)? {
        said += &format!("removed {}\n", stepper.session.breakpoints.get(number)?.text_of_command());
        stepper.session.breakpoints.delete(number)?;
    }
    Ok(said + &list(stepper))
}
