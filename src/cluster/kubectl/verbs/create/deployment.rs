//! `create deployment`. Mirrors `create_deployment.go`.

use serde_json::{Value, json};

use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;

pub(super) fn deployment(name: &str, args: &Args) -> Result<Value, Failure> {
    let images = args.values("image");
    if images.is_empty() {
        return Err(Failure::text("required flag(s) \"image\" not set"));
    }
    let container = |image: &String| {
        let name = image.rsplit('/').next().unwrap_or(image).split([':', '@']).next().unwrap_or("app");
        json!({"name": name, "image": image, "resources": {}})
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
            "replicas": args.number("replicas")?.unwrap_or(1), "selector": {"matchLabels": labels}, "strategy": {},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }))
}
