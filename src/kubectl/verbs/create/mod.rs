//! `create`: one POST of a whole object, from a manifest or made from words and flags. A file for each kind that is made so.

use serde_json::{Value, json};

use super::last_applied::annotated;
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::{FILES, WRITE};
use crate::kubectl::Kubectl;
use crate::options::{plain_options, timeout, write_options};
use crate::print::fields::text;
use crate::usage::Usage;
use object::{Kind, go_types};
use wire::{Body, Response, Subresource, Verb};

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

/// What it makes without a manifest.
const TYPES: &[&str] = &[
    "clusterrole",
    "clusterrolebinding",
    "configmap",
    "cronjob",
    "deployment",
    "ingress",
    "job",
    "namespace",
    "poddisruptionbudget",
    "priorityclass",
    "quota",
    "role",
    "rolebinding",
    "secret",
    "service",
    "serviceaccount",
    "token",
];

/// `kubectl create`.
pub const CREATE: Command = Command {
    usage: Usage {
        name: "create",
        words: "-f FILE | -k DIR | TYPE NAME",
        about: "Make an object from a manifest, or without one:\n\
                clusterrole, clusterrolebinding, configmap, cronjob, deployment, ingress, job, namespace,\n\
                poddisruptionbudget, priorityclass, quota, role, rolebinding, serviceaccount, token,\n\
                secret generic|tls|docker-registry, service clusterip|nodeport|loadbalancer|externalname.",
        flags: &[
            FILES,
            WRITE,
            &[
                "validate",
                "save-config",
                "raw",
                "image",
                "replicas",
                "port",
                "from-literal",
                "from-file",
                "from-env-file",
                "append-hash",
                "type",
            ],
            &["tcp", "node-port", "clusterip", "external-name"],
            &["audience", "duration", "bound-object-kind", "bound-object-name", "bound-object-uid"],
            &["from", "schedule", "restart", "hard", "scopes", "selector", "min-available", "max-unavailable"],
            &[
                "verb",
                "resource",
                "resource-name",
                "non-resource-url",
                "aggregation-rule",
                "role",
                "clusterrole",
                "user",
                "group",
                "serviceaccount",
            ],
            &["value", "description", "global-default", "preemption-policy"],
            &["annotation", "class", "default-backend", "rule"],
            &["cert", "key", "docker-email", "docker-password", "docker-server", "docker-username"],
        ],
        ..Usage::EMPTY
    },
    raw: Some("POST"),
    takes: Takes::first(TYPES, Named::Nothing),
    run: Run::There(|args, cx| Box::pin(create(args, cx))),
    ..Command::EMPTY
};

/// `kubectl create -f`, or one of its generators.
async fn create(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if !args.gives_manifests() {
        return generate(args, cx).await;
    }
    if !args.words.is_empty() {
        return Err(unexpected(args));
    }
    let manifests = cx.some_manifests("create", args).await?;
    let mut failed = Vec::new();
    for manifest in manifests.known {
        let object = if args.is_on("save-config") { annotated(&manifest.object) } else { manifest.object };
        let namespace = text(&object, "metadata.namespace");
        match cx.post(manifest.kind, namespace, &object, write_options("kubectl-create", args)?).await {
            Ok(created) => cx.tell(&created, "created", args)?,
            Err(fault) => failed.push(fault.while_doing("creating", &manifest.source.file)),
        }
    }
    failed.extend(manifests.faults.into_iter().map(Failure::from));
    Failure::all(failed)
}

/// What is said of words that name nothing which can be made.
fn unexpected(args: &Args) -> Failure {
    Failure::usage("create", format!("Unexpected args: [{}]", args.words.join(" ")))
}

/// Something that is made without a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    Token,
    Deployment,
    Namespace,
    ServiceAccount,
    ConfigMap,
    Service,
    Job,
    CronJob,
    Quota,
    PodDisruptionBudget,
    Secret,
    Ingress,
    Role,
    ClusterRole,
    RoleBinding,
    ClusterRoleBinding,
    PriorityClass,
}

/// How it is asked for: its name, other names, and the subcommands, one of them required.
type Row = (Made, &'static str, &'static [&'static str], &'static [&'static str]);

#[rustfmt::skip]
const TABLE: [Row; 17] = [
    (Made::Token, "token", &[], &[]),
    (Made::Deployment, "deployment", &["deploy"], &[]),
    (Made::Namespace, "namespace", &["ns"], &[]),
    (Made::ServiceAccount, "serviceaccount", &["sa"], &[]),
    (Made::ConfigMap, "configmap", &["cm"], &[]),
    (Made::Service, "service", &["svc"], &["clusterip", "nodeport", "loadbalancer", "externalname"]),
    (Made::Job, "job", &[], &[]),
    (Made::CronJob, "cronjob", &["cj"], &[]),
    (Made::Quota, "quota", &["resourcequota"], &[]),
    (Made::PodDisruptionBudget, "poddisruptionbudget", &["pdb"], &[]),
    (Made::Secret, "secret", &[], &["generic", "tls", "docker-registry"]),
    (Made::Ingress, "ingress", &["ing"], &[]),
    (Made::Role, "role", &[], &[]),
    (Made::ClusterRole, "clusterrole", &[], &[]),
    (Made::RoleBinding, "rolebinding", &[], &[]),
    (Made::ClusterRoleBinding, "clusterrolebinding", &[], &[]),
    (Made::PriorityClass, "priorityclass", &["pc"], &[]),
];

/// What the words ask for: what is made, by which command, and what it shall be called.
struct Invocation<'a> {
    made: Made,
    /// `deployment`.
    command: &'static str,
    /// `nodeport`, where there are subcommands.
    subcommand: Option<&'a str>,
    names: &'a [String],
}

async fn generate(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let asked = asked(args, cx)?;
    let [name] = asked.names else { return Err(not_one_name(&asked)) };
    let object = match asked.made {
        Made::Token => return token(name, args, cx).await,
        Made::Deployment => deployment::deployment(name, args, cx)?,
        Made::Namespace => json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        Made::ServiceAccount => json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
        Made::ConfigMap => hash::appended(config::config_map(name, args, cx)?, args),
        Made::Service => service::service(name, args)?,
        Made::Job => job::job(name, args, cx).await?,
        Made::CronJob => job::cron_job(name, args)?,
        Made::Quota => quota::quota(name, args)?,
        Made::PodDisruptionBudget => budget::budget(name, args)?,
        Made::Secret => hash::appended(secret_of(asked.subcommand, name, args, cx)?, args),
        Made::Ingress => ingress::ingress(name, args)?,
        Made::Role => role::role("Role", name, args, cx).await?,
        Made::ClusterRole => role::role("ClusterRole", name, args, cx).await?,
        Made::RoleBinding => role::binding("RoleBinding", name, args)?,
        Made::ClusterRoleBinding => role::binding("ClusterRoleBinding", name, args)?,
        Made::PriorityClass => priority_class::priority_class(name, args)?,
    };
    post(object, "kubectl-create", "created", args, cx).await.map_err(|fault| refused(fault, &asked, args))
}

fn asked<'a>(args: &'a Args, cx: &Kubectl) -> Result<Invocation<'a>, Failure> {
    let Some((word, names)) = args.words.split_first() else {
        return Err(Failure::text("must specify one of -f and -k"));
    };
    let is_meant = |(_, command, aliases, _): &&Row| *command == word || aliases.contains(&word.as_str());
    let Some(&(made, command, _, subcommands)) = TABLE.iter().find(is_meant) else {
        return Err(unexpected(args));
    };
    if subcommands.is_empty() {
        return Ok(Invocation { made, command, subcommand: None, names });
    }
    match names.split_first() {
        Some((subcommand, names)) if subcommands.contains(&subcommand.as_str()) => {
            Ok(Invocation { made, command, subcommand: Some(subcommand), names })
        }
        Some(_) => {
            Err(Failure::usage(&format!("create {command}"), format!("unknown command \"{}\"", names.join(" "))))
        }
        None => {
            cx.complain(format!("Usage: kubectl create {command} {} NAME [flags]", subcommands.join("|")));
            Err(Failure::Told)
        }
    }
}

fn not_one_name(asked: &Invocation) -> Failure {
    let Invocation { command, subcommand, names, .. } = asked;
    let path = ["create", command].into_iter().chain(*subcommand).collect::<Vec<_>>().join(" ");
    Failure::usage(&path, format!("exactly one NAME is required, got {}", names.len()))
}

fn secret_of(subcommand: Option<&str>, name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    match subcommand {
        Some("tls") => secret::tls(name, args, cx),
        Some("docker-registry") => secret::docker_registry(name, args, cx),
        _ => config::secret(name, args, cx),
    }
}

/// Most generators put their own words before the server's.
fn refused(fault: Failure, asked: &Invocation, args: &Args) -> Failure {
    let (Failure::Server { .. } | Failure::Unanswered { .. }) = &fault else { return fault };
    let what = match asked.made {
        Made::Namespace | Made::Role | Made::ClusterRole => return fault,
        Made::Service => format!("{} service:", service::service_type(args).unwrap_or_default()),
        Made::PodDisruptionBudget => "poddisruptionbudgets:".to_owned(),
        Made::Secret => "secret".to_owned(),
        _ => format!("{}:", asked.command),
    };
    Failure::text(format!("failed to create {what} {}", fault.message()))
}

/// `kubectl create token ACCOUNT`: prints a token that lives for a while. Mirrors `create_token.go`.
async fn token(account: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    const NO_KIND: &str = "--bound-object-name can only be set if --bound-object-kind is provided";
    const NO_NAME: &str = "--bound-object-kind is set but --bound-object-name is not provided";
    let [kind, name, uid] = ["kind", "name", "uid"].map(|part| args.value(&format!("bound-object-{part}")));
    let found = [Kind::Node, Kind::Pod, Kind::Secret].into_iter().find(|known| known.info().kind == kind);
    let bound = match (kind, name, found) {
        ("", "", _) => None,
        ("", ..) => return Err(Failure::text(NO_KIND)),
        (.., None) => return Err(Failure::text("supported --bound-object-kind values are Node, Pod, Secret")),
        (_, "", _) => return Err(Failure::text(NO_NAME)),
        (_, name, Some(kind)) => Some((kind, name.to_owned(), uid.to_owned())),
    };
    // The server's default is an hour.
    let duration = timeout(args, "duration")?;
    if duration.is_none() && args.value("duration").starts_with('-') {
        return Err(Failure::text("--duration must be greater than or equal to 0"));
    }
    if duration.is_some_and(|duration| duration.subsec_nanos() > 0) {
        return Err(Failure::text("--duration cannot be expressed in units less than seconds"));
    }
    let expiration_seconds = duration.map_or(3600, |duration| duration.as_secs() as i64);
    let body = Body::Token { audiences: args.values("audience").to_vec(), expiration_seconds, bound };
    let mut request = cx.request(Verb::Create, Kind::ServiceAccount, cx.namespace(args), account, body);
    request.subresource = Some(Subresource::Token);
    let issued = match cx.send(request).await {
        Ok(Response::Token(issued)) => Some(issued.token.text()),
        Ok(_) => None,
        Err(fault @ (Failure::Server { .. } | Failure::Unanswered { .. })) => {
            return Err(Failure::text(format!("failed to create token: {}", fault.message())));
        }
        Err(other) => return Err(other),
    };
    let Some(issued) = issued else { return Err(Failure::text("failed to create token: no token in server response")) };
    cx.line(issued);
    Ok(())
}

/// Creates `object`, and says `how` it came to be.
pub(super) async fn post(object: Value, manager: &str, how: &str, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    cx.tell_struct(&send(object, manager, args, cx).await?, how, args)
}

/// Creates it, and returns what there is to be told of.
pub(super) async fn send(mut object: Value, manager: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let kind =
        crate::print::names::kind_of(&object).ok_or_else(|| Failure::text("a kind that the cluster does not know"))?;
    let namespace = cx.namespace(args);
    // A Go client sends and prints unset fields that have no `omitempty`, too.
    object.as_object_mut().into_iter().for_each(|fields| go_types::complete_object(kind.info().kind, false, fields));
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
    Ok(if only_here && !args.has("namespace") { bare } else { made })
}
