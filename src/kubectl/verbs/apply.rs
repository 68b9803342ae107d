//! `apply`: create what is not there, change what is, three-way.
//!
//! Mirrors `k8s.io/kubectl/pkg/cmd/apply`. The manifest last applied is kept in an annotation. What was in it and is
//! not in the new manifest is deleted, what differs from the live object is set, and what others have set stays.

use serde_json::{Value, json};

use super::last_applied::{annotated, kept, last_applied, three_way};
use super::rollout::history::CHANGE_CAUSE;
use super::{apply_last, prune, server_side};
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::{FILES, WRITE};
use crate::kubectl::Kubectl;
use crate::manifest::Manifest;
use crate::options::write_options;
use crate::print::fields::{map, namespace_and_name, text};
use crate::usage::Usage;
use object::selector::Selector;
use wire::Patch;

const MANAGER: &str = "kubectl-client-side-apply";

/// How often a patch is made anew when the object changes under it. Mirrors `maxPatchRetry`.
const RETRIES: usize = 5;

/// `kubectl apply`.
pub const APPLY: Command = Command {
    usage: Usage {
        name: "apply",
        words: "-f FILE | -k DIR | view-last-applied TYPE NAME | set-last-applied -f FILE",
        about: "Make what a manifest describes, or change it to that.",
        flags: &[
            FILES,
            WRITE,
            &["validate", "server-side", "overwrite", "force", "force-conflicts", "show-managed-fields"],
            &["all", "create-annotation", "prune", "prune-allowlist", "record", "selector", "wait"],
        ],
        left_out: &["openapi-patch"],
        ..Usage::EMPTY
    },
    takes: Takes::first(&["set-last-applied", "view-last-applied"], Named::Objects),
    run: Run::There(|args, cx| Box::pin(apply(args, cx))),
    ..Command::EMPTY
};

/// `kubectl apply -f`.
async fn apply(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    match args.words.first().map(String::as_str) {
        Some("view-last-applied") => return apply_last::view(args, cx).await,
        Some("set-last-applied") => return apply_last::set(args, cx).await,
        Some("edit-last-applied") => {
            const WAY_OUT: &str = "change the manifest, and then: kubectl apply set-last-applied -f FILE";
            return Err(Failure::text(format!("edit-last-applied needs an editor; {WAY_OUT}")));
        }
        _ => {}
    }
    server_side::check(args)?;
    prune::check(args)?;
    if args.is_on("all") && args.has("selector") {
        return Err(Failure::text("cannot set --all and --selector at the same time"));
    }
    // A flag that makes no sense is said before any object is looked at.
    write_options(MANAGER, args)?;
    if let Some(word) = args.words.first() {
        return Err(Failure::usage("apply", format!("Unexpected args: [{word}]")));
    }
    let manifests = cx.some_manifests("apply", args).await?;
    let mut failed: Vec<Failure> = manifests.faults.into_iter().map(Failure::from).collect();
    let selector = Selector::parse(args.value("selector")).map_err(Failure::text)?;
    let mut applied = Vec::new();
    for mut manifest in manifests.known.into_iter().filter(|manifest| is_selected(manifest, &selector)) {
        if let Some(cause) = args.recorded() {
            manifest.object["metadata"]["annotations"][CHANGE_CAUSE] = json!(cause);
        }
        match apply_one(&manifest, args, cx).await {
            Ok((object, how)) => {
                warn_if_deleting(&object, how, cx);
                cx.tell(&object, how, args)?;
                applied.push(object);
            }
            // The other objects of the file are applied all the same.
            Err(fault) => failed.push(fault),
        }
    }
    if applied.is_empty() && failed.is_empty() {
        return Err(Failure::text("no objects passed to apply"));
    }
    Failure::all(failed)?;
    if args.is_on("prune") { prune::prune(&applied, args, cx).await } else { Ok(()) }
}

/// An object that is being deleted can be changed, but users rarely mean to. Mirrors `WarnIfDeleting`.
fn warn_if_deleting(object: &Value, how: &str, cx: &Kubectl) {
    if how != "created" && !text(object, "metadata.deletionTimestamp").is_empty() {
        let name = text(object, "metadata.name");
        cx.complain(format!("Warning: Detected changes to resource {name} which is currently being deleted."));
    }
}

fn is_selected(manifest: &Manifest, selector: &Selector) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels = map(&manifest.object, "metadata.labels").map(|(key, value)| (key.clone(), text(value))).collect();
    selector.matches(Some(&labels))
}

/// The object as it is then, and what was done to it.
async fn apply_one(manifest: &Manifest, args: &Args, cx: &Kubectl) -> Result<(Value, &'static str), Failure> {
    let [name, base] = ["metadata.name", "metadata.generateName"].map(|path| text(&manifest.object, path));
    if name.is_empty() && !base.is_empty() {
        return Err(Failure::text(format!("from {base}: cannot use generate name with apply")));
    }
    if args.is_on("server-side") {
        return Ok((server_side::apply_one(manifest, args, cx).await?, "serverside-applied"));
    }
    let (kind, file) = (manifest.kind, &manifest.source.file);
    let (namespace, name) = namespace_and_name(&manifest.object);
    let retrieving = format!("retrieving current configuration of:\n{}\nfrom server for:", what_it_is(manifest));
    let modified = annotated(&manifest.object);
    let mut tries = 0;
    loop {
        let live = match cx.get(kind, namespace, name).await {
            Ok(live) => live,
            Err(fault) if fault.is_not_found() => {
                let created = cx.post(kind, namespace, &modified, write_options(MANAGER, args)?).await;
                return created.map(|object| (object, "created")).map_err(|fault| fault.while_doing("creating", file));
            }
            Err(fault) => return Err(fault.while_doing(&retrieving, file)),
        };
        // That it is missing is said once, however often the patch is made.
        let last =
            if tries == 0 { last_applied(&live, manifest, cx) } else { kept(&live).unwrap_or_else(|| json!({})) };
        let patch = three_way(kind, &last, &live, &modified);
        let (Patch::Merge(shown) | Patch::Strategic(shown) | Patch::Json(shown)) = &patch else {
            return Ok((live, "unchanged"));
        };
        if *shown == json!({}) {
            return Ok((live, "unchanged"));
        }
        let context = format!("applying patch:\n{shown}\nto:\n{}\nfor: ", what_it_is(manifest));
        match cx.patch(kind, &live, patch, None, write_options(MANAGER, args)?).await {
            Ok(object) => return Ok((object, "configured")),
            Err(fault) if fault.is_conflict() && tries < RETRIES => tries += 1,
            Err(fault) => return Err(fault.while_doing(context.trim_end(), file)),
        }
    }
}

fn what_it_is(manifest: &Manifest) -> String {
    let info = manifest.kind.info();
    let version = format!("{}/{}", info.group, info.version);
    let (namespace, name) = namespace_and_name(&manifest.object);
    format!(
        "Resource: \"{version}, Resource={}\", GroupVersionKind: \"{version}, Kind={}\"\nName: \"{name}\", Namespace: \"{namespace}\"",
        info.plural, info.kind
    )
}
