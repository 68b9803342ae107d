//! `top pods` and `top nodes`. Mirrors `k8s.io/kubectl/pkg/cmd/top` and `metricsutil`.

use std::cmp::Reverse;
use std::time::Duration;

use super::wanted::selection;
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::print::fields::{namespace_and_name, text};
use crate::print::tabs;
use crate::usage;
use object::metrics::{Metrics, Usage};
use object::quantity::Amount;
use object::status::Reason;
use object::time::go_duration;
use object::{Kind, Status};
use wire::{Body, Options, Response, Subresource, Verb};

/// A Pod that is older should have been measured. `metricsCreationDelay`.
const CREATION_DELAY: Duration = Duration::from_secs(120);

/// `kubectl top`.
pub const TOP: Command = Command {
    usage: usage::Usage {
        name: "top",
        words: "pods|nodes [NAME]",
        about: "How much CPU and memory is used.",
        flags: &[
            &["selector", "field-selector", "all-namespaces", "containers", "no-headers", "sort-by", "sum"],
            &["show-capacity"],
        ],
        left_out: &["show-swap", "use-protocol-buffers"],
        ..usage::Usage::EMPTY
    },
    reads_only: |_| true,
    takes: Takes::first(&["nodes", "pods"], Named::Nothing),
    run: Run::There(|args, cx| Box::pin(top(args, cx))),
    ..Command::EMPTY
};

/// `kubectl top pods [NAME]`, `kubectl top nodes [NAME]`.
async fn top(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (kind, name) = match args.words.as_slice() {
        [word] => (word.as_str(), ""),
        [word, name] => (word.as_str(), name.as_str()),
        _ => return Err(Failure::text("write: kubectl top pods [NAME], or: kubectl top nodes [NAME]")),
    };
    match kind {
        "pod" | "pods" | "po" => pods(name, args, cx).await,
        "node" | "nodes" | "no" => nodes(name, args, cx).await,
        other => Err(Failure::usage("top", format!("unknown command \"{other}\""))),
    }
}

async fn pods(name: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let everywhere = args.is_on("all-namespaces");
    let namespace = if everywhere { "" } else { cx.namespace(args) };
    check_order(args)?;
    if !name.is_empty() && (args.has("selector") || args.has("field-selector")) {
        return Err(Failure::text("only one of NAME or selector can be provided"));
    }
    let mut all = measured(Kind::Pod, namespace, name, args, cx).await?;
    if all.is_empty() {
        why_none(args, cx).await?;
        cx.complain(match everywhere {
            true => "No resources found".to_owned(),
            false => format!("No resources found in {namespace} namespace."),
        });
        return Ok(());
    }
    sort(&mut all, args);
    let containers = args.is_on("containers");
    let mut heads = if containers { vec!["POD", "NAME"] } else { vec!["NAME"] };
    heads.extend(["CPU(cores)", "MEMORY(bytes)"]);
    if everywhere {
        heads.insert(0, "NAMESPACE");
    }
    let mut rows = Vec::new();
    for pod in &all {
        let lines = match containers {
            true => pod.containers.iter().map(|(name, usage)| (Some(name.clone()), *usage)).collect(),
            false => vec![(None, pod.total())],
        };
        for (container, usage) in lines {
            let place = everywhere.then(|| pod.namespace.clone());
            let mut row: Vec<String> = place.into_iter().chain([pod.name.clone()]).chain(container).collect();
            row.extend([cpu(usage), memory(usage)]);
            rows.push(row);
        }
    }
    if args.is_on("sum") {
        // Without heads kubectl does not know of the columns before.
        let before = if args.is_on("no-headers") { 1 } else { heads.len() - 2 };
        let total: Usage = all.iter().map(Metrics::total).sum();
        let line = |cpu: String, memory: String| vec![String::new(); before].into_iter().chain([cpu, memory]).collect();
        rows.push(line("________".to_owned(), "________".to_owned()));
        rows.push(line(cpu(total), memory(total)));
    }
    show(&heads, rows, args, cx);
    Ok(())
}

/// Why there are no metrics: it may be too early, or too late. Mirrors `verifyEmptyMetrics`.
async fn why_none(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let pods = cx.list(Kind::Pod, cx.namespace(args), selection(args)).await?.items;
    for pod in &pods {
        let (namespace, name) = namespace_and_name(pod);
        let made = text(pod, "metadata.creationTimestamp").parse::<jiff::Timestamp>();
        let age = made.ok().and_then(|made| Duration::try_from(cx.now().duration_since(made)).ok()).unwrap_or_default();
        if age > CREATION_DELAY {
            let age = go_duration(age);
            return Err(Failure::text(format!("Metrics not available for pod {namespace}/{name}, age: {age}")));
        }
    }
    if pods.is_empty() { Ok(()) } else { Err(Failure::text("metrics not available yet")) }
}

async fn nodes(name: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    check_order(args)?;
    let mut all = measured(Kind::Node, "", name, args, cx).await?;
    sort(&mut all, args);
    let nodes = match name {
        "" => cx.list(Kind::Node, "", selection(args)).await?.items,
        name => vec![cx.get(Kind::Node, "", name).await?],
    };
    // What Pods may have of it, or all that there is.
    let of = if args.is_on("show-capacity") { "capacity" } else { "allocatable" };
    let mut rows = Vec::new();
    for one in &all {
        let Some(node) = nodes.iter().find(|node| text(node, "metadata.name") == one.name) else { continue };
        let share = |resource: &str| {
            let whole = Amount::parse(text(node, &format!("status.{of}.{resource}"))).unwrap_or_default();
            let used = one.total().of(resource).unwrap_or_default();
            match whole.milli_value() {
                0 => "<unknown>".to_owned(),
                all => format!("{}%", (used.milli_value() as f64 / all as f64 * 100.0) as i64),
            }
        };
        rows.push(vec![one.name.clone(), cpu(one.total()), share("cpu"), memory(one.total()), share("memory")]);
    }
    // Who does not answer is there all the same.
    let silent =
        nodes.iter().map(|node| text(node, "metadata.name")).filter(|name| all.iter().all(|m| m.name != *name));
    rows.extend(silent.map(|name| {
        let unknown = || "<unknown>".to_owned();
        vec![name.to_owned(), unknown(), unknown(), unknown(), unknown()]
    }));
    show(&["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"], rows, args, cx);
    Ok(())
}

/// What they use, as the API tells it.
async fn measured(kind: Kind, namespace: &str, name: &str, args: &Args, cx: &Kubectl) -> Result<Vec<Metrics>, Failure> {
    let verb = if name.is_empty() { Verb::List } else { Verb::Get };
    let mut request = cx.request(verb, kind, namespace, name, Body::None);
    request.subresource = Some(Subresource::Metrics);
    if name.is_empty() {
        request.options = Options { limit: 0, ..selection(args) };
    }
    match cx.send(request).await {
        Ok(Response::Metrics(all)) => Ok(all),
        Ok(_) => Ok(Vec::new()),
        Err(Failure::Server { status, .. }) if is_not_served(&status) => {
            Err(Failure::text("Metrics API not available"))
        }
        Err(other) => Err(other),
    }
}

/// Whether the API is not there at all.
fn is_not_served(status: &Status) -> bool {
    status.reason == Reason::NotFound && status.message.starts_with(&Status::not_served().message)
}

fn check_order(args: &Args) -> Result<(), Failure> {
    match args.value("sort-by") {
        "" | "cpu" | "memory" => Ok(()),
        _ => Err(Failure::text("--sort-by accepts only cpu or memory")),
    }
}

/// By name, or who uses most first; and so each one's containers.
fn sort(all: &mut [Metrics], args: &Args) {
    let used = |usage: Usage| match args.value("sort-by") {
        "cpu" => Reverse(i128::from(usage.cpu_millis)),
        "memory" => Reverse(i128::from(usage.memory_bytes)),
        _ => Reverse(0),
    };
    let by_name = args.value("sort-by").is_empty();
    all.sort_by_key(|one| used(one.total()));
    for one in all {
        match by_name {
            true => one.containers.sort_by(|(a, _), (b, _)| a.cmp(b)),
            false => one.containers.sort_by_key(|(_, usage)| used(*usage)),
        }
    }
}

fn cpu(usage: Usage) -> String {
    format!("{}m", usage.cpu_millis)
}

fn memory(usage: Usage) -> String {
    format!("{}Mi", usage.memory_bytes >> 20)
}

/// Every column ends with a tab, the last one too.
fn show(heads: &[&str], rows: Vec<Vec<String>>, args: &Args, cx: &Kubectl) {
    let heads = (!args.is_on("no-headers")).then(|| heads.iter().map(|head| (*head).to_owned()).collect());
    let line = |cells: Vec<String>| cells.iter().map(|cell| format!("{cell}\t")).collect::<String>() + "\n";
    cx.print(&tabs::table(&heads.into_iter().chain(rows).map(line).collect::<String>()));
}
