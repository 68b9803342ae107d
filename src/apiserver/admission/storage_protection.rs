//! StorageObjectInUseProtection: volumes, claims and classes of volume attributes are born with a finalizer, which the
//! protection controllers take away when nothing uses them. Mirrors `plugin/pkg/admission/storage/storageobjectinuseprotection`.

use object::meta::has_finalizer;
use object::well_known::{ATTRIBUTES_PROTECTION, CLAIM_PROTECTION, VOLUME_PROTECTION};
use object::{Object, Status};

use super::Attributes;

/// A new volume, claim or class.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    let finalizer = match object {
        Object::PersistentVolume(_) => VOLUME_PROTECTION,
        Object::PersistentVolumeClaim(_) => CLAIM_PROTECTION,
        Object::VolumeAttributesClass(_) => ATTRIBUTES_PROTECTION,
        _ => return Ok(()),
    };
    if !attributes.is_create() {
        return Ok(());
    }
    if !has_finalizer(object.meta(), finalizer) {
        object.meta_mut().finalizers.get_or_insert_default().push(finalizer.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Objects, create};
    use super::*;

    #[test]
    fn what_storage_is_made_of_is_born_protected() {
        for (kind, own, expected) in [
            ("PersistentVolume", json!([]), json!([VOLUME_PROTECTION])),
            ("PersistentVolumeClaim", json!(["a/b"]), json!(["a/b", CLAIM_PROTECTION])),
            ("PersistentVolumeClaim", json!([CLAIM_PROTECTION]), json!([CLAIM_PROTECTION])),
            ("ConfigMap", json!(["a/b"]), json!(["a/b"])),
        ] {
            let manifest = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "finalizers": own}});
            let got = create(admit, &Objects::default(), manifest).expect("admitted").to_json();
            assert_eq!(got["metadata"]["finalizers"], expected, "{kind}");
        }
    }
}
