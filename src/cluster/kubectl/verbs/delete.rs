//! `delete`: ask for deletion, then wait until the object is gone.

use crate::apiserver::request::{Body, DeleteOptions, Propagation, Verb};
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::client::{failure, targets};
use crate::cluster::kubectl::print::qualified_singular;
use crate::cluster::kubectl::{Failure, Kubectl};
use crate::object::Kind;

use super::apply::read;

/// `kubectl delete KIND NAME…`, `delete -f`, `delete KIND --all`, `delete KIND -l`.
pub async fn delete(args: &Args, kubectl: &Kubectl) -> Result<(), Failure> {
    let objects = chosen(args, kubectl).await?;
    let force = args.is_set("force");
    let options = options(args, force)?;
    if force {
        kubectl.print(
            "Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. \
             The resource may continue to run on the cluster indefinitely.\n",
        );
    }
    let mut deleted = Vec::new();
    for (kind, name) in objects {
        let request = kubectl.request(Verb::Delete, kind, &name, Body::Delete(options.clone()));
        kubectl.send(request).await.map_err(|status| failure(&status, ""))?;
        let how = if force { "force deleted" } else { "deleted" };
        kubectl.print(&format!("{} \"{name}\" {how}\n", qualified_singular(kind)));
        deleted.push((kind, name));
    }
    if args.flag("wait") != "false" {
        for (kind, name) in deleted {
            gone(kubectl, kind, &name).await?;
        }
    }
    Ok(())
}

/// Waits until the object is not there any more.
async fn gone(kubectl: &Kubectl, kind: Kind, name: &str) -> Result<(), Failure> {
    match kubectl.get(kind, name).await {
        Err(status) if status.is_not_found() => return Ok(()),
        Err(status) => return Err(failure(&status, "")),
        Ok(_) => {}
    }
    let (now, stream) = kubectl.follow(kind, name).await.map_err(|status| failure(&status, ""))?;
    if now.is_none() {
        return Ok(());
    }
    while let Some((_, deleted)) = stream.next().await {
        if deleted {
            break;
        }
    }
    Ok(())
}

async fn chosen(args: &Args, kubectl: &Kubectl) -> Result<Vec<(Kind, String)>, Failure> {
    if !args.flags("filename").is_empty() {
        let name = |m: &crate::cluster::manifest::Manifest| {
            m.object.pointer("/metadata/name").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
        };
        return Ok(read(args, kubectl)?.iter().map(|m| (m.kind, name(m))).collect());
    }
    let mut objects = Vec::new();
    for (kind, name) in targets(&args.words)? {
        if !name.is_empty() {
            objects.push((kind, name));
            continue;
        }
        if args.flag("selector").is_empty() && !args.is_set("all") {
            return Err(Failure::error("resource(s) were provided, but no name was specified"));
        }
        let listed = kubectl.list(kind, args.flag("selector"), "").await.map_err(|status| failure(&status, ""))?;
        objects.extend(listed.iter().map(|o| (kind, o["metadata"]["name"].as_str().unwrap_or_default().to_owned())));
        if listed.is_empty() {
            kubectl.print("No resources found\n");
        }
    }
    Ok(objects)
}

fn options(args: &Args, force: bool) -> Result<DeleteOptions, Failure> {
    let grace = args.flag("grace-period");
    let mut grace_period_seconds = match grace {
        "" => None,
        text => Some(text.parse::<i64>().map_err(|_| Failure::error(format!("invalid --grace-period {text:?}")))?),
    };
    if grace_period_seconds == Some(0) && !force {
        // Without --force kubectl waits for a clean end, so it asks for the shortest grace there is.
        grace_period_seconds = Some(1);
    }
    if force && grace_period_seconds.is_none() {
        grace_period_seconds = Some(0);
    }
    if args.is_set("now") {
        grace_period_seconds = Some(1);
    }
    let propagation = match args.flag("cascade") {
        "" | "true" | "background" => Propagation::Background,
        "orphan" | "false" => Propagation::Orphan,
        "foreground" => Propagation::Foreground,
        other => {
            return Err(Failure::error(format!(
                "invalid cascade value ({other}). Must be \"background\", \"foreground\", or \"orphan\""
            )));
        }
    };
    Ok(DeleteOptions { grace_period_seconds, propagation: Some(propagation), ..DeleteOptions::default() })
}
