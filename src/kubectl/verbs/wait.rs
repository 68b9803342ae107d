//! `wait`: until objects have a condition, a value, or are gone. Mirrors `k8s.io/kubectl/pkg/cmd/wait`.
//!
//! One object is waited for after the other, and the time is for all together. What goes wrong with one is told in the end.

use std::time::Duration;

use serde_json::Value;

use super::wanted::{Wanted, selects, wanted};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::{CHOICE, FILES};
use crate::kubectl::Kubectl;
use crate::options::timeout;
use crate::print::fields::{at, go_value, int, list, namespace_and_name, text};
use crate::print::jsonpath;
use crate::print::names::qualified_singular;
use crate::usage::Usage;
use object::time::Instant;
use object::{Kind, Status};
use wire::WatchEvent;

/// Mirrors the flag's default.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long at most.
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How often is looked whether something has been created.
const POLL: Duration = Duration::from_millis(500);
const TIMED_OUT: &str = "timed out waiting for the condition";

/// What is waited for.
#[derive(Debug)]
enum Goal {
    Deleted,
    Created,
    Condition { kind: String, status: String },
    Value { path: String, value: Option<String> },
}

/// `kubectl wait`.
pub const WAIT: Command = Command {
    usage: Usage {
        name: "wait",
        words: "TYPE NAME --for=condition=Ready|jsonpath=…|delete|create",
        about: "Wait for something to come true.",
        flags: &[FILES, CHOICE, &["for", "timeout", "field-selector", "output"]],
        ..Usage::EMPTY
    },
    names_objects: true,
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(wait(args, cx))),
    ..Command::EMPTY
};

/// `kubectl wait`.
async fn wait(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let goals = args.values("for").iter().map(|text| Goal::parse(text)).collect::<Result<Vec<Goal>, Failure>>()?;
    if goals.is_empty() {
        return Err(Failure::text("unrecognized condition: []"));
    }
    let limit = match args.value("timeout") {
        "" => TIMEOUT,
        negative if negative.starts_with('-') => timeout(args, "timeout").map(|_| WEEK)?,
        _ => timeout(args, "timeout")?.unwrap_or_default(),
    };
    let deadline = Deadline { once: limit.is_zero(), end: cx.client.now() + limit };
    if goals.iter().any(|goal| matches!(goal, Goal::Created)) {
        until_created(&deadline, args, cx).await?;
    }
    let for_deletion = goals.iter().any(|goal| matches!(goal, Goal::Deleted));
    let mut failed = Vec::new();
    let mut waited = false;
    for wanted in find(args, cx).await? {
        let result = match wanted.read(cx).await {
            // What is gone need not be waited for.
            Err(fault) if fault.is_not_found() && for_deletion => continue,
            Err(fault) => Err(fault),
            Ok((kind, object)) => {
                waited = true;
                wait_for_all(kind, &object, &goals, &deadline, args, cx).await
            }
        };
        failed.extend(result.err());
    }
    if !waited && failed.is_empty() && !for_deletion {
        return Err(Failure::text("no matching resources found"));
    }
    Failure::all(failed)
}

/// How long is waited, for all objects together.
struct Deadline {
    /// Each object is looked at once.
    once: bool,
    end: Instant,
}

impl Deadline {
    fn left(&self, cx: &Kubectl) -> Duration {
        self.end - cx.client.now()
    }
}

async fn find(args: &Args, cx: &Kubectl) -> Result<Vec<Wanted>, Failure> {
    wanted("wait", &args.words, selects(args), args, cx).await
}

/// Looks twice a second until all that is named is there, and something is. For one that is missing is waited; of more it is
/// told at once, as there: what `Visit` gives back then is no longer a NotFound.
async fn until_created(deadline: &Deadline, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    loop {
        let wanted = find(args, cx).await?;
        let mut missing = wanted.is_empty();
        let mut faults = Vec::new();
        for wanted in wanted {
            faults.extend(wanted.read(cx).await.err());
        }
        match faults.as_slice() {
            [one] if one.is_not_found() => missing = true,
            _ => Failure::all(faults)?,
        }
        if !missing {
            return Ok(());
        }
        if deadline.left(cx) < POLL {
            cx.sleep(deadline.left(cx)).await;
            return Err(Failure::text(TIMED_OUT));
        }
        cx.sleep(POLL).await;
    }
}

/// Waits for one goal after the other, and says of each that it is met.
async fn wait_for_all(
    kind: Kind,
    object: &Value,
    goals: &[Goal],
    deadline: &Deadline,
    args: &Args,
    cx: &Kubectl,
) -> Result<(), Failure> {
    let name = format!("{}/{}", qualified_singular(kind), text(object, "metadata.name"));
    for goal in goals {
        let met = wait_for(kind, object, goal, deadline, cx).await?;
        match args.value("output") {
            "" => cx.line(format!("{name} condition met")),
            "name" => cx.line(&name),
            _ => cx.tell(&met, "", args)?,
        }
    }
    Ok(())
}

impl Goal {
    fn parse(text: &str) -> Result<Goal, Failure> {
        if let Some(condition) = text.strip_prefix("condition=") {
            let (kind, status) = condition.split_once('=').unwrap_or((condition, "True"));
            return Ok(Goal::Condition { kind: kind.to_owned(), status: status.to_owned() });
        }
        if let Some(path) = text.strip_prefix("jsonpath=") {
            return Goal::parse_path(path);
        }
        match text.to_lowercase().as_str() {
            "delete" => Ok(Goal::Deleted),
            "create" => Ok(Goal::Created),
            _ => Err(Failure::text(format!("unrecognized condition: \"{text}\""))),
        }
    }

    /// `{.status.phase}=Running`. A single `=` stands before the value; a filter has two. Braces may be left out.
    fn parse_path(text: &str) -> Result<Goal, Failure> {
        // In this order no `==` is cut apart.
        let parts: Vec<String> = text.replace("==", "\0").split('=').map(|part| part.replace('\0', "==")).collect();
        let (path, value) = match parts.as_slice() {
            [path] => (path, None),
            [path, value] => (path, Some(value.trim_matches(['\'', '"']))),
            _ => {
                const FORMAT: &str = "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or \
                                      --for=jsonpath='{.status.readyReplicas}'";
                return Err(Failure::text(FORMAT));
            }
        };
        if value == Some("") {
            const NO_VALUE: &str = "jsonpath wait has to have a value after equal sign, like \
                                    --for=jsonpath='{.status.readyReplicas}'=3";
            return Err(Failure::text(NO_VALUE));
        }
        if path.is_empty() {
            return Err(Failure::text("jsonpath expression cannot be empty"));
        }
        let path = relaxed(path)?;
        jsonpath::Template::parse(&format!("{{.{path}}}")).map_err(Failure::text)?;
        Ok(Goal::Value { path: path.to_owned(), value: value.map(str::to_owned) })
    }

    /// Whether it is met. An error is a path that can never lead to one value of this object.
    fn is_met(&self, object: &Value) -> Result<bool, Failure> {
        match self {
            Goal::Deleted => Ok(false),
            Goal::Created => Ok(true),
            Goal::Value { path, value } => {
                let found = jsonpath::find(path, object).map_err(Failure::text)?;
                is_found(&found, value.as_deref())
            }
            Goal::Condition { kind, status } => {
                let mut conditions = list(object, "status.conditions").iter();
                let found = conditions.find(|c| text(c, "type").eq_ignore_ascii_case(kind));
                Ok(found.is_some_and(|c| is_current(c, object) && text(c, "status").eq_ignore_ascii_case(status)))
            }
        }
    }
}

/// A path with or without braces and the dot before it, without them. Mirrors `RelaxedJSONPathExpression`.
fn relaxed(path: &str) -> Result<&str, Failure> {
    let inner = path.strip_prefix('{').and_then(|path| path.strip_suffix('}')).unwrap_or(path);
    let bare = inner.strip_prefix('.').unwrap_or(inner);
    if bare.is_empty() || bare.contains(['{', '}']) {
        const WANTED: &str = "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or \
                              '{.name1.name2}'";
        return Err(Failure::text(WANTED));
    }
    Ok(bare)
}

/// Whether a path has led to the value that is waited for, or to any if none is named. Mirrors `verifyParsedJSONPath` and
/// `compareResults`.
fn is_found(found: &[Value], wanted: Option<&str>) -> Result<bool, Failure> {
    match (found, wanted) {
        ([], _) => Ok(false),
        ([_, _, ..], _) => Err(Failure::text("given jsonpath expression matches more than one value")),
        (_, None) => Ok(true),
        ([Value::Array(_) | Value::Object(_)], _) => {
            Err(Failure::text("jsonpath leads to a nested object or list which is not supported"))
        }
        ([one], Some(wanted)) => Ok(go_value(one).trim() == wanted.trim()),
    }
}

/// A condition that was observed on an older generation does not count.
fn is_current(condition: &Value, object: &Value) -> bool {
    let generation = int(object, "metadata.generation");
    let seen = at(condition, "observedGeneration").as_i64().or(at(object, "status.observedGeneration").as_i64());
    seen.is_none_or(|seen| seen >= generation)
}

/// Waits for one goal, and returns the object as it was last seen.
async fn wait_for(
    kind: Kind,
    object: &Value,
    goal: &Goal,
    deadline: &Deadline,
    cx: &Kubectl,
) -> Result<Value, Failure> {
    let (namespace, name) = namespace_and_name(object);
    let deleted = matches!(goal, Goal::Deleted);
    if matches!(goal, Goal::Created) {
        return Ok(object.clone());
    }
    if deleted || deadline.once {
        match cx.get_once(kind, namespace, name).await {
            Err(fault) if fault.is_not_found() && deleted => return Ok(object.clone()),
            Err(fault) => return Err(fault),
            Ok(there) if goal.is_met(&there)? => return Ok(there),
            Ok(_) if deadline.once => {
                return Err(Failure::text(format!("condition not met for {}/{name}", kind.info().plural)));
            }
            Ok(_) => {}
        }
    }
    let timed_out = || Failure::text(format!("{TIMED_OUT} on {}/{name}", kind.info().plural));
    if deadline.left(cx).is_zero() {
        return Err(timed_out());
    }
    let (listed, events) = cx.follow(kind, namespace, name, Some(deadline.left(cx))).await?;
    match listed.items.into_iter().next() {
        None if deleted => return Ok(object.clone()),
        None => return Err(Status::not_found(kind, name).into()),
        Some(there) if goal.is_met(&there)? => return Ok(there),
        Some(_) => {}
    }
    loop {
        match events.next().await {
            Some(WatchEvent::Deleted(last)) if deleted => return Ok(last.printed()),
            // There may be another one of that name.
            Some(WatchEvent::Deleted(_)) => {}
            Some(WatchEvent::Error(status)) => return Err(status.into()),
            Some(event) => {
                let Some(now) = event.object().map(|object| object.printed()) else { continue };
                if goal.is_met(&now)? {
                    return Ok(now);
                }
            }
            None => return Err(timed_out()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn goals_are_read_as_they_are_written() {
        let object = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        for (text, met) in [
            ("condition=ready", true),
            ("condition=Ready=false", false),
            ("jsonpath={.status.phase}=Running", true),
            ("jsonpath='{.status.phase}'=Running".trim_matches('\''), true),
            ("jsonpath=.status.phase=Running", true),
            ("jsonpath=status.phase=Pending", false),
            ("jsonpath={.status.phase}", true),
            ("jsonpath={.status.conditions[?(@.type==\"Ready\")].status}=True", true),
            ("jsonpath={.status.reason}", false),
            ("condition=Ready=\"True\"", false),
            ("jsonpath={.status.phase}= Running ", true),
            ("jsonpath={.status.conditions}", true),
            ("Create", true),
        ] {
            let text = text.replace('\'', "");
            assert_eq!(Goal::parse(&text).and_then(|goal| goal.is_met(&object)).ok(), Some(met), "{text}");
        }
        for (text, why) in [
            ("ready", "unrecognized condition: \"ready\""),
            (
                "jsonpath={.a}=",
                "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
            ),
            ("jsonpath=", "jsonpath expression cannot be empty"),
            (
                "jsonpath={.a}{.b}=c",
                "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
            ),
            ("jsonpath={.status}=Running", "jsonpath leads to a nested object or list which is not supported"),
            ("jsonpath={.status.*}", "given jsonpath expression matches more than one value"),
            ("jsonpath={.status.conditions[3].type}", "array index out of bounds: index 3, length 1"),
        ] {
            assert_eq!(Goal::parse(text).and_then(|goal| goal.is_met(&object)).unwrap_err().message(), why);
        }
    }
}
