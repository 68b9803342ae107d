//! DefaultStorageClass and DefaultIngressClass: a claim or an Ingress that names no class gets the one that is marked as
//! default. Mirrors `plugin/pkg/admission/storage/storageclass/setdefault` and
//! `plugin/pkg/admission/network/defaultingressclass`.
//!
//! A claim that says `storageClassName: ""` wants no class at all, and is left alone.

use std::cmp::Reverse;
use std::sync::Arc;

use object::volume::has_class;
use object::well_known::DEFAULT_STORAGE_CLASS;
use object::{Kind, Object, Status};

use super::Attributes;
use object::reader::Reader;

/// Marks the default class of Ingresses.
const IS_DEFAULT_INGRESS: &str = "ingressclass.kubernetes.io/is-default-class";
/// How an Ingress named its class before there was a field for it.
const OLD_CLASS: &str = "kubernetes.io/ingress.class";

/// A new claim.
pub fn of_storage(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    let Object::PersistentVolumeClaim(claim) = object else { return Ok(()) };
    if !attributes.is_create() || has_class(claim) {
        return Ok(());
    }
    if let Some(class) = newest_default(attributes.reader, Kind::StorageClass, DEFAULT_STORAGE_CLASS) {
        Arc::make_mut(claim).spec.get_or_insert_default().storage_class_name = Some(class);
    }
    Ok(())
}

/// A new Ingress.
pub fn of_ingress(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    let Object::Ingress(ingress) = object else { return Ok(()) };
    let named = ingress.spec.as_ref().is_some_and(|spec| spec.ingress_class_name.is_some());
    let annotated = ingress.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(OLD_CLASS));
    if !attributes.is_create() || named || annotated {
        return Ok(());
    }
    if let Some(class) = newest_default(attributes.reader, Kind::IngressClass, IS_DEFAULT_INGRESS) {
        Arc::make_mut(ingress).spec.get_or_insert_default().ingress_class_name = Some(class);
    }
    Ok(())
}

/// The class that is marked as default. Of several the newest, and of these the first by name.
fn newest_default(reader: &dyn Reader, kind: Kind, mark: &str) -> Option<String> {
    let is_default = |class: &Object| {
        class.meta().annotations.as_ref().and_then(|all| all.get(mark)).is_some_and(|value| value == "true")
    };
    let classes = reader.list(kind, "").into_iter().filter(is_default);
    let newest =
        classes.min_by_key(|class| (Reverse(class.meta().creation_timestamp.clone()), class.name().to_owned()));
    newest.map(|class| class.name().to_owned())
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
                "metadata": {"name": name, "creationTimestamp": created,
                    "annotations": {DEFAULT_STORAGE_CLASS: default}}})
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
            let got = create(of_storage, objects, claim).expect("admitted").to_json();
            assert_eq!(got["spec"]["storageClassName"], expected, "{spec}");
        }
    }
}
