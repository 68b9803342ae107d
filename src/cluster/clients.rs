//! Clients in processes of their own: kubectl, Helm, operators. Each program is an actor named by its user agent, such as
//! `wire/kubectl-1`, and each of its requests is a request like any other: pending, traced, a stop.
//!
//! No socket is here. A front end hands over what came by a connection ([`Cluster::arrive`]) and takes what goes back
//! ([`Cluster::take_sent`]). What came, and when, is a choice of the session's user: a run repeats without the client.
//!
//! Must hold: what a front end takes, and whether there is one, changes nothing in the cluster. Kept by
//! `a_run_repeats_without_its_client`.
//!
//! Left out: what passes between a client and a kubelet (`logs`, `exec`, `port-forward`), which is answered with the reason. A
//! watch without `timeoutSeconds` ends after 45 minutes; a real server takes a random time between 30 minutes and an hour.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use client::Client;
use engine::{Actor, ActorId, Delivery, Hub, Memory};
use k8s_openapi::ByteString;
use kinds::printers::View;
use object::{Discovery, Status};
use rest::exchange::{Caller, RawAnswer, RawRequest, Told, exchange};
use rest::options::Query;
use rest::{Call, Encoding, HttpAnswer};
use wire::{Answer, Error, Request, Transport, User, WatchEvent, WatchId};

use super::Cluster;

/// Requests a second of one client; its own limits are in its own process.
const REQUESTS: u32 = 100_000;
/// Wake: a watch has been open for as long as its client wanted. The key is the watch's number.
const TIMEOUT: &str = "a watch times out";
/// A program's name is cut to so many characters.
const PROGRAM_MAX: usize = 40;
/// How long a watch stays open whose client did not say.
const WATCH_TIME: Duration = Duration::from_secs(45 * 60);

/// The number of a request and its answer, counted from 1 in a run. A watch keeps it for as long as it is open.
pub type ExchangeId = u64;

/// A request from a client outside, as it came by its connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// The user whom the connection itself names. None: the request's token does, or the client is anonymous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Identity>,
    /// `GET`, `POST` …
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names and values of the headers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// What was sent.
    #[serde(default, skip_serializing_if = "RequestBody::is_empty")]
    pub body: RequestBody,
}

/// A user's name and groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// `kubernetes-admin`, `jane` …
    pub name: String,
    /// Beside `system:authenticated`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// The body of a request: text where it is text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestBody {
    /// JSON, YAML …
    Text(String),
    /// Protobuf, say, in base64 where it is written down.
    Bytes {
        /// The bytes.
        base64: ByteString,
    },
}

impl Default for RequestBody {
    fn default() -> RequestBody {
        RequestBody::Text(String::new())
    }
}

impl From<Vec<u8>> for RequestBody {
    fn from(bytes: Vec<u8>) -> RequestBody {
        match String::from_utf8(bytes) {
            Ok(text) => RequestBody::Text(text),
            Err(error) => RequestBody::Bytes { base64: ByteString(error.into_bytes()) },
        }
    }
}

impl RequestBody {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            RequestBody::Text(text) => text.as_bytes(),
            RequestBody::Bytes { base64 } => &base64.0,
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }
}

impl Arrival {
    /// The value of a header, empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    /// The program that sent it, by its user agent: `kubectl`, `helm`, `python-requests` … It is part of a name, so it is what
    /// stands before any character that no name has.
    pub fn program(&self) -> &str {
        let (agent, in_name) = (self.header("User-Agent"), |c: char| c.is_ascii_alphanumeric() || "._-".contains(c));
        let end = agent.find(|c| !in_name(c)).unwrap_or(agent.len()).min(PROGRAM_MAX);
        if end == 0 { "unknown" } else { &agent[..end] }
    }

    /// `GET /api/v1/pods`.
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

/// A request under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its number.
    pub number: ExchangeId,
    /// The actor: `wire/kubectl-1`.
    pub client: String,
    /// `GET /api/v1/pods?watch=true`.
    pub label: String,
    /// A watch that is open, or about to be.
    pub is_watch: bool,
}

/// What goes back to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// All of an answer.
    Answer(RawAnswer),
    /// A watch is open: status 200, and lines of this media type.
    Begins(&'static str),
    /// A line of a watch.
    Line(String),
    /// The watch is over.
    Ends,
    /// No API server runs: the connection is closed.
    Closed,
}

/// The clients outside, and what is still to be sent to them. Cloning shares it.
#[derive(Clone)]
pub(super) struct Clients {
    /// The actors, by program and user.
    programs: Memory<BTreeMap<(String, Option<Identity>), ActorId>>,
    /// How many requests have come.
    count: Memory<ExchangeId>,
    /// Requests that are not answered yet.
    asked: Memory<BTreeMap<ExchangeId, Asked>>,
    /// Watches that are open, or about to be.
    watches: Memory<BTreeMap<WatchId, Watching>>,
    /// No part of the world.
    outbox: Rc<RefCell<Outbox>>,
}

/// What is still to be sent to clients, if a front end takes it.
#[derive(Default)]
pub struct Outbox {
    is_taken: bool,
    sent: Vec<(ExchangeId, Sent)>,
    /// Watches of which the client knows that they are open.
    begun: Vec<WatchId>,
}

/// A request that is not answered yet.
#[derive(Clone)]
struct Asked {
    task: u64,
    actor: ActorId,
    label: Rc<str>,
}

/// A watch that a client has open.
#[derive(Clone)]
struct Watching {
    exchange: ExchangeId,
    actor: ActorId,
    label: Rc<str>,
    call: Rc<Call>,
    known: Rc<Discovery>,
    /// Whether an event of it was sent: a table's columns go with the first alone.
    has_sent: bool,
}

impl Clients {
    pub(super) fn new(hub: &Hub) -> Clients {
        Clients {
            programs: hub.memory(BTreeMap::new()),
            count: hub.memory(0),
            asked: hub.memory(BTreeMap::new()),
            watches: hub.memory(BTreeMap::new()),
            outbox: Rc::default(),
        }
    }

    fn send(&self, exchange: ExchangeId, sent: Sent) {
        let mut outbox = self.outbox.borrow_mut();
        if outbox.is_taken {
            outbox.sent.push((exchange, sent));
        }
    }

    /// Says that a watch is open, once.
    fn begin(&self, watch: WatchId, exchange: ExchangeId) {
        let mut outbox = self.outbox.borrow_mut();
        if outbox.is_taken && !outbox.begun.contains(&watch) {
            outbox.begun.push(watch);
            outbox.sent.push((exchange, Sent::Begins("application/json")));
        }
    }

    fn has_begun(&self, watch: WatchId) -> bool {
        self.outbox.borrow().begun.contains(&watch)
    }

    /// Ends a watch that is open.
    fn end(&self, hub: &Hub, watch: WatchId) {
        let exchange = self.watches.borrow().get(&watch).map(|watching| watching.exchange);
        if let Some(exchange) = exchange {
            hub.close_watch(watch);
            self.begin(watch, exchange);
            self.drop(watch, exchange, Sent::Ends);
        }
    }

    /// Forgets a watch, with a last word to its client.
    fn drop(&self, watch: WatchId, exchange: ExchangeId, last: Sent) {
        self.watches.borrow_mut().remove(&watch);
        self.outbox.borrow_mut().begun.retain(|begun| *begun != watch);
        self.send(exchange, last);
    }
}

impl Cluster {
    /// A request has come from a client outside. The number of its exchange.
    pub fn arrive(&mut self, arrival: Arrival) -> ExchangeId {
        let (clients, hub) = (self.clients.clone(), self.engine.hub().clone());
        let key = (arrival.program().to_owned(), arrival.user.clone());
        let known = clients.programs.borrow().get(&key).copied();
        let actor = known.unwrap_or_else(|| {
            let id = self.engine.next_actor();
            let number = clients.programs.borrow().keys().filter(|(program, _)| *program == key.0).count() + 1;
            let name = format!("wire/{}-{number}", key.0);
            self.engine.add(Rc::new(WireActor { hub: hub.clone(), name, clients: clients.clone() }));
            clients.programs.borrow_mut().insert(key, id);
            id
        });
        let exchange = clients.count.get() + 1;
        clients.count.set(exchange);
        self.engine.outside(actor, |engine| {
            let (label, name) = (arrival.label(), engine.name(actor).into());
            engine.hub().spawn(actor, label, serve(hub, actor, name, clients, exchange, arrival));
        });
        exchange
    }

    /// The number of the exchange that began last; 0: there was none.
    pub fn last_exchange(&self) -> ExchangeId {
        self.clients.count.get()
    }

    /// A client has hung up: nobody waits for this answer, or reads this watch, any more. Whether there was one.
    pub fn hang_up_exchange(&mut self, exchange: ExchangeId) -> bool {
        let hub = self.engine.hub().clone();
        let task = self.clients.asked.borrow_mut().remove(&exchange);
        if let Some(asked) = task {
            return self.engine.end_task(asked.task).is_some();
        }
        let of_exchange = |(watch, of): (&WatchId, &Watching)| (of.exchange == exchange).then_some(*watch);
        let watch = self.clients.watches.borrow().iter().find_map(of_exchange);
        let Some(watch) = watch else { return false };
        self.clients.watches.borrow_mut().remove(&watch);
        self.engine.close_watch(watch);
        hub.close_watch(watch);
        true
    }

    /// Whether this actor is a client outside.
    pub fn is_client(&self, actor: ActorId) -> bool {
        self.clients.programs.borrow().values().any(|client| *client == actor)
    }

    /// The exchanges under way, in order: requests without an answer yet, and watches that are open.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let exchange = |number, actor: ActorId, label: &Rc<str>, is_watch| Exchange {
            number,
            client: self.engine.name(actor).to_owned(),
            label: label.to_string(),
            is_watch,
        };
        let (asked, watches) = (self.clients.asked.borrow(), self.clients.watches.borrow());
        let asked = asked.iter().map(|(number, asked)| exchange(*number, asked.actor, &asked.label, false));
        let watched = watches.values().map(|watch| exchange(watch.exchange, watch.actor, &watch.label, true));
        let mut all: Vec<Exchange> = asked.chain(watched).collect();
        all.sort_by_key(|exchange| exchange.number);
        all
    }

    /// Whether what is to be sent to clients is kept for a front end.
    pub fn serves_clients(&self) -> bool {
        self.clients.outbox.borrow().is_taken
    }

    /// Keeps it from now on, or no longer; what was kept is forgotten.
    pub fn serve_clients(&self, on: bool) {
        *self.clients.outbox.borrow_mut() = Outbox { is_taken: on, ..Outbox::default() };
    }

    /// Lets no client hear what happens until [`attach_clients`](Cluster::attach_clients): a look ahead, say.
    pub fn detach_clients(&self) -> Outbox {
        std::mem::take(&mut self.clients.outbox.borrow_mut())
    }

    /// Goes on with clients as they were.
    pub fn attach_clients(&self, outbox: Outbox) {
        *self.clients.outbox.borrow_mut() = outbox;
    }

    /// What is to be sent to clients since this was last called, in order.
    pub fn take_sent(&mut self) -> Vec<(ExchangeId, Sent)> {
        for (watch, watching) in self.clients.watches.borrow().iter() {
            if self.engine.stream(*watch).is_some() {
                self.clients.begin(*watch, watching.exchange);
            }
        }
        std::mem::take(&mut self.clients.outbox.borrow_mut().sent)
    }
}

/// One exchange, from the request to the answer or to where a watch begins.
async fn serve(hub: Hub, actor: ActorId, name: Rc<str>, clients: Clients, number: ExchangeId, arrival: Arrival) {
    let label: Rc<str> = arrival.label().into();
    clients.asked.borrow_mut().insert(number, Asked { task: hub.task(), actor, label: label.clone() });
    let told = ask(&hub, actor, &name, &arrival).await;
    clients.asked.borrow_mut().remove(&number);
    match told {
        Told::Answer(answer) => clients.send(number, Sent::Answer(answer)),
        Told::Closed => clients.send(number, Sent::Closed),
        Told::PassedOn(..) => {
            let why = Status::bad_request("what a kubelet answers is left out here; the stepper's own kubectl has it");
            clients.send(number, Sent::Answer(HttpAnswer::status(&why, Encoding::Json).into()));
        }
        Told::Watch(call, known) => {
            let watch = hub.watch(actor, call.request.clone());
            let (_, query) = arrival.target.split_once('?').unwrap_or_default();
            let seconds = Query::parse(query).get("timeoutSeconds").and_then(|seconds| seconds.parse().ok());
            let open_for = seconds.filter(|seconds| *seconds > 0).map_or(WATCH_TIME, Duration::from_secs);
            hub.wake_background(actor, TIMEOUT, watch.0.to_string(), open_for);
            let watching = Watching { exchange: number, actor, label, call: Rc::new(*call), known, has_sent: false };
            clients.watches.borrow_mut().insert(watch, watching);
        }
    }
}

/// Brings the request to the API server, for the actor of this name.
async fn ask(hub: &Hub, actor: ActorId, name: &Rc<str>, arrival: &Arrival) -> Told {
    let (caller, user) = match &arrival.user {
        Some(Identity { name: user, groups }) => {
            let groups = groups.iter().map(String::as_str).chain(["system:authenticated"]).map(str::to_owned);
            let groups = groups.collect();
            let user = Rc::new(User { name: user.clone(), groups, agent: name.clone(), ..User::default() });
            (Caller::Known(user.clone()), user)
        }
        None => (Caller::At { peer: Ipv4Addr::LOCALHOST, agent: name.clone() }, Rc::new(User::anonymous(name))),
    };
    let client = Client::new(hub.clone(), actor, user, REQUESTS, REQUESTS);
    let send = async |request: Request| {
        let answer = client.request(request).await.ok()?;
        let refused = answer.result.as_ref().is_err_and(|error| *error == Transport::Refused.into());
        (!refused).then_some(answer)
    };
    let headers: Vec<(&str, &str)> =
        arrival.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let Arrival { method, target, body, .. } = arrival;
    let raw = RawRequest { method, target, headers: &headers, body: body.bytes() };
    exchange(&raw, &caller, || hub.now(), &send).await
}

/// A program outside.
struct WireActor {
    hub: Hub,
    name: String,
    clients: Clients,
}

impl WireActor {
    fn told(&self, watch: WatchId, event: &WatchEvent) {
        let found = self.clients.watches.borrow_mut().get_mut(&watch).map(|watching| {
            let first = !std::mem::replace(&mut watching.has_sent, true);
            (watching.clone(), first)
        });
        let Some((watching, first)) = found else { return self.hub.close_watch(watch) };
        let Watching { exchange, call, known, .. } = watching;
        let view = View { now: self.hub.now().timestamp(), known: &known };
        match event {
            WatchEvent::Error(Error::Transport(_)) => return self.clients.drop(watch, exchange, Sent::Closed),
            // Before the watch was open it is its answer.
            WatchEvent::Error(error) if first && !self.clients.has_begun(watch) => {
                let (code, result) = (error.clone().into_status().code, Err(error.clone()));
                let answer = Answer { code, result, warnings: Vec::new(), wrote: false };
                let answer = rest::respond(&call, &answer, view).into();
                return self.clients.drop(watch, exchange, Sent::Answer(answer));
            }
            _ => {}
        }
        self.clients.begin(watch, exchange);
        let line = rest::watch_line(&call, event, first, view);
        line.into_iter().for_each(|line| self.clients.send(exchange, Sent::Line(line)));
        if matches!(event, WatchEvent::Error(_)) {
            self.clients.end(&self.hub, watch);
        }
    }
}

impl Actor for WireActor {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.told(watch, &event),
            Delivery::Wake { what: TIMEOUT, key } => {
                self.clients.end(&self.hub, WatchId(key.parse().unwrap_or_default()));
            }
            _ => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

    fn arrival(method: &str, target: &str, body: &str) -> Arrival {
        let headers = [("User-Agent", "kubectl/v1.36.4 (linux/amd64)"), ("Content-Type", "application/json")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let user = Some(Identity { name: "jane".to_owned(), groups: vec!["system:masters".to_owned()] });
        let (method, target) = (method.to_owned(), target.to_owned());
        Arrival { user, method, target, headers, body: body.as_bytes().to_vec().into() }
    }

    /// What was sent to the client of an exchange.
    fn sent_to(sent: &[(ExchangeId, Sent)], exchange: ExchangeId) -> Vec<&Sent> {
        sent.iter().filter(|(of, _)| *of == exchange).map(|(_, sent)| sent).collect()
    }

    fn cluster() -> Cluster {
        let cluster = Cluster::start(Config { nodes: Vec::new(), ..Config::default() });
        cluster.serve_clients(true);
        cluster
    }

    #[test]
    fn a_program_outside_is_an_actor() {
        let mut cluster = cluster();
        let watch = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=30&fieldSelector=metadata.name%3Dc");
        let watching = cluster.arrive(arrival("GET", &watch, ""));
        let made = cluster.arrive(arrival("POST", CONFIG_MAPS, r#"{"metadata":{"name":"c"}}"#));
        assert!(cluster.engine.pending().any(|event| cluster.engine.name(event.from) == "wire/kubectl-1"));
        assert_eq!(cluster.exchanges().len(), 2);
        while !cluster.exchanges().is_empty() && cluster.step().is_some() {}
        let sent = cluster.take_sent();
        assert!(matches!(sent_to(&sent, made)[..], [Sent::Answer(answer)] if answer.code == 201), "{sent:?}");
        let lines = sent_to(&sent, watching);
        let [Sent::Begins(_), Sent::Line(line), Sent::Ends] = lines[..] else { panic!("{lines:?}") };
        assert!(line.starts_with("{\"type\":\"ADDED\""), "{line}");
        assert!(cluster.exchanges().is_empty());
    }

    #[test]
    fn a_client_that_hangs_up_is_forgotten() {
        let mut cluster = cluster();
        let watching = cluster.arrive(arrival("GET", &format!("{CONFIG_MAPS}?watch=true"), ""));
        cluster.settle(Duration::from_secs(1));
        let asked = cluster.arrive(arrival("GET", CONFIG_MAPS, ""));
        assert!(cluster.hang_up_exchange(watching) && cluster.hang_up_exchange(asked));
        assert!(!cluster.hang_up_exchange(watching) && cluster.exchanges().is_empty());
        cluster.settle(Duration::from_secs(1));
        assert!(sent_to(&cluster.take_sent(), asked).is_empty());
    }

    #[test]
    fn a_refused_watch_is_an_answer() {
        let mut cluster = cluster();
        let watch = |version: &str| format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}");
        let (wrong, old) = (arrival("GET", &watch("x"), ""), arrival("GET", &watch("1"), ""));
        let (wrong, old) = (cluster.arrive(wrong), cluster.arrive(old));
        cluster.settle(Duration::from_secs(1));
        let sent = cluster.take_sent();
        assert!(matches!(sent_to(&sent, wrong)[..], [Sent::Answer(answer)] if answer.code >= 400), "{sent:?}");
        assert!(matches!(sent_to(&sent, old)[..], [Sent::Begins(_), ..]), "{sent:?}");
    }

    #[test]
    fn programs_have_names_that_can_be_typed() {
        for (agent, program) in [
            ("kubectl/v1.36.4 (linux/amd64)", "kubectl"),
            ("Helm/4.2.3", "Helm"),
            ("python-requests/2.1", "python-requests"),
            ("<b>", "unknown"),
            ("", "unknown"),
        ] {
            let headers = vec![("user-agent".to_owned(), agent.to_owned())];
            assert_eq!(Arrival { headers, ..Arrival::default() }.program(), program);
        }
    }
}
