//! The container to look around in.

use serde_json::{Value, json};

use super::super::pod_of::containers;
use crate::args::Args;
use crate::kubectl::Kubectl;
use crate::print::fields::text;

/// The container to look around in; it has no name if only images were changed.
pub(super) struct Made {
    /// The Pod that has it.
    pub(super) pod: Value,
    /// Its name.
    pub(super) container: String,
}

/// Mirrors `computeDebugContainerName`.
pub(super) fn name_for(pod: &Value, args: &Args, cx: &Kubectl) -> String {
    if args.has("container") {
        return args.value("container").to_owned();
    }
    let taken: Vec<&str> = containers(pod).map(|one| text(one, "name")).collect();
    let name = loop {
        let name = format!("debugger-{}", suffix(cx));
        if !taken.contains(&name.as_str()) {
            break name;
        }
    };
    if !args.is_on("quiet") {
        cx.line(format!("Defaulting debug container name to {name}."));
    }
    name
}

pub(super) fn suffix(cx: &Kubectl) -> String {
    cx.client.hub().random(|random| random.suffix())
}

/// A container as it is sent. Mirrors `generateDebugContainer`.
pub(super) fn new_container(name: &str, args: &Args) -> Value {
    let mut container = json!({"name": name, "resources": {}, "terminationMessagePolicy": "File"});
    equip(&mut container, args);
    container
}

/// Gives a container what the flags say.
pub(super) fn equip(container: &mut Value, args: &Args) {
    let env: Vec<Value> = args.values("env").iter().filter_map(|pair| variable(pair)).collect();
    let command = if args.is_on("arguments-only") { "args" } else { "command" };
    let [image, policy] = ["image", "image-pull-policy"].map(|flag| json!(args.value(flag)));
    for (field, value, given) in [
        ("image", image, !args.value("image").is_empty()),
        ("imagePullPolicy", policy, !args.value("image-pull-policy").is_empty()),
        ("env", json!(env), !env.is_empty()),
        (command, json!(args.rest), !args.rest.is_empty()),
        ("stdin", json!(true), args.is_on("stdin")),
        ("tty", json!(true), args.is_on("tty")),
    ] {
        if given {
            container[field] = value;
        }
    }
}

fn variable(pair: &str) -> Option<Value> {
    let (name, value) = pair.split_once('=')?;
    Some(json!({"name": name, "value": value}))
}
