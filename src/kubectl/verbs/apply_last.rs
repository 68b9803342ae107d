//! `apply view-last-applied` and `apply set-last-applied`: the manifest that an object keeps of the last `apply`.

use serde_json::{Value, json};

use super::last_applied::annotated;
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::fields::{at, namespace_and_name, text};
use crate::print::yaml;
use object::well_known::LAST_APPLIED;
use wire::Patch;

/// The text that is kept, if one is.
fn kept(object: &Value) -> Option<&str> {
    at(object, "metadata.annotations").get(LAST_APPLIED)?.as_str()
}

/// `kubectl apply view-last-applied TYPE NAME`.
pub(super) async fn view(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut manifests = Vec::new();
    for (_, object) in cx.objects("apply", &args.words[1..], args).await? {
        let name = text(&object, "metadata.name");
        let none = || Failure::text(format!("no last-applied-configuration annotation found on resource: {name}"));
        let manifest: Value = serde_json::from_str(kept(&object).ok_or_else(none)?)
            .map_err(|why| Failure::text(format!("the annotation of {name} is no JSON: {why}")))?;
        manifests.push(manifest);
    }
    for manifest in manifests {
        match args.value("output") {
            "" | "yaml" => cx.print(&yaml::print(&manifest)),
            "json" => cx.line(format!("{manifest:#}")),
            other => {
                let why = "the flag 'output' must be one of yaml|json";
                return Err(Failure::text(format!("Unexpected -o output mode: {other}, {why}")));
            }
        }
    }
    Ok(())
}

/// `kubectl apply set-last-applied -f FILE`: the manifest is kept, and nothing else is changed.
pub(super) async fn set(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut changed = Vec::new();
    for manifest in cx.manifests("apply", args).await? {
        let (namespace, name) = namespace_and_name(&manifest.object);
        let live = cx.get(manifest.kind, namespace, name).await?;
        if kept(&live).is_none() && !args.is_on("create-annotation") {
            const WAY_OUT: &str = "to create the annotation, run the command with --create-annotation";
            let why = format!("no last-applied-configuration annotation found on resource: {name}, {WAY_OUT}");
            return Err(Failure::text(why));
        }
        let wanted = annotated(&manifest.object);
        if kept(&live) == kept(&wanted) {
            cx.line(format!("set-last-applied {name}: no changes required."));
            continue;
        }
        let patch = json!({"metadata": {"annotations": {LAST_APPLIED: kept(&wanted)}}});
        changed.push((manifest.kind, live, patch));
    }
    for (kind, live, patch) in changed {
        let new = cx.patch(kind, &live, Patch::Merge(patch), None, plain_options("", args)?).await?;
        cx.tell(if new.is_null() { &live } else { &new }, "configured", args)?;
    }
    Ok(())
}
