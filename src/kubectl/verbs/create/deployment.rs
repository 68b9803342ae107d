//! `create deployment`. Mirrors `create_deployment.go`.

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;

pub(super) fn deployment(name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let images = args.values("image");
    if images.is_empty() {
        return Err(Failure::text("required flag(s) \"image\" not set"));
    }
    if images.len() > 1 && !args.rest.is_empty() {
        return Err(Failure::text("cannot specify multiple --image options and command"));
    }
    let container = |image: &String| {
        let name = image.rsplit('/').next().unwrap_or(image).split([':', '@']).next().unwrap_or("app");
        // What a container may not be called is mended, and told from another that would be the same then.
        let name = match name.contains(['_', '.']) {
            true => format!("{}-{}", name.replace(['_', '.'], "-"), cx.client.hub().random(|random| random.suffix())),
            false => name.to_owned(),
        };
        json!({"name": name, "image": image})
    };
    let mut containers: Vec<Value> = images.iter().map(container).collect();
    if let Some(port) = args.number("port")? {
        containers[0]["ports"] = json!([{"containerPort": port}]);
    }
    if !args.rest.is_empty() {
        containers[0]["command"] = json!(args.rest);
    }
    let labels = json!({"app": name});
    Ok(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": args.number("replicas")?.unwrap_or(1), "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }))
}
