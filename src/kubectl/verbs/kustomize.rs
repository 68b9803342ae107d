//! `kustomize`: what a directory with a kustomization comes to. Mirrors `kustomize/commands/build`.
//!
//! Left out: `-o`, for which a line may end in `> FILE`; every flag that runs another program.

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::kustomize::{Files, Order, build};
use crate::print::yaml;
use std::future::ready;

use crate::command::{Command, Run};
use crate::usage::Usage;

/// `kubectl kustomize`.
pub const KUSTOMIZE: Command = Command {
    usage: Usage {
        name: "kustomize",
        words: "[DIR]",
        about: "Build a kustomization, and show what it comes to.\n\
                What is built can be applied with apply -k DIR.",
        flags: &[&["load-restrictor", "reorder"]],
        left_out: &[
            "as-current-user",
            "enable-alpha-plugins",
            "enable-helm",
            "enable-managedby-label",
            "env",
            "helm-api-versions",
            "helm-command",
            "helm-debug",
            "helm-kube-version",
            "mount",
            "network",
            "network-name",
            "output",
        ],
        ..Usage::EMPTY
    },
    reads_only: |_| true,
    run: Run::There(|args, cx| Box::pin(ready(kustomize(args, cx)))),
    ..Command::EMPTY
};

/// `kubectl kustomize [DIR]`. It asks the cluster nothing.
fn kustomize(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let directory = match args.words.as_slice() {
        [] => ".",
        [directory] => directory,
        _ => return Err(Failure::text("specify one path to kustomization.yaml")),
    };
    let files = Files::new(&cx.workdir, &cx.files);
    let files = match args.value("load-restrictor") {
        "" | "LoadRestrictionsRootOnly" => files,
        "LoadRestrictionsNone" => files.unrestricted(),
        other => {
            let why = "legal values: [LoadRestrictionsRootOnly LoadRestrictionsNone]";
            return Err(Failure::text(format!("illegal flag value --load-restrictor {other}; {why}")));
        }
    };
    if args.has("reorder") {
        cx.complain(
            "Flag --reorder has been deprecated, use the new 'sortOptions' field in kustomization.yaml instead.",
        );
    }
    let order = match args.value("reorder") {
        "" | "legacy" => Order::Legacy,
        "none" => Order::None,
        other => {
            return Err(Failure::text(format!("illegal flag value --reorder {other}; legal values: [legacy none]")));
        }
    };
    let built = build(&files, directory, order).map_err(Failure::Text)?;
    built.warnings.iter().for_each(|warning| cx.complain(warning));
    let documents: Vec<String> = built.objects.iter().map(yaml::print).collect();
    cx.print(&documents.join("---\n"));
    Ok(())
}
