//! CustomResourceDefinitions: `rules::apiextensions` has what comes of them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::apiextensions::formats;
use crate::printers::cells::name;
use crate::printers::columns::{NAME, always};
use crate::printers::fields::text;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings, spec_and_status};
use object::time::Instant;
use rules::apiextensions::definition;

/// What the server knows of CustomResourceDefinitions.
pub const ROW: Row<CustomResourceDefinition> = Row {
    defaults: Some(definition::default),
    strategy: Strategy {
        status: spec_and_status!(),
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        prepare_for_create: Some(|definition, _| definition::prepare_for_create(definition)),
        prepare_for_update: Some(prepare_for_update),
        prepare_for_deletion: Some(prepare_for_deletion),
        ..Strategy::DEFAULT
    },
    validation: Validation { create: definition::validate, update: definition::validate_update, ..Validation::DEFAULT },
    warnings: Warnings {
        create: |told, new| {
            formats::of_formats(told, new, None);
            definition::warn_of_conversion(told, new);
        },
        update: |told, new, old| {
            formats::of_formats(told, new, Some(old));
            definition::warn_of_conversion(told, new);
        },
        ..Warnings::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        any_finalizers: true,
        outlives_first_delete: true,
        table: Table {
            columns: &[NAME, always("Created At", "date")],
            cells: |o, _| cells![name(o), text(o, "metadata.creationTimestamp")],
        },
        ..Facts::new("/registry/apiextensions.k8s.io/customresourcedefinitions/", 18)
    })
};

fn prepare_for_update(new: &mut CustomResourceDefinition, old: &CustomResourceDefinition) {
    if new.spec != old.spec {
        definition::note_storage_version(new);
    }
}

fn prepare_for_deletion(dying: &mut CustomResourceDefinition, old: &CustomResourceDefinition, now: Instant) {
    if old.metadata.deletion_timestamp.is_none() {
        definition::prepare_for_deletion(dying, now);
    }
}
