//! Raw requests against a real API server, recorded with their whole answers, and sent to ours.
//!
//! `reference/22/requests.jsonl` has one request a line with what Kubernetes 1.36 answered. Names, uids and versions
//! that chance or time decided are masked on both sides; the status of objects is left out where controllers wrote
//! it. Requests whose case starts with `setup:` bring the server into the state the others need. What only the recorded
//! server has, a volume source of a fork, is left out of the diff in the answer to `pod-immutable-spec`.

use std::rc::Rc;

use apiserver::ApiServer;
use kinds::printers::View;
use object::Discovery;
use object::random::Random;
use object::time::Instant;
use rest::HttpRequest;
use serde_json::Value;
use wire::{User, Verb, WatchId};

const REQUESTS: &str = include_str!("../reference/22/requests.jsonl");

/// How many of the recorded answers must be the same, in percent.
const ALIKE_PERCENT_MIN: usize = 95;

#[test]
fn raw_requests_are_answered_as_kubernetes_answers_them() {
    let mut server = ApiServer::new(22);
    let (mut alike, mut skipped, mut misses) = (0, Vec::new(), Vec::new());
    for line in REQUESTS.lines() {
        let recorded: Value = serde_json::from_str(line).expect("the recording is JSON lines");
        let case = text(&recorded, "case");
        if !is_built(&recorded) {
            skipped.push(case);
            continue;
        }
        if let Some(revision) = recorded["compact"].as_u64() {
            server.store.compact(revision);
        }
        let differences = differences(&recorded, &send(&mut server, &recorded));
        match (case.starts_with("setup: "), differences.is_empty()) {
            (true, true) => {}
            (true, false) => misses.push(format!("{case}: {}", differences.join("; "))),
            (false, true) => alike += 1,
            (false, false) => misses.push(format!("{case}: {}", differences.join("\n    "))),
        }
    }
    let total = alike + misses.len();
    println!("{alike} of {total} answers are alike; not built yet: {}", skipped.join(", "));
    let misses = misses.join("\n");
    println!("{misses}");
    assert!(alike * 100 >= total * ALIKE_PERCENT_MIN, "only {alike} of {total} answers are alike:\n{misses}");
}

/// A client may send anything; the server answers, and goes on.
#[test]
fn no_request_brings_the_server_down() {
    let mut random = Random::new(7);
    let mut server = ApiServer::new(7);
    for _ in 0..20 {
        for line in REQUESTS.lines() {
            let mut request: Value = serde_json::from_str(line).expect("the recording is JSON lines");
            if !request["case"].as_str().is_some_and(|case| case.starts_with("setup: ")) {
                let field = ["body", "body", "path", "content_type"][random.below(4) as usize];
                request[field] = Value::String(mangled(&text(&request, field), &mut random));
            }
            let sent = send(&mut server, &request);
            assert!((200..600).contains(&sent.code), "{request}");
        }
    }
}

/// A text with a few of its characters lost, doubled, or changed.
fn mangled(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(3) {
        if chars.is_empty() {
            break;
        }
        let at = random.below(chars.len() as u64) as usize;
        match random.below(4) {
            0 => drop(chars.remove(at)),
            1 => chars.insert(at, chars[at]),
            2 => chars[at] = ['{', '"', '0', 'é', ':', '-', '/', '\\'][random.below(8) as usize],
            _ => chars.truncate(at),
        }
    }
    chars.into_iter().collect()
}

/// Whether the kind and the subresource that a request is about exist here yet.
fn is_built(recorded: &Value) -> bool {
    let path = text(recorded, "path");
    let path = path.split('?').next().unwrap_or_default();
    recorded["code"] == 404 && recorded["answer_type"] != "application/json"
        || rest::path::Shape::parse(path, &Discovery::default()).is_some()
}

/// What the server made of a request.
struct Sent {
    code: u16,
    content_type: String,
    headers: Vec<(&'static str, String)>,
    /// The body, or the first line of a watch.
    body: String,
}

fn send(server: &mut ApiServer, recorded: &Value) -> Sent {
    let (method, target) = (text(recorded, "method"), text(recorded, "path"));
    let (content_type, accept) = (text(recorded, "content_type"), text(recorded, "accept"));
    let body = text(recorded, "body");
    let user = match text(recorded, "user").as_str() {
        "" => Some(Rc::new(User::admin())),
        "nobody" => None,
        name => Some(Rc::new(match name.strip_prefix("system:node:") {
            Some(node) => User::node(node),
            None => User::component(name, name),
        })),
    };
    let http = HttpRequest {
        connection: None,
        method: &method,
        target: &target,
        content_type: &content_type,
        accept: &accept,
        body: body.as_bytes(),
        user,
    };
    let call = match rest::call(&http, &Discovery::default()) {
        Ok(call) => call,
        Err(answer) => return Sent::of(answer),
    };
    let watch = (call.request.verb == Verb::Watch).then_some(WatchId(1));
    let handled = server.handle(&call.request, watch, Instant::default());
    let known = Discovery::default();
    let view = View { now: Instant::default().timestamp(), known: &known };
    let mut sent = Sent::of(rest::respond(&call, &handled.answer, view));
    if let Some(watch) = watch {
        server.close_watch(watch);
        if handled.answer.result.is_ok() {
            sent.body = handled
                .fanout
                .iter()
                .find_map(|(_, event)| rest::watch_line(&call, event, true, view))
                .unwrap_or_default();
        }
    }
    sent
}

impl Sent {
    fn of(answer: rest::HttpAnswer) -> Sent {
        let content_type = answer.content_type.to_owned();
        Sent { code: answer.code, content_type, headers: answer.headers, body: answer.body }
    }

    fn header(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(header, _)| *header == name).map(|(_, value)| value.as_str()).collect()
    }
}

/// What differs between the recorded and our answer, as sentences.
fn differences(recorded: &Value, sent: &Sent) -> Vec<String> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, theirs: String, ours: String| {
        if theirs != ours {
            differences.push(format!("{what} should be {theirs}, is {ours}"));
        }
    };
    compare("code", recorded["code"].to_string(), sent.code.to_string());
    if recorded["response"].is_null() {
        return differences;
    }
    compare("content type", text(recorded, "answer_type"), sent.content_type.clone());
    let warnings: Vec<&str> = recorded["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    compare("warnings", format!("{warnings:?}"), format!("{:?}", sent.header("Warning")));
    compare("Retry-After", text(recorded, "retry_after"), sent.header("Retry-After").concat());
    let ours = match serde_json::from_str(&sent.body) {
        Ok(value) => masked(normalised(value)),
        Err(_) => Value::String(sent.body.clone()),
    };
    let theirs = masked(recorded["response"].clone());
    match (theirs.as_object(), ours.as_object()) {
        (Some(theirs), Some(ours)) => {
            for key in theirs.keys().chain(ours.keys().filter(|key| !theirs.contains_key(*key))) {
                let field = |fields: &serde_json::Map<String, Value>| {
                    fields.get(key).map_or("missing".to_owned(), Value::to_string)
                };
                compare(key, field(theirs), field(ours));
            }
        }
        _ => compare("body", theirs.to_string(), ours.to_string()),
    }
    differences
}

fn text(recorded: &Value, field: &str) -> String {
    recorded[field].as_str().unwrap_or_default().to_owned()
}

/// The answer without what chance, time and controllers decide.
fn normalised(mut value: Value) -> Value {
    if let Some(object) = value.get_mut("object") {
        *object = normalised(object.take());
        return value;
    }
    let kind = value["kind"].as_str().unwrap_or_default().to_owned();
    let Some(fields) = value.as_object_mut().filter(|_| kind != "Status") else { return value };
    if !kind.ends_with("List") && kind != "Scale" {
        fields.remove("status");
    }
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.remove(field);
        }
        if kind == "Pod" && metadata.get("name").is_some_and(|name| name == "fixed") {
            metadata.remove("generation");
        }
    }
    value
}

/// Masks generated names, addresses, uids, and the numbers of revisions.
fn masked(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(fields.into_iter().map(|(key, value)| (key, masked(value))).collect()),
        Value::Array(items) => Value::Array(items.into_iter().map(masked).collect()),
        Value::String(text) => Value::String(masked_text(&text)),
        other => other,
    }
}

fn masked_text(text: &str) -> String {
    if text.contains("esource version:") {
        return text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("#");
    }
    if let Some((before, uid)) = text.split_once("UID in object meta: ") {
        return format!("{before}UID in object meta: {}", if uid.is_empty() { "" } else { "<uid>" });
    }
    if let Some((before, rest)) = text.split_once("does not match the UID in record (") {
        let after = rest.split_once(')').map_or("", |(_, after)| after);
        return format!("{before}does not match the UID in record (<uid>){after}");
    }
    for prefix in ["kube-api-access-", "web-", "10.96."] {
        if text.starts_with(prefix) && !text.contains(' ') {
            return format!("{prefix}#");
        }
    }
    text.to_owned()
}
