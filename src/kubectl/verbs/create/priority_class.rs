//! `create priorityclass`. Mirrors `create_priorityclass.go`.

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;

pub(super) fn priority_class(name: &str, args: &Args) -> Result<Value, Failure> {
    let policy = if args.has("preemption-policy") { args.value("preemption-policy") } else { "PreemptLowerPriority" };
    let mut object = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name},
        "preemptionPolicy": policy, "value": args.number("value")?.unwrap_or(0),
    });
    if args.is_on("global-default") {
        object["globalDefault"] = json!(true);
    }
    if !args.value("description").is_empty() {
        object["description"] = json!(args.value("description"));
    }
    Ok(object)
}
