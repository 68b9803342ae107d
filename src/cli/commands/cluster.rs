//! The cluster as its user has it: kubectl.

use super::super::step::Stepper;
use super::{Command, Group, Line, Reply};
use crate::debugger::Choice;

/// Commands of kubectl's. The word `kubectl` may be left out.
pub const GROUP: Group = Group {
    name: "cluster",
    commands: &[
        Command {
            names: &["get", "describe", "logs", "events"],
            usage: "get, describe, logs, events",
            about: "as kubectl prints them; time stands still",
            more: "",
            run: |stepper, line| Ok(stepper.session.read(line.words())),
        },
        Command {
            names: &["nodes"],
            usage: "nodes",
            about: "the nodes and what is on them",
            more: "",
            run: |stepper, line| {
                line.nothing()?;
                Ok(stepper.session.read(&["get", "nodes", "-o", "wide"].map(str::to_owned)))
            },
        },
        Command {
            names: &[
                "apply", "create", "scale", "set", "label", "annotate", "taint", "rollout", "patch", "replace",
                "cordon", "uncordon", "expose", "edit",
            ],
            usage: "apply -f, create, scale, set, label …",
            about: "as kubectl does them; step to see it",
            more: "",
            run: change,
        },
        Command {
            names: &["delete"],
            usage: "delete KIND NAME",
            about: "as kubectl does; with a number: that breakpoint",
            more: "",
            run: |stepper, line| match line.arguments().as_slice() {
                [] => Err("write for example: delete pod web, or for a breakpoint: delete 1".to_owned()),
                words if words.iter().all(|word| word.parse::<u32>().is_ok()) => super::stop::unbreak(stepper, line),
                _ => change(stepper, line),
            },
        },
        Command {
            names: &["kubectl", "k"],
            usage: "kubectl …",
            about: "any of kubectl's commands",
            more: "",
            run: |stepper, line| match line.words()[1..].first().map(String::as_str) {
                None => Err("write for example: kubectl get pods".to_owned()),
                Some("get" | "describe" | "logs" | "events") => Ok(stepper.session.read(&line.words()[1..])),
                Some(_) => start(stepper, &line.words()[1..]),
            },
        },
    ],
};

/// Whatever changes something becomes events to step through.
pub fn change(stepper: &mut Stepper, line: &Line) -> Reply {
    start(stepper, line.words())
}

fn start(stepper: &mut Stepper, words: &[String]) -> Reply {
    stepper.session.choose(Choice::Kubectl(words.to_vec()));
    Ok("kubectl is about to send its first request; press Enter to step\n".to_owned())
}
