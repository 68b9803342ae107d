//! IPAddresses.

use k8s_openapi::api::networking::v1::IPAddress;

use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::printers::service;
use crate::kinds::row::{Facts, Row, Table, Validation};
use crate::kinds::validation;
use crate::object::validation::names::check_canonical_ip;

/// What the server knows of IPAddresss.
pub const ROW: Row<IPAddress> = Row {
    validation: Validation {
        create: validation::endpoints::ip_address,
        update: validation::endpoints::ip_address_update,
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        check_name: |name| check_canonical_ip(name).into_iter().collect(),
        table: Table {
            columns: &[NAME, column("ParentRef"), AGE],
            cells: |o, now| cells![name(o), service::parent(o), created(o, now)],
        },
        ..Facts::new("/registry/ipaddresses/", 12)
    })
};
