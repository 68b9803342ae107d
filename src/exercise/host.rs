//! Runs reconciles: in the learner's process, and in this one where the right solution is asked what it would do.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use serde_json::Value;

use crate::kube::{Action, Client, Context, Error, Link, Resource, typed};
use crate::wire::{Ask, Say};
use object::{Kind, Object};

/// Reads the caches of the controller.
pub type Read = Rc<dyn Fn(Kind) -> Vec<Object>>;

type Running = Pin<Box<dyn Future<Output = Result<Action, Error>>>>;
type Start = Box<dyn Fn(&Object, Arc<Context>) -> Result<Running, String>>;
type Observe = Box<dyn Fn(Option<&Object>, Option<&Object>, &Context)>;

/// A controller's code, and its reconciles under way.
pub struct Host {
    start: Start,
    observe: Option<Observe>,
    running: BTreeMap<u64, (Rc<Link>, Running)>,
    read: Read,
}

impl Host {
    /// One for this function, which reads caches so.
    pub fn new<K, F>(read: Read, reconcile: impl Fn(Arc<K>, Arc<Context>) -> F + 'static) -> Host
    where
        K: Resource,
        F: Future<Output = Result<Action, Error>> + 'static,
    {
        let start = move |object: &Object, context: Arc<Context>| -> Result<Running, String> {
            let object = typed(object).map_err(|error| error.to_string())?;
            Ok(Box::pin(reconcile(object, context)))
        };
        Host { start: Box::new(start), observe: None, running: BTreeMap::new(), read }
    }

    /// The same with a function that is called for each change of a kind that the controller watches.
    pub fn observing<K: Resource>(mut self, observe: impl Fn(Option<K>, Option<K>, &Context) + 'static) -> Host {
        let one = |object: Option<&Object>| object.and_then(|object| typed(object).ok()).map(Arc::unwrap_or_clone);
        self.observe = Some(Box::new(move |old, new, context| observe(one(old), one(new), context)));
        self
    }

    /// Hears one thing and answers, unless there is nothing to say to it.
    pub fn hear(&mut self, ask: Ask<Object>) -> Option<Say> {
        match ask {
            Ask::Reconcile { task, object, memory } => Some(self.begin(task, &object, memory)),
            Ask::Observe { old, new, memory } => Some(self.observed(old.as_ref(), new.as_ref(), memory)),
            Ask::Reply { task, answer, memory } => {
                if let Some((link, _)) = self.running.get(&task) {
                    link.answer.replace(Some(answer));
                    link.memory.replace(memory);
                }
                Some(self.go_on(task))
            }
            Ask::Cached { .. } | Ask::Mark => None,
            Ask::Forget { task } => {
                self.running.remove(&task);
                None
            }
        }
    }

    fn link(&self, memory: Value) -> Rc<Link> {
        let read = self.read.clone();
        Rc::new(Link {
            call: RefCell::default(),
            answer: RefCell::default(),
            memory: RefCell::new(memory),
            read: Box::new(move |kind| read(kind)),
        })
    }

    #[allow(clippy::arc_with_non_send_sync, reason = "kube-rs hands a reconcile its context so; here nothing is sent")]
    fn begin(&mut self, task: u64, object: &Object, memory: Value) -> Say {
        let link = self.link(memory);
        let context = Arc::new(Context { client: Client(link.clone()) });
        match catch_unwind(AssertUnwindSafe(|| (self.start)(object, context))) {
            Ok(Ok(future)) => {
                self.running.insert(task, (link, future));
                self.go_on(task)
            }
            Ok(Err(error)) => Say::Broken(error),
            Err(panic) => Say::Broken(words(&*panic)),
        }
    }

    fn observed(&self, old: Option<&Object>, new: Option<&Object>, memory: Value) -> Say {
        let link = self.link(memory);
        let context = Context { client: Client(link.clone()) };
        let told = catch_unwind(AssertUnwindSafe(|| {
            if let Some(observe) = &self.observe {
                observe(old, new, &context);
            }
        }));
        match told {
            Ok(()) => Say::Done { result: Ok(None), memory: link.memory.take() },
            Err(panic) => Say::Broken(words(&*panic)),
        }
    }

    fn go_on(&mut self, task: u64) -> Say {
        let Some((link, future)) = self.running.get_mut(&task) else {
            return Say::Broken("a reconcile goes on that has ended".to_owned());
        };
        let mut context = task::Context::from_waker(Waker::noop());
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
        let (call, memory) = (link.call.take(), link.memory.borrow().clone());
        let said = match (polled, call) {
            (Ok(Poll::Pending), Some((request, at))) => return Say::Call { request: Box::new(request), at, memory },
            (Ok(Poll::Pending), None) => {
                Say::Broken("it waits for something that never comes: only calls of the API can be awaited here".into())
            }
            (Ok(Poll::Ready(result)), _) => {
                let result = result.map(|action| action.0.map(|after| after.as_secs_f64()));
                Say::Done { result: result.map_err(|error| error.to_string()), memory }
            }
            (Err(panic), _) => Say::Broken(words(&*panic)),
        };
        self.running.remove(&task);
        said
    }
}

thread_local! {
    /// Where the last panic was. A hook puts it there: what is caught does not say it.
    static PANICKED_AT: RefCell<String> = RefCell::default();
}

/// From now on a panic is remembered and not printed.
pub(crate) fn remember_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(|at| format!(" at {}:{}", at.file().replace('\\', "/"), at.line()));
        PANICKED_AT.set(at.unwrap_or_default());
    }));
}

/// What a panic said, and where.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default();
    format!("it panics{}: {text}", PANICKED_AT.take())
}
