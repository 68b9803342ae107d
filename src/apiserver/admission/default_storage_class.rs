//! DefaultStorageClass: a claim that names no class gets the one that is marked as default. Mirrors
//! `plugin/pkg/admission/storage/storageclass/setdefault`.
//!
//! A claim that says `storageClassName: ""` wants no class at all, and is left alone.

use std::cmp::Reverse;
use std::sync::Arc;

use k8s_openapi::api::storage::v1::StorageClass;

use crate::object::{Kind, Object, Status};

use super::Attributes;

/// Marks the default class.
const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
/// How a claim named its class before there was a field for it.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// A new claim.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    let Object::PersistentVolumeClaim(claim) = object else { return Ok(()) };
    let named = claim.spec.as_ref().is_some_and(|spec| spec.storage_class_name.is_some());
    let annotated = claim.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(BETA_CLASS));
    if !attributes.is_create() || named || annotated {
        return Ok(());
    }
    let classes = attributes.reader.list(Kind::StorageClass, "").into_iter();
    let classes =
        classes.filter_map(|object| if let Object::StorageClass(class) = object { Some(class) } else { None });
    // Of several the newest, and of these the first by name.
    let newest =
        |class: &Arc<StorageClass>| (Reverse(class.metadata.creation_timestamp.clone()), class.metadata.name.clone());
    if let Some(class) = classes.filter(|class| is_default(class)).min_by_key(newest) {
        let spec = Arc::make_mut(claim).spec.get_or_insert_default();
        spec.storage_class_name.clone_from(&class.metadata.name);
    }
    Ok(())
}

fn is_default(class: &StorageClass) -> bool {
    class.metadata.annotations.as_ref().and_then(|all| all.get(IS_DEFAULT)).is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{Objects, create};
    use super::*;

    #[test]
    fn a_claim_without_a_class_gets_the_newest_default() {
        let class = |name: &str, created: &str, default: &str| {
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "a.b",
                "metadata": {"name": name, "creationTimestamp": created, "annotations": {IS_DEFAULT: default}}})
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let none = Objects::parse(&[class("plain", late, "false")]);
        let some = Objects::parse(&[class("a", early, "true"), class("b", late, "true"), class("c", late, "true")]);
        for (objects, spec, expected) in [
            (&none, json!({}), Value::Null),
            (&some, json!({}), json!("b")),
            (&some, json!({"storageClassName": "a"}), json!("a")),
            (&some, json!({"storageClassName": ""}), json!("")),
        ] {
            let claim =
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": spec});
            let got = create(admit, objects, claim).expect("admitted").to_json();
            assert_eq!(got["spec"]["storageClassName"], expected, "{spec}");
        }
    }
}
