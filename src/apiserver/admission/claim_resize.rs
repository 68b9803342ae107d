//! PersistentVolumeClaimResize: a claim may only grow if its class says that its volumes can. Mirrors
//! `plugin/pkg/admission/storage/persistentvolume/resize`.

use object::volume::{class_of, phase_of, requested};
use object::{Kind, Object, Status};

use super::{Attributes, forbidden};

/// A claim that asks for more than before.
pub fn validate(attributes: &Attributes, object: &Object) -> Result<(), Status> {
    let (Object::PersistentVolumeClaim(new), Some(Object::PersistentVolumeClaim(old))) = (object, attributes.old)
    else {
        return Ok(());
    };
    if attributes.request.subresource.is_some() || requested(new) <= requested(old) {
        return Ok(());
    }
    let refuse = |why: &str| Err(forbidden(attributes.request, Some(object), why));
    if phase_of(old) != "Bound" {
        return refuse("Only bound persistent volume claims can be expanded");
    }
    match attributes.reader.get(Kind::StorageClass, "", class_of(old)) {
        Some(Object::StorageClass(class)) if class.allow_volume_expansion == Some(true) => Ok(()),
        _ => refuse(
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
             resize",
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Objects, object, request, with};
    use super::*;
    use wire::{User, Verb};

    #[test]
    fn a_claim_grows_if_its_class_can() {
        let class = |name: &str, grows: bool| {
            json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
                "provisioner": "a.b", "allowVolumeExpansion": grows})
        };
        let objects = Objects::parse(&[class("rubber", true), class("steel", false)]);
        let claim = |class: &str, size: &str, phase: &str| {
            object(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": "c", "namespace": "n"}, "status": {"phase": phase},
                "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}}}))
        };
        const CANNOT: &str = "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be \
            resized and the storageclass that provisions the pvc must support resize";
        for (class, phase, size, error) in [
            ("rubber", "Bound", "2Gi", None),
            ("rubber", "Bound", "1Gi", None),
            (
                "rubber",
                "Pending",
                "2Gi",
                Some("persistentvolumeclaims \"c\" is forbidden: Only bound persistent volume claims can be expanded"),
            ),
            ("steel", "Bound", "2Gi", Some(CANNOT)),
            ("steel", "Bound", "1024Mi", None),
            ("", "Bound", "2Gi", Some(CANNOT)),
        ] {
            let (old, new) = (claim(class, "1Gi", phase), claim(class, size, phase));
            let request = request(User::admin(), Verb::Update, None, &new);
            let got = with(&request, Some(&old), &objects, |attributes| validate(attributes, &new))
                .err()
                .map(|status| status.message);
            assert_eq!(got.as_deref(), error, "{class} {phase} {size}");
        }
    }
}
