//! `create`: one POST of a whole object, from a manifest or made from words and flags. A file for each kind that is made so.

use serde_json::{Value, json};

use super::apply::annotated;
use crate::apiserver::request::{Body, Response, Subresource, Verb};
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::{Failure, plain_options, timeout, write_options};
use crate::cluster::kubectl::print::fields::text;
use crate::cluster::kubectl::usage;
use crate::object::{Kind, go_types};

mod budget;
mod config;
mod deployment;
mod hash;
mod ingress;
mod job;
mod priority_class;
mod quota;
mod role;
mod secret;
mod service;

pub(super) use budget::label_selector;

/// `kubectl create -f`, or one of its generators.
pub async fn create(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if !args.gives_manifests() {
        return generate(args, cx).await;
    }
    let manifests = cx.some_manifests("create", args).await?;
    let mut failed: Vec<Failure> = manifests.unknown.into_iter().map(Failure::from).collect();
    for manifest in manifests.known {
        let object = if args.is_on("save-config") { annotated(&manifest.object) } else { manifest.object };
        let namespace = text(&object, "metadata.namespace");
        match cx.post(manifest.kind, namespace, &object, write_options("kubectl-create", args)?).await {
            Ok(created) => {
                cx.tell(if text(&created, "kind").is_empty() { &object } else { &created }, "created", args)?
            }
            Err(fault) => failed.push(fault.while_doing("creating", &manifest.source.file)),
        }
    }
    Failure::all(failed)
}

/// What is made without a manifest.
#[rustfmt::skip]
const MADE: [&str; 26] = [
    "token", "deployment", "deploy", "namespace", "ns", "serviceaccount", "sa", "configmap", "cm", "service", "job", "cronjob",
    "cj", "quota", "resourcequota", "poddisruptionbudget", "pdb", "secret", "ingress", "ing", "role", "clusterrole",
    "rolebinding", "clusterrolebinding", "priorityclass", "pc",
];

/// The sorts of Secrets that are made without a manifest.
const SECRETS: [&str; 3] = ["generic", "tls", "docker-registry"];

/// The types of Services that are.
const SERVICES: [&str; 4] = ["clusterip", "nodeport", "loadbalancer", "externalname"];

async fn generate(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let nothing = || cx.complain("Error: must specify one of -f and -k\n");
    let Some((what, names)) = args.words.split_first() else {
        nothing();
        cx.complain(usage::help("create").trim_end());
        return Err(Failure::Told);
    };
    let unknown = |word: &str, of: &str| {
        Failure::text(format!("unknown command \"{word}\"\nSee 'kubectl create{of} -h' for help and examples"))
    };
    let (what, names) = match what.as_str() {
        "service" | "svc" | "secret" => {
            let (what, sorts) = if what == "secret" { ("secret", &SECRETS[..]) } else { ("service", &SERVICES[..]) };
            match names.split_first() {
                Some((sort, names)) if sorts.contains(&sort.as_str()) => (what, names),
                Some(_) => return Err(unknown(&names.join(" "), &format!(" {what}"))),
                None => {
                    cx.complain(format!("Usage: kubectl create {what} {} NAME [flags]", sorts.join("|")));
                    return Err(Failure::Told);
                }
            }
        }
        other => (other, names),
    };
    if !MADE.contains(&what) {
        nothing();
        return Err(unknown(&args.words.join(" "), ""));
    }
    let [name] = names else {
        let full = match what {
            "deploy" => "deployment",
            "ns" => "namespace",
            "sa" => "serviceaccount",
            "cm" => "configmap",
            "cj" => "cronjob",
            other => other,
        };
        let sort = args.words.get(1).filter(|_| matches!(what, "secret" | "service")).map(|sort| format!(" {sort}"));
        let full = format!("{full}{}", sort.unwrap_or_default());
        let help = format!("See 'kubectl create {full} -h' for help and examples");
        return Err(Failure::text(format!("exactly one NAME is required, got {}\n{help}", names.len())));
    };
    if what == "token" {
        return token(name, args, cx).await;
    }
    let object = match what {
        "deployment" | "deploy" => deployment::deployment(name, args, cx)?,
        "namespace" | "ns" => json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        "serviceaccount" | "sa" => json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
        "configmap" | "cm" => hash::appended(config::config_map(name, args, cx)?, args),
        "service" => service::service(name, args)?,
        "job" => job::job(name, args, cx).await?,
        "cronjob" | "cj" => job::cron_job(name, args)?,
        "quota" | "resourcequota" => quota::quota(name, args)?,
        "poddisruptionbudget" | "pdb" => budget::budget(name, args)?,
        "secret" => {
            let secret = match args.words[1].as_str() {
                "tls" => secret::tls(name, args, cx)?,
                "docker-registry" => secret::docker_registry(name, args, cx)?,
                _ => config::secret(name, args, cx)?,
            };
            hash::appended(secret, args)
        }
        "ingress" | "ing" => ingress::ingress(name, args)?,
        "role" => role::role("Role", name, args, cx).await?,
        "clusterrole" => role::role("ClusterRole", name, args, cx).await?,
        "rolebinding" => role::binding("RoleBinding", name, args)?,
        "clusterrolebinding" => role::binding("ClusterRoleBinding", name, args)?,
        "priorityclass" | "pc" => priority_class::priority_class(name, args)?,
        other => unreachable!("{other} is among what is made"),
    };
    let made = post(object, "kubectl-create", "created", args, cx).await;
    // Most generators put their own words before the server's.
    made.map_err(|fault| match (&fault, what) {
        (
            Failure::Server { status, .. },
            "deployment"
            | "deploy"
            | "configmap"
            | "cm"
            | "serviceaccount"
            | "sa"
            | "job"
            | "cronjob"
            | "cj"
            | "poddisruptionbudget"
            | "pdb"
            | "secret"
            | "ingress"
            | "ing"
            | "role"
            | "clusterrole"
            | "rolebinding"
            | "clusterrolebinding"
            | "priorityclass"
            | "pc",
        ) => {
            let what = Kind::from_word(what).map_or_else(|| what.to_owned(), |kind| kind.info().singular());
            Failure::text(format!("failed to create {what}: {}", status.message))
        }
        (Failure::Server { status, .. }, "quota" | "resourcequota") => {
            Failure::text(format!("failed to create quota: {}", status.message))
        }
        (Failure::Server { status, .. }, "service") => {
            let kind = service::service_type(args).unwrap_or_default();
            Failure::text(format!("failed to create {kind} service: {}", status.message))
        }
        _ => fault,
    })
}

/// `kubectl create token ACCOUNT`: prints a token that lives for a while. Mirrors `create_token.go`.
async fn token(account: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    const NO_KIND: &str = "--bound-object-name can only be set if --bound-object-kind is provided";
    const NO_NAME: &str = "--bound-object-kind is set but --bound-object-name is not provided";
    let [kind, name, uid] = ["kind", "name", "uid"].map(|part| args.value(&format!("bound-object-{part}")));
    let pod = match (kind, name) {
        ("", "") => None,
        ("", _) => return Err(Failure::text(NO_KIND)),
        ("Pod", "") => return Err(Failure::text(NO_NAME)),
        ("Pod", name) => Some((name.to_owned(), uid.to_owned())),
        (other, _) => {
            return Err(Failure::text(format!("tokens are bound to a Pod or to nothing here, not to a {other}")));
        }
    };
    // The server's default is an hour.
    let expiration_seconds = timeout(args, "duration")?.map_or(3600, |duration| duration.as_secs() as i64);
    let body = Body::Token { audiences: args.values("audience").to_vec(), expiration_seconds, pod };
    let mut request = cx.request(Verb::Create, Kind::ServiceAccount, cx.namespace(args), account, body);
    request.subresource = Some(Subresource::Token);
    let issued = match cx.send(request).await {
        Ok(Response::Token(issued)) => Some(issued.token.text()),
        Ok(_) => None,
        Err(Failure::Server { status, .. }) => {
            return Err(Failure::text(format!("failed to create token: {}", status.message)));
        }
        Err(other) => return Err(other),
    };
    let Some(issued) = issued else { return Err(Failure::text("failed to create token: no token in server response")) };
    cx.line(issued);
    Ok(())
}

/// Creates `object`, and says `how` it came to be.
pub(super) async fn post(object: Value, manager: &str, how: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    cx.tell(&send(object, manager, args, cx).await?, how, args)
}

/// Creates it, and returns what there is to be told of.
pub(super) async fn send(mut object: Value, manager: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let kind = crate::cluster::kubectl::print::kind_of(&object)
        .ok_or_else(|| Failure::text("a kind that the cluster does not know"))?;
    let namespace = cx.namespace(args);
    // A Go client sends and prints what nobody has written, too.
    object.as_object_mut().into_iter().for_each(|fields| go_types::complete_object(kind.info().kind, fields));
    let bare = object.clone();
    if kind.info().namespaced {
        object["metadata"]["namespace"] = json!(namespace);
    }
    // What kubectl has made itself need not be checked for unknown fields.
    let made = matches!(manager, "kubectl-run" | "kubectl-expose");
    let options = if made { plain_options(manager, args)? } else { write_options(manager, args)? };
    let only_here = options.only_here;
    let made = cx.post(kind, namespace, &object, options).await?;
    // What is not sent is shown without the namespace to which it would go.
    let shown = if only_here && !args.has("namespace") { bare } else { made };
    Ok(if text(&shown, "kind").is_empty() { object } else { shown })
}
