//! `wait`: follow an object until a condition holds.

use std::time::Duration;

use serde_json::Value;

use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::client::{Stream, failure, targets};
use crate::cluster::kubectl::print::{duration, jsonpath, qualified_singular};
use crate::cluster::kubectl::{Failure, Kubectl};
use crate::object::{Kind, Status};

/// What is waited for.
enum Goal {
    Delete,
    Condition(String, String),
    JsonPath(String, String),
}

/// `kubectl wait --for=condition=Ready pod/web --timeout=60s`.
pub async fn wait(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let goal = goal(args.flag("for"))?;
    let timeout = timeout(args, 30)?;
    for (kind, name) in objects(args, kubectl).await? {
        match kubectl.get(kind, &name).await {
            Err(status) if status.is_not_found() && matches!(goal, Goal::Delete) => {}
            Err(status) => return Err(failure(&status, "")),
            Ok(_) => until(kubectl, kind, &name, &goal, timeout).await?,
        }
        let met = if matches!(goal, Goal::Delete) { "deleted" } else { "condition met" };
        kubectl.print(&format!("{}/{name} {met}\n", qualified_singular(kind)));
    }
    Ok(())
}

async fn objects(args: &Args, kubectl: &Kubectl) -> Result<Vec<(Kind, String)>, Failure> {
    let mut objects = Vec::new();
    for (kind, name) in targets(&args.words)? {
        if !name.is_empty() {
            objects.push((kind, name));
            continue;
        }
        let listed = kubectl.list(kind, args.flag("selector"), "").await.map_err(|status| failure(&status, ""))?;
        if listed.is_empty() {
            return Err(Failure::error("no matching resources found"));
        }
        objects.extend(listed.iter().map(|o| (kind, o["metadata"]["name"].as_str().unwrap_or_default().to_owned())));
    }
    Ok(objects)
}

async fn until(kubectl: &Kubectl, kind: Kind, name: &str, goal: &Goal, timeout: Duration) -> Result<(), Failure> {
    let (now, stream) = kubectl.follow(kind, name).await.map_err(|status| failure(&status, ""))?;
    let late = || {
        let what = qualified_singular(kind);
        Failure::error(format!("timed out waiting for the condition on {what}/{name}"))
    };
    let Some(object) = now else {
        return if matches!(goal, Goal::Delete) { Ok(()) } else { Err(failure(&Status::not_found(kind, name), "")) };
    };
    if holds(goal, &object, false) {
        return Ok(());
    }
    let mut deadline = Deadline::new(kubectl, stream, timeout);
    while let Some((object, deleted)) = deadline.next().await {
        if holds(goal, &object, deleted) {
            return Ok(());
        }
    }
    Err(late())
}

fn holds(goal: &Goal, object: &Value, deleted: bool) -> bool {
    match goal {
        Goal::Delete => deleted,
        Goal::Condition(name, status) => {
            let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
            conditions.into_iter().flatten().any(|condition| {
                let is = |field: &str, wanted: &str| {
                    condition[field].as_str().is_some_and(|there| there.eq_ignore_ascii_case(wanted))
                };
                is("type", name) && is("status", status)
            })
        }
        Goal::JsonPath(path, wanted) => jsonpath::find(path, object).is_ok_and(|found| {
            found.iter().any(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned) == *wanted)
        }),
    }
}

fn goal(text: &str) -> Result<Goal, Failure> {
    if text.eq_ignore_ascii_case("delete") {
        return Ok(Goal::Delete);
    }
    if let Some(condition) = text.strip_prefix("condition=") {
        let (name, status) = condition.split_once('=').unwrap_or((condition, "true"));
        return Ok(Goal::Condition(name.to_owned(), status.to_owned()));
    }
    if let Some((path, wanted)) = text.strip_prefix("jsonpath=").and_then(|rest| rest.rsplit_once('=')) {
        return Ok(Goal::JsonPath(path.trim_matches(['{', '}']).to_owned(), wanted.to_owned()));
    }
    Err(Failure::error(format!("unrecognized condition: \"{text}\"")))
}

/// `--timeout`, or so many seconds.
pub fn timeout(args: &Args, default: u64) -> Result<Duration, Failure> {
    match args.flag("timeout") {
        "" => Ok(Duration::from_secs(default)),
        text => match duration::parse(text) {
            Some(seconds) => Ok(Duration::from_secs(seconds)),
            None => Err(Failure::error(format!("invalid argument \"{text}\" for \"--timeout\" flag"))),
        },
    }
}

/// A watch that ends when its time is over.
pub struct Deadline {
    stream: Stream,
}

impl Deadline {
    /// Follows `stream` for `timeout` at most.
    pub fn new(kubectl: &Kubectl, stream: Stream, timeout: Duration) -> Deadline {
        kubectl.end_after(&stream, timeout);
        Deadline { stream }
    }

    /// The next event; None when the time is over.
    pub async fn next(&mut self) -> Option<(Value, bool)> {
        self.stream.next().await
    }
}
