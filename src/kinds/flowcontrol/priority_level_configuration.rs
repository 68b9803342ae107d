//! PriorityLevelConfigurations: how many requests of a level go at once. Mirrors `pkg/apis/flowcontrol`.

use k8s_openapi::api::flowcontrol::v1::{
    LimitedPriorityLevelConfiguration, PriorityLevelConfiguration, PriorityLevelConfigurationSpec,
    PriorityLevelConfigurationStatus, QueuingConfiguration,
};
use serde_json::Value;

use crate::defaults::fields::or;
use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::{at, text};
use crate::row::{Facts, Generation, Row, Strategy, Table, Validation, spec_and_status};
use object::validation::field::{Path, Problems};

/// What the server knows of PriorityLevelConfigurations.
pub const ROW: Row<PriorityLevelConfiguration> = Row {
    defaults: Some(defaults),
    strategy: Strategy {
        generation: Generation::Counted(|new, old| new.spec != old.spec),
        status: spec_and_status!(),
        prepare_for_create: Some(|level, _| level.status = Some(PriorityLevelConfigurationStatus::default())),
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
                column("Type"),
                column("NominalConcurrencyShares"),
                column("Queues"),
                column("HandSize"),
                column("QueueLengthLimit"),
                AGE,
            ],
            cells: |o, now| {
                let limited = |field: &str| number(at(at(o, "spec.limited"), field));
                cells![
                    name(o),
                    text(o, "spec.type"),
                    limited("nominalConcurrencyShares"),
                    limited("limitResponse.queuing.queues"),
                    limited("limitResponse.queuing.handSize"),
                    limited("limitResponse.queuing.queueLengthLimit"),
                    created(o, now),
                ]
            },
        },
        ..Facts::new("/registry/prioritylevelconfigurations/", 3)
    })
};

const SPEC: Path = Path::new("spec");
const SHARES: i32 = 30;
const QUEUES: i32 = 64;
const HAND_SIZE: i32 = 8;
const QUEUE_LENGTH: i32 = 50;

fn defaults(level: &mut PriorityLevelConfiguration) {
    let spec = level.spec.get_or_insert_default();
    if let Some(exempt) = &mut spec.exempt {
        or(&mut exempt.nominal_concurrency_shares, 0);
        or(&mut exempt.lendable_percent, 0);
    }
    let Some(limited) = &mut spec.limited else { return };
    or(&mut limited.nominal_concurrency_shares, SHARES);
    or(&mut limited.lendable_percent, 0);
    if let Some(queuing) = limited.limit_response.as_mut().and_then(|response| response.queuing.as_mut()) {
        or(&mut queuing.queues, QUEUES);
        or(&mut queuing.hand_size, HAND_SIZE);
        or(&mut queuing.queue_length_limit, QUEUE_LENGTH);
    }
}

/// Mirrors `ValidatePriorityLevelConfigurationSpec`.
fn validate(problems: &mut Problems, level: &PriorityLevelConfiguration) {
    let default = PriorityLevelConfigurationSpec::default();
    let spec = level.spec.as_ref().unwrap_or(&default);
    let path = SPEC.child("limited");
    match (spec.type_.as_str(), &spec.limited) {
        ("Exempt", None) | ("Limited", Some(_)) => {}
        ("Exempt", Some(_)) => problems.forbidden(&path, "must be nil if the type is not Limited"),
        ("Limited", None) => problems.required(&path, "must not be empty when type is Limited"),
        (other, _) => return problems.not_supported(&SPEC.child("type"), other, &["Exempt", "Limited"]),
    }
    if let Some(limited) = spec.limited.as_ref().filter(|_| spec.type_ == "Limited") {
        validate_limited(problems, &path, limited);
    }
    if let Some(exempt) = &spec.exempt {
        let path = SPEC.child("exempt");
        match spec.type_.as_str() {
            "Exempt" => shares(problems, &path, exempt.nominal_concurrency_shares),
            _ => problems.forbidden(&path, "must be nil if the type is Limited"),
        }
    }
}

fn validate_limited(problems: &mut Problems, path: &Path, limited: &LimitedPriorityLevelConfiguration) {
    shares(problems, path, limited.nominal_concurrency_shares);
    let path = path.child("limitResponse");
    let response = limited.limit_response.as_ref();
    let type_ = response.map_or("", |response| response.type_.as_str());
    let at = path.child("queuing");
    match (type_, response.and_then(|response| response.queuing.as_ref())) {
        ("Reject", None) => {}
        ("Reject", Some(_)) => problems.forbidden(&at, "must be nil if limited.limitResponse.type is not Limited"),
        ("Queue", None) => problems.required(&at, "must not be empty if limited.limitResponse.type is Limited"),
        ("Queue", Some(queuing)) => validate_queuing(problems, &at, queuing),
        (other, _) => problems.not_supported(&path.child("type"), other, &["Queue", "Reject"]),
    }
}

fn validate_queuing(problems: &mut Problems, path: &Path, queuing: &QueuingConfiguration) {
    for (field, number) in
        [("queueLengthLimit", queuing.queue_length_limit), ("queues", queuing.queues), ("handSize", queuing.hand_size)]
    {
        let number = number.unwrap_or(0);
        if number <= 0 {
            problems.invalid(&path.child(field), number, "must be positive");
        }
    }
}

fn shares(problems: &mut Problems, path: &Path, shares: Option<i32>) {
    if let Some(shares) = shares.filter(|shares| *shares < 0) {
        problems.invalid(&path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer");
    }
}

fn number(value: &Value) -> Value {
    if value.is_null() { "<none>".into() } else { value.clone() }
}
