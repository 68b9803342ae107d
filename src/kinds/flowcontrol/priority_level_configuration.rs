//! PriorityLevelConfigurations: how many requests of a level go at once. Mirrors `pkg/apis/flowcontrol`.

use k8s_openapi::api::flowcontrol::v1::{
    LimitResponse, LimitedPriorityLevelConfiguration, PriorityLevelConfiguration, PriorityLevelConfigurationSpec,
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
/// The most queues of a level.
const QUEUES_MAX: i32 = 10_000_000;
/// The bits of the hash from which a hand of queues is dealt.
const HASH_BITS: u32 = 60;

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
    if (level.metadata.name.as_deref() == Some("exempt")) != (spec.type_ == "Exempt") {
        const WHY: &str = "type must be 'Exempt' if and only if name is 'exempt'";
        problems.invalid(&SPEC.child("type"), spec.type_.as_str(), WHY);
    }
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
            "Exempt" => {
                shares(problems, &path, exempt.nominal_concurrency_shares);
                lendable(problems, &path, exempt.lendable_percent);
            }
            _ => problems.forbidden(&path, "must be nil if the type is Limited"),
        }
    }
}

fn validate_limited(problems: &mut Problems, path: &Path, limited: &LimitedPriorityLevelConfiguration) {
    shares(problems, path, limited.nominal_concurrency_shares);
    validate_response(problems, &path.child("limitResponse"), limited.limit_response.as_ref());
    lendable(problems, path, limited.lendable_percent);
    if let Some(percent) = limited.borrowing_limit_percent.filter(|percent| *percent < 0) {
        problems.invalid(&path.child("borrowingLimitPercent"), percent, "if specified, must be a non-negative integer");
    }
}

fn validate_response(problems: &mut Problems, path: &Path, response: Option<&LimitResponse>) {
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
    let (queues, hand) = (queuing.queues.unwrap_or(0), queuing.hand_size.unwrap_or(0));
    if queues > QUEUES_MAX {
        problems.invalid(&path.child("queues"), queues, &format!("must not be greater than {QUEUES_MAX}"));
    }
    let path = path.child("handSize");
    if hand <= 0 {
        return;
    }
    if hand > queues {
        problems.invalid(&path, hand, &format!("should not be greater than queues ({queues})"));
    } else if entropy_bits(queues, hand) > HASH_BITS {
        let why = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
        );
        problems.invalid(&path, hand, &why);
    }
}

/// How many bits of a hash a hand of this size may take, at most. Mirrors `RequiredEntropyBits`.
fn entropy_bits(queues: i32, hand: i32) -> u32 {
    (f64::from(queues).log2() * f64::from(hand)).ceil() as u32
}

fn shares(problems: &mut Problems, path: &Path, shares: Option<i32>) {
    if let Some(shares) = shares.filter(|shares| *shares < 0) {
        problems.invalid(&path.child("nominalConcurrencyShares"), shares, "must be a non-negative integer");
    }
}

fn lendable(problems: &mut Problems, path: &Path, percent: Option<i32>) {
    if let Some(percent) = percent.filter(|percent| !(0..=100).contains(percent)) {
        problems.invalid(&path.child("lendablePercent"), percent, "must be between 0 and 100, inclusive");
    }
}

fn number(value: &Value) -> Value {
    if value.is_null() { "<none>".into() } else { value.clone() }
}
