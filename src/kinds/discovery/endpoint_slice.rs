//! EndpointSlices.

use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::kinds::printers::cells;
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use crate::kinds::{defaults, validation};

/// What the server knows of EndpointSlices.
pub const ROW: Row<EndpointSlice> = Row {
    defaults: Some(defaults::endpoint_slice_defaults),
    strategy: Strategy {
        generation: Generation::Counted(|new, old| {
            new.metadata.labels != old.metadata.labels
                || new.address_type != old.address_type
                || new.endpoints != old.endpoints
                || new.ports != old.ports
        }),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validation::endpoints::endpoint_slice,
        update: validation::endpoints::endpoint_slice_update,
        ..Validation::DEFAULT
    },
    warnings: Warnings { create: warn_of_domains, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("AddressType"), column("Ports"), column("Endpoints"), AGE],
            cells: cells::slice_cells,
        },
        ..Facts::new("/registry/endpointslices/", 12)
    })
};

fn warn_of_domains(told: &mut Vec<String>, slice: &EndpointSlice) {
    if slice.address_type == "FQDN" {
        told.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
}
