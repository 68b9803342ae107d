//! Calls: what a task waits for, and the futures of the answers.
//!
//! A future here sends when it is first polled, and is ready when the engine has delivered the answer. It knows the line
//! of source that made it, which is what a step shows of a task that waits.

use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use wire::{Answer, Request};

use super::event::{APISERVER, ActorId, CallId, Message, ReplyTo, RpcError, What};
use super::hub::{Hub, Waiting};
use super::place::Place;

/// What a call came to.
#[derive(Debug)]
pub enum Outcome {
    /// The API server answered.
    Answer(Box<Answer>),
    /// A part of the node answered.
    Reply(Result<Rc<dyn Message>, RpcError>),
    /// The time is over.
    Elapsed,
}

impl Hub {
    /// Sends a request of the running task, `delay` later, and returns the future of its answer.
    #[track_caller]
    pub fn request(&self, request: Request, delay: Duration) -> HubCall {
        let about: Rc<str> = if self.recording() { request.line().into() } else { Rc::from("") };
        HubCall::new(self.clone(), about, Ask::Api(Box::new(request), delay))
    }

    /// The same for code that runs elsewhere: `at` is its line.
    pub fn request_at(&self, at: Place, request: Request, delay: Duration) -> HubCall {
        HubCall { at, ..self.request(request, delay) }
    }

    /// Calls another part of the node, and returns the future of its reply.
    #[track_caller]
    pub fn rpc(&self, to: ActorId, message: Rc<dyn Message>) -> RpcCall {
        let about = message.method();
        RpcCall(HubCall::new(self.clone(), about.into(), Ask::Rpc(to, message)))
    }

    /// Waits for `duration` of virtual time.
    #[track_caller]
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep(HubCall::new(self.clone(), "time".into(), Ask::Sleep(duration)))
    }

    /// Waits until [`Hub::unpark`] is called for it. For a task that waits for its own process.
    #[track_caller]
    pub fn park(&self, about: &'static str) -> Park {
        let call = self.next_call();
        Park { hub: self.clone(), at: Location::caller(), about, call, waiting: false }
    }
}

/// What comes of some work; None if the other wait was over first. Whichever is not over is given up.
pub async fn unless<T>(work: impl Future<Output = T>, over: impl Future<Output = ()>) -> Option<T> {
    let (mut work, mut over) = (pin!(work), pin!(over));
    poll_fn(|context| match (work.as_mut().poll(context), over.as_mut().poll(context)) {
        (Poll::Ready(done), _) => Poll::Ready(Some(done)),
        (Poll::Pending, Poll::Ready(())) => Poll::Ready(None),
        (Poll::Pending, Poll::Pending) => Poll::Pending,
    })
    .await
}

/// What a reply to a call between parts of a node carries.
pub type RpcResult = Result<Rc<dyn Message>, RpcError>;

enum Ask {
    Api(Box<Request>, Duration),
    Rpc(ActorId, Rc<dyn Message>),
    Sleep(Duration),
    Asked(CallId),
}

/// The future of one call. It sends when first polled, and is ready when the engine has delivered the answer.
pub struct HubCall {
    hub: Hub,
    at: Place,
    about: Rc<str>,
    ask: Ask,
}

impl HubCall {
    #[track_caller]
    fn new(hub: Hub, about: Rc<str>, ask: Ask) -> HubCall {
        HubCall { hub, at: Location::caller().into(), about, ask }
    }

    fn poll_outcome(&mut self) -> Poll<Outcome> {
        if let Ask::Asked(call) = self.ask {
            return self.hub.take_result(call).map_or(Poll::Pending, Poll::Ready);
        }
        let call = self.hub.next_call();
        let me = self.hub.actor();
        let (to, delay, what) = match std::mem::replace(&mut self.ask, Ask::Asked(call)) {
            Ask::Api(request, delay) => (APISERVER, delay, What::Request { reply: ReplyTo::Call(call), request }),
            Ask::Rpc(to, message) => (to, Duration::ZERO, What::Rpc { call, message }),
            Ask::Sleep(duration) => (me, duration, What::Resume { call }),
            Ask::Asked(_) => unreachable!("handled above"),
        };
        self.hub.send(me, to, delay, false, what);
        self.hub.wait(Waiting { call, at: self.at.clone(), about: self.about.clone() });
        Poll::Pending
    }
}

impl Future for HubCall {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Answer> {
        self.poll_outcome().map(|outcome| match outcome {
            Outcome::Answer(answer) => *answer,
            other => unreachable!("an API call is answered by the API server, not by {other:?}"),
        })
    }
}

/// The future of a call to another part of the node.
pub struct RpcCall(HubCall);

impl Future for RpcCall {
    type Output = RpcResult;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<RpcResult> {
        self.0.poll_outcome().map(|outcome| match outcome {
            Outcome::Reply(result) => result,
            other => unreachable!("a call between parts of a node is answered by a reply, not by {other:?}"),
        })
    }
}

/// The future of a wait for virtual time.
pub struct Sleep(HubCall);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0.poll_outcome().map(|_| ())
    }
}

/// The future of a wait for one's own process.
pub struct Park {
    hub: Hub,
    at: &'static Location<'static>,
    about: &'static str,
    call: CallId,
    waiting: bool,
}

impl Park {
    /// What to unpark.
    pub fn call(&self) -> CallId {
        self.call
    }
}

impl Future for Park {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.hub.take_result(self.call).is_some() {
            return Poll::Ready(());
        }
        if !self.waiting {
            self.waiting = true;
            self.hub.wait(Waiting { call: self.call, at: self.at.into(), about: self.about.into() });
        }
        Poll::Pending
    }
}
