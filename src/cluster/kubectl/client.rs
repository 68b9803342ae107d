//! kubectl's side of a request: sending it, following a watch, and saying what went wrong.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::apiserver::request::{Answer, Body, FieldValidation, Options, Request, Response, Subresource, Verb};
use crate::apiserver::watch::{WatchEvent, WatchId};
use crate::client::Client;
use crate::engine::CallId;
use crate::object::status::Reason;
use crate::object::{Kind, Object, Status};

use super::Failure;
use super::print::client_view;

/// What commands print, as they go. Cloning shares it.
pub type Output = Rc<RefCell<String>>;

/// The user's open watches. The user's actor puts events in, commands take them out.
pub type Feeds = Rc<RefCell<BTreeMap<WatchId, Feed>>>;

/// One open watch of a command.
#[derive(Default)]
pub struct Feed {
    events: VecDeque<WatchEvent>,
    waiter: Option<CallId>,
}

/// Wake: a command has followed a watch for as long as it may. The wake's key is the watch's number.
pub const TIMEOUT: &str = "command times out";

/// Gives an event of a watch to the command that waits for it. Returns whom to wake.
pub fn feed(feeds: &Feeds, watch: WatchId, event: WatchEvent) -> Option<CallId> {
    let mut feeds = feeds.borrow_mut();
    let feed = feeds.get_mut(&watch)?;
    feed.events.push_back(event);
    feed.waiter.take()
}

/// kubectl, ready to run commands one after another.
#[derive(Clone)]
pub struct Kubectl {
    client: Client,
    feeds: Feeds,
    output: Output,
    /// `-n`.
    pub namespace: String,
    /// Where relative file names start.
    pub base: PathBuf,
    /// What `-f -` reads.
    pub stdin: String,
}

impl Kubectl {
    /// kubectl of the user behind `client`, in namespace `default`.
    pub fn new(client: Client, feeds: Feeds, output: Output) -> Kubectl {
        let (base, stdin) = (PathBuf::from("."), String::new());
        Kubectl { client, feeds, output, namespace: "default".into(), base, stdin }
    }

    /// The same in another namespace; empty keeps it.
    pub fn in_namespace(&self, namespace: &str) -> Kubectl {
        let mut other = self.clone();
        if !namespace.is_empty() {
            other.namespace = namespace.to_owned();
        }
        other
    }

    /// Prints.
    pub fn print(&self, text: &str) {
        self.output.borrow_mut().push_str(text);
    }

    /// The time as objects carry it.
    pub fn now(&self) -> Timestamp {
        self.client.now().timestamp()
    }

    /// Waits.
    pub async fn sleep(&self, duration: Duration) {
        self.client.sleep(duration).await;
    }

    /// The namespace for a kind; empty if it has none.
    pub fn namespace_of(&self, kind: Kind) -> String {
        if kind.info().namespaced { self.namespace.clone() } else { String::new() }
    }

    /// A request with nothing in it but what is given.
    pub fn request(&self, verb: Verb, kind: Kind, name: &str, body: Body) -> Request {
        Request {
            user: self.client.user().clone(),
            verb,
            kind,
            subresource: None,
            namespace: self.namespace_of(kind),
            name: name.to_owned(),
            body,
            options: Options::default(),
        }
    }

    /// Sends a request. Warnings are printed.
    pub async fn send(&self, request: Request) -> Result<Response, Status> {
        let answer: Answer = self.client.request(request).await?;
        for warning in &answer.warnings {
            self.print(&format!("Warning: {warning}\n"));
        }
        answer.result
    }

    /// Sends a request that returns an object.
    pub async fn send_for_object(&self, request: Request) -> Result<Value, Status> {
        match self.send(request).await? {
            Response::Object(object) => Ok(client_view(&object)),
            _ => Ok(Value::Null),
        }
    }

    /// Reads one object.
    pub async fn get(&self, kind: Kind, name: &str) -> Result<Value, Status> {
        self.send_for_object(self.request(Verb::Get, kind, name, Body::None)).await
    }

    /// Lists objects: all, or those that selectors choose.
    pub async fn list(&self, kind: Kind, labels: &str, fields: &str) -> Result<Vec<Value>, Status> {
        let mut request = self.request(Verb::List, kind, "", Body::None);
        request.options.label_selector = labels.to_owned();
        request.options.field_selector = fields.to_owned();
        match self.send(request).await? {
            Response::List { items, .. } => Ok(items.iter().map(client_view).collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// Lists one object and then follows it, as `wait` and `rollout status` do.
    pub async fn follow(&self, kind: Kind, name: &str) -> Result<(Option<Value>, Stream), Status> {
        let mut request = self.request(Verb::List, kind, "", Body::None);
        request.options.field_selector = format!("metadata.name={name}");
        let (items, revision) = match self.send(request.clone()).await? {
            Response::List { items, revision, .. } => (items, revision),
            _ => (Vec::new(), 0),
        };
        request.verb = Verb::Watch;
        request.options.resource_version = revision.to_string();
        let watch = self.client.hub().watch(self.client.actor(), request);
        self.feeds.borrow_mut().insert(watch, Feed::default());
        let stream = Stream { client: self.client.clone(), feeds: self.feeds.clone(), watch };
        Ok((items.first().map(client_view), stream))
    }

    /// Ends a watch after `timeout`: whoever follows it is told that nothing more comes.
    pub fn end_after(&self, stream: &Stream, timeout: Duration) {
        let (hub, actor) = (self.client.hub(), self.client.actor());
        hub.wake(actor, TIMEOUT, stream.watch.0.to_string(), timeout);
    }

    /// Field validation as `--validate` asks; kubectl's default is strict.
    pub fn validation(flag: &str) -> Result<FieldValidation, Failure> {
        match flag {
            "" | "true" | "strict" => Ok(FieldValidation::Strict),
            "warn" => Ok(FieldValidation::Warn),
            "false" | "ignore" => Ok(FieldValidation::Ignore),
            other => Err(Failure::error(format!("invalid - validate option \"{other}\""))),
        }
    }
}

/// A watch that a command follows.
pub struct Stream {
    client: Client,
    feeds: Feeds,
    watch: WatchId,
}

impl Stream {
    /// The next event: the object, and whether it is gone.
    pub async fn next(&self) -> Option<(Value, bool)> {
        loop {
            let event = self.feeds.borrow_mut().get_mut(&self.watch)?.events.pop_front();
            match event {
                Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => return Some((view(&object), false)),
                Some(WatchEvent::Deleted(object)) => return Some((view(&object), true)),
                Some(WatchEvent::Bookmark { .. }) => {}
                Some(WatchEvent::Error(_)) => return None,
                None => {
                    let park = self.client.hub().park("the next watch event");
                    self.feeds.borrow_mut().get_mut(&self.watch)?.waiter = Some(park.call());
                    park.await;
                }
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.feeds.borrow_mut().remove(&self.watch);
    }
}

fn view(object: &Object) -> Value {
    client_view(object)
}

/// What kubectl prints for an API error. `context` is what it was doing, as `when creating "web.yaml"`.
pub fn failure(status: &Status, context: &str) -> Failure {
    let message = &status.message;
    let text = match status.reason {
        Reason::Invalid if status.details.is_some() => {
            let details = status.details.as_deref();
            let kind = details.map(|d| d.kind.as_str()).unwrap_or_default();
            let name = details.map(|d| d.name.as_str()).unwrap_or_default();
            let why = message.split_once(" is invalid: ").map_or(message.as_str(), |(_, why)| why);
            match why.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
                Some(list) => format!("The {kind} \"{name}\" is invalid: \n{}", bullets(list)),
                None => format!("The {kind} \"{name}\" is invalid: {why}"),
            }
        }
        Reason::Unknown => format!("Error from server: {}{message}", context_of(context)),
        reason => format!("Error from server ({reason:?}): {}{message}", context_of(context)),
    };
    Failure { message: text }
}

fn context_of(context: &str) -> String {
    if context.is_empty() { String::new() } else { format!("error {context}: ") }
}

fn bullets(list: &str) -> String {
    list.split(", spec.")
        .enumerate()
        .map(|(i, part)| if i == 0 { format!("* {part}") } else { format!("\n* spec.{part}") })
        .collect()
}

/// The kind that a word names, as `kubectl get WORD` finds it.
pub fn kind_named(word: &str) -> Result<Kind, Failure> {
    Kind::from_word(word).ok_or_else(|| Failure::error(format!("the server doesn't have a resource type \"{word}\"")))
}

/// Kinds and names from words: `pods web db`, `deployment/web pod/x`, `deploy,rs,pods`.
pub fn targets(words: &[String]) -> Result<Vec<(Kind, String)>, Failure> {
    let Some(first) = words.first() else {
        return Err(Failure::error("You must specify the type of resource, as in: pods, or deployment/web"));
    };
    if first.contains('/') {
        return words
            .iter()
            .map(|word| match word.split_once('/') {
                Some((kind, name)) if !name.is_empty() => Ok((kind_named(kind)?, name.to_owned())),
                _ => Err(Failure::error("there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'")),
            })
            .collect();
    }
    let kinds: Vec<Kind> = first.split(',').map(kind_named).collect::<Result<_, _>>()?;
    let names = &words[1..];
    let of_kind = |kind: Kind| -> Vec<(Kind, String)> {
        if names.is_empty() { vec![(kind, String::new())] } else { names.iter().map(|n| (kind, n.clone())).collect() }
    };
    Ok(kinds.into_iter().flat_map(of_kind).collect())
}

/// A subresource's request.
pub fn subresource(mut request: Request, subresource: Subresource) -> Request {
    request.subresource = Some(subresource);
    request
}
