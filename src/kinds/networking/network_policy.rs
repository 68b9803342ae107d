//! NetworkPolicies.

use k8s_openapi::api::networking::v1::NetworkPolicy;

use crate::kinds::printers::cells::{created, name};
use crate::kinds::printers::columns::{AGE, NAME, column};
use crate::kinds::printers::fields::selector;
use crate::kinds::row::{Facts, Generation, Row, Strategy, Table, Validation, Warnings};
use crate::kinds::{defaults, validation, warnings};

/// What the server knows of NetworkPolicys.
pub const ROW: Row<NetworkPolicy> = Row {
    defaults: Some(defaults::network_policy_defaults),
    strategy: Strategy { generation: Generation::Counted(|new, old| new.spec != old.spec), ..Strategy::DEFAULT },
    validation: Validation {
        create: validation::network_policy::network_policy,
        update: |problems, new, _| validation::network_policy::network_policy(problems, new),
        ..Validation::DEFAULT
    },
    warnings: Warnings { any: warnings::addresses::of_policy, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Pod-Selector"), AGE],
            cells: |o, now| cells![name(o), selector(o, "spec.podSelector"), created(o, now)],
        },
        ..Facts::new("/registry/networkpolicies/", 12)
    })
};
