//! `get` and the other verbs that only show.

use serde_json::Value;

use crate::apiserver::request::Options;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::{Args, Target};
use crate::cluster::kubectl::calls::Failure;
use crate::cluster::kubectl::print::fields::{text, time};
use crate::cluster::kubectl::print::table::{Look, table};
use crate::cluster::kubectl::print::{Output, jsonpath, print};
use crate::object::{Discovery, Kind};

/// `kubectl get`.
pub async fn get(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if args.is_on("watch") || args.is_on("watch-only") {
        return super::watch::watch(args, cx).await;
    }
    let output = Output::parse(args.value("output")).map_err(Failure::text)?;
    let output = output.without_titles(args.is_on("no-headers"));
    let mut groups: Vec<(Kind, Vec<Value>)> = Vec::new();
    let mut failed = None;
    let targets = wanted(args, cx).await?;
    for target in &targets {
        match fetch(target, args, cx).await {
            Ok(objects) => match groups.last_mut().filter(|(kind, _)| *kind == target.kind) {
                Some((_, group)) => group.extend(objects),
                None => groups.push((target.kind, objects)),
            },
            Err(fault) if fault.is_not_found() && args.is_on("ignore-not-found") => {}
            Err(fault) => failed = Some(fault),
        }
    }
    let single = matches!(targets.as_slice(), [Target { name: Some(_), .. }]);
    sort(&mut groups, args.value("sort-by"))?;
    if failed.is_none() || groups.iter().any(|(_, group)| !group.is_empty()) {
        show(&output, &groups, single, args, cx)?;
    }
    failed.map_or(Ok(()), Err)
}

async fn wanted(args: &Args, cx: &Kubectl) -> Result<Vec<Target>, Failure> {
    if !args.has("filename") {
        return cx.targets("get", &args.words).await;
    }
    let of = |m: &crate::cluster::manifest::Manifest| Target {
        kind: m.kind,
        name: Some(text(&m.object, "metadata.name").to_owned()),
    };
    Ok(cx.manifests("get", args).await?.iter().map(of).collect())
}

/// The objects of one target: GET of a name, LIST of all.
async fn fetch(target: &Target, args: &Args, cx: &Kubectl) -> Result<Vec<Value>, Failure> {
    let namespace = if args.is_on("all-namespaces") { "" } else { cx.namespace(args) };
    match &target.name {
        Some(name) => Ok(vec![cx.get(target.kind, namespace, name).await?]),
        None => Ok(cx.list(target.kind, namespace, selection(args)).await?.items),
    }
}

/// The query of a LIST: in pages of 500, or all at once if they are to be sorted.
pub fn selection(args: &Args) -> Options {
    Options {
        label_selector: args.value("selector").to_owned(),
        field_selector: args.value("field-selector").to_owned(),
        limit: if args.has("sort-by") { 0 } else { 500 },
        ..Options::default()
    }
}

/// Objects that lack the field come first; equal ones stay in the order of their names.
fn sort(groups: &mut [(Kind, Vec<Value>)], path: &str) -> Result<(), Failure> {
    if path.is_empty() {
        return Ok(());
    }
    for (_, objects) in groups {
        let mut keyed = Vec::new();
        for object in objects.drain(..) {
            let found = jsonpath::find(path, &object).map_err(Failure::text)?;
            let key = found.first().map(|value| sort_key(value));
            keyed.push((key, object));
        }
        keyed.sort_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        objects.extend(keyed.into_iter().map(|(_, object)| object));
    }
    Ok(())
}

/// Numbers go by value, all else by its text.
fn sort_key(value: &Value) -> (f64, String) {
    (value.as_f64().unwrap_or_default(), value.as_str().unwrap_or_default().to_owned())
}

fn show(
    output: &Output,
    groups: &[(Kind, Vec<Value>)],
    single: bool,
    args: &Args,
    cx: &Kubectl,
) -> Result<(), Failure> {
    let now = cx.now();
    if output.is_table() {
        return show_tables(groups, look_of(output, args), args, cx);
    }
    let all: Vec<Value> = groups.iter().flat_map(|(_, group)| group.clone()).collect();
    cx.print(&print(output, &all, single, now).map_err(Failure::text)?);
    Ok(())
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
    }
}

fn show_tables(groups: &[(Kind, Vec<Value>)], look: Look, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let look = Look { prefix: groups.len() > 1 || look.prefix, ..look };
    let now = cx.now();
    let filled: Vec<_> = groups.iter().filter(|(_, group)| !group.is_empty()).collect();
    if filled.is_empty() {
        let namespaced = groups.iter().any(|(kind, _)| kind.info().namespaced) && !look.namespaces;
        match namespaced {
            true => cx.complain(format!("No resources found in {} namespace.", cx.namespace(args))),
            false => cx.complain("No resources found"),
        }
    }
    let known = cx.known.get();
    let tables: Vec<String> = filled
        .into_iter()
        .map(|(kind, group)| {
            table(
                *kind,
                group,
                Look { namespaces: look.namespaces && kind.info().namespaced, ..look.clone() },
                now,
                &known,
            )
        })
        .collect();
    cx.print(&tables.join(if look.no_headers { "" } else { "\n" }));
    Ok(())
}

/// `kubectl events`: like `get events`, by time.
pub async fn events(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut options = selection(args);
    if let Some((kind, name)) = args.value("for").split_once('/') {
        let about = cx.targets("events", &[format!("{kind}/{name}")]).await?;
        let kind = about.first().map_or("", |target| target.kind.info().kind);
        options.field_selector = format!("involvedObject.kind={kind},involvedObject.name={name}");
    }
    let everywhere = args.is_on("all-namespaces");
    let namespace = if everywhere { "" } else { cx.namespace(args) };
    let mut events = cx.list(Kind::Event, namespace, options).await?.items;
    if events.is_empty() && everywhere {
        cx.complain("No events found");
        return Ok(());
    }
    if events.is_empty() {
        cx.complain(format!("No events found in {} namespace.", cx.namespace(args)));
        return Ok(());
    }
    let seen = |e: &Value| ["series.lastObservedTime", "lastTimestamp", "eventTime"].iter().find_map(|p| time(e, p));
    events.sort_by_key(seen);
    let look = Look { namespaces: everywhere, no_headers: args.is_on("no-headers"), ..Look::default() };
    cx.print(&table(Kind::Event, &events, look, cx.now(), &Discovery::default()));
    Ok(())
}
