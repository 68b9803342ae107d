//! `wait`: until an object has a condition, a value, or is gone.

use std::time::Duration;

use serde_json::Value;

use super::get::selection;
use crate::apiserver::watch::WatchEvent;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::{Args, Target};
use crate::cluster::kubectl::calls::{Failure, timeout};
use crate::cluster::kubectl::print::fields::{at, int, list, text};
use crate::cluster::kubectl::print::{jsonpath, qualified_singular};
use crate::object::Kind;

/// Mirrors the flag's default.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What is waited for.
enum Goal {
    Deleted,
    Created,
    Condition { kind: String, status: String },
    Value { path: jsonpath::Template, value: Option<String> },
}

/// `kubectl wait`.
pub async fn wait(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let goal = Goal::parse(args.value("for"))?;
    let limit = if args.has("timeout") { timeout(args, "timeout")? } else { Some(TIMEOUT) };
    let mut waited = false;
    for Target { kind, name } in cx.targets("wait", &args.words).await? {
        let namespace = cx.namespace(args);
        let objects = match name {
            Some(name) => match cx.get(kind, namespace, &name).await {
                // What is gone need not be waited for.
                Err(fault) if fault.is_not_found() && matches!(goal, Goal::Deleted) => return Ok(()),
                Err(fault) if fault.is_not_found() && matches!(goal, Goal::Created) => vec![named(&name)],
                object => vec![object?],
            },
            None => cx.list(kind, namespace, selection(args)).await?.items,
        };
        for object in objects {
            waited = true;
            let met = wait_for(kind, namespace, &object, &goal, limit, cx).await?;
            match args.value("output") {
                "" => cx.line(format!("{}/{} condition met", qualified_singular(kind), text(&object, "metadata.name"))),
                "name" => cx.line(format!("{}/{}", qualified_singular(kind), text(&object, "metadata.name"))),
                _ => cx.tell(&met, "", args)?,
            }
        }
    }
    if waited { Ok(()) } else { Err(Failure::text("no matching resources found")) }
}

fn named(name: &str) -> Value {
    serde_json::json!({"metadata": {"name": name}})
}

impl Goal {
    fn parse(text: &str) -> Result<Goal, Failure> {
        if let Some(condition) = text.strip_prefix("condition=") {
            let (kind, status) = condition.split_once('=').unwrap_or((condition, "True"));
            return Ok(Goal::Condition { kind: kind.to_owned(), status: status.trim_matches('"').to_owned() });
        }
        if let Some(path) = text.strip_prefix("jsonpath=") {
            let (path, value) = match path.rfind("}=") {
                Some(i) => (&path[..=i], Some(path[i + 2..].trim_matches(['\'', '"']).to_owned())),
                None => (path, None),
            };
            let path = jsonpath::Template::parse(path).map_err(Failure::text)?;
            return Ok(Goal::Value { path, value });
        }
        match text {
            "delete" => Ok(Goal::Deleted),
            "create" => Ok(Goal::Created),
            _ => Err(Failure::text(format!("unrecognized condition: \"{text}\""))),
        }
    }

    fn is_met(&self, object: &Value) -> bool {
        match self {
            Goal::Deleted => false,
            Goal::Created => true,
            Goal::Value { path, value } => path.print(object).is_ok_and(|found| match value {
                Some(value) => found == *value,
                None => !found.is_empty(),
            }),
            Goal::Condition { kind, status } => {
                let mut conditions = list(object, "status.conditions").iter();
                let found = conditions.find(|c| text(c, "type").eq_ignore_ascii_case(kind));
                found.is_some_and(|c| is_current(c, object) && text(c, "status").eq_ignore_ascii_case(status))
            }
        }
    }
}

/// A condition that was observed on an older generation does not count.
fn is_current(condition: &Value, object: &Value) -> bool {
    let generation = int(object, "metadata.generation");
    let seen = at(condition, "observedGeneration").as_i64().or(at(object, "status.observedGeneration").as_i64());
    seen.is_none_or(|seen| seen >= generation)
}

/// Returns the object as it was last seen.
async fn wait_for(
    kind: Kind,
    namespace: &str,
    object: &Value,
    goal: &Goal,
    limit: Option<Duration>,
    cx: &Kubectl,
) -> Result<Value, Failure> {
    let name = text(object, "metadata.name");
    let (listed, events) = cx.follow(kind, namespace, name, limit).await?;
    let there = listed.items.first();
    if there.is_some_and(|object| goal.is_met(object)) || (there.is_none() && matches!(goal, Goal::Deleted)) {
        return Ok(there.unwrap_or(object).clone());
    }
    loop {
        match events.next().await {
            Some(WatchEvent::Deleted(last)) if matches!(goal, Goal::Deleted) => return Ok(last.printed()),
            Some(WatchEvent::Deleted(_)) => {
                return Err(Failure::text(format!("{} \"{name}\" not found", kind.info().qualified_plural())));
            }
            Some(WatchEvent::Error(status)) => return Err(status.into()),
            Some(event) => {
                if let Some(now) = event.object().map(|object| object.printed()).filter(|now| goal.is_met(now)) {
                    return Ok(now);
                }
            }
            None => {
                let what = format!("{}/{name}", kind.info().plural);
                return Err(Failure::text(format!("timed out waiting for the condition on {what}")));
            }
        }
    }
}
