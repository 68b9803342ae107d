//! IPAddresses. Mirrors `ValidateIPAddress` of `pkg/apis/networking/validation`.

use k8s_openapi::api::networking::v1::{IPAddress, ParentReference};

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::service;
use crate::row::{Facts, Row, Table, Validation};
use crate::validation::addresses::IMMUTABLE;
use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};
use object::validation::internal::Internal;
use object::validation::names::{check_canonical_ip, check_path_segment};

/// What the server knows of IPAddresss.
pub const ROW: Row<IPAddress> = Row {
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        check_name: |name| check_canonical_ip(name).into_iter().collect(),
        table: Table {
            columns: &[NAME, column("ParentRef"), AGE],
            cells: |o, now| cells![name(o), service::parent(o), created(o, now)],
        },
        ..Facts::new("/registry/ipaddresses/", 11)
    })
};

/// Mirrors `ValidateIPAddress`: an address belongs to an object.
fn validate(problems: &mut Problems, address: &IPAddress) {
    let spec = Path::new("spec");
    let path = spec.child("parentRef");
    let parent = &address.spec.parent_ref;
    if *parent == ParentReference::default() {
        return problems.required(&path, "");
    }
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let (group, namespace) = (text(&parent.group), text(&parent.namespace));
    if !group.is_empty() {
        problems.all_invalid(&path.child("group"), &group, check_subdomain(&group));
    }
    for (field, value) in [("resource", &parent.resource), ("name", &parent.name)] {
        match value.as_str() {
            "" => problems.required(&path.child(field), ""),
            value => problems.all_invalid(&path.child(field), value, check_path_segment(value)),
        }
    }
    problems.all_invalid(&path.child("namespace"), &namespace, check_path_segment(&namespace));
}

/// Mirrors `ValidateIPAddressUpdate`: an address never changes hands.
fn validate_update(problems: &mut Problems, new: &IPAddress, old: &IPAddress) {
    validate(problems, new);
    let spec = Path::new("spec");
    if new.spec.parent_ref != old.spec.parent_ref {
        let shown = Internal("ParentReference", &new.spec.parent_ref);
        problems.invalid(&spec.child("parentRef"), shown, IMMUTABLE);
    }
}
