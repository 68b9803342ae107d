//! A controller of the cluster whose code is elsewhere. To the cluster it is one like all others: informers fill its
//! caches, changes put keys into its queue, its calls are requests that take their time. What it does with a key is asked
//! of its [`Partner`], call by call, so every line of a learner's code at which a reconcile waits is a stop of the stepper.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

use super::partner::{Make, Partner};
use ::wire::{Answer, Body, DeleteOptions, Patch, Request, Response, Subresource, User, Verb};
use client::informer::{Change, Indexer};
use client::{Client, Controller, ControllerContext, Error, Queue, Registration};
use engine::{Memory, Place};
use exercise::host::Read;
use exercise::wire::{self, Ask, Say};
use object::meta::controller_of;
use object::{Accessor, Key, Kind, Object};

/// What a controller works on, and what it is told of.
pub struct Duty {
    /// Whose place it takes: `replicaset-controller`.
    pub name: &'static str,
    /// What it reconciles.
    pub kind: Kind,
    /// What it watches besides.
    pub others: &'static [Kind],
    /// Whom a change of these concerns: keys of `kind`. May look into the caches.
    pub concerns: fn(&Object, &Read) -> Vec<Key>,
    /// How many keys it works on at once.
    pub workers: usize,
    /// Whether its code is told of changes as well.
    pub observes: bool,
}

/// The controller of the object. Kinds are not looked at: what is not there is not reconciled.
pub fn owner(object: &Object, _: &Read) -> Vec<Key> {
    let owner = controller_of(object.meta());
    owner.map(|owner| Key::new(object.meta().namespace(), &owner.name)).into_iter().collect()
}

impl Duty {
    /// The row of a table of controllers. It lasts as long as the program: rows are few.
    pub fn row(&'static self, make: Make) -> Registration {
        let watches: Vec<Kind> = [self.kind].into_iter().chain(self.others.iter().copied()).collect();
        let new =
            move |context: &ControllerContext| -> Rc<dyn Controller> { Rc::new(Guest::new(self, make(), context)) };
        Registration {
            watches: watches.leak(),
            workers: self.workers,
            ..Registration::new(self.name, Box::leak(Box::new(new)))
        }
    }
}

/// The controller.
struct Guest {
    duty: &'static Duty,
    client: Client,
    queue: Queue,
    /// The code that reconciles is no part of the world: it receives all that it needs each time.
    partner: Rc<RefCell<Box<dyn Partner>>>,
    caches: Rc<Vec<(Kind, Memory<Indexer>)>>,
    memory: Memory<Value>,
    /// The keys whose last reconcile has changed nothing and wants to look again, if nothing has changed since.
    idle: Memory<BTreeSet<Key>>,
    /// Numbers reconciles; never goes back, so that no two of them are confused.
    tasks: RefCell<u64>,
}

impl Guest {
    fn new(duty: &'static Duty, partner: Box<dyn Partner>, context: &ControllerContext) -> Guest {
        let caches = context.informers.iter().map(|informer| (informer.kind(), informer.cache().clone())).collect();
        Guest {
            duty,
            client: context.client.clone().acting_as(User::operator(duty.name, duty.name)),
            queue: context.queue.clone(),
            partner: Rc::new(RefCell::new(partner)),
            caches: Rc::new(caches),
            memory: context.memory(Value::Null),
            idle: context.memory(BTreeSet::new()),
            tasks: RefCell::new(0),
        }
    }

    fn read(&self) -> Read {
        let caches = self.caches.clone();
        Rc::new(move |kind| cached(&caches, kind))
    }

    /// Tells the code something. It is no answer that it cannot go on: then the controller's process has crashed.
    fn tell(&self, ask: Ask<Object>) -> Say {
        let said = self.partner.borrow_mut().tell(ask, &self.read());
        match said {
            // Not `panic!`: nothing is to be printed.
            Say::Broken(how) => std::panic::resume_unwind(Box::new(how)),
            said => said,
        }
    }

    /// A handler runs outside of any task, and the engine catches what breaks in tasks.
    fn crash(&self, how: String) {
        let (hub, actor) = (self.client.hub(), self.client.actor());
        let label = format!("{} observe", self.duty.name);
        hub.spawn(actor, label, async move { std::panic::resume_unwind(Box::new(how)) });
    }

    fn next_task(&self) -> u64 {
        *self.tasks.borrow_mut() += 1;
        *self.tasks.borrow()
    }
}

impl Controller for Guest {
    fn on_change(&self, change: &Change) {
        let (old, new) = match change {
            Change::Added(new) => (None, Some(new)),
            Change::Updated { old, new } => (Some(old), Some(new)),
            Change::Deleted(old) => (Some(old), None),
        };
        if self.duty.observes && change.kind() != self.duty.kind {
            let told = Ask::Observe { old: old.cloned(), new: new.cloned(), memory: self.memory.get() };
            let said = self.partner.borrow_mut().tell(told, &self.read());
            match said {
                Say::Done { memory, .. } => self.memory.set(memory),
                Say::Broken(how) => self.crash(how),
                Say::Call { .. } | Say::Read { .. } => {}
            }
        }
        if change.kind() == self.duty.kind {
            self.has_work(&change.key());
            return self.queue.add(change.key());
        }
        for object in old.into_iter().chain(new) {
            for key in (self.duty.concerns)(object, &self.read()) {
                self.has_work(&key);
                self.queue.add(key);
            }
        }
    }

    fn look(&self) -> Vec<String> {
        let memory = self.memory.get();
        if memory.is_null() { Vec::new() } else { vec![format!("it remembers {memory}")] }
    }

    async fn reconcile(&self, key: Key) -> Result<(), Error> {
        let found = self.caches.iter().find(|(kind, _)| *kind == self.duty.kind);
        let Some(object) = found.and_then(|(_, cache)| cache.borrow().objects().get(&key).cloned()) else {
            return Ok(());
        };
        let task = Task { number: self.next_task(), partner: self.partner.clone() };
        let memory = self.memory.get();
        let mut said = self.tell(Ask::Reconcile { task: task.number, object, memory });
        let mut reads = true;
        loop {
            match said {
                Say::Call { request, at: (file, line), memory } => {
                    self.memory.set(memory);
                    reads &= matches!(&*request.verb, "get" | "list");
                    let answer = match self.request(&request) {
                        Ok(request) => {
                            let at = Place { file: file.into(), line };
                            outcome(self.client.request_at(at, request).await?)
                        }
                        Err(message) => Err(wire::Status { code: 400, reason: "BadRequest".to_owned(), message }),
                    };
                    said = self.tell(Ask::Reply { task: task.number, answer, memory: self.memory.get() });
                }
                Say::Done { result, memory } => {
                    self.memory.set(memory);
                    if let Some(after) = result.map_err(Error::Other)? {
                        self.look_again(key, Duration::try_from_secs_f64(after).unwrap_or(Duration::MAX), reads);
                    }
                    return Ok(());
                }
                Say::Read { .. } | Say::Broken(_) => {
                    unreachable!("a partner reads by itself; `tell` knows of the other")
                }
            }
        }
    }
}

impl Guest {
    /// Who only looks, and finds nothing to do twice, may look for ever: that keeps no cluster from being quiet.
    fn look_again(&self, key: Key, after: Duration, reads: bool) {
        let was_idle = if reads { !self.idle.borrow_mut().insert(key.clone()) } else { self.has_work(&key) };
        match was_idle && reads && !after.is_zero() {
            true => self.queue.add_after_background(key, after),
            false => self.queue.add_after(key, after),
        }
    }

    /// Something has changed that concerns the key, or it changes something. Says whether it was idle.
    fn has_work(&self, key: &Key) -> bool {
        self.idle.borrow_mut().remove(key)
    }

    fn request(&self, asked: &wire::Request) -> Result<Request, String> {
        let kind = Kind::from_word(&asked.kind).ok_or("no such kind")?;
        let verb = [Verb::Get, Verb::List, Verb::Create, Verb::Update, Verb::Patch, Verb::Delete];
        let verb = verb.into_iter().find(|verb| verb.as_str() == asked.verb).ok_or("no such verb")?;
        let user = self.client.user().clone();
        let mut request = Request::new(user, verb, kind, &asked.namespace, &asked.name, body(verb, asked));
        request.subresource = (asked.subresource == "status").then_some(Subresource::Status);
        request.options.label_selector.clone_from(&asked.labels);
        Ok(request)
    }
}

fn cached(caches: &[(Kind, Memory<Indexer>)], kind: Kind) -> Vec<Object> {
    let cache = caches.iter().find(|(of, _)| *of == kind);
    cache.map(|(_, cache)| cache.borrow().objects().values().cloned().collect()).unwrap_or_default()
}

fn body(verb: Verb, asked: &wire::Request) -> Body {
    match verb {
        Verb::Create | Verb::Update => Body::Json(asked.body.to_string()),
        Verb::Patch => Body::Patch(match &*asked.patch {
            "merge" => Patch::Merge(asked.body.clone()),
            "json" => Patch::Json(asked.body.clone()),
            _ => Patch::Strategic(asked.body.clone()),
        }),
        Verb::Delete => {
            let uid = asked.body["uid"].as_str().map(str::to_owned);
            Body::Delete(DeleteOptions { uid, ..DeleteOptions::default() })
        }
        _ => Body::None,
    }
}

fn outcome(answer: Answer) -> Result<wire::Answer<Object>, wire::Status> {
    match answer.result {
        Ok(Response::Object(object)) => Ok(wire::Answer::One(object)),
        Ok(Response::List { items, .. }) => Ok(wire::Answer::Many(items)),
        Ok(_) => Ok(wire::Answer::Nothing),
        Err(error) => {
            let status = error.into_status();
            let reason = format!("{:?}", status.reason);
            Err(wire::Status { code: status.code, reason, message: status.message })
        }
    }
}

/// A reconcile under way. When it is given up (the process crashed, the world went back), its partner is told.
struct Task {
    number: u64,
    partner: Rc<RefCell<Box<dyn Partner>>>,
}

impl Drop for Task {
    fn drop(&mut self) {
        // While it panics, its partner is in use, and gone.
        if let Ok(mut partner) = self.partner.try_borrow_mut() {
            partner.forget(self.number);
        }
    }
}
