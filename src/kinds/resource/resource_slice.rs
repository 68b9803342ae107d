//! ResourceSlices: the devices that a driver tells of. Mirrors `ValidateResourceSlice` of `pkg/apis/resource/validation`.
//!
//! Left out: counters and taints of devices, and how much of a capacity may be asked for, are taken as they come.

use k8s_openapi::api::resource::v1::{Device, ResourceSlice, ResourceSliceSpec};

use crate::pod_template::scheduling::node_selector;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::text;
use crate::resource::devices;
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation};
use crate::validation::volumes::driver_name;
use object::selector::names::check_subdomain;
use object::validation::field::{Json, Literal, Path, Problems, Shown};
use object::validation::internal::Internal;
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
/// The most devices of one slice; and of one with taints or counters.
const DEVICES_MAX: [usize; 2] = [128, 64];
/// The most attributes and capacities that a device may have.
const ENTRIES_MAX: usize = 32;
/// The longest text of an attribute.
const TEXT_LEN_MAX: usize = 64;
const UNSET: &str = "must be either unset or set to true";

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
    let generation = spec.pool.generation;
    if generation < 0 {
        problems.invalid(&pool.child("generation"), generation, "must be greater than or equal to zero");
    }
    one_place(problems, spec);
    let list = SPEC.child("devices");
    let devices = spec.devices.as_deref().unwrap_or_default();
    let advanced = |device: &Device| {
        let [taints, counters] = [device.taints.is_some(), device.consumes_counters.is_some()];
        taints || counters
    };
    let max = DEVICES_MAX[usize::from(devices.iter().any(advanced))];
    if devices::is_short(problems, &list, devices, max) {
        devices.iter().enumerate().for_each(|(i, device)| validate_device(problems, &list.index(i), device));
        devices::unique(problems, &list, devices.iter().map(|device| device.name.as_str()));
    }
}

/// Mirrors `validateDevice`.
fn validate_device(problems: &mut Problems, path: &Path, device: &Device) {
    problems.all_invalid(&path.child("name"), &device.name, check_dns_label(&device.name));
    let [attributes, capacities] = [
        device.attributes.as_ref().map_or(0, |attributes| attributes.len()),
        device.capacity.as_ref().map_or(0, |capacities| capacities.len()),
    ];
    let entries = attributes + capacities;
    if entries > ENTRIES_MAX {
        let why = format!("the total number of attributes and capacities must not exceed {ENTRIES_MAX}");
        problems.invalid(path, Literal(&entries.to_string()), &why);
    }
    let list = path.child("attributes");
    for (name, attribute) in device.attributes.iter().flatten() {
        devices::qualified_name(problems, &list, name);
        let path = list.key(name);
        if attribute.string.as_ref().is_some_and(|text| text.len() > TEXT_LEN_MAX) {
            problems.too_long(&path.child("string"), TEXT_LEN_MAX);
        }
        if let Some(version) = &attribute.version {
            let path = path.child("version");
            if !is_version(version) {
                let why = "must be a string compatible with semver.org spec 2.0.0";
                problems.invalid(&path, version.as_str(), why);
            }
            if version.len() > TEXT_LEN_MAX {
                problems.too_long(&path, TEXT_LEN_MAX);
            }
        }
    }
    let list = path.child("capacity");
    for name in device.capacity.iter().flatten().map(|(name, _)| name) {
        devices::qualified_name(problems, &list, name);
    }
}

/// Whether it is a version of semver.org, 2.0.0: three numbers, then perhaps what it comes before, and how it was built.
fn is_version(text: &str) -> bool {
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, before) = text.split_once('-').map_or((text, None), |(core, before)| (core, Some(before)));
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
    let is_number = |id: &str| id.bytes().all(|c| c.is_ascii_digit());
    let has_zeros = |id: &str| id.len() > 1 && id.starts_with('0');
    let core: Vec<&str> = core.split('.').collect();
    core.len() == 3
        && core.iter().all(|id| is_id(id) && is_number(id) && !has_zeros(id))
        && before.is_none_or(|ids| ids.split('.').all(|id| is_id(id) && !(is_number(id) && has_zeros(id))))
        && build.is_none_or(|ids| ids.split('.').all(is_id))
}

/// Devices are on one node, on some, on all, or each says where it is.
fn one_place(problems: &mut Problems, spec: &ResourceSliceSpec) {
    const WHY: &str = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let path = SPEC.child("nodeName");
    match spec.node_name.as_deref() {
        None => {}
        Some("") => problems.invalid(&path, "", "must be either unset or set to a non-empty string"),
        Some(name) => problems.all_invalid(&path, name, check_subdomain(name)),
    }
    if let Some(selector) = &spec.node_selector {
        let path = SPEC.child("nodeSelector");
        node_selector(problems, &path, selector);
        let terms = &selector.node_selector_terms;
        if terms.len() != 1 {
            let shown = Internal("[]NodeSelectorTerm", terms);
            problems.invalid(&path.child("nodeSelectorTerms"), shown, "must have exactly one node selector term");
        }
    }
    for (field, value) in [("allNodes", spec.all_nodes), ("perDeviceNodeSelection", spec.per_device_node_selection)] {
        if value == Some(false) {
            problems.invalid(&SPEC.child(field), Literal("false"), UNSET);
        }
    }
    let said = [
        (spec.node_name.as_deref().is_some_and(|name| !name.is_empty()), "`nodeName`"),
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
