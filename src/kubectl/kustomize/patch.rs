//! `patches`, and the two older fields that it has taken the place of. Mirrors `PatchTransformer`,
//! `PatchStrategicMergeTransformer` and `PatchJson6902Transformer`.

use serde_json::{Value, json};

use super::files::{Files, Root};
use super::kustomization::{Patch, yaml_error};
use super::resource::Resource;
use super::set::Set;
use super::{json, merge, target};
use crate::manifest;
use crate::print::yaml;

/// What a patch turns out to be.
enum Sort {
    Strategic(Vec<Resource>),
    Json(Vec<Value>),
}

/// Applies an entry of `patches`.
///
/// # Errors
/// It is no patch, or does not fit.
pub fn patch(set: &mut Set, patch: &Patch, files: &Files<'_>, root: &Root) -> Result<(), String> {
    let written = || yaml::print(&patch.written);
    let configuring = |why: String| {
        let config = "trouble configuring builtin PatchTransformer with config";
        format!("{config}: `\n{}`: {why}", written())
    };
    let (text, source) = match (patch.text.as_str(), patch.path.as_str()) {
        ("", "") => return Err(configuring(format!("must specify one of patch and path in\n{}", written()))),
        ("", path) => {
            let missing = |why: String| configuring(format!("failed to get the patch file from path({path}): {why}"));
            (text(files.load(root, path).map_err(missing)?), format!("[path: {path:?}]"))
        }
        (text, "") => (text.to_owned(), format!("[patch: {text:?}]")),
        _ => return Err(configuring(format!("patch and path can't be set at the same time\n{}", written()))),
    };
    match sort(&text).map_err(|()| configuring(format!("unable to parse SM or JSON patch from {source}")))? {
        Sort::Json(operations) => {
            let target = patch.target.as_ref();
            let target = target.ok_or_else(|| format!("must specify a target for JSON patch {source}"))?;
            for at in set.select(target)? {
                set.0[at].remember_id();
                let object = std::mem::take(&mut set.0[at].object);
                set.0[at].object = json::apply(object, &operations)?;
            }
            Ok(())
        }
        Sort::Strategic(patches) => strategic(set, patch, &patches, &source),
    }
}

fn strategic(set: &mut Set, patch: &Patch, patches: &[Resource], source: &str) -> Result<(), String> {
    match (&patch.target, patches) {
        (Some(target), [one]) => {
            for at in set.select(target)? {
                lay_over(&mut set.0[at], one, patch)?;
            }
        }
        // A file with nothing in it.
        (_, []) => return Ok(()),
        (Some(_), _) => {
            return Err(format!(
                "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set `patches.target` field: \
                 {source}"
            ));
        }
        (None, patches) => {
            for one in patches {
                let id = one.id();
                let named = |why| format!("no resource matches strategic merge patch \"{id}\": {why}");
                let at = set.by_id(&id).map_err(named)?;
                lay_over(&mut set.0[at], one, patch)?;
            }
        }
    }
    // What a patch has deleted is nothing any more.
    set.0.retain(|resource| !resource.object.is_null());
    let all = std::mem::take(&mut set.0);
    set.append(all)
}

/// An object keeps its name, namespace and kind, unless the patch may change them. Mirrors `Resource.ApplySmPatch`.
fn lay_over(resource: &mut Resource, patch: &Resource, may: &Patch) -> Result<(), String> {
    let id = resource.id();
    if may.may_change_name || may.may_change_kind {
        resource.remember_id();
    }
    let (api_version, kind) = (resource.object["apiVersion"].clone(), resource.object["kind"].clone());
    let mut over = patch.object.clone();
    over["apiVersion"] = api_version;
    let merged = merge::merge(&id.gvk, std::mem::take(&mut resource.object), &over)?;
    resource.object = merged.unwrap_or(Value::Null);
    if resource.object.is_null() {
        return Ok(());
    }
    if !may.may_change_kind {
        resource.object["kind"] = kind;
    }
    if !may.may_change_name {
        resource.set_meta("name", json!(id.name));
    }
    let meta = resource.object.get_mut("metadata").and_then(Value::as_object_mut);
    match (id.namespace.is_empty(), meta) {
        (true, Some(meta)) => drop(meta.remove("namespace")),
        (true, None) => {}
        (false, _) => resource.set_meta("namespace", json!(id.namespace)),
    }
    Ok(())
}

/// Applies an entry of `patchesStrategicMerge`: a path, or a patch as it stands there.
///
/// # Errors
/// As [`patch`].
pub fn old_strategic(set: &mut Set, entry: &str, files: &Files<'_>, root: &Root) -> Result<(), String> {
    let patches = match target::resources("patch", entry) {
        Ok(patches) if !patches.is_empty() => patches,
        _ => target::resources(entry, &text(files.load(root, entry)?))?,
    };
    let plain = Patch::default();
    for one in &patches {
        set.by_id(&one.id())?;
        strategic(set, &plain, std::slice::from_ref(one), "")?;
    }
    Ok(())
}

/// Applies an entry of `patchesJson6902`.
///
/// # Errors
/// As [`patch`].
pub fn old_json(set: &mut Set, patch: &Patch, files: &Files<'_>, root: &Root) -> Result<(), String> {
    let Some(target) = patch.target.as_ref().filter(|target| !target.id.name.is_empty()) else {
        return Err("must specify the target name".to_owned());
    };
    let given = match (patch.text.as_str(), patch.path.as_str()) {
        ("", "") => return Err("empty file path and empty jsonOp".to_owned()),
        ("", path) => text(files.load(root, path)?),
        (text, "") => text.to_owned(),
        _ => return Err("must specify a file path or jsonOp, not both".to_owned()),
    };
    let Ok(Sort::Json(operations)) = sort(&given) else { return Err(format!("decoding {given}: it is no JSON patch")) };
    for at in set.select(target)? {
        let object = std::mem::take(&mut set.0[at].object);
        set.0[at].object = json::apply(object, &operations)?;
    }
    Ok(())
}

/// A list is a JSON patch; anything else has to be objects with a kind and a name.
fn sort(text: &str) -> Result<Sort, ()> {
    let values = manifest::values("patch", text).map_err(|_| ())?;
    match values.into_iter().next() {
        Some(Value::Array(operations)) if !operations.is_empty() => Ok(Sort::Json(operations)),
        None => Ok(Sort::Strategic(Vec::new())),
        Some(Value::Object(_)) => target::resources("patch", text).map(Sort::Strategic).map_err(|_| ()),
        _ => Err(()),
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is wrong with the YAML of a file. Mirrors `kusterr.Handler`.
pub fn malformed(message: &str, path: &str) -> String {
    format!("MalformedYAMLError: {} in File: {path}", yaml_error(message))
}
