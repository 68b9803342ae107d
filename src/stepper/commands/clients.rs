//! Clients outside: who is connected, and how time passes for them.

use debugger::Choice;

use super::super::{Clock, Stepper};
use super::Run::Says;
use super::decide::act;
use super::{Command, Group, Line, Takes, Text};

/// What is said where no client can come.
const CLOSED: &str =
    "no client outside can reach this cluster: start the program with --serve, or with serve in place of step";
/// So many of the last requests are listed.
const LAST: usize = 10;

/// Commands about clients outside.
pub const GROUP: Group = Group {
    name: "clients",
    acts: true,
    commands: &[
        Command {
            names: &["clients"],
            usage: "clients",
            takes: &[],
            about: "clients outside: their requests under way, and the last",
            more: "Each program that comes by the network is an actor, such as wire/kubectl-1: break, hold, slow and fail take\n\
                that name.\n",
            run: Says(|stepper, line| line.nothing().map(|()| clients(stepper))),
        },
        Command {
            names: &["clock"],
            usage: "clock [running | stepped | fast]",
            takes: &[&[Takes::One(&["running", "stepped", "fast"])]],
            about: "how time passes while clients wait",
            more: "running: virtual time follows the clock on the wall\n\
                stepped: time stands, and clients wait until you step\n\
                fast: each request is answered, and all that comes of it happens, at once\n",
            run: Says(clock),
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
                set(stepper, Clock::Running)
            }),
        },
        Command {
            names: &["pause"],
            usage: "pause",
            takes: &[],
            about: "let time stand: the stepped clock",
            more: "",
            run: Says(|stepper, line| line.nothing().and_then(|()| set(stepper, Clock::Stepped))),
        },
        Command {
            names: &["arrive"],
            usage: "arrive REQUEST",
            takes: &[],
            about: "a request of a client outside, as a saved session has it",
            more: "  arrive {\"method\":\"GET\",\"target\":\"/api/v1/pods\",\"user\":{\"name\":\"jane\"}}\n",
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

fn clock(stepper: &mut Stepper, line: &Line) -> Text {
    match line.arguments().as_slice() {
        [] => stepper.clock.map(|clock| format!("the clock is {}\n", clock.name())).ok_or_else(|| CLOSED.to_owned()),
        [name] => match Clock::parse(name) {
            Some(clock) => set(stepper, clock),
            None => Err("write clock running, clock stepped, or clock fast".to_owned()),
        },
        _ => Err("write clock running, clock stepped, or clock fast".to_owned()),
    }
}

fn set(stepper: &mut Stepper, clock: Clock) -> Text {
    if stepper.clock.is_none() {
        return Err(CLOSED.to_owned());
    }
    stepper.clock = Some(clock);
    Ok(format!("the clock is {}\n", clock.name()))
}

fn clients(stepper: &Stepper) -> String {
    let (under_way, choices) =
        (stepper.session.cluster.clients.exchanges(&stepper.session.cluster.engine), stepper.session.choices());
    let arrivals = choices.iter().filter_map(|chosen| match &chosen.choice {
        Choice::Arrive(arrival) => Some((chosen.after, arrival)),
        _ => None,
    });
    let last: Vec<String> = arrivals
        .rev()
        .take(LAST)
        .map(|(after, arrival)| {
            format!("  after {:<7} {} {}\n", format!("#{after}"), arrival.program(), arrival.label())
        })
        .collect();
    if last.is_empty() {
        return "no client outside has sent anything yet\n".to_owned();
    }
    let under_way: String = under_way
        .iter()
        .map(|exchange| {
            let state = if exchange.is_watch { "watch" } else { "waits" };
            format!("  {:<5} {state}  {} {}\n", exchange.number, exchange.client, exchange.label)
        })
        .collect();
    let under_way = if under_way.is_empty() { "  none\n".to_owned() } else { under_way };
    format!("under way:\n{under_way}the last requests:\n{}", last.into_iter().rev().collect::<String>())
}
