//! `kustomize`: what a directory with a kustomization comes to. Mirrors `kustomize/commands/build`.
//!
//! Left out: `-o`, for which a line may end in `> FILE`; whatever runs another program.

use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;
use crate::cluster::kubectl::print::yaml;
use crate::cluster::kustomize::{Files, Order, build};

/// `kubectl kustomize [DIR]`. It asks the cluster nothing.
pub fn kustomize(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
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
