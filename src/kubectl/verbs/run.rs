//! `run`: a Pod. Once it made a Deployment.

use serde_json::{Value, json};

use super::attached;
use super::create::send;
use crate::args::Args;
use crate::command::{Command, Run};
use crate::failure::Failure;
use crate::flags::WRITE;
use crate::kubectl::Kubectl;
use crate::usage::Usage;
use object::image::wrong_name;
use object::{Kind, patch};

/// `kubectl run`.
pub const RUN: Command = Command {
    usage: Usage {
        name: "run",
        words: "NAME --image=IMAGE [-- ARGUMENTS]",
        about: "Make a Pod.",
        flags: &[
            WRITE,
            &["image", "port", "env", "labels", "restart", "command", "stdin", "tty", "rm", "attach", "quiet"],
            &["annotations", "expose", "image-pull-policy", "overrides", "override-type", "pod-running-timeout"],
            &["privileged"],
        ],
        letterless: &["env"],
        left_out: &["leave-stdin-open"],
    },
    run: Run::There(|args, cx| Box::pin(run(args, cx))),
    ..Command::EMPTY
};

/// `kubectl run`.
pub async fn run(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let [name, words @ ..] = args.words.as_slice() else {
        return Err(Failure::usage("run", "NAME is required for run"));
    };
    if args.value("image").is_empty() {
        return Err(Failure::text(match args.has("image") {
            true => "--image is required",
            false => "required flag(s) \"image\" not set",
        }));
    }
    // The flag is a text, which may not be a number.
    let port = Some(args.value("port")).filter(|port| !port.is_empty());
    let port = port
        .map(|port| {
            port.parse::<i64>().map_err(|_| Failure::text(format!("strconv.Atoi: parsing {port:?}: invalid syntax")))
        })
        .transpose()?;
    check(port, args)?;
    if args.is_on("stdin") {
        cx.check_terminal()?;
    }
    let container = container(name, words, port, args)?;
    let labels = match args.value("labels") {
        "" => json!({"run": name}),
        labels => pairs(labels)?,
    };
    let restart = Some(args.value("restart")).filter(|policy| !policy.is_empty()).unwrap_or("Always");
    let spec = json!({"containers": [container], "restartPolicy": restart, "dnsPolicy": "ClusterFirst"});
    let mut metadata = json!({"name": name, "labels": labels});
    if args.has("annotations") {
        metadata["annotations"] = pairs(&args.values("annotations").join(","))?;
    }
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    let pod = send(overridden(pod, args)?, "kubectl-run", args, cx).await?;
    let service = match port.filter(|_| args.is_on("expose")) {
        Some(port) => Some(exposed(service(name, port, &labels, args), args, cx).await),
        None => None,
    };
    if attached::wanted(args) {
        let services: Vec<Value> = service.into_iter().flatten().collect();
        return attached::stay(&pod, &services, args, cx).await;
    }
    cx.tell_struct(&pod, "created", args)?;
    service.unwrap_or(Ok(Value::Null)).map(|_| ())
}

/// What cannot be, in the order in which it is looked at. Mirrors `RunOptions.Run`.
fn check(port: Option<i64>, args: &Args) -> Result<(), Failure> {
    let (image, restart, pull) = (args.value("image"), args.value("restart"), args.value("image-pull-policy"));
    if wrong_name(image).is_some() {
        return Err(Failure::text(format!("Invalid image name {image:?}: invalid reference format")));
    }
    attached::check_terminal(args)?;
    if args.is_on("expose") && port.is_none() {
        return Err(Failure::usage("run", "--port must be set when exposing a service"));
    }
    if !matches!(restart, "" | "Always" | "OnFailure" | "Never") {
        return Err(Failure::usage("run", format!("invalid restart policy: {restart}")));
    }
    attached::check(args)?;
    if !matches!(pull, "" | "Always" | "IfNotPresent" | "Never") {
        return Err(Failure::usage("run", format!("invalid image pull policy: {pull}")));
    }
    Ok(())
}

/// Creates the Service of `--expose`, and tells of it: the Pod is told of when all is done. Mirrors `generateService`.
async fn exposed(service: Value, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let service = send(service, "kubectl-run", args, cx).await?;
    cx.tell_struct(&service, "created", args)?;
    if args.value("output") == "yaml" {
        cx.line("---");
    }
    Ok(service)
}

/// The container: `words` are what it runs.
fn container(name: &str, words: &[String], port: Option<i64>, args: &Args) -> Result<Value, Failure> {
    let mut container = json!({"name": name, "image": args.value("image")});
    let words: Vec<&String> = words.iter().chain(&args.rest).collect();
    if !words.is_empty() {
        container[if args.is_on("command") { "command" } else { "args" }] = json!(words);
    }
    if !args.value("image-pull-policy").is_empty() {
        container["imagePullPolicy"] = json!(args.value("image-pull-policy"));
    }
    if let Some(port) = port {
        container["ports"] = json!([{"containerPort": port}]);
    }
    if args.is_on("privileged") {
        container["securityContext"] = json!({"privileged": true});
    }
    let environment = args.values("env").iter().map(|pair| match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok(json!({"name": name, "value": value})),
        _ => Err(Failure::text(format!("invalid env: {pair}"))),
    });
    let environment = environment.collect::<Result<Vec<Value>, Failure>>()?;
    if !environment.is_empty() {
        container["env"] = json!(environment);
    }
    for (field, flag) in [("stdin", "stdin"), ("stdinOnce", "stdin"), ("tty", "tty")] {
        if args.is_on(flag) {
            container[field] = json!(true);
        }
    }
    Ok(container)
}

/// The Service of `--expose`. It has the labels that `--labels` gives, as its Pod has.
fn service(name: &str, port: i64, labels: &Value, args: &Args) -> Value {
    let ports = json!([{"port": port, "protocol": "TCP", "targetPort": port}]);
    let mut metadata = json!({"name": name});
    if !args.value("labels").is_empty() {
        metadata["labels"] = labels.clone();
    }
    let spec = json!({"ports": ports, "selector": labels});
    json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
}

/// The Pod with `--overrides` over it.
fn overridden(pod: Value, args: &Args) -> Result<Value, Failure> {
    if args.value("overrides").is_empty() {
        return Ok(pod);
    }
    let overrides: Value = serde_json::from_str(args.value("overrides"))
        .map_err(|why| Failure::text(format!("Invalid JSON Patch: {why}")))?;
    match args.value("override-type") {
        "" | "merge" => Ok(patch::merge(pod, &overrides)),
        "strategic" => Ok(patch::strategic(Kind::Pod, pod, &overrides)?),
        "json" => Ok(patch::json(pod, &overrides)?),
        other => Err(Failure::text(format!("invalid override type: {other}"))),
    }
}

/// `a=1,b=2` as an object. Mirrors `generate.ParseLabels`.
pub(super) fn pairs(text: &str) -> Result<Value, Failure> {
    let pair = |pair: &str| match pair.split_once('=') {
        Some(("", value)) if !value.contains('=') => Err(Failure::text("unexpected empty label key")),
        Some((key, value)) if !value.contains('=') => Ok((key.to_owned(), json!(value))),
        _ => Err(Failure::text(format!("unexpected label spec: {pair}"))),
    };
    Ok(Value::Object(text.split(',').map(pair).collect::<Result<_, Failure>>()?))
}
