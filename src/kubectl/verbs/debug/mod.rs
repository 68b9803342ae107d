//! `kubectl debug`: a look into a Pod or a node.
//!
//! - here: a container beside those of a Pod that runs.
//! - [`copy`]: a copy of a Pod, with something changed. [`node`]: a Pod in the namespaces of a node.
//! - [`container`]: the container itself. [`profile`]: what it may do.
//!
//! Mirrors `k8s.io/kubectl/pkg/cmd/debug`. Left out: profiles from a file. Of attaching, see [`super::attached`].

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::fields::list;
use object::Kind;
use object::patch::diff_strategic;
use wire::{Patch, Subresource};

use super::attached;
use crate::command::{Command, Named, Run, Takes};
use crate::flags::FILES;
use crate::usage::Usage;
use container::{Made, name_for, new_container};
use profile::{Profile, Style};

mod container;
mod copy;
mod node;
mod profile;

/// `kubectl debug`.
pub const DEBUG: Command = Command {
    usage: Usage {
        name: "debug",
        words: "POD|node/NODE --image=IMAGE [-- COMMAND]",
        about: "Look around: beside the containers of a Pod, in a copy of it, or on a node.",
        flags: &[
            FILES,
            &["image", "container", "target", "profile", "env", "image-pull-policy", "arguments-only"],
            &["stdin", "tty", "quiet", "attach", "copy-to", "replace", "same-node", "set-image", "share-processes"],
            &["keep-annotations", "keep-init-containers", "keep-labels"],
            &["keep-liveness", "keep-readiness", "keep-startup"],
        ],
        letterless: &["env"],
        left_out: &["custom"],
    },
    takes: Takes::named(Named::Pods),
    run: Run::There(|args, cx| Box::pin(debug(args, cx))),
    ..Command::EMPTY
};

/// `debug POD --image=IMAGE [--target=CONTAINER] [-- COMMAND]`, `debug POD --copy-to=NAME …`, `debug node/NODE …`.
async fn debug(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let profile = Profile::of(args)?;
    check(args, cx)?;
    if args.is_on("stdin") {
        cx.check_terminal()?;
    }
    let words: Vec<String> = args.words.iter().map(|word| in_full(word)).collect();
    for (kind, object) in cx.objects("debug", &words, args).await? {
        let made = match kind {
            Kind::Node => node::visit(&object, &profile, args, cx).await?,
            Kind::Pod if args.has("copy-to") => copy::visit(&object, &profile, args, cx).await?,
            Kind::Pod => add(&object, &profile, args, cx).await?,
            _ => return Err(Failure::text(format!("{:?} not supported by debug", gvk(kind)))),
        };
        if attached::wanted(args) && !made.container.is_empty() {
            attached::show(&made.pod, &made.container, args, cx).await?;
        }
    }
    Ok(())
}

/// Mirrors `DebugOptions.Validate`.
fn check(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let fails = |why: &str| Err(Failure::text(why));
    let (image, set_image) = (!args.value("image").is_empty(), args.has("set-image"));
    if args.has("copy-to") {
        if !image && !set_image && args.rest.is_empty() {
            return fails("you must specify --image, --set-image or command arguments.");
        }
        if !args.rest.is_empty() && !args.has("container") && !image {
            return fails("you must specify an existing container or a new image when specifying args.");
        }
    } else {
        for flag in ["replace", "same-node"] {
            if args.is_on(flag) {
                return Err(Failure::text(format!("--{flag} may only be used with --copy-to.")));
            }
        }
        if set_image {
            return fails("--set-image may only be used with --copy-to.");
        }
        if !image {
            return fails("you must specify --image when not using --copy-to.");
        }
    }
    if args.words.is_empty() && !args.has("filename") {
        return fails("NAME or filename is required for debug");
    }
    let policy = args.value("image-pull-policy");
    if !matches!(policy, "" | "Always" | "IfNotPresent" | "Never") {
        return Err(Failure::text(format!("invalid image pull policy: {policy}")));
    }
    let target = args.value("target");
    if !target.is_empty() {
        if args.has("copy-to") {
            return fails("--target is incompatible with --copy-to. Use --share-processes instead.");
        }
        if !args.is_on("quiet") {
            cx.line(format!(
                "Targeting container {target:?}. If you don't see processes from this container it may be because the \
                 container runtime doesn't support this feature."
            ));
        }
    }
    if args.is_on("tty") && !args.is_on("stdin") {
        return fails("-i/--stdin is required for containers with -t/--tty=true");
    }
    if args.value("profile") == "legacy" {
        cx.complain(
            "--profile=legacy is deprecated and planned to be removed in v1.39. It is recommended to specify other profile, \
             for example \"--profile=general\".",
        );
    }
    Ok(())
}

/// A name alone is that of a Pod.
fn in_full(word: &str) -> String {
    if word.contains('/') { word.to_owned() } else { format!("pods/{word}") }
}

fn gvk(kind: Kind) -> String {
    format!("{}, Kind={}", kind.info().api_version, kind.info().kind)
}

/// Mirrors `debugByEphemeralContainer`.
async fn add(pod: &Value, profile: &Profile<'_>, args: &Args, cx: &Kubectl) -> Result<Made, Failure> {
    let name = name_for(pod, args, cx);
    let mut container = new_container(&name, args);
    if args.has("target") {
        container["targetContainerName"] = json!(args.value("target"));
    }
    let mut new = pod.clone();
    let mut all = list(pod, "spec.ephemeralContainers").to_vec();
    all.push(container);
    new["spec"]["ephemeralContainers"] = json!(all);
    profile.apply(&mut new, &name, Style::Ephemeral);
    let patch = Patch::Strategic(diff_strategic(Kind::Pod, pod, &new));
    let subresource = Some(Subresource::EphemeralContainers);
    let pod = cx.patch(Kind::Pod, pod, patch, subresource, plain_options("", args)?).await?;
    Ok(Made { pod, container: name })
}
