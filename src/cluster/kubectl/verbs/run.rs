//! `run`: a Pod. Once it made a Deployment.

use serde_json::{Value, json};

use super::create::post;
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::Failure;

/// `kubectl run`.
pub async fn run(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let [name, words @ ..] = args.words.as_slice() else {
        return Err(Failure::text("NAME is required for run"));
    };
    if args.value("image").is_empty() {
        return Err(Failure::text("required flag(s) \"image\" not set"));
    }
    if let Some(flag) = ["stdin", "tty", "rm"].into_iter().find(|flag| args.is_on(flag)) {
        let way_out = "run it without, and then: kubectl exec POD -- COMMAND";
        return Err(Failure::text(format!("--{flag}: no terminal into a container is simulated; {way_out}")));
    }
    let mut container = json!({"name": name, "image": args.value("image"), "resources": {}});
    let words: Vec<&String> = words.iter().chain(&args.rest).collect();
    if !words.is_empty() {
        container[if args.is_on("command") { "command" } else { "args" }] = json!(words);
    }
    if let Some(port) = args.number("port")? {
        container["ports"] = json!([{"containerPort": port}]);
    }
    let pair = |pair: &String| pair.split_once('=').map(|(name, value)| json!({"name": name, "value": value}));
    let environment: Vec<Value> = args.values("env").iter().filter_map(pair).collect();
    if !environment.is_empty() {
        container["env"] = json!(environment);
    }
    let labels = match args.value("labels") {
        "" => json!({"run": name}),
        labels => pairs(labels),
    };
    let restart = if args.has("restart") { args.value("restart") } else { "Always" };
    let spec = json!({"containers": [container], "restartPolicy": restart, "dnsPolicy": "ClusterFirst"});
    let metadata = json!({"name": name, "labels": labels});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    post(pod, "kubectl-run", "created", args, cx).await
}

/// `a=1,b=2` as an object.
pub(super) fn pairs(text: &str) -> Value {
    let pair = |pair: &str| pair.split_once('=').map(|(key, value)| (key.to_owned(), json!(value)));
    Value::Object(text.split(',').filter_map(pair).collect())
}
