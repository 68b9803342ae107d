//! What a session's user decides: which event comes next, how late one is, what is typed, what breaks. A run is its
//! scenario and these choices.
//!
//! Each is a line of text, the same at the prompt, in a saved session and after a `do`. `choose` and everything that breaks
//! something ([`Fault`]) are steps; the others decide about steps to come.

use std::fmt;
use std::time::Duration;

use cluster::clients::{Arrival, ExchangeId};
use cluster::fault::text::{event_id, seconds};
use cluster::fault::{self, Fault};
use cluster::{Cluster, timeline};
use engine::{EventId, Step};
use k8s_openapi::ByteString;

use super::Session;
use super::breakpoint::parse::without_namespace;

/// One choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// `choose e45`: this event comes next.
    Deliver(EventId),
    /// `delay e45 2`: it comes so much later.
    Delay(EventId, Duration),
    /// `wait 2.5`: nothing happens for so long. Choices before an event that is due later are made at that time.
    Wait(Duration),
    /// `seed 7`.
    Seed(u64),
    /// `type kubectl delete pod web`: the words after kubectl.
    Kubectl(Vec<String>),
    /// `type sh -c 'kubectl get pods | wc -l > count'`: a line of a shell.
    Line(String),
    /// `type in 'cd /tmp'`: a line, or a key, for the shell that has the terminal.
    Typed(String),
    /// `interrupt`: the command that was typed last and still runs is ended, as by Ctrl-C.
    Interrupt,
    /// `type curl web --from client`: a command that sends packets.
    Network {
        /// Its words.
        words: Vec<String>,
        /// Where it runs; empty: on the first node.
        from: String,
    },
    /// `arrive {"method":"GET",…}`: a request comes from a client outside.
    Arrive(Box<Arrival>),
    /// `data 12 AGxzCg==`: a frame of the connection of this exchange, in base64.
    Data(ExchangeId, ByteString),
    /// `hang-up 12`: the client of this exchange has gone.
    HangUp(ExchangeId),
    /// `crash kube-scheduler` …: something breaks.
    Fault(Fault),
}

/// How each is written, beside faults.
const USAGE: &[(&str, &str)] = &[
    ("choose", "choose EVENT, as in: choose e45 (pending numbers them)"),
    ("delay", "delay EVENT SECONDS, as in: delay e45 2.5"),
    ("wait", "wait SECONDS, as in: wait 2.5"),
    ("seed", "seed NUMBER; 0 gives every hop its plain time"),
    ("arrive", "arrive REQUEST, as a saved session has it: {\"method\":\"GET\",\"target\":\"/api/v1/pods\"}"),
    ("data", "data NUMBER BASE64, the number of a connection from outside (clients lists them) and a frame of it"),
    ("hang-up", "hang-up NUMBER, the number of a request from outside (clients lists them)"),
    ("interrupt", "interrupt, which ends the command that was typed last and still runs"),
    (
        "type",
        "type kubectl …, or: type curl …, ping …, nslookup …; type kubectl delete pod web; in a shell: type in 'ls /'",
    ),
];

impl Choice {
    /// Reads a choice. `namespace` is where Pods are looked for.
    pub fn parse(text: &str, namespace: &str) -> Result<Choice, String> {
        // A request is JSON, and may be long: it has no words.
        if let Some(request) = text.trim_start().strip_prefix("arrive ") {
            let read = serde_json::from_str(request).map(|arrival| Choice::Arrive(Box::new(arrival)));
            return read.map_err(|error| format!("the request is not understood: {error}"));
        }
        let words = shell_words::split(text).map_err(|_| "a quote is not closed".to_owned())?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (name, rest) = words.split_first().map_or(("", &[][..]), |(name, rest)| (*name, rest));
        if Fault::is_named(name) {
            let (given, words) = if name == "node" { (None, words) } else { without_namespace(&words)? };
            return Fault::parse(&words, given.unwrap_or(namespace)).map(Choice::Fault);
        }
        let Some((_, usage)) = USAGE.iter().find(|(known, _)| *known == name) else { return Err(unknown(name)) };
        let usage = || format!("write: {usage}");
        match (name, rest) {
            ("choose", [event]) => Ok(Choice::Deliver(event_id(event)?)),
            ("delay", [event, time]) => Ok(Choice::Delay(event_id(event)?, seconds(time)?)),
            ("wait", [time]) => Ok(Choice::Wait(seconds(time)?)),
            ("seed", [seed]) => seed.parse().map(Choice::Seed).map_err(|_| format!("{seed:?} is no seed; {}", usage())),
            ("data", [number, frame]) => {
                let frame = serde_json::from_value(serde_json::Value::from(*frame)).map_err(|_| usage())?;
                number.parse().map(|number| Choice::Data(number, frame)).map_err(|_| usage())
            }
            ("hang-up", [number]) => number.parse().map(Choice::HangUp).map_err(|_| usage()),
            ("interrupt", []) => Ok(Choice::Interrupt),
            ("type", ["kubectl", words @ ..]) if !words.is_empty() => {
                Ok(Choice::Kubectl(words.iter().map(|word| (*word).to_owned()).collect()))
            }
            ("type", ["sh", "-c", line]) => timeline::check(line).map(|()| Choice::Line((*line).to_owned())),
            ("type", ["in", text]) if !text.trim().is_empty() => Ok(Choice::Typed((*text).to_owned())),
            ("type", ["curl" | "ping" | "nslookup", ..]) => {
                let words: Vec<String> = rest.iter().map(|word| (*word).to_owned()).collect();
                let timeline::Network { words, from } = timeline::network(&words)?;
                Ok(Choice::Network { words, from })
            }
            _ => Err(usage()),
        }
    }

    /// As a list of choices names it: a request of a client's without its headers and its body.
    pub fn brief(&self) -> String {
        match self {
            Choice::Arrive(arrival) => format!("{} sends {}", arrival.program(), arrival.label()),
            choice => choice.to_string(),
        }
    }

    /// Does it, and says what came of it; the step, if it is one.
    pub(super) fn perform(&self, session: &mut Session) -> Result<(String, Option<Step>), String> {
        let (cluster, said) = (&mut session.cluster, |text: String| Ok((text, None)));
        match self {
            Choice::Deliver(event) => Ok((String::new(), Some(cluster.choose(*event)?))),
            Choice::Fault(fault) => cluster.fault(fault.clone()).map(|(said, step)| (said, Some(step))),
            Choice::Delay(event, by) => {
                cluster.engine.delay(*event, *by)?;
                let due = cluster.engine.in_flight(*event).map(|event| event.due).unwrap_or_default();
                said(format!("{event} is due at {}", session.time(due)))
            }
            Choice::Wait(time) => {
                cluster.engine.pass(cluster.engine.now() + *time);
                let now = cluster.engine.now();
                said(format!("it is {} now", session.time(now)))
            }
            Choice::Seed(seed) => {
                cluster.engine.reseed(*seed);
                said(format!("from now on every hop takes its time by seed {seed}"))
            }
            Choice::Kubectl(words) => {
                let begins = begins("kubectl is about to send its first request", cluster);
                cluster.type_words(words.clone());
                said(format!("{begins}; press Enter to step"))
            }
            Choice::Line(line) => {
                let begins = begins("the line is about to start", cluster);
                cluster.type_line(line.clone());
                said(format!("{begins}; press Enter to step"))
            }
            Choice::Typed(text) => {
                cluster.type_into_shell(text)?;
                said("the shell has got it; press Enter to step".to_owned())
            }
            Choice::Arrive(arrival) => {
                let first = cluster.engine.next_event();
                cluster.clients.arrive(&mut cluster.engine, (**arrival).clone());
                let sent = cluster.engine.in_flight(first).map(|event| cluster.engine.name(event.from));
                let from = sent.map_or_else(|| arrival.program().to_owned(), str::to_owned);
                said(format!("{from} sends {}, which is pending as {first}", arrival.label()))
            }
            Choice::Data(exchange, frame) => match cluster.clients.data(&mut cluster.engine, *exchange, &frame.0) {
                true => said(format!("the client of request {exchange} has sent {} bytes", frame.0.len())),
                false => Err(format!("request {exchange} is no connection that reads; clients lists those under way")),
            },
            Choice::HangUp(exchange) => match cluster.clients.hang_up(&mut cluster.engine, *exchange) {
                true => said(format!("the client of request {exchange} has hung up")),
                false => {
                    Err(format!("request {exchange} has been answered, or never came; clients lists those under way"))
                }
            },
            Choice::Interrupt => cluster.interrupt().and_then(|label| said(format!("ended: {label}"))),
            Choice::Network { words, from } => {
                let begins = begins("the command is about to start", cluster);
                cluster.type_from(words.clone(), from.clone());
                said(format!("{begins}; press Enter to step, hop by hop"))
            }
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Deliver(event) => write!(f, "choose {event}"),
            Choice::Delay(event, by) => write!(f, "delay {event} {}", by.as_secs_f64()),
            Choice::Wait(time) => write!(f, "wait {}", time.as_secs_f64()),
            Choice::Seed(seed) => write!(f, "seed {seed}"),
            Choice::Kubectl(words) => write!(f, "type kubectl {}", shell_words::join(words)),
            Choice::Line(line) => write!(f, "type sh -c {}", shell_words::quote(line)),
            Choice::Typed(text) => write!(f, "type in {}", shell_words::quote(text)),
            Choice::Arrive(arrival) => {
                // Strings, numbers and lists of them can always be written.
                write!(f, "arrive {}", serde_json::to_string(arrival).unwrap_or_default())
            }
            Choice::Data(exchange, frame) => {
                let frame = serde_json::to_value(frame).unwrap_or_default();
                write!(f, "data {exchange} {}", frame.as_str().unwrap_or_default())
            }
            Choice::HangUp(exchange) => write!(f, "hang-up {exchange}"),
            Choice::Interrupt => write!(f, "interrupt"),
            Choice::Network { words, from } if from.is_empty() => write!(f, "type {}", shell_words::join(words)),
            Choice::Network { words, from } => {
                write!(f, "type {} --from {}", shell_words::join(words), shell_words::quote(from))
            }
            Choice::Fault(fault) => fault.fmt(f),
        }
    }
}

/// What is said of a line that was typed: it waits for those before it.
fn begins(now: &'static str, cluster: &Cluster) -> &'static str {
    if cluster.line_runs() { "it comes after the line before it, once that has ended" } else { now }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = USAGE.iter().map(|(name, _)| *name).chain(fault::names()).collect();
    format!("{name:?} is no choice; there are {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_printed_as_they_are_read() {
        for text in [
            "choose e45",
            "delay e45 2.5",
            "drop e45",
            "hold kube-scheduler",
            "hold kube-scheduler pods",
            "hold link kubelet/node-1 kube-apiserver",
            "release",
            "release kube-scheduler pods",
            "disconnect kube-scheduler nodes",
            "stale kubelet/node-1 pods 57",
            "wait 2.5",
            "wait 0.000000001",
            "seed 7",
            "fail replicaset-controller create pods with lost-after times 1",
            "fail kubelet/* with 500 times 3",
            "stop kube-scheduler",
            "start kube-scheduler",
            "crash kube-apiserver",
            "kill default/web-1",
            "oom shop/web-1 app",
            "node start 4",
            "node start 4 --cpu 8 --memory-gi 64",
            "node stop 2",
            "node shutdown 2 --grace 60 --critical 20",
            "file off default/web /tmp/ready",
            "answer default/web 503",
            "node node-1 rm /etc/cni/net.d/x",
            "compact",
            "slow nginx 30",
            "type kubectl delete pod 'a b'",
            "type sh -c 'kubectl create ns a -o yaml > a.yaml && kubectl get ns'",
            "type in 'cd /tmp'",
            "type in ^C",
            "interrupt",
            r#"arrive {"user":{"name":"jane","groups":["dev"]},"method":"GET","target":"/api/v1/pods?limit=500","headers":[["Accept","*/*"]],"body":"it's"}"#,
            r#"arrive {"method":"POST","target":"/api/v1/namespaces","body":{"base64":"azhzAP8="}}"#,
            "data 12 AGxzCg==",
            "hang-up 12",
            "type curl web:80/x --from client",
            "type ping 10.1.0.2",
            "full node-1 memory",
            "full node-1 disk",
            "full node-1 pids",
            "relieve node-1",
            "fill default/web-1 3Gi",
            "fill default/web-1 1500 app",
            "fill default/web-1 600Mi volume=cache",
            "skew node-1 -40.5",
            "cut node-1",
            "mend node-1",
        ] {
            let choice = Choice::parse(text, "default").unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(choice.to_string(), text);
        }
    }

    #[test]
    fn wrong_choices_say_how_to_write_them() {
        for (text, says) in [
            ("", "is no choice; there are choose"),
            ("chose e1", "is no choice"),
            ("choose", "write: choose EVENT"),
            ("choose x", "is not the number of an event"),
            ("delay e1", "write: delay EVENT SECONDS"),
            ("delay e1 -1", "is not a number of seconds"),
            ("delay e1 1e300", "is not a number of seconds"),
            ("hold", "write: hold COMPONENT"),
            ("hold link a", "write: hold COMPONENT"),
            ("hold kube-scheduler podd", "there is no kind"),
            ("seed -1", "is no seed"),
            ("fail x", "it is not said how"),
            ("fail with 500", "whose call"),
            ("fail x with 418", "is no failure"),
            ("fail x make with 500", "is no verb and no kind"),
            ("fail x with 500 times 0", "is not how often"),
            ("node start zero", "write: node start NUMBER"),
            ("node start 4 --disk 8", "\"--disk\" is not understood"),
            ("node shutdown", "node shutdown NUMBER"),
            ("node shutdown 2 --grace 5 --critical 10", "critical Pods have a part of the grace period; write: node"),
            ("node shutdown 2 --grace soon", "\"--grace\" is not understood"),
            ("answer web 99", "is not an HTTP status"),
            ("file of web /x", "write: file on"),
            ("node node-1", "write: node start NUMBER"),
            ("node start 99999", "write: node start NUMBER"),
            ("type ls", "write: type kubectl"),
            ("type in ls /", "write: type kubectl"),
            ("type in ''", "write: type kubectl"),
            ("arrive x", "the request is not understood: expected value"),
            ("arrive", "write: arrive REQUEST"),
            ("hang-up all", "write: hang-up NUMBER"),
            ("interrupt pods", "write: interrupt, which ends"),
            ("type curl", "wants to know whom"),
            ("compact now", "write: compact"),
            ("full node-1 of-it", "write: full NODE"),
            ("fill web-1 lots", "\"lots\" is no size; write: fill POD SIZE"),
            ("fill web-1 -1Gi", "is no size"),
            ("skew node-1 x", "write: skew NODE"),
            ("slow nginx soon", "is not a number of seconds"),
            ("drop 'e1", "a quote is not closed"),
        ] {
            let error = Choice::parse(text, "default").expect_err(text);
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
