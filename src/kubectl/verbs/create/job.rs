//! `create job` and `create cronjob`. Mirrors `create_job.go` and `create_cronjob.go` of kubectl.

use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::print::fields::{at, text};
use object::Kind;

/// Says of a Job that a person made it from a CronJob, out of turn.
const INSTANTIATE: &str = "cronjob.kubernetes.io/instantiate";

/// `kubectl create job NAME --image=IMAGE -- COMMAND`, or `--from=cronjob/NAME`.
pub(super) async fn job(name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let (from, image) = (args.value("from"), args.value("image"));
    match (from.is_empty(), image.is_empty()) {
        (true, true) => return Err(Failure::text("either --image or --from must be specified")),
        (false, false) => return Err(Failure::text("cannot specify both --image and --from")),
        (true, false) => {}
        (false, true) if !args.rest.is_empty() => return Err(Failure::text("cannot specify --from and command")),
        (false, true) => {
            let found = from.split_once('/').filter(|(kind, _)| Kind::from_word(kind) == Some(Kind::CronJob));
            let Some((_, owner)) = found else {
                return Err(Failure::text("from must be an existing cronjob"));
            };
            return Ok(from_cron_job(name, &cx.get(Kind::CronJob, cx.namespace(args), owner).await?));
        }
    }
    let spec = json!({"template": {"spec": pod_spec(name, args, "Never")}});
    Ok(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}))
}

/// The Job that the CronJob would make, under another name.
fn from_cron_job(name: &str, owner: &Value) -> Value {
    let template = at(owner, "spec.jobTemplate");
    let mut annotations = Map::from_iter([(INSTANTIATE.to_owned(), json!("manual"))]);
    annotations.extend(at(template, "metadata.annotations").as_object().cloned().unwrap_or_default());
    let mut metadata = json!({
        "name": name,
        "annotations": annotations,
        // Without `blockOwnerDeletion`, for which one must be allowed to change the CronJob.
        "ownerReferences": [{
            "apiVersion": "batch/v1", "kind": "CronJob", "name": text(owner, "metadata.name"),
            "uid": text(owner, "metadata.uid"), "controller": true,
        }],
    });
    if let Some(labels) = at(template, "metadata.labels").as_object() {
        metadata["labels"] = json!(labels);
    }
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": at(template, "spec")})
}

/// `kubectl create cronjob NAME --image=IMAGE --schedule='*/1 * * * *' -- COMMAND`.
pub(super) fn cron_job(name: &str, args: &Args) -> Result<Value, Failure> {
    let missing: Vec<String> = ["image", "schedule"]
        .into_iter()
        .filter(|flag| args.value(flag).is_empty())
        .map(|flag| format!("{flag:?}"))
        .collect();
    if !missing.is_empty() {
        return Err(Failure::text(format!("required flag(s) {} not set", missing.join(", "))));
    }
    let restart = if args.has("restart") { args.value("restart") } else { "OnFailure" };
    let template = json!({"spec": pod_spec(name, args, restart)});
    let spec = json!({
        "schedule": args.value("schedule"),
        "jobTemplate": {"metadata": {"name": name}, "spec": {"template": template}},
    });
    Ok(json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": spec}))
}

fn pod_spec(name: &str, args: &Args, restart: &str) -> Value {
    let mut container = json!({"name": name, "image": args.value("image")});
    if !args.rest.is_empty() {
        container["command"] = json!(args.rest);
    }
    json!({"containers": [container], "restartPolicy": restart})
}
