//! `autoscale`. Mirrors `k8s.io/kubectl/pkg/cmd/autoscale`.

use serde_json::{Value, json};

use super::create::post;
use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::flags::{FILES, WRITE};
use crate::kubectl::Kubectl;
use crate::print::fields::text;
use crate::usage::Usage;
use object::Kind;
use object::quantity::Amount;

const DEPRECATED: &str = "Flag --cpu-percent has been deprecated, Use --cpu with percentage or resource quantity format \
                          (e.g., '70%' for utilization or '500m' for milliCPU).";

/// `kubectl autoscale`.
pub const AUTOSCALE: Command = Command {
    usage: Usage {
        name: "autoscale",
        words: "TYPE NAME --min=N --max=N --cpu=50%",
        about: "Make a HorizontalPodAutoscaler.",
        flags: &[FILES, WRITE, &["min", "max", "cpu", "memory", "cpu-percent", "name"]],
        left_out: &["template"],
        ..Usage::EMPTY
    },
    takes: Takes::named(Named::Objects),
    run: Run::There(|args, cx| Box::pin(autoscale(args, cx))),
    ..Command::EMPTY
};

/// `kubectl autoscale deployment web --min=2 --max=10 --cpu=50%`.
async fn autoscale(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let Some(max) = args.number("max")? else { return Err(Failure::text("required flag(s) \"max\" not set")) };
    let min = args.number("min")?.unwrap_or(-1);
    if args.has("cpu-percent") {
        cx.complain(DEPRECATED);
    }
    if max < 1 {
        return Err(Failure::text(format!("--max=MAXPODS is required and must be at least 1, max: {max}")));
    }
    if max < min {
        let why = format!("--max=MAXPODS must be larger or equal to --min=MINPODS, max: {max}, min: {min}");
        return Err(Failure::text(why));
    }
    let metrics = metrics(args)?;
    for (kind, object) in cx.objects("autoscale", &args.words, args).await? {
        if !matches!(kind, Kind::Deployment | Kind::ReplicaSet | Kind::StatefulSet | Kind::ReplicationController) {
            let info = kind.info();
            let resource = format!("{}/{}, Resource={}", info.group, info.version, info.plural);
            return Err(Failure::text(format!(
                "cannot autoscale a {}: could not find scale subresource for {resource} in discovery information",
                info.kind
            )));
        }
        let target = text(&object, "metadata.name");
        let name = if args.has("name") { args.value("name") } else { target };
        let reference = json!({"apiVersion": kind.info().api_version, "kind": kind.info().kind, "name": target});
        let mut spec = json!({"scaleTargetRef": reference, "maxReplicas": max});
        if min > 0 {
            spec["minReplicas"] = json!(min);
        }
        if !metrics.is_empty() {
            spec["metrics"] = json!(metrics);
        }
        let info = Kind::HorizontalPodAutoscaler.info();
        let hpa = json!({
            "apiVersion": info.api_version, "kind": info.kind,
            "metadata": {"name": name}, "spec": spec,
        });
        post(hpa, "kubectl-autoscale", "autoscaled", args, cx).await?;
    }
    Ok(())
}

/// One for each resource that is named. None at all: the API server's default, a CPU busy to 80 %.
fn metrics(args: &Args) -> Result<Vec<Value>, Failure> {
    let mut metrics = Vec::new();
    for resource in ["cpu", "memory"] {
        let target = match (args.value(resource), resource) {
            ("", "cpu") if args.has("cpu-percent") => {
                json!({"type": "Utilization", "averageUtilization": args.number("cpu-percent")?})
            }
            ("", _) => continue,
            (value, _) => target(resource, value)?,
        };
        metrics.push(json!({"type": "Resource", "resource": {"name": resource, "target": target}}));
    }
    Ok(metrics)
}

/// `50%` of what is requested, or `500m` as it is.
fn target(flag: &str, value: &str) -> Result<Value, Failure> {
    if let Some(percent) = value.strip_suffix('%') {
        let percent = percent.parse::<i32>().ok().filter(|percent| *percent > 0);
        let percent = percent.ok_or_else(|| Failure::text(format!("invalid value for --{flag}: {value:?}")))?;
        return Ok(json!({"type": "Utilization", "averageUtilization": percent}));
    }
    let amount = Amount::parse(value).map_err(|why| Failure::text(format!("invalid value for --{flag}: {why}")))?;
    Ok(json!({"type": "AverageValue", "averageValue": amount.to_string()}))
}
