//! `auth can-i` and `auth whoami`. Mirrors `k8s.io/kubectl/pkg/cmd/auth`.

use crate::apiserver::request::Response;
use crate::apiserver::reviews::{Access, Review, Verdict};
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;
use crate::cluster::kubectl::print::{rules, tabs};
use crate::object::Kind;

/// Verbs that rules may hold; others get a warning.
const VERBS: &[&str] = &[
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "use",
    "bind",
    "escalate",
    "impersonate",
    "approve",
    "sign",
    "attest",
    "*",
];

/// `kubectl auth …`.
pub async fn auth(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["can-i"] if args.is_on("list") => list(args, cx).await,
        // Only the exit code tells.
        ["can-i", verb, what] if args.is_on("quiet") => can_i(verb, what, args, &cx.apart()).await,
        ["can-i", verb, what] => can_i(verb, what, args, cx).await,
        ["can-i", ..] => {
            const HELP: &str = "See 'kubectl auth can-i -h' for help and examples.";
            const WANTED: &str = "you must specify two arguments: verb resource or verb resource/resourceName.";
            Err(Failure::text(format!("{WANTED}\n{HELP}")))
        }
        ["whoami"] => whoami(cx).await,
        ["reconcile", ..] => Err(Failure::text("auth reconcile was left out; kubectl apply -f does nearly the same")),
        _ => Err(Failure::text("write: kubectl auth can-i VERB RESOURCE, or: kubectl auth whoami")),
    }
}

/// `kubectl auth can-i VERB TYPE[/NAME]`: `no` is a failure.
async fn can_i(verb: &str, what: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if what.starts_with('/') {
        let access = Access { verb: verb.to_owned(), path: what.to_owned(), ..Access::default() };
        return tell(ask(Review::SelfAccess(access), cx).await?, cx);
    }
    let (word, name) = what.split_once('/').unwrap_or((what, ""));
    if !VERBS.contains(&verb) {
        warn(cx, &format!("verb '{verb}' is not a known verb"));
    }
    let everywhere = args.is_on("all-namespaces");
    let kind = match Kind::from_word(word) {
        None => cx.discover().await?.from_word(word),
        known => known,
    };
    let (group, plural) = match kind {
        Some(kind) => (kind.info().group.to_owned(), kind.info().plural.to_owned()),
        None => of_unknown(word, cx),
    };
    if let Some(info) = kind.map(Kind::info).filter(|info| !info.namespaced && !everywhere) {
        let group = if info.group.is_empty() { String::new() } else { format!(" in group '{}'", info.group) };
        warn(cx, &format!("resource '{}' is not namespace scoped{group}", info.plural));
    }
    let resource = match args.value("subresource") {
        "" => plural,
        part => format!("{plural}/{part}"),
    };
    let namespace = if everywhere { String::new() } else { cx.namespace(args).to_owned() };
    let access =
        Access { namespace, verb: verb.to_owned(), group, resource, name: name.to_owned(), path: String::new() };
    tell(ask(Review::SelfAccess(access), cx).await?, cx)
}

/// `yes` or `no`, which is a failure.
fn tell(verdict: Verdict, cx: &Kubectl) -> Result<(), Failure> {
    match verdict {
        Verdict::Access { allowed: true, .. } => {
            cx.line("yes");
            Ok(())
        }
        Verdict::Access { reason, .. } if !reason.is_empty() => {
            cx.line(format!("no - {reason}"));
            Err(Failure::Told)
        }
        _ => {
            cx.line("no");
            Err(Failure::Told)
        }
    }
}

/// A resource that nobody knows may stand in a rule all the same; so may a subresource, a wildcard or a group.
fn of_unknown(word: &str, cx: &Kubectl) -> (String, String) {
    if word != "*" {
        warn(cx, &format!("the server doesn't have a resource type '{word}'"));
    }
    let (plural, group) = word.split_once('.').unwrap_or((word, ""));
    (if word == "*" { "*".to_owned() } else { group.to_owned() }, plural.to_owned())
}

fn warn(cx: &Kubectl, what: &str) {
    cx.complain(format!("Warning: {what}\n"));
}

/// `kubectl auth can-i --list`.
async fn list(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if args.is_on("quiet") || args.is_on("all-namespaces") || args.has("subresource") {
        const WHY: &str = "list option can't be specified with neither quiet, all-namespaces nor subresource options";
        return Err(Failure::text(WHY));
    }
    let Verdict::Rules(rules) = ask(Review::SelfRules(cx.namespace(args).to_owned()), cx).await? else {
        return Ok(());
    };
    let mut rows = Vec::new();
    if !args.is_on("no-headers") {
        rows.push(rules::HEAD.to_owned());
    }
    rows.extend(rules::rows(&rules));
    cx.print(&tabs::table(&(rows.join("\n") + "\n")));
    Ok(())
}

/// `kubectl auth whoami`.
async fn whoami(cx: &Kubectl) -> Result<(), Failure> {
    let Verdict::Subject(user) = ask(Review::SelfSubject, cx).await? else { return Ok(()) };
    let groups = rules::go_list(Some(&user.groups));
    cx.print(&tabs::table(&format!("ATTRIBUTE\tVALUE\nUsername\t{}\nGroups\t{groups}\n", user.name)));
    Ok(())
}

async fn ask(review: Review, cx: &Kubectl) -> Result<Verdict, Failure> {
    let request = review.request(cx.client.user().clone());
    match cx.send(request).await? {
        Response::Review(verdict) => Ok(verdict),
        _ => Err(Failure::text("the answer is no review")),
    }
}
