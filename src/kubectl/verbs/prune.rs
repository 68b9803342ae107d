//! `apply --prune`: what was applied before and is in the manifests no more is deleted. Mirrors `prune.go` of kubectl's
//! `apply`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::fields::{at, text};
use object::Kind;
use object::well_known::LAST_APPLIED;
use wire::{DeleteOptions, Options, Propagation};

/// The kinds that are pruned if none are named.
const KINDS: &[Kind] = &[
    Kind::ConfigMap,
    Kind::Endpoints,
    Kind::PersistentVolumeClaim,
    Kind::Pod,
    Kind::ReplicationController,
    Kind::Secret,
    Kind::Service,
    Kind::Job,
    Kind::CronJob,
    Kind::Ingress,
    Kind::DaemonSet,
    Kind::Deployment,
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::Namespace,
    Kind::PersistentVolume,
];

/// What flags do not go together.
pub(super) fn check(args: &Args) -> Result<(), Failure> {
    if !args.is_on("prune") {
        return Ok(());
    }
    let wrong = match () {
        () if args.is_on("force") => "--force cannot be used with --prune",
        () if args.is_on("server-side") => {
            "--prune is in alpha and doesn't currently work on objects created by server-side apply"
        }
        () if !args.is_on("all") && !args.has("selector") => {
            "all resources selected for prune without explicitly passing --all. To prune all resources, pass the --all flag. \
             If you did not mean to prune all resources, specify a label selector"
        }
        () => return Ok(()),
    };
    Err(Failure::text(wrong))
}

/// Deletes, in the namespaces of what was `applied`, all else that was once applied and that `-l` selects.
pub(super) async fn prune(applied: &[Value], args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let kinds = kinds(args, cx).await?;
    let namespaces: BTreeSet<&str> = applied.iter().map(|object| text(object, "metadata.namespace")).collect();
    for namespace in namespaces.into_iter().filter(|namespace| !namespace.is_empty()) {
        for kind in kinds.iter().filter(|kind| kind.info().namespaced) {
            prune_kind(*kind, namespace, applied, args, cx).await?;
        }
    }
    for kind in kinds.iter().filter(|kind| !kind.info().namespaced) {
        prune_kind(*kind, "", applied, args, cx).await?;
    }
    Ok(())
}

/// The kinds of `--prune-allowlist`, or those that are usual.
async fn kinds(args: &Args, cx: &Kubectl) -> Result<Vec<Kind>, Failure> {
    if !args.has("prune-allowlist") {
        return Ok(KINDS.to_vec());
    }
    let known = cx.discover().await?;
    let mut kinds = Vec::new();
    for entry in args.values("prune-allowlist").iter().flat_map(|entries| entries.split(',')) {
        let [group, version, kind] = entry.split('/').collect::<Vec<_>>()[..] else {
            const FORM: &str = "please follow <group/version/kind>";
            return Err(Failure::text(format!("invalid GroupVersionKind format: {entry}, {FORM}")));
        };
        let api_version = if group == "core" { version.to_owned() } else { format!("{group}/{version}") };
        let missing = || Failure::text(format!("no matches for kind \"{kind}\" in version \"{api_version}\""));
        kinds.push(known.from_manifest(&api_version, kind).ok_or_else(missing)?);
    }
    Ok(kinds)
}

async fn prune_kind(kind: Kind, namespace: &str, applied: &[Value], args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let selection = Options { label_selector: args.value("selector").to_owned(), ..Options::default() };
    for object in cx.list(kind, namespace, selection).await?.items {
        let was_applied = at(&object, "metadata.annotations").get(LAST_APPLIED).is_some();
        let uid = at(&object, "metadata.uid");
        if !was_applied || applied.iter().any(|one| at(one, "metadata.uid") == uid) {
            continue;
        }
        let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        cx.remove(kind, namespace, text(&object, "metadata.name"), options, plain_options("", args)?).await?;
        cx.tell(&object, "pruned", args)?;
    }
    Ok(())
}
