//! `get` and the other verbs that only show.

use serde_json::Value;

use super::wanted::{in_chunks, named};
use super::watch::{look_of, watch};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::FILES;
use crate::kubectl::Kubectl;
use crate::print::duration::age;
use crate::print::fields::{int, text};
use crate::print::output::{Output, print};
use crate::print::table::{Look, table};
use crate::print::{jsonpath, tabs};
use crate::targets::Target;
use crate::usage::Usage;
use object::Kind;

/// Mirrors `SuggestAPIResources`.
pub(super) const SUGGESTION: &str = "Use \"kubectl api-resources\" for a complete list of supported resources.";

/// `kubectl get`.
pub const GET: Command = Command {
    usage: Usage {
        name: "get",
        words: "TYPE [NAME] | TYPE/NAME … | -f FILE | -k DIR",
        about: "Show objects.",
        flags: &[
            FILES,
            &["output", "selector", "field-selector", "all-namespaces", "show-labels", "label-columns", "show-kind"],
            &[
                "no-headers",
                "sort-by",
                "ignore-not-found",
                "watch",
                "watch-only",
                "output-watch-events",
                "raw",
                "server-print",
                "show-managed-fields",
                "subresource",
                "chunk-size",
                "template",
            ],
        ],
        ..Usage::EMPTY
    },
    reads_only: |_| true,
    names_objects: true,
    raw: Some("GET"),
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(get(args, cx))),
};

/// `kubectl get`.
async fn get(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if args.is_on("watch") || args.is_on("watch-only") {
        return watch(args, cx).await;
    }
    if args.words.is_empty() && !args.gives_manifests() {
        cx.complain(format!("You must specify the type of resource to get. {SUGGESTION}\n"));
        return Err(Failure::usage(
            "get",
            "Required resource not specified.\nUse \"kubectl explain <resource>\" for a detailed description of that \
             resource (e.g. kubectl explain pods).",
        ));
    }
    let output = cx.output(args)?.without_titles(args.is_on("no-headers"));
    let mut groups: Vec<(Kind, Vec<Value>)> = Vec::new();
    let mut failed = Vec::new();
    let (targets, faults) = named("get", &args.words, args, cx).await?;
    for (target, namespace) in &targets {
        match fetch(target, namespace, args, cx).await {
            Ok(objects) => match groups.last_mut().filter(|(kind, _)| *kind == target.kind) {
                Some((_, group)) => group.extend(objects),
                None => groups.push((target.kind, objects)),
            },
            Err(fault) if fault.is_not_found() && args.is_on("ignore-not-found") => {}
            Err(fault) => failed.push(fault),
        }
    }
    failed.extend(faults);
    if args.is_on("ignore-not-found") && groups.iter().all(|(_, group)| group.is_empty()) {
        return Failure::all(failed);
    }
    let single = matches!(targets.as_slice(), [(Target { name: Some(_), .. }, _)]);
    sort(&mut groups, args.value("sort-by"))?;
    // Of what is missing there is no table; a list of nothing is printed as one, but for what is in one file.
    let some = groups.iter().any(|(_, group)| !group.is_empty());
    let shows = if output.is_table() { some } else { !single && !is_one_file(args, cx) };
    if failed.is_empty() || shows {
        show(&output, &groups, single, args, cx)?;
    }
    Failure::all(failed)
}

/// Whether it is one file that says what is meant. Mirrors `singleItemImplied` of `visitByPaths`.
fn is_one_file(args: &Args, cx: &Kubectl) -> bool {
    let mut paths = args.values("filename").iter().flat_map(|paths| paths.split(','));
    match (paths.next(), paths.next()) {
        (Some(path), None) => path != "-" && cx.names_in(path).is_empty(),
        _ => args.has("kustomize"),
    }
}

/// The objects of one target: GET of a name, LIST of all.
pub(super) async fn fetch(target: &Target, namespace: &str, args: &Args, cx: &Kubectl) -> Result<Vec<Value>, Failure> {
    let part = args.value("subresource");
    match &target.name {
        Some(name) if !part.is_empty() => Ok(vec![part_of(target.kind, namespace, name, part, cx).await?]),
        None if !part.is_empty() => Err(Failure::text("subresource cannot be used when bulk resources are specified")),
        Some(name) => Ok(vec![cx.get(target.kind, namespace, name).await?]),
        None => Ok(cx.select(target.kind, namespace, in_chunks(args)?).await?.items),
    }
}

/// GET of a part of an object, as it stands at its path.
async fn part_of(kind: Kind, namespace: &str, name: &str, part: &str, cx: &Kubectl) -> Result<Value, Failure> {
    let info = kind.info();
    let root = if info.group.is_empty() { "/api" } else { "/apis" };
    let place = if info.namespaced { format!("namespaces/{namespace}/") } else { String::new() };
    let path = format!("{root}/{}/{place}{}/{name}/{part}", info.api_version, info.plural);
    let body = super::raw::get(&path, cx).await?;
    serde_json::from_str(&body).map_err(|_| Failure::text(format!("{part} is no object; see kubectl get --raw {path}")))
}

/// Objects that lack the field come first; equal ones stay in the order of their names.
fn sort(groups: &mut [(Kind, Vec<Value>)], path: &str) -> Result<(), Failure> {
    if path.is_empty() {
        return Ok(());
    }
    for (_, objects) in groups {
        let mut keyed: Vec<(Option<(f64, String)>, Value)> = Vec::new();
        for object in objects.drain(..) {
            let found = jsonpath::find(path, &object).map_err(Failure::text)?;
            let key = found.first().map(sort_key);
            keyed.push((key, object));
        }
        if !keyed.is_empty() && keyed.iter().all(|(key, _)| key.is_none()) {
            let path = path.trim_start_matches('{').trim_end_matches('}').trim_start_matches('.');
            return Err(Failure::text(format!(
                "couldn't find any field with path \"{{.{path}}}\" in the list of objects"
            )));
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
    if output.is_table() && args.value("subresource") == "scale" {
        return show_scales(groups, args, cx);
    }
    if output.is_table() {
        return show_tables(groups, look_of(output, args), args, cx);
    }
    let all: Vec<Value> = groups.iter().flat_map(|(_, group)| group.clone()).collect();
    cx.print(&print(output, &all, single, now).map_err(Failure::text)?);
    Ok(())
}

/// The table of Scales, which are no kind of their own.
fn show_scales(groups: &[(Kind, Vec<Value>)], args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let head = (!args.is_on("no-headers")).then(|| "NAME\tDESIRED\tAVAILABLE\tAGE\n".to_owned());
    let row = |scale: &Value| {
        let [wanted, there] = ["spec.replicas", "status.replicas"].map(|path| int(scale, path));
        format!(
            "{}\t{wanted}\t{there}\t{}\n",
            text(scale, "metadata.name"),
            age(cx.now(), scale, "metadata.creationTimestamp")
        )
    };
    let rows = groups.iter().flat_map(|(_, group)| group).map(row);
    cx.print(&tabs::table(&head.into_iter().chain(rows).collect::<String>()));
    Ok(())
}

fn show_tables(groups: &[(Kind, Vec<Value>)], look: Look, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let look = Look { prefix: groups.len() > 1 || look.prefix, ..look };
    let now = cx.now();
    let filled: Vec<_> = groups.iter().filter(|(_, group)| !group.is_empty()).collect();
    if filled.is_empty() {
        let namespaced = groups.iter().all(|(kind, _)| kind.info().namespaced) && !look.namespaces;
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
