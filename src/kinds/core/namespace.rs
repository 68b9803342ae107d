//! Namespaces.

use k8s_openapi::api::core::v1::{Namespace, NamespaceStatus};

use crate::kinds::defaults::NAME_LABEL;
use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::printers::fields::text;
use crate::kinds::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use crate::kinds::{defaults, validation};
use crate::object::time::Instant;
use crate::object::validation::names::check_dns_label;
use crate::object::well_known::KUBERNETES;
/// What the server knows of Namespaces.
pub const ROW: Row<Namespace> = Row {
    defaults: Some(defaults::namespace_defaults),
    lacks_defaults: |namespace| !defaults::is_named_by_label(namespace),
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
        create: validation::namespace::namespace,
        status: |problems, new, _| validation::namespace::namespace_status(problems, new),
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
        ..Facts::new("/registry/namespaces/", 14)
    })
};

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
