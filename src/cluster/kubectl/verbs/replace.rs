//! `replace`: PUT of a whole object, or `--force`: DELETE and POST.

use serde_json::Value;

use super::delete::delete_and_wait;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::{Failure, write_options};
use crate::cluster::kubectl::print::fields::{at, text};
use crate::cluster::manifest::Manifest;

/// `kubectl replace -f`. An object without a resourceVersion overwrites whatever is there.
pub async fn replace(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    for mut manifest in cx.manifests("replace", args).await? {
        let file = &manifest.source.file;
        let [namespace, name] =
            ["metadata.namespace", "metadata.name"].map(|path| text(&manifest.object, path).to_owned());
        if args.is_on("force") {
            replace_by_force(&manifest, args, cx).await?;
            continue;
        }
        if text(&manifest.object, "metadata.resourceVersion").is_empty() {
            let live = cx.get_once(manifest.kind, &namespace, &name).await;
            let live = live.map_err(|fault| fault.while_doing("replacing", file))?;
            let meta = manifest.object.get_mut("metadata").and_then(Value::as_object_mut);
            let version = at(&live, "metadata.resourceVersion").clone();
            meta.into_iter().for_each(|meta| {
                meta.insert("resourceVersion".to_owned(), version.clone());
            });
        }
        let replaced = cx.put(manifest.kind, &manifest.object, "kubectl-replace", args).await;
        replaced.map_err(|fault| fault.while_doing("replacing", file))?;
        cx.tell(&manifest.object, "replaced", args)?;
    }
    Ok(())
}

/// `kubectl replace --force`: deletes what is there, waits until it is gone, and creates it anew. Mirrors `forceReplace`.
async fn replace_by_force(manifest: &Manifest, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (kind, file) = (manifest.kind, &manifest.source.file);
    let [namespace, name] = ["metadata.namespace", "metadata.name"].map(|path| text(&manifest.object, path));
    delete_and_wait(kind, namespace, name, args, cx).await?;
    let created = cx.post(kind, namespace, &manifest.object, write_options("kubectl-replace", args)?).await;
    let created = created.map_err(|fault| fault.while_doing("replacing", file))?;
    cx.tell(if text(&created, "kind").is_empty() { &manifest.object } else { &created }, "replaced", args)
}
