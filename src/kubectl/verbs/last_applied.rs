//! The manifest that was applied last, which an object keeps in an annotation, and the patch that goes from it to the next.

use serde_json::{Value, json};

use crate::kubectl::Kubectl;
use crate::manifest::Manifest;
use crate::print::fields::text;
use object::patch::{three_way_merge, three_way_strategic};
use object::well_known::LAST_APPLIED;
use object::{Kind, versions};
use wire::Patch;

/// From what was applied last and what is there to what is wanted: a strategic merge patch, or for a kind that has no type,
/// and so no tags to merge by, a merge patch.
pub fn three_way(kind: Kind, last_applied: &Value, live: &Value, wanted: &Value) -> Patch {
    match versions::stored_as(kind) {
        Kind::Custom(_) => Patch::Merge(three_way_merge(last_applied, live, wanted)),
        kind => Patch::Strategic(three_way_strategic(kind, last_applied, live, wanted)),
    }
}

/// The object with itself, as JSON, in an annotation. Mirrors `util.GetModifiedConfiguration`.
pub fn annotated(object: &Value) -> Value {
    let mut object = unannotated(object);
    let text = format!("{object}\n");
    if let Some(annotations) = annotations_of(&mut object) {
        annotations.insert(LAST_APPLIED.to_owned(), Value::String(text));
    }
    object
}

/// The object without that annotation, as it is written there: it has annotations, be there none.
pub fn unannotated(object: &Value) -> Value {
    let mut object = object.clone();
    annotations_of(&mut object).into_iter().for_each(|annotations| drop(annotations.remove(LAST_APPLIED)));
    object
}

fn annotations_of(object: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    let meta = object.as_object_mut()?.entry("metadata").or_insert_with(|| json!({})).as_object_mut()?;
    let annotations = meta.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    annotations.as_object_mut()
}

/// The manifest that was applied last, if it is kept.
pub fn kept(live: &Value) -> Option<Value> {
    let annotations = live.get("metadata").and_then(|meta| meta.get("annotations"))?;
    serde_json::from_str(annotations.get(LAST_APPLIED)?.as_str()?).ok()
}

/// The manifest that was applied last, or nothing with a warning.
pub fn last_applied(live: &Value, manifest: &Manifest, cx: &Kubectl) -> Value {
    if let Some(last) = kept(live) {
        return last;
    }
    cx.complain(format!(
        "Warning: resource {}/{} is missing the {LAST_APPLIED} annotation which is required by kubectl apply. kubectl apply \
         should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. \
         The missing annotation will be patched automatically.",
        manifest.kind.info().plural,
        text(live, "metadata.name")
    ));
    json!({})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_is_kept_as_kubectl_keeps_it() {
        let object = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "default"}});
        let kept = annotated(&object);
        let text = kept["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap();
        let want = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{},"name":"a","namespace":"default"}}"#;
        assert_eq!(text, format!("{want}\n"));
        assert_eq!(annotated(&kept), kept);
    }
}
