//! ResourceSlices: the devices that a driver tells of. Mirrors `ValidateResourceSlice` of `pkg/apis/resource/validation`.
//!
//! Left out: attributes, capacities, counters and taints of devices are taken as they come.

use std::collections::BTreeSet;

use k8s_openapi::api::resource::v1::{ResourceSlice, ResourceSliceSpec};

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::text;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation};
use crate::validation::volumes::driver_name;
use object::selector::names::check_subdomain;
use object::validation::field::{Json, Literal, Path, Problems, Shown};
use object::validation::names::check_dns_label;

/// What the server knows of ResourceSlices.
pub const ROW: Row<ResourceSlice> = Row {
    strategy: Strategy { generation: Generation::Counted(|new, old| new.spec != old.spec), ..Strategy::DEFAULT },
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        returns_deleted: true,
        table: Table {
            columns: &[NAME, column("Node"), column("Driver"), column("Pool"), AGE],
            cells: |o, now| {
                let [node, driver] = ["spec.nodeName", "spec.driver"].map(|field| text(o, field));
                cells![name(o), node, driver, text(o, "spec.pool.name"), created(o, now)]
            },
        },
        ..Facts::new("/registry/resourceslices/", 8)
    })
};

const SPEC: Path = Path::new("spec");
/// The most devices of one slice.
const DEVICES_MAX: usize = 128;

fn validate(problems: &mut Problems, slice: &ResourceSlice) {
    let spec = &slice.spec;
    driver_name(problems, &SPEC.child("driver"), &spec.driver);
    let pool = SPEC.child("pool");
    match spec.pool.name.as_str() {
        "" => problems.required(&pool.child("name"), ""),
        name => {
            let parts = name.split('/');
            parts.for_each(|part| problems.all_invalid(&pool.child("name"), part, check_subdomain(part)));
        }
    }
    let count = spec.pool.resource_slice_count;
    if count <= 0 {
        problems.invalid(&pool.child("resourceSliceCount"), count, "must be greater than zero");
    }
    problems.not_negative(&pool.child("generation"), spec.pool.generation);
    one_place(problems, spec);
    let list = SPEC.child("devices");
    let devices = spec.devices.as_deref().unwrap_or_default();
    if devices.len() > DEVICES_MAX {
        problems.too_many(&list, devices.len(), DEVICES_MAX);
    }
    let mut seen = BTreeSet::new();
    for (i, device) in devices.iter().enumerate() {
        let path = list.index(i);
        problems.all_invalid(&path.child("name"), &device.name, check_dns_label(&device.name));
        if !seen.insert(device.name.as_str()) {
            problems.duplicate(&path, device.name.as_str());
        }
    }
}

/// Devices are on one node, on some, on all, or each says where it is.
fn one_place(problems: &mut Problems, spec: &ResourceSliceSpec) {
    const WHY: &str = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let said = [
        (spec.node_name.is_some(), "`nodeName`"),
        (spec.node_selector.is_some(), "`nodeSelector`"),
        (spec.all_nodes == Some(true), "`allNodes`"),
        (spec.per_device_node_selection == Some(true), "`perDeviceNodeSelection`"),
    ];
    let said: Vec<&str> = said.iter().filter(|(so, _)| *so).map(|(_, name)| *name).collect();
    match said.len() {
        0 => problems.required(&SPEC, WHY),
        1 => {}
        _ => {
            let shown = format!("{{{}}}", said.join(", "));
            problems.invalid(&SPEC, Literal(&shown), &format!("{WHY}, but multiple fields are set"));
        }
    }
}

fn validate_update(problems: &mut Problems, new: &ResourceSlice, old: &ResourceSlice) {
    validate(problems, new);
    let (new, old) = (&new.spec, &old.spec);
    problems.immutable(&SPEC.child("driver"), &new.driver, &old.driver, |driver| Json(driver).shown());
    let pool = SPEC.child("pool");
    problems.immutable(&pool.child("name"), &new.pool.name, &old.pool.name, |name| Json(name).shown());
    problems.immutable(&SPEC.child("nodeName"), &new.node_name, &old.node_name, |name| Json(name).shown());
}
