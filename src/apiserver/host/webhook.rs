//! Requests that wait for admission webhooks.
//!
//! The API server does not wait: a request that needs an answer is given up and says which webhooks to ask what. Here those
//! questions become events to the webhooks' processes, each with a timer, and when the last has been answered, or its
//! time is over, the request is handed to the API server again, with all that was heard. So a stop shows the call,
//! the answer, and the request going on, each as a step; and a client that waits so long waits for one answer.
//!
//! A request that deletes many objects waits the same way between one and the next, without a webhook to call.
//!
//! Mirrors what `callHook` does in a goroutine of the request.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use super::failing::Failing;
use super::{Engine, Host};
use crate::waiting::{Reviews, Said, Waits};
use engine::{ActorId, CallId, Message, Note, Outgoing, Pending, ReplyTo, RpcError, What};
use object::time::Instant;
use rules::webhook::{AdmissionResponse, Call};
use wire::Request;

/// What questions to webhooks and their answers are called.
pub const REVIEW: &str = "AdmissionReview";
/// How long a request that goes on waits for etcd, which has to sync its log.
const COMMIT: Duration = Duration::from_millis(2);
/// What a client says whose time is over.
const OVER: &str = "context deadline exceeded";

/// What the host knows of webhooks.
#[derive(Clone, Debug, Default)]
pub(super) struct Webhooks {
    /// The process that listens at each address.
    listening: BTreeMap<String, ActorId>,
    /// Requests that wait, by their clients' calls.
    parked: BTreeMap<CallId, Parked>,
    /// Which of them each question is of.
    asked: BTreeMap<CallId, CallId>,
}

/// A request that waits, or is about to go on.
#[derive(Clone, Debug)]
pub(super) struct Parked {
    /// The client that waits for its answer.
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

impl Host {
    /// From now on `actor` is asked where a configuration names this address: namespace and name of a Service, or a host.
    pub fn listen(&mut self, address: &str, actor: ActorId) {
        self.webhooks.listening.insert(address.to_owned(), actor);
    }
}

/// The request that goes on with this event, if it is one that has waited.
pub(super) fn unpark(engine: &mut Engine, reply: ReplyTo) -> Option<Parked> {
    match reply {
        ReplyTo::Call(call) => engine.server.webhooks.parked.remove(&call),
        ReplyTo::Watch(_) => None,
    }
}

/// Asks what a request waits for. One that calls no webhook has written something, and goes on as soon as that is in etcd.
pub(super) fn park(
    engine: &mut Engine,
    event: &Pending,
    client: ActorId,
    request: &Request,
    waits: Waits,
    fault: Option<Failing>,
) {
    let What::Request { reply: ReplyTo::Call(call), .. } = event.what else { return };
    let Waits { calls, mut reviews } = waits;
    let (server, background, idle, now) = (event.to, event.background, event.idle, engine.now());
    let (mut open, has_written) = (BTreeMap::new(), calls.is_empty());
    for question in calls {
        let Some(to) = engine.server.webhooks.listening.get(&question.address).copied() else {
            reviews.hear(&question, Err(question.refused.clone()), now);
            continue;
        };
        let (id, over) = (engine.hub().next_call(), question.timeout);
        let review = Review { uid: engine.hub().random(|random| random.uid()), call: question.clone() };
        let asks = What::Rpc { call: id, message: Rc::new(review) };
        for (to, delay, what) in [(to, Duration::ZERO, asks), (server, over, What::Resume { call: id })] {
            engine.send(Outgoing { from: server, to, delay, background, idle, what });
        }
        engine.server.webhooks.asked.insert(id, call);
        open.insert(id, (question, now + over));
    }
    let parked = Parked { client, server, reviews, fault, request: Box::new(request.clone()), background, idle, open };
    go_on_if_heard(engine, call, parked, if has_written { COMMIT } else { Duration::ZERO });
}

/// A webhook has answered, or, if it says nothing, its time is over. The request that waits for it may have been given up.
pub(super) fn heard(engine: &mut Engine, id: CallId, said: Option<&Result<Rc<dyn Message>, RpcError>>) {
    let Some(client) = engine.server.webhooks.asked.remove(&id) else { return };
    let Some(mut parked) = engine.server.webhooks.parked.remove(&client) else { return };
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
        engine.hub().note(|| Note::Text { topic: "webhook", text: format!("{}: {text}", question.webhook) });
        parked.reviews.hear(&question, said, engine.now());
        // Its timer, unless that has gone off.
        engine.call_back(over, |event| matches!(event.what, What::Resume { call } if call == id));
    }
    go_on_if_heard(engine, client, parked, Duration::ZERO);
}

/// Lets a request go on if no webhook is left to ask about it.
fn go_on_if_heard(engine: &mut Engine, call: CallId, parked: Parked, delay: Duration) {
    if parked.open.is_empty() {
        let (background, idle, request) = (parked.background, parked.idle, parked.request.clone());
        let what = What::Request { reply: ReplyTo::Call(call), request };
        engine.send(Outgoing { from: parked.server, to: parked.server, delay, background, idle, what });
    }
    engine.server.webhooks.parked.insert(call, parked);
}

/// An API server has stopped, and with it all that waits in it. Says whose calls those were.
pub(super) fn give_up_parked(engine: &mut Engine, server: ActorId) -> Vec<(ActorId, CallId, String)> {
    let all = std::mem::take(&mut engine.server.webhooks.parked).into_iter();
    let (gone, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = all.partition(|(_, parked)| parked.server == server);
    engine.server.webhooks.parked = rest;
    engine.server.webhooks.asked.retain(|_, of| !gone.contains_key(of));
    gone.into_iter().map(|(call, parked)| (parked.client, call, parked.request.line())).collect()
}
