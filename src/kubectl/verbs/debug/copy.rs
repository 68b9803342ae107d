//! A copy of a Pod in which something is changed: an image, a command, or a container more. Mirrors `debugByCopy`.

use serde_json::{Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::fields::{at, list, namespace_and_name, text};
use object::Kind;
use wire::DeleteOptions;

use super::container::{Made, equip, name_for, new_container};
use super::profile::{Profile, Style};

/// Makes the copy, and takes the Pod away if it is replaced.
pub(super) async fn visit(pod: &Value, profile: &Profile<'_>, args: &Args, cx: &Kubectl) -> Result<Made, Failure> {
    let (copy, container) = copy_of(pod, profile, args, cx)?;
    let (namespace, name) = namespace_and_name(pod);
    let query = plain_options("", args)?;
    let made = cx.post(Kind::Pod, namespace, &copy, query.clone()).await?;
    if args.is_on("replace") {
        let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        cx.remove(Kind::Pod, namespace, name, options, query).await?;
    }
    Ok(Made { pod: made, container })
}

/// The copy, and the container that was changed or added. Mirrors `generatePodCopyWithDebugContainer`.
fn copy_of(pod: &Value, profile: &Profile, args: &Args, cx: &Kubectl) -> Result<(Value, String), Failure> {
    let mut copy = bare_copy(pod, args);
    let image = !args.value("image").is_empty();
    let asked = args.value("container");
    let there = |container: &Value| !asked.is_empty() && container["name"] == asked;
    let mut lists = ["containers", "initContainers"].into_iter();
    let place = lists.find_map(|of| Some((of, list(at(&copy, "spec"), of).iter().position(there)?)));
    let name = match place {
        Some((of, index)) => {
            let container = &mut copy["spec"][of][index];
            equip(container, args);
            forget(container, args);
            asked.to_owned()
        }
        None if !image && args.has("set-image") => return Ok((copy, String::new())),
        None if !image => return Err(Failure::text("you must specify image when creating new container")),
        None => {
            let name = name_for(&copy, args, cx);
            if let Some(containers) = copy["spec"]["containers"].as_array_mut() {
                containers.push(new_container(&name, args));
            }
            name
        }
    };
    profile.apply(&mut copy, &name, Style::Copy);
    Ok((copy, name))
}

/// A container with a new command loses the old arguments, and one without `--stdin` or `--tty` its open input or terminal.
fn forget(container: &mut Value, args: &Args) {
    let Some(fields) = container.as_object_mut() else { return };
    if !args.rest.is_empty() && !args.is_on("arguments-only") {
        fields.remove("args");
    }
    for flag in ["stdin", "tty"].into_iter().filter(|flag| !args.is_on(flag)) {
        fields.remove(flag);
    }
}

/// The Pod under another name and without a node, with the images of `--set-image`.
fn bare_copy(pod: &Value, args: &Args) -> Value {
    let mut spec = at(pod, "spec").clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("ephemeralContainers");
        if !args.is_on("same-node") {
            fields.remove("nodeName");
        }
        if args.has("share-processes") {
            fields.insert("shareProcessNamespace".to_owned(), json!(args.is_on("share-processes")));
        }
    }
    let pairs = args.values("set-image").iter().flat_map(|pairs| pairs.split(',')).filter_map(|it| it.split_once('='));
    let images: Vec<(&str, &str)> = pairs.collect();
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        let of = |name: &str| images.iter().rev().find(|(there, _)| *there == name).map(|(_, image)| json!(image));
        if let Some(image) = of(text(container, "name")).or_else(|| of("*")) {
            container["image"] = image;
        }
    }
    let mut metadata = json!({"name": args.value("copy-to"), "namespace": text(pod, "metadata.namespace")});
    for field in ["labels", "annotations"] {
        let value = at(at(pod, "metadata"), field);
        if !value.is_null() {
            metadata[field] = value.clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}
