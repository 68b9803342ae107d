//! What the words of `set` have in common: objects are read, changed, and the difference is sent.

use serde_json::{Value, json};

use super::super::rollout::history::CHANGE_CAUSE;
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::options::plain_options;
use crate::print::fields::text;
use object::Kind;
use wire::Patch;

/// What is said of a change.
pub(super) struct Words {
    /// Behind the object's name, when it is done.
    pub(super) done: &'static str,
    /// Before the server's words, if it refuses.
    pub(super) refused: &'static str,
    /// It is sent even if nothing changes.
    pub(super) always: bool,
}

/// Changes each object that the words name, and says so if anything did change. What is wrong with one of them does not
/// keep the others from it. Mirrors `CalculatePatches`.
pub(super) async fn change(
    words: &[String],
    said: Words,
    args: &Args,
    cx: &Kubectl,
    edit: impl Fn(Kind, &mut Value) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if words.is_empty() && !args.gives_manifests() && !args.is_on("local") {
        return Err(Failure::text("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
    }
    let mut failed = Vec::new();
    for (kind, object) in cx.objects("set", words, args).await? {
        let mut new = object.clone();
        if let Err(fault) = edit(kind, &mut new) {
            failed.push(fault);
            continue;
        }
        if let Some(cause) = args.recorded() {
            new["metadata"]["annotations"][CHANGE_CAUSE] = json!(cause);
        }
        let query = plain_options("kubectl-set", args)?;
        let patched = match cx.patch_difference(kind, &object, &new, query.clone()).await {
            Ok(None) if said.always => {
                cx.patch(kind, &object, Patch::Strategic(json!({})), None, query).await.map(Some)
            }
            patched => patched,
        };
        match patched {
            Ok(Some(changed)) => cx.tell_struct(&changed, said.done, args)?,
            Ok(None) => {}
            Err(fault) => failed.push(Failure::text(format!("{}{}", said.refused, fault.message()))),
        }
    }
    Failure::all(failed)
}

/// The spec of the Pods that an object makes, or of the Pod that it is.
pub(super) fn pod_spec(kind: Kind, object: &mut Value) -> Result<&mut Value, Failure> {
    let path = match kind {
        Kind::Pod => "/spec",
        Kind::CronJob => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    };
    let info = kind.info();
    let none = format!("the object is not a pod or does not have a pod template: *{}.{}", info.version, info.kind);
    let none = of_object(kind, object, &none);
    object.pointer_mut(path).filter(|spec| spec.get("containers").is_some()).ok_or(none)
}

/// The containers of a Pod that go by this name, `*` for all, and then its init containers.
pub(super) fn containers<'a>(spec: &'a mut Value, name: &'a str) -> impl Iterator<Item = &'a mut Value> {
    let mut fields: Vec<(&String, &mut Value)> =
        spec.as_object_mut().into_iter().flatten().filter(|(field, _)| LISTS.contains(&field.as_str())).collect();
    fields.sort_by_key(|(field, _)| LISTS.iter().position(|list| list == field));
    let lists = fields.into_iter().filter_map(|(_, list)| list.as_array_mut());
    lists.flatten().filter(move |one| name == "*" || text(one, "name") == name)
}

const LISTS: [&str; 2] = ["containers", "initContainers"];

/// A complaint about one object.
pub(super) fn of_object(kind: Kind, object: &Value, why: &str) -> Failure {
    Failure::text(format!("error: {}/{} {why}", kind.info().plural, text(object, "metadata.name")))
}
