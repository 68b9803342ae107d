//! `set image` and `set resources`.

use serde_json::json;

use super::change::{Words, change, containers, pod_spec};
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use object::quantity::canonical;

/// `kubectl set image KIND/NAME CONTAINER=IMAGE …`.
pub(super) async fn image(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (images, words): (Vec<String>, Vec<String>) =
        args.words[1..].iter().cloned().partition(|word| word.contains('='));
    let images: Vec<(&str, &str)> = images.iter().filter_map(|pair| pair.split_once('=')).collect();
    if images.is_empty() {
        return Err(Failure::text("at least one image update is required"));
    }
    if images.len() > 1 && images.iter().any(|(container, _)| *container == "*") {
        const WHY: &str =
            "all containers are already specified by *, but saw more than one container_name=container_image pairs";
        return Err(Failure::text(WHY));
    }
    let said =
        Words { done: "image updated", refused: "failed to patch image update to pod template: ", always: false };
    change(&words, said, args, cx, |kind, object| {
        let spec = pod_spec(kind, object)?;
        for (container, image) in &images {
            let mut found = 0;
            for one in containers(spec, container) {
                one["image"] = json!(image);
                found += 1;
            }
            if found == 0 {
                return Err(Failure::text(format!("error: unable to find container named {container:?}")));
            }
        }
        Ok(())
    })
    .await
}

/// `kubectl set resources KIND/NAME --limits=cpu=1 --requests=…`, in the containers that `-c` names.
pub(super) async fn resources(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let mut lists = Vec::new();
    for list in ["limits", "requests"] {
        for pair in args.value(list).split(',').filter(|pair| !pair.is_empty()) {
            let wrong = || Failure::text(format!("invalid argument syntax {pair}, expected <resource>=<value>"));
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
    let name = if args.has("container") { args.value("container") } else { "*" };
    let said = Words {
        done: "resource requirements updated",
        refused: "failed to patch resources update to pod template ",
        always: false,
    };
    change(&args.words[1..], said, args, cx, |kind, object| {
        let mut found = 0;
        for container in containers(pod_spec(kind, object)?, name) {
            lists.iter().for_each(|(list, name, value)| container["resources"][*list][name] = json!(value));
            found += 1;
        }
        match found {
            0 => Err(Failure::text(format!("error: unable to find container named {name}"))),
            _ => Ok(()),
        }
    })
    .await
}
