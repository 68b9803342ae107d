//! `scale`: a PATCH of the object's scale, or if the command says what it must find there, GET and PUT. Mirrors
//! `k8s.io/kubectl/pkg/scale`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::FILES;
use crate::kubectl::Kubectl;
use crate::options::{Query, plain_options, timeout};
use crate::print::fields::{int, namespace_and_name, text};
use crate::targets::Target;
use crate::usage::Usage;
use object::Kind;
use wire::{Body, Patch, Subresource, Verb};

/// Between one look at the scale, or one try to change it, and the next.
const POLL: Duration = Duration::from_secs(1);
/// How long a change is tried again that came too late.
const CONFLICTS_FOR: Duration = Duration::from_secs(300);

/// What the scale must be for the change to be made. Mirrors `ScalePrecondition`.
struct Precondition<'a> {
    replicas: Option<i64>,
    version: &'a str,
}

impl Precondition<'_> {
    /// None: the change has no precondition.
    fn of(args: &Args) -> Result<Option<Precondition<'_>>, Failure> {
        let given = args.number("current-replicas")?.filter(|replicas| *replicas != -1);
        let version = args.value("resource-version");
        Ok((given.is_some() || !version.is_empty()).then_some(Precondition { replicas: given, version }))
    }

    fn check(&self, scale: &Value) -> Result<(), Failure> {
        let unexpected = |what: &str, wanted: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
            Err(Failure::text(format!("Expected {what} to be {wanted}, was {found}")))
        };
        let (replicas, version) = (int(scale, "spec.replicas"), text(scale, "metadata.resourceVersion"));
        match self.replicas {
            Some(wanted) if wanted != replicas => unexpected("replicas", &wanted, &replicas),
            _ if !self.version.is_empty() && self.version != version => {
                unexpected("resource version", &self.version, &version)
            }
            _ => Ok(()),
        }
    }
}

/// `kubectl scale`.
pub const SCALE: Command = Command {
    usage: Usage {
        name: "scale",
        words: "TYPE NAME --replicas=N",
        about: "How many Pods there should be.",
        flags: &[
            FILES,
            &["selector", "all", "dry-run", "output", "replicas", "current-replicas", "resource-version", "timeout"],
        ],
        letterless: &["replicas"],
        ..Usage::EMPTY
    },
    names_objects: true,
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(scale(args, cx))),
    ..Command::EMPTY
};

/// `kubectl scale --replicas=N`.
async fn scale(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some(replicas) = args.number("replicas")? else {
        return Err(Failure::text("required flag(s) \"replicas\" not set"));
    };
    if replicas < 0 {
        return Err(Failure::text(
            "The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0",
        ));
    }
    let (objects, missing) = some_objects(args, cx).await?;
    let precondition = Precondition::of(args)?;
    if objects.len() > 1 && !args.value("resource-version").is_empty() {
        return Err(Failure::text("cannot use --resource-version with multiple resources"));
    }
    for (kind, object) in objects {
        let query = plain_options("", args)?;
        let tries_only = query.only_here || query.options.dry_run;
        match precondition.as_ref().filter(|_| !query.only_here) {
            Some(precondition) => scale_if(kind, &object, replicas, precondition, &query, cx).await?,
            None => {
                let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
                cx.patch(kind, &object, patch, Some(Subresource::Scale), query).await?;
            }
        }
        if let Some(limit) = timeout(args, "timeout")?.filter(|_| !tries_only) {
            wait_for_pods(kind, &object, replicas, limit, cx).await?;
        }
        cx.tell(&with_replicas(kind, object, replicas), "scaled", args)?;
    }
    missing
}

/// The object as it is printed: as it was read, with its new size. In a custom resource the field of the size is not known.
/// Mirrors `updateReplicas`.
fn with_replicas(kind: Kind, mut object: Value, replicas: i64) -> Value {
    if matches!(kind.info().group, "" | "apps") {
        object["spec"]["replicas"] = json!(replicas);
    }
    object
}

/// Reads the scale, and writes it if it meets the precondition; after a conflict it does so again. Mirrors
/// `ScaleSimple` and `ScaleCondition`.
async fn scale_if(
    kind: Kind,
    object: &Value,
    replicas: i64,
    precondition: &Precondition<'_>,
    query: &Query,
    cx: &Kubectl,
) -> Result<(), Failure> {
    let last_try = cx.client.now() + CONFLICTS_FOR;
    loop {
        let mut scale = scale_of(kind, object, cx).await?;
        precondition.check(&scale)?;
        scale["spec"]["replicas"] = json!(replicas);
        let (namespace, name) = namespace_and_name(object);
        let mut request = cx.request(Verb::Update, kind, namespace, name, Body::Json(scale.to_string()));
        request.subresource = Some(Subresource::Scale);
        request.options = query.options.clone();
        match cx.send(request).await {
            Err(fault) if fault.is_conflict() && cx.client.now() < last_try => cx.sleep(POLL).await,
            result => return result.map(drop),
        }
    }
}

/// Waits until there are as many Pods as were asked for, or another client asks for another number. Mirrors
/// `WaitForScaleHasDesiredReplicas`.
async fn wait_for_pods(
    kind: Kind,
    object: &Value,
    replicas: i64,
    limit: Duration,
    cx: &Kubectl,
) -> Result<(), Failure> {
    let due = cx.client.now() + limit;
    loop {
        let scale = scale_of(kind, object, cx).await?;
        if int(&scale, "spec.replicas") != replicas || int(&scale, "status.replicas") == replicas {
            return Ok(());
        }
        let left = due - cx.client.now();
        if left.is_zero() {
            return Err(Failure::text(format!(
                "timed out waiting for {:?} to be synced",
                text(object, "metadata.name")
            )));
        }
        cx.sleep(POLL.min(left)).await;
    }
}

/// GET of the scale.
async fn scale_of(kind: Kind, object: &Value, cx: &Kubectl) -> Result<Value, Failure> {
    let (namespace, name) = namespace_and_name(object);
    cx.get_part(kind, namespace, name, Subresource::Scale).await
}

/// The objects to be scaled that are there, and what is said of the others. Mirrors `RunScale`.
async fn some_objects(args: &Args, cx: &Kubectl) -> Result<(Vec<(Kind, Value)>, Result<(), Failure>), Failure> {
    let targets = if args.gives_manifests() { Vec::new() } else { cx.targets("scale", &args.words).await? };
    if targets.is_empty() || targets.iter().any(|target| target.name.is_none()) {
        return Ok((cx.objects("scale", &args.words, args).await?, Ok(())));
    }
    let (mut objects, mut missing) = (Vec::new(), Vec::new());
    for Target { kind, name } in targets {
        match cx.get(kind, cx.namespace(args), &name.unwrap_or_default()).await {
            Ok(object) => objects.push((kind, object)),
            Err(fault) => missing.push(fault),
        }
    }
    Ok((objects, Failure::all(missing)))
}
