//! `auth can-i` and `auth whoami`: reviews, which the API server answers; `reconcile` has a file of its own. Mirrors
//! `k8s.io/kubectl/pkg/cmd/auth`.

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Value, json};

use super::reconcile::reconcile;
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::FILES;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::{rules, tabs};
use crate::usage::Usage;
use object::status::Reason;
use object::{Discovery, Kind};
use wire::{Body, Response, Verb};

/// Verbs that rules about resources may hold; others get a warning.
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
/// The same of rules about URLs.
const URL_VERBS: &[&str] = &["get", "put", "post", "head", "options", "delete", "patch", "*"];
/// What rules may be about although no server has it: whom one may act as.
const NOT_SERVED: &[&str] = &["users", "groups"];

/// `kubectl auth`.
pub const AUTH: Command = Command {
    usage: Usage {
        name: "auth",
        words: "can-i VERB TYPE[/NAME] | can-i --list | whoami | reconcile -f FILE",
        about: "What one may do, and who one is.",
        flags: &[
            FILES,
            &["all-namespaces", "dry-run", "list", "no-headers", "output", "quiet", "subresource"],
            &["remove-extra-permissions", "remove-extra-subjects"],
        ],
        ..Usage::EMPTY
    },
    reads_only: |what| what != Some("reconcile"),
    takes: Takes::first(&["can-i", "reconcile", "whoami"], Named::Nothing),
    run: Run::There(|args, cx| Box::pin(auth(args, cx))),
    ..Command::EMPTY
};

/// `kubectl auth …`.
async fn auth(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["can-i"] if args.is_on("list") => list(args, cx).await,
        ["can-i", ..] if args.is_on("list") => Err(Failure::text("list option must be specified with no arguments")),
        ["can-i", verb, what] => can_i(verb, what, args, cx).await,
        ["can-i", ..] => {
            const HELP: &str = "See 'kubectl auth can-i -h' for help and examples.";
            const WANTED: &str = "you must specify two arguments: verb resource or verb resource/resourceName.";
            Err(Failure::text(format!("{WANTED}\n{HELP}")))
        }
        ["whoami", ..] => whoami(args, cx).await,
        ["reconcile", words @ ..] => reconcile(words, args, cx).await,
        [] => {
            cx.complain(AUTH.usage.help().trim_end());
            Err(Failure::Told)
        }
        words => Err(Failure::usage("auth", format!("unknown command {:?}", words.join(" ")))),
    }
}

/// `kubectl auth can-i VERB TYPE[/NAME]`: `no` is a failure.
async fn can_i(verb: &str, what: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let spec = match what.starts_with('/') {
        true => json!({"nonResourceAttributes": url(verb, what, args, cx)?}),
        false => json!({"resourceAttributes": resource(verb, what, args, cx).await?}),
    };
    if args.is_on("no-headers") {
        return Err(Failure::text("--no-headers cannot be set without --list specified"));
    }
    let answered = ask(Kind::SelfSubjectAccessReview, &json!({"spec": spec}), cx).await?;
    let status = &answered["status"];
    let allowed = status["allowed"] == true;
    let why = ["reason", "evaluationError"].into_iter().filter_map(|field| status[field].as_str());
    let told = if allowed { "yes".to_owned() } else { why.fold("no".to_owned(), |no, why| format!("{no} - {why}")) };
    // Else only the exit code tells, and what is warned of.
    if !args.is_on("quiet") {
        cx.line(told);
    }
    if allowed { Ok(()) } else { Err(Failure::Told) }
}

fn url(verb: &str, path: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    if args.has("subresource") {
        return Err(Failure::text("--subresource can not be used with NonResourceURL"));
    }
    if !URL_VERBS.contains(&verb) {
        warn(cx, &format!("verb '{verb}' is not a known verb"));
    }
    Ok(json!({"path": path, "verb": verb}))
}

async fn resource(verb: &str, what: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let (word, name) = what.split_once('/').unwrap_or((what, ""));
    let everywhere = args.is_on("all-namespaces");
    let kind = match Discovery::default().from_word(word) {
        None if word != "*" => cx.discover().await?.from_word(word),
        known => known,
    };
    if kind.is_none() && word != "*" {
        warn_of_unknown(word, cx);
    }
    // What no server has may stand in a rule all the same, word for word.
    let (group, plural) = kind.map_or(("", word), |kind| (kind.info().group, kind.info().plural));
    if let Some(info) = kind.map(Kind::info).filter(|info| !info.namespaced && !everywhere) {
        let group = if info.group.is_empty() { String::new() } else { format!(" in group '{}'", info.group) };
        warn(cx, &format!("resource '{}' is not namespace scoped{group}", info.plural));
    }
    if !everywhere && !VERBS.contains(&verb) {
        warn(cx, &format!("verb '{verb}' is not a known verb"));
    }
    let namespace = if everywhere { "" } else { cx.namespace(args) };
    let attributes = [
        ("namespace", namespace),
        ("verb", verb),
        ("group", group),
        ("resource", plural),
        ("subresource", args.value("subresource")),
        ("name", name),
    ];
    Ok(attributes.into_iter().filter(|(_, value)| !value.is_empty()).collect())
}

fn warn_of_unknown(word: &str, cx: &Kubectl) {
    let lowered = word.to_ascii_lowercase();
    if NOT_SERVED.contains(&lowered.as_str()) {
        return;
    }
    let (plural, group) = lowered.split_once('.').unwrap_or((&lowered, ""));
    let group = if group.is_empty() { String::new() } else { format!(" in group '{group}'") };
    warn(cx, &format!("the server doesn't have a resource type '{plural}'{group}"));
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
    let question = json!({"spec": {"namespace": cx.namespace(args)}});
    let status = ask(Kind::SelfSubjectRulesReview, &question, cx).await?["status"].take();
    if status["incomplete"] == true {
        let why = status["evaluationError"].as_str().unwrap_or_default();
        cx.complain(format!("Warning: the list may be incomplete: {why}"));
    }
    let mut rows = Vec::new();
    if !args.is_on("no-headers") {
        rows.push(rules::HEAD.to_owned());
    }
    rows.extend(rules::rows(&rules_in(&status)));
    cx.print(&tabs::table(&(rows.join("\n") + "\n")));
    Ok(())
}

/// Both lists of a SubjectRulesReviewStatus. Mirrors `convertToPolicyRule`.
fn rules_in(status: &Value) -> Vec<PolicyRule> {
    let of = |list: &str| status[list].as_array().cloned().unwrap_or_default();
    let rules = of("resourceRules").into_iter().chain(of("nonResourceRules"));
    rules.filter_map(|rule| serde_json::from_value(rule).ok()).collect()
}

/// `kubectl auth whoami`.
async fn whoami(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    const REFUSED: &str =
        "the selfsubjectreviews API is not enabled in the cluster or you do not have permission to call it";
    plain_options("", args)?;
    let answered = ask(Kind::SelfSubjectReview, &json!({}), cx).await.map_err(|fault| match fault {
        Failure::Server { status, .. } if status.reason == Reason::Forbidden => Failure::text(REFUSED),
        other => other,
    })?;
    if args.has("output") {
        return cx.tell_struct(&answered, "", args);
    }
    let user = &answered["status"]["userInfo"];
    let mut rows = "ATTRIBUTE\tVALUE\n".to_owned();
    for (field, head) in [("username", "Username"), ("uid", "UID")] {
        rows += &user[field].as_str().map_or(String::new(), |value| format!("{head}\t{value}\n"));
    }
    let listed = |value: &Value| {
        let items = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        rules::go_list(Some(&items.map(str::to_owned).collect::<Vec<_>>()))
    };
    if user["groups"].is_array() {
        rows += &format!("Groups\t{}\n", listed(&user["groups"]));
    }
    for (key, values) in user["extra"].as_object().into_iter().flatten() {
        rows += &format!("Extra: {key}\t{}\n", listed(values));
    }
    cx.print(&tabs::table(&rows));
    Ok(())
}

/// Sends a review, and gives back what the server has made of it.
async fn ask(kind: Kind, question: &Value, cx: &Kubectl) -> Result<Value, Failure> {
    match cx.send(cx.request(Verb::Create, kind, "", "", Body::Json(question.to_string()))).await? {
        Response::Object(answered) => Ok(answered.printed()),
        _ => Err(Failure::text("the answer is no review")),
    }
}
