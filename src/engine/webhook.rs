//! Requests that wait for admission webhooks.
//!
//! The API server does not wait: a request that needs an answer is given up and says whom it would ask what. Here those
//! questions become events to the webhooks' processes, each with a timer, and when the last has been answered, or its time is
//! over, the request is handed to the API server again, with all that was heard. So whoever looks sees the call, the answer,
//! and the request going on, each as a step; and a client that waits so long waits for one answer.
//!
//! Mirrors what `callHook` does in a goroutine of the request.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use super::event::{ActorId, CallId, EventId, Message, Pending, ReplyTo, RpcError, What};
use super::failing::Failing;
use super::hub::Outgoing;
use super::{Engine, Note};
use crate::apiserver::waiting::{Reviews, Said, Waits};
use crate::object::time::Instant;
use crate::rules::webhook::{AdmissionResponse, Call};
use crate::wire::Request;

/// What questions to webhooks and their answers are called.
pub const REVIEW: &str = "AdmissionReview";
/// What a client says whose time is over.
const OVER: &str = "context deadline exceeded";

/// What the engine knows of webhooks.
#[derive(Clone, Debug, Default)]
pub(super) struct Webhooks {
    /// Who listens at which address.
    listening: BTreeMap<String, ActorId>,
    /// Requests that wait, by their clients' calls.
    parked: BTreeMap<CallId, Parked>,
    /// Which of them each question is of.
    asked: BTreeMap<CallId, CallId>,
}

/// A request that waits, or is about to go on.
#[derive(Clone, Debug)]
pub(super) struct Parked {
    /// Who waits for its answer.
    pub client: ActorId,
    /// Where it waits.
    server: ActorId,
    /// What is known so far.
    pub reviews: Reviews,
    /// How its answer is to get lost.
    pub fault: Option<Failing>,
    request: Box<Request>,
    background: bool,
    idle: bool,
    /// The questions that are not answered yet, and when their time is over.
    open: BTreeMap<CallId, (Call, Instant)>,
}

/// An AdmissionReview on its way to a webhook.
#[derive(Clone, Debug)]
pub struct Review {
    /// The uid that the answer has to carry.
    pub uid: String,
    /// What is asked.
    pub call: Call,
}

impl Message for Review {
    fn method(&self) -> &'static str {
        REVIEW
    }

    fn json(&self) -> Value {
        let mut request = self.call.request.clone();
        request["uid"] = json!(self.uid);
        json!({"kind": REVIEW, "apiVersion": "admission.k8s.io/v1", "request": request})
    }

    fn line(&self) -> String {
        format!("AdmissionReview for {}: {}", self.call.webhook, self.call.about())
    }
}

/// Its answer.
#[derive(Clone, Debug)]
pub struct Reviewed {
    /// The uid of what was asked.
    pub uid: String,
    /// What is answered.
    pub verdict: AdmissionResponse,
}

impl Message for Reviewed {
    fn method(&self) -> &'static str {
        REVIEW
    }

    fn json(&self) -> Value {
        let mut response = self.verdict.to_json();
        response["uid"] = json!(self.uid);
        json!({"kind": REVIEW, "apiVersion": "admission.k8s.io/v1", "response": response})
    }

    fn line(&self) -> String {
        format!("AdmissionReview: {}", self.verdict)
    }
}

impl Engine {
    /// From now on `actor` is asked where a configuration names this address: namespace and name of a Service, or a host.
    pub fn listen(&mut self, address: &str, actor: ActorId) {
        self.webhooks.listening.insert(address.to_owned(), actor);
    }

    /// The request that goes on with this event, if it is one that has waited.
    pub(super) fn unpark(&mut self, reply: ReplyTo) -> Option<Parked> {
        match reply {
            ReplyTo::Call(call) => self.webhooks.parked.remove(&call),
            ReplyTo::Watch(_) => None,
        }
    }

    /// Asks what a request waits for.
    pub(super) fn park(
        &mut self,
        event: &Pending,
        client: ActorId,
        request: &Request,
        waits: Waits,
        fault: Option<Failing>,
    ) {
        let What::Request { reply: ReplyTo::Call(call), .. } = event.what else { return };
        let Waits { calls, mut reviews } = waits;
        let (server, background, idle, now) = (event.to, event.background, event.idle, self.now);
        let mut open = BTreeMap::new();
        for question in calls {
            let Some(to) = self.webhooks.listening.get(&question.address).copied() else {
                reviews.hear(&question, Err(question.refused.clone()), now);
                continue;
            };
            let (id, over) = (self.hub.next_call(), question.timeout);
            let review = Review { uid: self.hub.random(|random| random.uid()), call: question.clone() };
            let asks = What::Rpc { call: id, message: Rc::new(review) };
            for (to, delay, what) in [(to, Duration::ZERO, asks), (server, over, What::Resume { call: id })] {
                self.scratch.push(Outgoing { from: server, to, delay, background, idle, what });
            }
            self.webhooks.asked.insert(id, call);
            open.insert(id, (question, now + over));
        }
        let parked =
            Parked { client, server, reviews, fault, request: Box::new(request.clone()), background, idle, open };
        self.go_on_if_heard(call, parked);
    }

    /// A webhook has answered, or, if it says nothing, its time is over. The request that waits for it may have been given up.
    pub(super) fn heard(&mut self, id: CallId, said: Option<&Result<Rc<dyn Message>, RpcError>>) {
        let Some(client) = self.webhooks.asked.remove(&id) else { return };
        let Some(mut parked) = self.webhooks.parked.remove(&client) else { return };
        if let Some((question, over)) = parked.open.remove(&id) {
            let said: Said = match said {
                None => Err(OVER.to_owned()),
                Some(Err(error)) => Err(error.message.clone()),
                Some(Ok(message)) => {
                    let any: &dyn std::any::Any = &**message;
                    any.downcast_ref::<Reviewed>().map(|it| it.verdict.clone()).ok_or_else(|| "EOF".to_owned())
                }
            };
            let text = said.as_ref().map_or_else(Clone::clone, ToString::to_string);
            self.hub.note(|| Note::Text { topic: "webhook", text: format!("{}: {text}", question.webhook) });
            parked.reviews.hear(&question, said, self.now);
            self.disarm(id, over);
        }
        self.go_on_if_heard(client, parked);
    }

    /// Lets a request go on for which nobody is to be asked any more.
    fn go_on_if_heard(&mut self, call: CallId, parked: Parked) {
        if parked.open.is_empty() {
            let (background, idle, request) = (parked.background, parked.idle, parked.request.clone());
            let what = What::Request { reply: ReplyTo::Call(call), request };
            self.scratch.push(Outgoing {
                from: parked.server,
                to: parked.server,
                delay: Duration::ZERO,
                background,
                idle,
                what,
            });
        }
        self.webhooks.parked.insert(call, parked);
    }

    /// Takes away the timer of a question, unless it has gone off or somebody has put it elsewhere.
    fn disarm(&mut self, id: CallId, over: Instant) {
        let then = self.pending.range((over, EventId(0))..=(over, EventId(u64::MAX)));
        let timer = |event: &Pending| matches!(event.what, What::Resume { call } if call == id);
        if let Some(key) = { then }.find(|(_, event)| timer(event)).map(|(key, _)| *key) {
            self.take_pending(key);
        }
    }

    /// An API server has stopped, and with it all that waits in it. Says whose calls those were.
    pub(super) fn give_up_parked(&mut self, server: ActorId) -> Vec<(ActorId, CallId, String)> {
        let all = std::mem::take(&mut self.webhooks.parked).into_iter();
        let (gone, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = all.partition(|(_, parked)| parked.server == server);
        self.webhooks.parked = rest;
        self.webhooks.asked.retain(|_, of| !gone.contains_key(of));
        gone.into_iter().map(|(call, parked)| (parked.client, call, parked.request.line())).collect()
    }
}
