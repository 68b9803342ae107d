//! kubectl: the commands of the person at the keyboard, as a client of the API server and nothing more.
//!
//! Mirrors `k8s.io/kubectl`. A command is one task of the actor `user/kubectl`. It sends exactly the requests that the
//! real kubectl sends, in the same order, so that what a learner sees in a trace is what a real API server would have
//! been asked: `apply` is GET, then POST or a three-way PATCH; `rollout status` and `wait` are GET, LIST, WATCH; `scale`,
//! `set image`, `label` and `taint` are GET and a small PATCH. What it prints is what the real one prints.
//!
//! - [`client`]: whose it is, what it prints, the watches it follows. [`config`]: the kubeconfig. [`calls`]: requests, and
//!   errors as it words them.
//! - [`usage`]: which commands and flags there are, and what `--help` says. [`args`]: the command line.
//! - [`mod@print`]: tables, describe pages and the other output formats.
//! - `verbs`: one file for each family of verbs. [`forwards`]: what `port-forward` leaves open. [`terminal`]: what a shell is
//!   typed into.
//!
//! Left out: discovery and OpenAPI requests (kubectl caches them); verbs that [`refused`] names, which say so. What a command in
//! a container prints is shown when it has ended; `edit` needs a terminal, and is the stepper's.
//! `get` asks for objects and makes the table itself, out of the API server's own cells, where the real one asks for a
//! table.

pub mod args;
pub mod calls;
pub mod client;
pub mod config;
pub mod forwards;
pub mod print;
pub mod terminal;
pub mod usage;

mod verbs;

use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use args::Args;
use verbs::label::Marks;

use crate::wire::Impersonation;

pub use calls::Failure;
pub use client::{Feeds, Kubectl, Output};

/// How long a kubectl process takes from its start to its first request.
const STARTUP: Duration = Duration::from_millis(100);

/// Verbs whose words name objects, and nothing else.
const TAKE_OBJECTS: &[&str] = &["delete", "describe", "get", "scale", "wait"];

/// Runs one command line, without the word `kubectl`. Returns the exit code; what it printed is in the terminal.
pub async fn run(line: &[String], cx: &Kubectl) -> u8 {
    cx.sleep(STARTUP).await;
    let cx = &cx.afresh();
    code_of(dispatch(line, cx).await, cx)
}

/// The exit code, after what went wrong was said.
fn code_of(done: Result<(), Failure>, cx: &Kubectl) -> u8 {
    let Err(fault) = done else { return 0 };
    let text = fault.to_string();
    if !text.is_empty() {
        cx.complain(text);
    }
    1
}

/// Runs `curl`, `ping` or `nslookup` from a Pod, a node or outside. Returns the exit code.
pub async fn run_from(words: &[String], from: &str, cx: &Kubectl) -> u8 {
    let done = match cx.in_context("") {
        Ok(cx) => verbs::from::from(words, from, &cx).await,
        Err(fault) => Err(fault),
    };
    code_of(done, cx)
}

async fn dispatch(line: &[String], cx: &Kubectl) -> Result<(), Failure> {
    let line = match line.split_first() {
        Some((word, [command, ..])) if word == "help" => &[command.clone(), "--help".to_owned()],
        _ => line,
    };
    if let [flag] = line
        && usage::wants_value(flag)
    {
        return Err(Failure::text(format!("flag needs an argument: {flag}\nSee 'kubectl --help' for usage.")));
    }
    let Some(place) = args::verb_place(line).filter(|place| line[*place] != "help") else {
        cx.print(&usage::help(""));
        return Ok(());
    };
    let verb = line[place].as_str();
    if let Some(why) = refused(verb) {
        return Err(Failure::text(format!("{verb} is not part of this cluster: {why}")));
    }
    if !usage::knows(verb) {
        return Err(unknown(verb));
    }
    if line.iter().take_while(|word| *word != "--").any(|word| word == "--help" || word == "-h") {
        cx.print(&usage::help(verb));
        return Ok(());
    }
    let rest: Vec<String> = line[..place].iter().chain(&line[place + 1..]).cloned().collect();
    perform(verb, &Args::parse(verb, &rest)?, cx).await
}

fn unknown(verb: &str) -> Failure {
    Failure::text(format!("unknown command \"{verb}\" for \"kubectl\""))
}

/// Does what a verb is for, as whom and in which context the flags say.
async fn perform(verb: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if args.gives_manifests() && !args.words.is_empty() && TAKE_OBJECTS.contains(&verb) {
        let why =
            "when paths, URLs, or stdin is provided as resource input, you may not specify resource arguments as well";
        return Err(Failure::text(why));
    }
    if args.has("record") {
        cx.complain("Flag --record has been deprecated, --record will be removed in the future");
    }
    if verb == "config" {
        return verbs::config::config(args, cx);
    }
    if verb == "options" {
        cx.print(&usage::options());
        return Ok(());
    }
    let somebody = impersonation(args, cx)?.map(|other| {
        let user = (**cx.client.user()).clone().acting_as(other);
        cx.with_client(cx.client.clone().acting_as(user))
    });
    let cx = somebody.as_ref().unwrap_or(cx);
    let cx = &cx.in_context(args.value("context"))?.with_managed_fields(args.is_on("show-managed-fields"));
    let by_raw = [("get", "GET"), ("create", "POST"), ("replace", "PUT"), ("delete", "DELETE")];
    if let Some((_, method)) = by_raw.iter().find(|(name, _)| *name == verb && args.has("raw")) {
        return verbs::raw::raw(method, args, cx).await;
    }
    by_verb(verb, args, cx).await
}

/// As whom the flags say that requests are sent. Mirrors `ConfigFlags.toRawKubeConfigLoader` and `validateAuthInfo` of
/// clientcmd.
fn impersonation(args: &Args, cx: &Kubectl) -> Result<Option<Impersonation>, Failure> {
    let [user, uid] = ["as", "as-uid"].map(|flag| args.value(flag).to_owned());
    let mut wanted = Impersonation { user, uid, groups: args.values("as-group").to_vec(), ..Impersonation::default() };
    // What is no pair is passed over.
    for (key, value) in args.values("as-user-extra").iter().filter_map(|pair| pair.split_once('=')) {
        // It becomes the name of a header, which the server reads in lower case.
        wanted.extra.entry(key.to_ascii_lowercase()).or_default().push(value.to_owned());
    }
    match (wanted.user.is_empty(), wanted.is_more_than_a_name()) {
        (false, _) => Ok(Some(wanted)),
        (true, false) => Ok(None),
        (true, true) => {
            let why = "requesting uid, groups or user-extra for";
            cx.complain(format!("Error in configuration: {why} {} without impersonating a user", config::USER));
            Err(Failure::Told)
        }
    }
}

/// Boxed, each by itself: as parts of one future they are all written into one function, which takes the compiler long, and
/// everyone who runs a command makes room for the largest.
fn by_verb<'a>(verb: &str, args: &'a Args, cx: &'a Kubectl) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>> {
    match verb {
        "get" => Box::pin(verbs::get::get(args, cx)),
        "events" => Box::pin(verbs::events::events(args, cx)),
        "describe" => Box::pin(verbs::describe::describe(args, cx)),
        "apply" => Box::pin(verbs::apply::apply(args, cx)),
        "create" => Box::pin(verbs::create::create(args, cx)),
        "run" => Box::pin(verbs::run::run(args, cx)),
        "expose" => Box::pin(verbs::expose::expose(args, cx)),
        "replace" => Box::pin(verbs::replace::replace(args, cx)),
        "diff" => Box::pin(verbs::diff::diff(args, cx)),
        "debug" => Box::pin(verbs::debug::debug(args, cx)),
        "delete" => Box::pin(verbs::delete::delete(args, cx)),
        "scale" => Box::pin(verbs::scale::scale(args, cx)),
        "auth" => Box::pin(verbs::auth::auth(args, cx)),
        "autoscale" => Box::pin(verbs::autoscale::autoscale(args, cx)),
        "top" => Box::pin(verbs::top::top(args, cx)),
        "set" => Box::pin(verbs::set::set(args, cx)),
        "label" => Box::pin(verbs::label::label(args, cx, Marks::Labels)),
        "annotate" => Box::pin(verbs::label::label(args, cx, Marks::Annotations)),
        "taint" => Box::pin(verbs::taint::taint(args, cx)),
        "cordon" => Box::pin(verbs::change::cordon(args, cx, true)),
        "uncordon" => Box::pin(verbs::change::cordon(args, cx, false)),
        "drain" => Box::pin(verbs::drain::drain(args, cx)),
        "patch" => Box::pin(verbs::change::patch(args, cx)),
        "rollout" => Box::pin(verbs::rollout::rollout(args, cx)),
        "wait" => Box::pin(verbs::wait::wait(args, cx)),
        "logs" => Box::pin(verbs::logs::logs(args, cx)),
        "exec" => Box::pin(verbs::exec::exec(args, cx)),
        "cp" => Box::pin(verbs::cp::cp(args, cx)),
        "attach" => Box::pin(verbs::attach::attach(args, cx)),
        "port-forward" => Box::pin(verbs::port_forward::port_forward(args, cx)),
        "explain" => Box::pin(verbs::explain::explain(args, cx)),
        "kustomize" => Box::pin(ready(verbs::kustomize::kustomize(args, cx))),
        "api-resources" => Box::pin(verbs::about::api_resources(args, cx)),
        "api-versions" => Box::pin(verbs::about::api_versions(args, cx)),
        "cluster-info" => Box::pin(verbs::about::cluster_info(args, cx)),
        "version" => Box::pin(verbs::about::version(args, cx)),
        _ => Box::pin(ready(Err(unknown(verb)))),
    }
}

/// The words of a line from its verb on; none if it has only flags.
pub fn from_verb(line: &[String]) -> &[String] {
    args::verb_place(line).map_or(&[], |place| &line[place..])
}

/// Whether a word is one of the real kubectl's verbs, done here or refused.
pub fn knows(verb: &str) -> bool {
    usage::knows(verb) || refused(verb).is_some()
}

/// Why a verb of the real kubectl does nothing here. Whoever types it has an answer at once.
pub fn refused(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "edit" => "it needs an editor; change the manifest and apply it, or use patch",
        "proxy" => "the cluster is in this process; get --raw reads a path, port-forward reaches a Pod",
        "plugin" | "completion" | "kuberc" => "it is about a kubectl that is installed, and none is",
        "certificate" | "alpha" => "it was left out",
        _ => return None,
    })
}
