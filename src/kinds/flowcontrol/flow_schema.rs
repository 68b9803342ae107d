//! FlowSchemas: which requests wait in which flow. Mirrors `pkg/apis/flowcontrol`.
//!
//! Nothing here holds requests back; `apiserver/flow_control.rs` says in which flow one would wait.
//!
//! Left out: what a rule may name is taken as it comes.

use k8s_openapi::api::flowcontrol::v1::{FlowSchema, FlowSchemaStatus};
use serde_json::Value;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{int, list, text, text_or_none};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, spec_and_status};
use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};
use object::validation::internal::Internal;

/// What the server knows of FlowSchemas.
pub const ROW: Row<FlowSchema> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        status: spec_and_status!(),
        prepare_for_create: Some(|schema, _| schema.status = Some(FlowSchemaStatus::default())),
        ..Strategy::DEFAULT
    },
    validation: Validation {
        create: validate,
        update: |problems, new, _| validate(problems, new),
        ..Validation::DEFAULT
    },
    ..Row::new(Facts {
        unconditional_update: false,
        table: Table {
            columns: &[
                NAME,
                column("PriorityLevel"),
                column("MatchingPrecedence"),
                column("DistinguisherMethod"),
                AGE,
                column("MissingPL"),
            ],
            cells: |o, now| {
                cells![
                    name(o),
                    text(o, "spec.priorityLevelConfiguration.name"),
                    int(o, "spec.matchingPrecedence"),
                    text_or_none(o, "spec.distinguisherMethod.type"),
                    created(o, now),
                    missing_level(o),
                ]
            },
        },
        ..Facts::new("/registry/flowschemas/", 3)
    })
};

const SPEC: Path = Path::new("spec");
/// Where a schema stands that does not say so.
const PRECEDENCE: i32 = 1000;
const PRECEDENCE_MAX: i32 = 10_000;
const METHODS: &[&str] = &["ByNamespace", "ByUser"];

fn defaults(schema: &mut FlowSchema) {
    let spec = schema.spec.get_or_insert_default();
    if spec.matching_precedence.unwrap_or(0) == 0 {
        spec.matching_precedence = Some(PRECEDENCE);
    }
}

fn validate(problems: &mut Problems, schema: &FlowSchema) {
    let Some(spec) = &schema.spec else { return };
    let precedence = spec.matching_precedence.unwrap_or(0);
    let path = SPEC.child("matchingPrecedence");
    if precedence <= 0 {
        problems.invalid(&path, precedence, "must be a positive value");
    }
    if precedence > PRECEDENCE_MAX {
        problems.invalid(&path, precedence, &format!("must not be greater than {PRECEDENCE_MAX}"));
    }
    if precedence == 1 && schema.metadata.name.as_deref() != Some("exempt") {
        problems.invalid(&path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
    let path = SPEC.child("priorityLevelConfiguration");
    match spec.priority_level_configuration.name.as_str() {
        "" => problems.required(&path.child("name"), "must reference a priority level"),
        level => problems.all_invalid(&path.child("name"), level, check_subdomain(level)),
    }
    if let Some(method) = spec.distinguisher_method.as_ref().filter(|method| !METHODS.contains(&method.type_.as_str()))
    {
        let path = SPEC.child("distinguisherMethod");
        problems.not_supported(&path.child("type"), Internal("FlowDistinguisherMethod", method), METHODS);
    }
}

/// Whether the level is not there, if it was looked for.
fn missing_level(schema: &Value) -> String {
    let dangling = list(schema, "status.conditions").iter().find(|condition| text(condition, "type") == "Dangling");
    dangling.map_or("?", |condition| text(condition, "status")).to_owned()
}
