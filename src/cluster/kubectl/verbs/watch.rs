//! `get --watch`: the list, and then each change as it comes.
//!
//! The real one goes on until Ctrl-C. Here a command has to end, or nothing after it would ever be typed: it does when no
//! change has come for [`STILL`], or after `--request-timeout`.

use std::time::Duration;

use serde_json::Value;

use super::get::{look_of, selection};
use crate::apiserver::request::{Body, Options, Verb};
use crate::apiserver::watch::WatchEvent;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::{Failure, timeout};
use crate::cluster::kubectl::print::table::{Look, lines};
use crate::cluster::kubectl::print::{Output, print, tabs};
use crate::object::Kind;

/// So long without a change, and nobody looks any more.
const STILL: Duration = Duration::from_secs(30);

/// `kubectl get --watch`, `kubectl get --watch-only`.
pub async fn watch(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let output = Output::parse(args.value("output")).map_err(Failure::text)?;
    let output = output.without_titles(args.is_on("no-headers"));
    let targets = cx.targets("get", &args.words).await?;
    let [target] = targets.as_slice() else {
        return Err(Failure::text("you may only specify a single resource type"));
    };
    let limit = if args.has("request-timeout") { timeout(args, "request-timeout")? } else { None };
    let everywhere = args.is_on("all-namespaces");
    let namespace = if everywhere { "" } else { cx.namespace(args) };
    let mut options = selection(args);
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
        for object in &there {
            screen.show("ADDED", object, cx)?;
        }
    }
    let mut request = cx.request(Verb::Watch, target.kind, namespace, "", Body::None);
    request.options = Options { limit: 0, resource_version: revision, ..options };
    let stream = cx.open(request, limit);
    loop {
        let next = if limit.is_some() { stream.next().await } else { stream.next_within(STILL).await };
        match next {
            Some(WatchEvent::Error(status)) => return Err(status.into()),
            Some(event) => {
                if let Some(object) = event.object() {
                    screen.show(event.type_str(), &object.to_json(), cx)?;
                }
            }
            None => return Ok(()),
        }
    }
}

/// What was printed so far. A column that a later row has widened stays so.
struct Screen {
    kind: Kind,
    output: Output,
    look: Look,
    events: bool,
    lines: Vec<String>,
}

impl Screen {
    fn new(kind: Kind, output: Output, args: &Args) -> Screen {
        let look =
            Look { namespaces: args.is_on("all-namespaces") && kind.info().namespaced, ..look_of(&output, args) };
        Screen { kind, output, look, events: args.is_on("output-watch-events"), lines: Vec::new() }
    }

    fn show(&mut self, event: &str, object: &Value, cx: &Kubectl) -> Result<(), Failure> {
        if !self.output.is_table() {
            let text = print(&self.output, std::slice::from_ref(object), true, cx.now()).map_err(Failure::text)?;
            cx.print(&text);
            return Ok(());
        }
        let printed = self.lines.len();
        let look = Look { no_headers: self.look.no_headers || printed > 0, ..self.look.clone() };
        let heads = usize::from(!look.no_headers);
        let rows = lines(self.kind, std::slice::from_ref(object), &look, cx.now(), &cx.known.borrow());
        for (n, line) in rows.into_iter().enumerate() {
            let word = if n < heads { "EVENT" } else { event };
            self.lines.push(if self.events { format!("{word}\t{line}") } else { line });
        }
        let all = tabs::table(&(self.lines.join("\n") + "\n"));
        all.lines().skip(printed).for_each(|line| cx.line(line));
        Ok(())
    }
}
