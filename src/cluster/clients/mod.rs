//! Clients in processes of their own: kubectl, Helm, operators. Each program is an actor named by its user agent, such as
//! `wire/kubectl-1`, and each of its requests is a request like any other: pending, traced, a stop.
//!
//! No socket is here. A front end hands over what came by a connection ([`Clients::arrive`]) and takes what goes back
//! ([`Clients::take_sent`]). What came, and when, is a choice of the session's user: a run repeats without the client.
//!
//! Must hold:
//! - What a front end takes, and whether there is one, changes nothing in the cluster. Kept by
//!   `a_session_repeats_without_its_clients`.
//!
//! - [`arrival`]: what passes to and fro. [`logs`]: logs that a kubelet gives. [`stream`]: connections to what runs in Pods, which are
//!   to a process ([`exec`]) or to ports ([`forward`]). [`watching`]: watches.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::rc::Rc;

use apiserver::host::Engine;
use client::Client;
use engine::{Actor, ActorId, Delivery, Hub, Memory};
use kubectl::nodes::Nodes;
use kubectl::proxied;
use rest::exchange::{Caller, Told, exchange};
use rest::options::Query;
use wire::{Body, Error, Request, User, WatchId};

mod arrival;
mod exec;
pub mod forward;
mod logs;
pub mod stream;
#[cfg(test)]
mod tests;
mod watching;

pub use arrival::{Arrival, Exchange, ExchangeId, Identity, RequestBody, Sent};
use logs::Following;
use stream::Connected;
use watching::Watching;

/// Requests a second of one client; its own limits are in its own process.
const REQUESTS: u32 = 100_000;

/// The clients outside, and what is still to be sent to them. Cloning shares it.
#[derive(Clone)]
pub struct Clients {
    /// The actors, by program and user.
    programs: Memory<BTreeMap<(String, Option<Identity>), ActorId>>,
    /// How many requests have come.
    count: Memory<ExchangeId>,
    /// Requests that are not answered yet.
    asked: Memory<BTreeMap<ExchangeId, Asked>>,
    /// Watches that are open, or about to be.
    watches: Memory<BTreeMap<WatchId, Watching>>,
    /// Logs that are followed, and processes that clients are attached to.
    followed: Memory<BTreeMap<ExchangeId, Following>>,
    /// Connections by which clients send frames.
    connected: Memory<BTreeMap<ExchangeId, Connected>>,
    nodes: Rc<dyn Nodes>,
    outbox: Memory<Outbox>,
}

/// What is still to be sent to clients, if a front end takes it.
#[derive(Clone, Default)]
pub struct Outbox {
    is_taken: bool,
    sent: Vec<(ExchangeId, Sent)>,
    /// Watches whose clients know that they are open.
    begun: BTreeSet<WatchId>,
}

/// A request that is not answered yet.
#[derive(Clone)]
struct Asked {
    task: u64,
    actor: ActorId,
    label: Rc<str>,
}

impl Clients {
    /// No client yet. The nodes have the logs.
    pub(super) fn new(hub: &Hub, nodes: Rc<dyn Nodes>) -> Clients {
        Clients {
            programs: hub.memory(BTreeMap::new()),
            count: hub.memory(0),
            asked: hub.memory(BTreeMap::new()),
            watches: hub.memory(BTreeMap::new()),
            followed: hub.memory(BTreeMap::new()),
            connected: hub.memory(BTreeMap::new()),
            nodes,
            outbox: hub.memory(Outbox::default()),
        }
    }

    /// A client of this actor's for what its connection needs besides.
    fn client(&self, hub: &Hub, actor: ActorId) -> Client {
        Client::new(hub.clone(), actor, Rc::new(User::loopback()), REQUESTS, REQUESTS)
    }

    fn send(&self, exchange: ExchangeId, sent: Sent) {
        let mut outbox = self.outbox.borrow_mut();
        if outbox.is_taken {
            outbox.sent.push((exchange, sent));
        }
    }
}

impl Clients {
    /// A request has come from a client outside. The number of its exchange.
    pub fn arrive(&self, engine: &mut Engine, arrival: Arrival) -> ExchangeId {
        let (clients, hub) = (self.clone(), engine.hub().clone());
        let key = (arrival.program().to_owned(), arrival.user.clone());
        let known = clients.programs.borrow().get(&key).copied();
        let actor = known.unwrap_or_else(|| {
            let id = engine.next_actor();
            let number = clients.programs.borrow().keys().filter(|(program, _)| *program == key.0).count() + 1;
            let name = format!("wire/{}-{number}", key.0);
            engine.add(Rc::new(WireActor { hub: hub.clone(), name, clients: clients.clone() }));
            clients.programs.borrow_mut().insert(key, id);
            id
        });
        let exchange = clients.count.get() + 1;
        clients.count.set(exchange);
        engine.outside(actor, |engine| {
            let (label, name) = (arrival.label(), engine.name(actor).into());
            engine.hub().spawn(actor, label, answer(hub, actor, name, clients, exchange, arrival));
        });
        exchange
    }

    /// The number of the exchange that began last; 0: there was none.
    pub fn last_exchange(&self) -> ExchangeId {
        self.count.get()
    }

    /// A client has hung up: its answer is not needed, and its watch is closed. Whether it had anything under way.
    pub fn hang_up(&self, engine: &mut Engine, exchange: ExchangeId) -> bool {
        let task = self.asked.borrow_mut().remove(&exchange);
        let connected = self.connected.borrow_mut().remove(&exchange);
        if let Some(connected) = connected {
            self.left(engine, connected);
            return true;
        }
        if let Some(asked) = task {
            return engine.end_task(asked.task).is_some();
        }
        if self.followed.borrow_mut().remove(&exchange).is_some() {
            return true;
        }
        let of_exchange = |(watch, of): (&WatchId, &Watching)| (of.exchange == exchange).then_some(*watch);
        let watch = self.watches.borrow().iter().find_map(of_exchange);
        let Some(watch) = watch else { return false };
        self.watches.borrow_mut().remove(&watch);
        engine.close_watch(watch);
        true
    }

    /// Whether this actor is a client outside.
    pub fn is_client(&self, actor: ActorId) -> bool {
        self.programs.borrow().values().any(|client| *client == actor)
    }

    /// Whether an exchange is under way.
    pub fn is_under_way(&self, exchange: ExchangeId) -> bool {
        self.asked.borrow().contains_key(&exchange)
            || self.followed.borrow().contains_key(&exchange)
            || self.connected.borrow().contains_key(&exchange)
            || self.watches.borrow().values().any(|watch| watch.exchange == exchange)
    }

    /// The exchanges under way, in order: requests without an answer yet, and watches that are open.
    pub fn exchanges(&self, engine: &Engine) -> Vec<Exchange> {
        let exchange = |number, actor: ActorId, label: &Rc<str>, is_watch| Exchange {
            number,
            client: engine.name(actor).to_owned(),
            label: label.to_string(),
            is_watch,
        };
        let (asked, watches) = (self.asked.borrow(), self.watches.borrow());
        let (followed, connected) = (self.followed.borrow(), self.connected.borrow());
        let connected = connected.iter().map(|(number, one)| exchange(*number, one.actor, &one.label, true));
        let logs = followed.iter().map(|(number, log)| exchange(*number, log.actor, &log.label, true));
        let asked = asked.iter().map(|(number, asked)| exchange(*number, asked.actor, &asked.label, false));
        let watched = watches.values().map(|watch| exchange(watch.exchange, watch.actor, &watch.label, true));
        let mut all: Vec<Exchange> = asked.chain(watched).chain(logs).chain(connected).collect();
        all.sort_by_key(|exchange| exchange.number);
        all.dedup_by_key(|exchange| exchange.number);
        all
    }

    /// Whether what is to be sent to clients is kept for a front end.
    pub fn are_served(&self) -> bool {
        self.outbox.borrow().is_taken
    }

    /// Keeps it from now on, or no longer; what was kept is forgotten.
    pub fn serve(&self, on: bool) {
        *self.outbox.borrow_mut() = Outbox { is_taken: on, ..Outbox::default() };
    }

    /// Lets no client hear what happens until [`attach`](Clients::attach): a look ahead, say.
    pub fn detach(&self) -> Outbox {
        std::mem::take(&mut self.outbox.borrow_mut())
    }

    /// Goes on with clients as they were.
    pub fn attach(&self, outbox: Outbox) {
        *self.outbox.borrow_mut() = outbox;
    }

    /// What is to be sent to clients since this was last called, in order.
    pub fn take_sent(&self, engine: &Engine) -> Vec<(ExchangeId, Sent)> {
        for (watch, watching) in self.watches.borrow().iter() {
            if engine.stream(*watch).is_some() {
                self.begin(*watch, watching.exchange);
            }
        }
        std::mem::take(&mut self.outbox.borrow_mut().sent)
    }
}

/// One exchange, from the request to the answer or to where a watch begins.
async fn answer(hub: Hub, actor: ActorId, name: Rc<str>, clients: Clients, number: ExchangeId, arrival: Arrival) {
    let label: Rc<str> = arrival.label().into();
    clients.asked.borrow_mut().insert(number, Asked { task: hub.task(), actor, label: label.clone() });
    let told = ask(&hub, actor, &name, &arrival).await;
    clients.asked.borrow_mut().remove(&number);
    match told {
        Told::Answer(answer) => clients.send(number, Sent::Answer(answer)),
        Told::Closed => clients.send(number, Sent::Closed),
        Told::PassedOn(call, passed) => {
            clients.asked.borrow_mut().insert(number, Asked { task: hub.task(), actor, label: label.clone() });
            let client = Client::new(hub.clone(), actor, call.request.user.clone(), REQUESTS, REQUESTS);
            if let Body::Proxy { target } = &call.request.body {
                let headers = arrival.pairs();
                let answer = proxied::fetch(&*clients.nodes, &client, &passed, target, &arrival.raw(&headers)).await;
                clients.asked.borrow_mut().remove(&number);
                clients.send(number, Sent::Answer(answer));
            } else if call.is_connection() {
                stream::connect(&client, &clients, (number, label), (&call, &passed), &arrival).await;
                clients.asked.borrow_mut().remove(&number);
            } else {
                let said = logs::open(&hub, &client, &clients, &call, &passed, &arrival).await;
                clients.asked.borrow_mut().remove(&number);
                logs::begin(&hub, &clients, number, actor, label, said);
            }
        }
        Told::Watch(call, known) => {
            let (_, query) = arrival.target.split_once('?').unwrap_or_default();
            let seconds = Query::parse(query).get("timeoutSeconds").and_then(|seconds| seconds.parse().ok());
            clients.watch(&hub, (number, actor, label), (*call, known), seconds);
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
        // No connection, or one that broke: its own breaks too.
        let is_cut = matches!(&answer.result, Err(Error::Transport(_)));
        (!is_cut).then_some(answer)
    };
    exchange(&arrival.raw(&arrival.pairs()), &caller, || hub.now(), &send).await
}

/// A program outside.
struct WireActor {
    hub: Hub,
    name: String,
    clients: Clients,
}

impl Actor for WireActor {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver(&self, delivery: Delivery) {
        match delivery {
            Delivery::Notification { watch, event } => self.clients.told(&self.hub, watch, &event),
            Delivery::Wake { what: watching::TIMEOUT, key } => {
                self.clients.end(&self.hub, WatchId(key.parse().unwrap_or_default()));
            }
            Delivery::Wake { what: watching::BOOKMARK, key } => {
                self.clients.look_after(&self.hub, WatchId(key.parse().unwrap_or_default()));
            }
            Delivery::Wake { what: logs::LOOK, key } => {
                logs::go_on(&self.hub, &self.clients, key.parse().unwrap_or_default());
            }
            Delivery::Rpc { from, message, .. } => {
                let any: &dyn Any = &*message;
                any.downcast_ref().into_iter().for_each(|ended| self.clients.is_over(from, *ended));
            }
            _ => {}
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
