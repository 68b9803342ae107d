//! Logs for clients outside: the API server passes a request on to a kubelet, which gives the lines. Mirrors `pods/log` and the
//! kubelet's `containerLogs`.
//!
//! Left out: the connection between the two. The Pod's status is read again, as the kubelet has it in its memory.

use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

use client::Client;
use engine::{ActorId, Hub};
use kubectl::log::{Opened, Reading, Wanted};
use object::status::Reason;
use object::{Key, Kind, Status};
use rest::exchange::RawAnswer;
use rest::options::Query;
use rest::{Call, Encoding, HttpAnswer, TEXT};
use wire::{Body, Request, Response, User, Verb};

use super::stream::{STDOUT, Target};
use super::{Arrival, Clients, ExchangeId, Sent};

/// Wake: a log that is followed is looked at again. The key is the exchange's number.
pub(super) const LOOK: &str = "a followed log";
/// How often, if it is not known when its next line comes.
const TICK: Duration = Duration::from_secs(1);

/// A log that a client follows.
#[derive(Clone)]
pub(super) struct Following {
    pub actor: ActorId,
    pub label: Rc<str>,
    pub log: Reading,
    /// It is attached to the process: lines are frames.
    pub is_attached: bool,
}

/// What a client is told of a log, and the log if it goes on.
pub(super) enum Said {
    Answer(RawAnswer),
    Follows(Reading),
}

/// Opens the log that a request is for.
pub(super) async fn open(
    hub: &Hub,
    client: &Client,
    clients: &Clients,
    call: &Call,
    passed: &Response,
    arrival: &Arrival,
) -> Said {
    let refused = |status: Status| Said::Answer(HttpAnswer::status(&status, Encoding::Json).into());
    let Response::PassedOn { node, kubelet, container } = passed else { return refused(Status::not_served()) };
    let pod = Key::new(&call.request.namespace, &call.request.name);
    if let Err(why) = clients.nodes.kubelet(node) {
        let url = format!("https://{kubelet}/containerLogs/{pod}/{container}");
        let why = format!("Get {url:?}: dial tcp {kubelet}: connect: {why}");
        return refused(Status::new(Reason::InternalError, why));
    }
    let pod = match read(client, &pod).await {
        Ok(pod) => pod,
        Err(status) => return refused(status),
    };
    let (_, query) = arrival.target.split_once('?').unwrap_or_default();
    let query = Query::parse(query);
    let now = hub.now().timestamp();
    let wanted = wanted(&query, now);
    match Reading::open(&pod, container, wanted, &*clients.nodes, now) {
        Err(why) => refused(why),
        Ok(Opened::Reading(mut log)) => {
            if query.flag("follow") {
                return Said::Follows(log);
            }
            Said::Answer(text(log.read(&*clients.nodes, now).concat()))
        }
        Ok(Opened::Gone(why)) => Said::Answer(text(why)),
        Ok(Opened::Empty) => Said::Answer(text(String::new())),
    }
}

/// The Pod, as the kubelet knows it.
async fn read(client: &Client, pod: &Key) -> Result<Value, Status> {
    let user = Rc::new(User::loopback());
    let request = Request::new(user, Verb::Get, Kind::Pod, pod.namespace(), pod.name(), Body::None);
    match client.request(request).await.map(|answer| answer.result) {
        Ok(Ok(Response::Object(pod))) => Ok(pod.to_json()),
        Ok(Err(error)) => Err(error.into_status()),
        Ok(Ok(_)) | Err(_) => Err(Status::not_found(Kind::Pod, pod.name())),
    }
}

/// What a process prints from now on, for a client that is attached to it; none, if it is gone.
pub(super) async fn attach(client: &Client, clients: &Clients, target: &Target) -> Option<Following> {
    let pod = read(client, &target.pod).await.ok()?;
    let wanted = Wanted { tail: Some(0), ..Wanted::default() };
    let now = client.hub().now().timestamp();
    match Reading::open(&pod, &target.container, wanted, &*clients.nodes, now) {
        Ok(Opened::Reading(log)) => {
            Some(Following { actor: client.actor(), label: target.label.clone(), log, is_attached: true })
        }
        _ => None,
    }
}

/// What a query says of lines. What is wrong in it was refused by the API server.
fn wanted(query: &Query, now: jiff::Timestamp) -> Wanted {
    let number = |name: &str| query.get(name).and_then(|text| text.parse().ok());
    let ago = query.get("sinceSeconds").and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let since = query.get("sinceTime").and_then(|text| text.parse().ok());
    Wanted {
        tail: number("tailLines"),
        bytes: number("limitBytes"),
        since: ago.and_then(|ago| now.checked_sub(ago).ok()).or(since),
        previous: query.flag("previous"),
        timestamps: query.flag("timestamps"),
    }
}

fn text(body: String) -> RawAnswer {
    HttpAnswer { code: 200, content_type: TEXT, headers: Vec::new(), body }.into()
}

/// Sends what was said, and follows a log that goes on.
pub(super) fn begin(hub: &Hub, clients: &Clients, number: ExchangeId, actor: ActorId, label: Rc<str>, said: Said) {
    match said {
        Said::Answer(answer) => clients.send(number, Sent::Answer(answer)),
        Said::Follows(log) => {
            clients.send(number, Sent::Begins(TEXT));
            clients.followed.borrow_mut().insert(number, Following { actor, label, log, is_attached: false });
            go_on(hub, clients, number);
        }
    }
}

/// Sends what has come to a log that is followed, and looks again later, unless it is over.
pub(super) fn go_on(hub: &Hub, clients: &Clients, number: ExchangeId) {
    // Its client has hung up.
    let Some(mut following) = clients.followed.borrow_mut().remove(&number) else { return };
    let now = hub.now();
    for line in following.log.read(&*clients.nodes, now.timestamp()) {
        match following.is_attached {
            true => clients.frame(number, STDOUT, line.as_bytes()),
            false => clients.send(number, Sent::Line(line)),
        }
    }
    if !following.log.goes_on(&*clients.nodes) {
        return match following.is_attached {
            true => clients.finish(number, 0),
            false => clients.send(number, Sent::Ends),
        };
    }
    let next = following.log.next(&*clients.nodes, now).map_or(TICK, |next| next.min(TICK));
    hub.wake_background(following.actor, LOOK, number.to_string(), next);
    clients.followed.borrow_mut().insert(number, following);
}
