//! `set image`, `set env`, `set resources`: GET, and a PATCH of what changes in the Pod template. Mirrors
//! `k8s.io/kubectl/pkg/cmd/set`.

use serde_json::{Value, json};

use crate::cluster::kubectl::Kubectl;
use crate::cluster::kubectl::args::Args;
use crate::cluster::kubectl::calls::{Failure, plain_options};
use crate::cluster::kubectl::print::fields::text;
use crate::object::quantity::canonical;

/// `kubectl set WHAT`.
pub async fn set(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    match args.words.first().map(String::as_str) {
        Some("image") => image(args, cx).await,
        Some("env") => env(args, cx).await,
        Some("resources") => resources(args, cx).await,
        Some(other) => {
            Err(Failure::text(format!("set {other} was left out here; use patch, or change the manifest and apply it")))
        }
        None => Err(Failure::text(
            "expected 'set image (-f FILENAME | TYPE NAME) CONTAINER_NAME_1=CONTAINER_IMAGE_1', set env or set resources",
        )),
    }
}

/// Changes each object that the words name, and says so if anything did change.
async fn change(
    words: &[String],
    how: &str,
    args: &Args,
    cx: &Kubectl,
    edit: impl Fn(&mut Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for (kind, object) in cx.objects("set", words, args).await? {
        let mut new = object.clone();
        edit(&mut new)?;
        if cx.patch_difference(kind, &object, &new, plain_options("kubectl-set", args)?).await? {
            cx.tell(&new, how, args)?;
        }
    }
    Ok(())
}

/// Edits the containers of an object or of its template that go by this name, `*` for all. Says how many those are.
fn edit_containers(object: &mut Value, lists: &[&str], name: &str, edit: impl Fn(&mut Value)) -> usize {
    let mut found = 0;
    for spec in ["/spec/jobTemplate/spec/template/spec", "/spec/template/spec", "/spec"] {
        for list in lists {
            let containers = object.pointer_mut(&format!("{spec}/{list}")).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten().filter(|one| name == "*" || text(one, "name") == name) {
                edit(container);
                found += 1;
            }
        }
    }
    found
}

/// `kubectl set image KIND/NAME CONTAINER=IMAGE …`.
async fn image(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (images, words): (Vec<String>, Vec<String>) =
        args.words[1..].iter().cloned().partition(|word| word.contains('='));
    if images.is_empty() {
        return Err(Failure::text("at least one image update is required"));
    }
    change(&words, "image updated", args, cx, |object| {
        for pair in &images {
            let (container, image) = pair.split_once('=').unwrap_or_default();
            let set = |one: &mut Value| one["image"] = json!(image);
            if edit_containers(object, &["containers", "initContainers"], container, set) == 0 {
                return Err(Failure::text(format!("unable to find container named \"{container}\"")));
            }
        }
        Ok(())
    })
    .await
}

/// `kubectl set env KIND/NAME KEY=VALUE KEY- …`, in the containers that `-c` names.
async fn env(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let is_change = |word: &String| word.contains('=') || (word.ends_with('-') && word.len() > 1);
    let (changes, words): (Vec<String>, Vec<String>) = args.words[1..].iter().cloned().partition(is_change);
    if args.is_on("list") {
        return list_env(&words, args, cx).await;
    }
    if changes.is_empty() {
        return Err(Failure::text("at least one environment variable must be provided"));
    }
    change(&words, "env updated", args, cx, |object| {
        let edit = |container: &mut Value| changes.iter().for_each(|change| set_variable(container, change));
        named(object, args, edit)
    })
    .await
}

fn set_variable(container: &mut Value, change: &str) {
    let mut variables = container["env"].as_array().cloned().unwrap_or_default();
    match change.split_once('=') {
        Some((name, value)) => match variables.iter_mut().find(|variable| text(variable, "name") == name) {
            Some(there) => *there = json!({"name": name, "value": value}),
            None => variables.push(json!({"name": name, "value": value})),
        },
        None => variables.retain(|variable| text(variable, "name") != change.trim_end_matches('-')),
    }
    let Some(container) = container.as_object_mut() else { return };
    container.remove("env");
    if !variables.is_empty() {
        container.insert("env".to_owned(), Value::Array(variables));
    }
}

async fn list_env(words: &[String], args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    for (kind, object) in cx.objects("set env", words, args).await? {
        let (plural, name) = (kind.info().plural, text(&object, "metadata.name"));
        for spec in ["/spec/template/spec", "/spec"] {
            let containers = object.pointer(&format!("{spec}/containers")).and_then(Value::as_array);
            for container in containers.into_iter().flatten() {
                cx.line(format!("# {plural} {name}, container {}", text(container, "name")));
                for variable in container["env"].as_array().into_iter().flatten() {
                    cx.line(format!("{}={}", text(variable, "name"), text(variable, "value")));
                }
            }
        }
    }
    Ok(())
}

/// `kubectl set resources KIND/NAME --limits=cpu=1 --requests=…`, in the containers that `-c` names.
async fn resources(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut lists = Vec::new();
    for list in ["limits", "requests"] {
        for pair in args.value(list).split(',').filter(|pair| !pair.is_empty()) {
            let wrong = || Failure::text(format!("Invalid argument syntax {pair}, expected <resource>=<value>"));
            let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
            let value = canonical(value).map_err(|why| Failure::text(why.to_string()))?;
            lists.push((list, name.to_owned(), value));
        }
    }
    if lists.is_empty() {
        return Err(Failure::text(
            "you must specify an update to requests or limits (in the form of --requests/--limits)",
        ));
    }
    change(&args.words[1..], "resource requirements updated", args, cx, |object| {
        let edit = |container: &mut Value| {
            lists.iter().for_each(|(list, name, value)| container["resources"][*list][name] = json!(value));
        };
        named(object, args, edit)
    })
    .await
}

/// Edits the containers that `-c` names, or all.
fn named(object: &mut Value, args: &Args, edit: impl Fn(&mut Value)) -> Result<(), Failure> {
    let container = if args.has("container") { args.value("container") } else { "*" };
    match edit_containers(object, &["containers"], container, edit) {
        0 => Err(Failure::text(format!("unable to find container named {container}"))),
        _ => Ok(()),
    }
}
