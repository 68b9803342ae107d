//! `kubectl debug`: a container beside those of a Pod that runs, to look around in it. Mirrors `k8s.io/kubectl/pkg/cmd/debug`.
//!
//! Left out: copies of a Pod (`--copy-to`), Pods on a node's own namespaces (`node/NAME`), profiles from a file, and attaching:
//! no terminal is simulated.

use serde_json::{Value, json};

use crate::apiserver::request::{Patch, Subresource};
use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::{Failure, plain_options};
use crate::cluster::kubectl::print::fields::{list, text};
use crate::object::Kind;
use crate::object::patch::diff_strategic;

/// `debug POD --image=IMAGE [--target=CONTAINER] [-- COMMAND]`.
pub async fn debug(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    if args.value("image").is_empty() {
        return Err(Failure::text("you must specify --image when not using --copy-to."));
    }
    if args.words.is_empty() && !args.has("filename") {
        return Err(Failure::text("NAME or filename is required for debug"));
    }
    let target = args.value("target");
    if !target.is_empty() && !args.is_on("quiet") {
        cx.line(format!(
            "Targeting container {target:?}. If you don't see processes from this container it may be because the container \
             runtime doesn't support this feature."
        ));
    }
    if args.is_on("tty") && !args.is_on("stdin") {
        return Err(Failure::text("-i/--stdin is required for containers with -t/--tty=true"));
    }
    let words: Vec<String> = args.words.iter().map(|word| in_full(word)).collect();
    for (kind, pod) in cx.objects("debug", &words, args).await? {
        match kind {
            Kind::Pod => add(&pod, args, cx).await?,
            Kind::Node => return Err(Failure::text("a node's own namespaces are not opened here; debug a Pod on it")),
            _ => return Err(Failure::text(format!("{:?} not supported by debug", gvk(kind)))),
        }
    }
    Ok(())
}

/// A name alone is that of a Pod.
fn in_full(word: &str) -> String {
    if word.contains('/') { word.to_owned() } else { format!("pods/{word}") }
}

fn gvk(kind: Kind) -> String {
    format!("{}, Kind={}", kind.info().api_version, kind.info().kind)
}

/// Mirrors `debugByEphemeralContainer`.
async fn add(pod: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let name = name_for(pod, args, cx);
    let mut new = pod.clone();
    let mut all = list(pod, "spec.ephemeralContainers").to_vec();
    all.push(container(&name, args)?);
    new["spec"]["ephemeralContainers"] = json!(all);
    let patch = Patch::Strategic(diff_strategic(Kind::Pod, pod, &new));
    cx.patch(Kind::Pod, pod, patch, Some(Subresource::EphemeralContainers), plain_options("", args)?).await?;
    if args.is_on("stdin") {
        let pod = text(pod, "metadata.name");
        cx.complain(format!("no terminal is simulated; once it runs: kubectl exec {pod} -c {name} -- COMMAND"));
    }
    Ok(())
}

/// Mirrors `computeDebugContainerName`.
fn name_for(pod: &Value, args: &Args, cx: &Kubectl) -> String {
    if args.has("container") {
        return args.value("container").to_owned();
    }
    let lists = ["spec.containers", "spec.initContainers", "spec.ephemeralContainers"];
    let taken: Vec<&str> = lists.iter().flat_map(|path| list(pod, path)).map(|one| text(one, "name")).collect();
    let name = loop {
        let name = format!("debugger-{}", cx.client.hub().random(|random| random.suffix()));
        if !taken.contains(&name.as_str()) {
            break name;
        }
    };
    if !args.is_on("quiet") {
        cx.line(format!("Defaulting debug container name to {name}."));
    }
    name
}

/// The container as it is sent. Mirrors `generateDebugContainer`.
fn container(name: &str, args: &Args) -> Result<Value, Failure> {
    let mut container = json!({
        "image": args.value("image"), "name": name, "resources": {}, "terminationMessagePolicy": "File",
    });
    let context = security_context(args.value("profile"))?;
    let env: Vec<Value> = args.values("env").iter().filter_map(|pair| variable(pair)).collect();
    let command = if args.is_on("arguments-only") { "args" } else { "command" };
    let [policy, target] = ["image-pull-policy", "target"].map(|flag| json!(args.value(flag)));
    for (field, value, given) in [
        ("imagePullPolicy", policy, args.has("image-pull-policy")),
        ("targetContainerName", target, args.has("target")),
        ("env", json!(env), !env.is_empty()),
        (command, json!(args.rest), !args.rest.is_empty()),
        ("stdin", json!(true), args.is_on("stdin")),
        ("tty", json!(true), args.is_on("tty")),
        ("securityContext", context.clone(), !context.is_null()),
    ] {
        if given {
            container[field] = value;
        }
    }
    Ok(container)
}

fn variable(pair: &str) -> Option<Value> {
    let (name, value) = pair.split_once('=')?;
    Some(json!({"name": name, "value": value}))
}

/// What the profile lets the container do. Mirrors `profiles.go`.
fn security_context(profile: &str) -> Result<Value, Failure> {
    Ok(match profile {
        "" | "general" => json!({"capabilities": {"add": ["SYS_PTRACE"]}}),
        "baseline" | "legacy" => Value::Null,
        "restricted" => json!({
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true,
            "seccompProfile": {"type": "RuntimeDefault"},
        }),
        "netadmin" => json!({"capabilities": {"add": ["NET_ADMIN", "NET_RAW"]}}),
        "sysadmin" => json!({"privileged": true}),
        other => return Err(Failure::text(format!("unknown profile: {other}"))),
    })
}
