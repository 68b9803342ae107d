//! Namespaces: which finalizers their spec may have, and which phase goes with being deleted. Mirrors
//! `ValidateNamespace`, `ValidateNamespaceStatusUpdate` and `ValidateNamespaceFinalizeUpdate` of
//! `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::Namespace;

use crate::kinds::validation::metadata::finalizer_name;
use crate::object::validation::field::{Path, Problems};

const FINALIZERS: Path = Path::new("spec").child("finalizers");

/// A new Namespace.
pub fn namespace(problems: &mut Problems, namespace: &Namespace) {
    finalizers(namespace).for_each(|(_, name)| finalizer_name(problems, &FINALIZERS, name));
}

/// A Namespace whose finalizers somebody has changed through `finalize`.
pub fn finalized(problems: &mut Problems, namespace: &Namespace) {
    finalizers(namespace).for_each(|(i, name)| finalizer_name(problems, &FINALIZERS.index(i), name));
}

fn finalizers(namespace: &Namespace) -> impl Iterator<Item = (usize, &String)> {
    namespace.spec.iter().flat_map(|spec| spec.finalizers.iter().flatten().enumerate())
}

/// A Namespace with a new status.
pub fn namespace_status(problems: &mut Problems, namespace: &Namespace) {
    let phase = namespace.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
    let (wanted, why) = if namespace.metadata.deletion_timestamp.is_none() {
        ("Active", "may only be 'Active' if `deletionTimestamp` is empty")
    } else {
        ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty")
    };
    if phase != wanted {
        problems.invalid(&Path::new("status").child("Phase"), phase, why);
    }
}
