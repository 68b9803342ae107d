//! `rollout history`: the revisions of a Deployment, which are ReplicaSets, and those of DaemonSets and StatefulSets, which
//! are ControllerRevisions.

use serde_json::{Value, json};

use super::deployment::annotation;
use super::{deployment, sets};
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::print::describe::template_page;
use crate::print::fields::{at, or_none};
use crate::print::names::qualified_name;
use crate::print::output::{Output, print};
use crate::print::tabs;
use object::{Kind, patch};

/// An annotation: the command that made a revision.
pub(in crate::verbs) const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// The revisions of an object in a table, or one in full; with `-o` the objects that are behind them.
pub(super) async fn history(kind: Kind, object: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let number = args.number("revision")?.unwrap_or(0);
    if number < 0 {
        return Err(Failure::text(format!("revision must be a positive integer: {number}")));
    }
    let (mut revisions, template) = match kind {
        Kind::Deployment => (deployment::revisions(object, cx).await?.1, "spec.template"),
        _ => (sets::revisions(kind, object, cx).await?.1, "data.spec.template"),
    };
    let name = qualified_name(object);
    if revisions.is_empty() && args.value("output").is_empty() {
        cx.line(format!("{name} \nNo rollout history found."));
        return Ok(());
    }
    if number > 0 {
        revisions.retain(|revision, _| *revision == number);
        if revisions.is_empty() {
            return Err(Failure::text("unable to find the specified revision"));
        }
    }
    if !args.value("output").is_empty() {
        return show(kind, object, revisions.into_values().collect(), args, cx);
    }
    if let Some(revision) = revisions.get(&number) {
        let mut template = at(revision, template).clone();
        let cause = annotation(revision, CHANGE_CAUSE);
        if kind == Kind::Deployment && !cause.is_empty() {
            template["metadata"]["annotations"][CHANGE_CAUSE] = json!(cause);
        }
        cx.line(format!("{name} with revision #{number}\n{}", template_page(&template)));
        return Ok(());
    }
    let mut rows = "REVISION\tCHANGE-CAUSE\n".to_owned();
    for (number, revision) in &revisions {
        rows.push_str(&format!("{number}\t{}\n", or_none(annotation(revision, CHANGE_CAUSE))));
    }
    cx.line(format!("{name} \n{}", tabs::page(&rows)));
    Ok(())
}

/// The ReplicaSets; of another set what it was at each revision.
fn show(kind: Kind, object: &Value, revisions: Vec<Value>, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let output = Output::parse(args.value("output")).map_err(Failure::text)?;
    for (i, revision) in revisions.into_iter().enumerate() {
        let shown = match kind {
            Kind::Deployment => revision,
            kind => patch::strategic(kind, object.clone(), at(&revision, "data"))?,
        };
        if i > 0 && matches!(output, Output::Yaml) {
            cx.line("---");
        }
        cx.print(&print(&output, &[shown], true, cx.now()).map_err(Failure::text)?);
    }
    Ok(())
}
