//! `get --watch`: the list, and then each change as it comes.
//!
//! The real one goes on until Ctrl-C. Here a command has to end, or nothing after it would ever be typed: it does when no
//! change has come for [`STILL`], or after `--request-timeout`.

use std::time::Duration;

use serde_json::Value;

use super::wanted::{in_chunks, named};
use crate::args::Args;
use crate::failure::Failure;
use crate::feeds::Stream;
use crate::kubectl::Kubectl;
use crate::options::timeout;
use crate::print::output::{Output, print};
use crate::print::table::{Look, lines};
use crate::print::tabs;
use crate::targets::Target;
use object::Kind;
use wire::{Body, Options, Verb, WatchEvent};

/// After so long without a change, the watch ends.
pub(super) const STILL: Duration = Duration::from_secs(30);

/// `kubectl get --watch`, `kubectl get --watch-only`.
pub async fn watch(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    match watched(args, cx).await {
        Err(fault) if fault.is_not_found() && args.is_on("ignore-not-found") => Ok(()),
        done => done,
    }
}

async fn watched(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let output = cx.output(args)?.without_titles(args.is_on("no-headers"));
    let (targets, faults) = named("get", &args.words, args, cx).await?;
    Failure::all(faults)?;
    let (target, namespace) = match targets.as_slice() {
        [target] => target,
        [(first, _), others @ ..]
            if others.iter().all(|(other, _)| other.kind == first.kind && other.name.is_some()) =>
        {
            return several(&targets, output, args, cx).await;
        }
        _ => return Err(Failure::text("you may only specify a single resource type")),
    };
    let limit = if args.has("request-timeout") { timeout(args, "request-timeout")? } else { None };
    let mut options = in_chunks(args)?;
    let (there, revision) = match &target.name {
        Some(name) => {
            let object = cx.get(target.kind, namespace, name).await?;
            options.field_selector = format!("metadata.name={name}");
            let revision = object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
            (vec![object], revision)
        }
        None => {
            let listed = cx.list(target.kind, namespace, options.clone()).await?;
            (listed.items, listed.revision.to_string())
        }
    };
    let mut screen = Screen::new(target.kind, output, args);
    if !args.is_on("watch-only") {
        screen.show("ADDED", &there, cx)?;
    }
    let mut request = cx.request(Verb::Watch, target.kind, namespace, "", Body::None);
    request.options = Options { limit: 0, resource_version: revision, ..options };
    let stream = cx.open(request, limit);
    loop {
        match next(&stream, limit).await {
            Some(WatchEvent::Error(status)) => return Err(status.into()),
            Some(event) => {
                if let Some(object) = event.object() {
                    screen.show(event.type_str(), &[object.printed()], cx)?;
                }
            }
            None => return Ok(()),
        }
    }
}

/// Objects of one kind by name are shown, and only then is it seen that a watch is of one. Mirrors `Result.Watch` of
/// `cli-runtime`, which is asked last.
async fn several(targets: &[(Target, String)], output: Output, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut there = Vec::new();
    for (target, namespace) in targets {
        let name = target.name.as_deref().unwrap_or_default();
        there.push(cx.get(target.kind, namespace, name).await?);
    }
    if !args.is_on("watch-only") {
        Screen::new(targets[0].0.kind, output, args).show("ADDED", &there, cx)?;
    }
    Err(Failure::text("you may only watch a single resource or type of resource at a time"))
}

/// The next event of a watch; none when the watch has ended.
pub(super) async fn next(stream: &Stream, limit: Option<Duration>) -> Option<WatchEvent> {
    if limit.is_some() { stream.next().await } else { stream.next_within(STILL).await }
}

/// Lines that were printed so far. A column that a later one has widened stays so. Mirrors `tabwriter.RememberWidths`.
#[derive(Default)]
pub(super) struct Printed(Vec<String>);

impl Printed {
    /// Prints lines that come together: they are lined up before any of them is printed.
    pub fn add(&mut self, lines: impl IntoIterator<Item = String>, cx: &Kubectl) {
        let before = self.0.len();
        self.0.extend(lines);
        let all = tabs::table(&(self.0.join("\n") + "\n"));
        all.lines().skip(before).for_each(|line| cx.line(line));
    }

    /// Whether nothing was printed yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The table that grows.
struct Screen {
    kind: Kind,
    output: Output,
    look: Look,
    events: bool,
    printed: Printed,
}

impl Screen {
    fn new(kind: Kind, output: Output, args: &Args) -> Screen {
        let look =
            Look { namespaces: args.is_on("all-namespaces") && kind.info().namespaced, ..look_of(&output, args) };
        Screen { kind, output, look, events: args.is_on("output-watch-events"), printed: Printed::default() }
    }

    fn show(&mut self, event: &str, objects: &[Value], cx: &Kubectl) -> Result<(), Failure> {
        if !self.output.is_table() {
            for object in objects {
                let text = print(&self.output, std::slice::from_ref(object), true, cx.now()).map_err(Failure::text)?;
                cx.print(&text);
            }
            return Ok(());
        }
        if objects.is_empty() {
            return Ok(());
        }
        let look = Look { no_headers: self.look.no_headers || !self.printed.is_empty(), ..self.look.clone() };
        let heads = usize::from(!look.no_headers);
        let rows = lines(self.kind, objects, &look, cx.now(), &cx.known.borrow());
        let events = self.events;
        let rows = rows.into_iter().enumerate().map(|(n, line)| match (events, n < heads) {
            (false, _) => line,
            (true, true) => format!("EVENT\t{line}"),
            (true, false) => format!("{event}\t{line}"),
        });
        self.printed.add(rows, cx);
        Ok(())
    }
}

/// How a table is to look, if the flags ask for one.
pub(super) fn look_of(output: &Output, args: &Args) -> Look {
    Look {
        wide: matches!(output, Output::Table { wide: true }),
        labels: args.is_on("show-labels"),
        namespaces: args.is_on("all-namespaces"),
        prefix: args.is_on("show-kind"),
        label_columns: args
            .values("label-columns")
            .iter()
            .flat_map(|keys| keys.split(','))
            .map(str::to_owned)
            .collect(),
        no_headers: args.is_on("no-headers"),
        bare: args.value("server-print") == "false",
    }
}
