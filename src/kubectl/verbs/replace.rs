//! `replace`: PUT of a whole object, or `--force`: DELETE and POST.

use serde_json::Value;

use super::delete::delete_and_wait;
use crate::args::Args;
use crate::command::{Command, Run};
use crate::failure::Failure;
use crate::flags::{FILES, WRITE};
use crate::kubectl::Kubectl;
use crate::manifest::Manifest;
use crate::options::write_options;
use crate::print::fields::{at, namespace_and_name, text};
use crate::usage::Usage;

/// `kubectl replace`.
pub const REPLACE: Command = Command {
    usage: Usage {
        name: "replace",
        words: "-f FILE | -k DIR",
        about: "Put a whole object in the place of another.",
        flags: &[
            FILES,
            WRITE,
            &["validate", "cascade", "force", "grace-period", "timeout", "wait", "save-config", "raw"],
        ],
        ..Usage::EMPTY
    },
    raw: Some("PUT"),
    run: Run::There(|args, cx| Box::pin(replace(args, cx))),
    ..Command::EMPTY
};

/// `kubectl replace -f`. An object without a resourceVersion overwrites the stored one unconditionally.
async fn replace(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let manifests = cx.some_manifests("replace", args).await?;
    let mut failed: Vec<Failure> = manifests.faults.into_iter().map(Failure::from).collect();
    for manifest in manifests.known {
        let replaced = match args.is_on("force") {
            true => replace_by_force(&manifest, args, cx).await,
            false => replace_one(manifest, args, cx).await,
        };
        // The other objects of the file are replaced all the same.
        failed.extend(replaced.err());
    }
    Failure::all(failed)
}

async fn replace_one(mut manifest: Manifest, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let file = manifest.source.file.clone();
    let failed = |fault: Failure| fault.while_doing("replacing", &file);
    if text(&manifest.object, "metadata.resourceVersion").is_empty() {
        let (namespace, name) = namespace_and_name(&manifest.object);
        let live = cx.get_once(manifest.kind, namespace, name).await.map_err(failed)?;
        let version = at(&live, "metadata.resourceVersion").clone();
        let meta = manifest.object.get_mut("metadata").and_then(Value::as_object_mut);
        meta.into_iter().for_each(|meta| drop(meta.insert("resourceVersion".to_owned(), version.clone())));
    }
    let replaced = cx.put(manifest.kind, &manifest.object, "kubectl-replace", args).await.map_err(failed)?;
    cx.tell(&replaced, "replaced", args)
}

/// `kubectl replace --force`: deletes what is there, waits until it is gone, and creates it anew. Mirrors `forceReplace`.
async fn replace_by_force(manifest: &Manifest, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (kind, file) = (manifest.kind, &manifest.source.file);
    let (namespace, name) = namespace_and_name(&manifest.object);
    delete_and_wait(kind, namespace, name, args, cx).await?;
    let created = cx.post(kind, namespace, &manifest.object, write_options("kubectl-replace", args)?).await;
    let created = created.map_err(|fault| fault.while_doing("replacing", file))?;
    cx.tell(&created, "replaced", args)
}
