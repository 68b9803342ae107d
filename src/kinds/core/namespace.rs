//! Namespaces: which finalizers their spec may have, and which phase goes with being deleted. Mirrors `ValidateNamespace`,
//! `ValidateNamespaceStatusUpdate` and `ValidateNamespaceFinalizeUpdate` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{Namespace, NamespaceStatus};

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::text;
use crate::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use crate::validation::metadata::finalizer_name;
use object::Accessor;
use object::time::Instant;
use object::validation::field::{Path, Problems};
use object::validation::names::check_dns_label;
use object::well_known::KUBERNETES;

/// What the server knows of Namespaces.
pub const ROW: Row<Namespace> = Row {
    defaults: Some(defaults),
    lacks_defaults: |namespace| !is_named_by_label(namespace),
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(prepare_for_create),
        prepare_for_update: Some(|new, old| new.spec.clone_from(&old.spec)),
        prepare_for_deletion: Some(|namespace, _, _| {
            namespace.status.get_or_insert_default().phase = Some("Terminating".into());
        }),
        has_spec_finalizers,
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        status: |problems, new, _| validate_status(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        returns_deleted: true,
        check_name: check_dns_label,
        outlives_first_delete: true,
        table: Table {
            columns: &[NAME, column("Status"), AGE],
            cells: |o, now| cells![name(o), text(o, "status.phase"), created(o, now)],
        },
        ..Facts::new("/registry/namespaces/", 13)
    })
};

/// The label of each namespace with its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const FINALIZERS: Path = Path::new("spec").child("finalizers");

fn prepare_for_create(namespace: &mut Namespace, _: Instant) {
    namespace.status = Some(NamespaceStatus { phase: Some("Active".into()), ..Default::default() });
    let finalizers = namespace.spec.get_or_insert_default().finalizers.get_or_insert_default();
    if !finalizers.iter().any(|f| f == KUBERNETES) {
        finalizers.push(KUBERNETES.into());
    }
    // Defaults could not know a name that was only just made up.
    let name = namespace.metadata.name.clone().unwrap_or_default();
    namespace.metadata.labels.get_or_insert_default().insert(NAME_LABEL.into(), name);
}

fn has_spec_finalizers(namespace: &Namespace) -> bool {
    namespace.spec.as_ref().is_some_and(|spec| spec.finalizers.as_ref().is_some_and(|f| !f.is_empty()))
}

/// A label with the name, which no client can remove.
fn defaults(namespace: &mut Namespace) {
    let name = namespace.metadata.name.clone().unwrap_or_default();
    namespace.metadata.labels.get_or_insert_default().insert(NAME_LABEL.to_owned(), name);
}

/// A new Namespace.
pub fn validate(problems: &mut Problems, namespace: &Namespace) {
    finalizers(namespace).for_each(|(_, name)| finalizer_name(problems, &FINALIZERS, name));
}

/// A Namespace with a new status.
fn validate_status(problems: &mut Problems, namespace: &Namespace) {
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

fn is_named_by_label(namespace: &Namespace) -> bool {
    let name = namespace.metadata.name();
    let labels = namespace.metadata.labels.as_ref();
    name.is_empty() || labels.and_then(|labels| labels.get(NAME_LABEL)).is_some_and(|label| label == name)
}

/// A Namespace whose finalizers a client has changed through `finalize`.
pub fn validate_finalize(problems: &mut Problems, namespace: &Namespace) {
    finalizers(namespace).for_each(|(i, name)| finalizer_name(problems, &FINALIZERS.index(i), name));
}

fn finalizers(namespace: &Namespace) -> impl Iterator<Item = (usize, &String)> {
    namespace.spec.iter().flat_map(|spec| spec.finalizers.iter().flatten().enumerate())
}
