//! `events`: what has been told of objects, by time. Mirrors `pkg/cmd/events`.
//!
//! `--watch` ends as `get --watch` does.

use std::time::Duration;

use serde_json::{Value, json};

use super::wanted::in_chunks;
use super::watch::{Printed, next};
use crate::args::Args;
use crate::command::{Command, Run};
use crate::failure::Failure;
use crate::feeds::Stream;
use crate::kubectl::Kubectl;
use crate::options::{plain_options, timeout};
use crate::print::describe::event_age;
use crate::print::fields::{text, time};
use crate::print::output::Output;
use crate::targets::one_kind;
use crate::usage::Usage;
use object::terminal::escaped;
use object::{Discovery, Kind};
use wire::{Body, Options, Verb, WatchEvent};

/// `kubectl events`.
pub const EVENTS: Command = Command {
    usage: Usage {
        name: "events",
        about: "What has been told of objects, the last one at the end.",
        flags: &[&["for", "types", "all-namespaces", "no-headers", "output", "chunk-size", "watch"]],
        ..Usage::EMPTY
    },
    reads_only: |_| true,
    run: Run::There(|args, cx| Box::pin(events(args, cx))),
    ..Command::EMPTY
};

/// `kubectl events`.
async fn events(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut told = Told::new(args, cx)?;
    let options = about(args, cx).await?;
    let namespace = if told.everywhere { "" } else { cx.namespace(args) };
    if args.is_on("watch") {
        // No list goes before it: a watch from nowhere brings what there is.
        let limit = if args.has("request-timeout") { timeout(args, "request-timeout")? } else { None };
        let mut request = cx.request(Verb::Watch, Kind::Event, namespace, "", Body::None);
        request.options = Options { limit: 0, ..options };
        return follow(&cx.open(request, limit), limit, &mut told, cx).await;
    }
    let mut events = cx.list(Kind::Event, namespace, options).await?.items;
    events.retain(|event| told.wants(event));
    if events.is_empty() {
        cx.complain(match told.everywhere {
            true => "No events found.".to_owned(),
            false => format!("No events found in {namespace} namespace."),
        });
        return Ok(());
    }
    let seen = |e: &Value| ["series.lastObservedTime", "lastTimestamp", "eventTime"].iter().find_map(|p| time(e, p));
    events.sort_by_key(seen);
    told.tell(&events, false, cx)
}

/// Tells of each Event as it comes.
async fn follow(stream: &Stream, limit: Option<Duration>, told: &mut Told<'_>, cx: &Kubectl) -> Result<(), Failure> {
    while let Some(event) = next(stream, limit).await {
        match (&event, event.object()) {
            (WatchEvent::Error(status), _) => return Err(status.clone().into()),
            // One that has become too old is no news.
            (WatchEvent::Deleted { .. }, _) | (_, None) => {}
            (_, Some(object)) => {
                let object = object.printed();
                if told.wants(&object) {
                    told.tell(&[object], true, cx)?;
                }
            }
        }
    }
    Ok(())
}

/// What is told of Events, and how.
struct Told<'a> {
    args: &'a Args,
    types: Vec<String>,
    output: Output,
    everywhere: bool,
    no_headers: bool,
    printed: Printed,
}

impl<'a> Told<'a> {
    fn new(args: &'a Args, cx: &Kubectl) -> Result<Told<'a>, Failure> {
        let types: Vec<String> = args
            .values("types")
            .iter()
            .filter(|types| !types.is_empty())
            .flat_map(|types| types.split(','))
            .map(str::to_ascii_lowercase)
            .collect();
        if !types.iter().all(|one| one == "normal" || one == "warning") {
            return Err(Failure::text("valid --types are Normal or Warning"));
        }
        let (everywhere, no_headers) = (args.is_on("all-namespaces"), args.is_on("no-headers"));
        // It has no table of its own for -o wide, and no columns.
        plain_options("", args)?;
        Ok(Told { args, types, output: cx.output(args)?, everywhere, no_headers, printed: Printed::default() })
    }

    fn wants(&self, event: &Value) -> bool {
        self.types.is_empty() || self.types.iter().any(|one| one.eq_ignore_ascii_case(text(event, "type")))
    }

    fn tell(&mut self, events: &[Value], single: bool, cx: &Kubectl) -> Result<(), Failure> {
        if !self.output.is_table() {
            if single || matches!(self.output, Output::Name) {
                return events.iter().try_for_each(|event| cx.tell_struct(event, "", self.args));
            }
            let list = json!({"apiVersion": "v1", "kind": "EventList", "metadata": {}, "items": events});
            return cx.tell_struct(&list, "", self.args);
        }
        let namespace = if self.everywhere { "NAMESPACE\t" } else { "" };
        let head = format!("{namespace}LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE");
        let head = Some(head).filter(|_| self.printed.is_empty() && !self.no_headers);
        let rows = events.iter().map(|event| row(event, self.everywhere, cx));
        self.printed.add(head.into_iter().chain(rows), cx);
        Ok(())
    }
}

/// The query: `--for TYPE/NAME` asks for those about one object.
async fn about(args: &Args, cx: &Kubectl) -> Result<Options, Failure> {
    let options = in_chunks(args)?;
    if !args.has("for") {
        return Ok(options);
    }
    let word = args.value("for");
    if !word.contains('/') {
        return Err(Failure::text("--for must be in resource/name form"));
    }
    let (kind, name) = word.split_once('/').unwrap_or((word, ""));
    if name.contains('/') {
        return Err(Failure::text("arguments in resource/name form may not have more than one slash"));
    }
    let built_in = Discovery::default();
    let known = if built_in.from_word(kind).is_some() { built_in } else { cx.discover().await? };
    let info = one_kind(kind, &known).map_err(|missing| cx.told(&missing))?.info();
    if name.is_empty() {
        return Ok(options);
    }
    let field_selector = format!(
        "involvedObject.kind={},involvedObject.apiVersion={},involvedObject.name={name}",
        info.kind, info.api_version
    );
    Ok(Options { field_selector, ..options })
}

fn row(event: &Value, everywhere: bool, cx: &Kubectl) -> String {
    let namespace = if everywhere { format!("{}\t", text(event, "metadata.namespace")) } else { String::new() };
    let [type_, reason, kind, name] =
        ["type", "reason", "involvedObject.kind", "involvedObject.name"].map(|path| text(event, path));
    let (age, message) = (event_age(event, cx.now()), escaped(text(event, "message").trim()));
    let reason = escaped(reason);
    format!("{namespace}{age}\t{type_}\t{reason}\t{kind}/{name}\t{message}")
}
