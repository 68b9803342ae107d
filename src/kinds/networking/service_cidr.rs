//! ServiceCIDRs. Mirrors `ValidateServiceCIDR` of `pkg/apis/networking/validation`.

use k8s_openapi::api::networking::v1::ServiceCIDR;

use crate::printers::cells::{created, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::service;
use crate::row::{Facts, Row, Strategy, Table, Validation, spec_and_status};
use crate::strategy::kept::keep_metadata;
use crate::validation::addresses::IMMUTABLE;
use object::validation::field::{Json, Path, Problems};
use object::validation::internal::Internal;
use object::validation::names::{check_canonical_cidr, parse_cidr};

/// What the server knows of ServiceCIDRs.
pub const ROW: Row<ServiceCIDR> = Row {
    strategy: Strategy {
        status: spec_and_status!(),
        prepare_for_create: Some(|range, _| range.status = None),
        prepare_for_status_update: Some(|new, old, _| keep_metadata(&mut new.metadata, &old.metadata)),
        ..Strategy::DEFAULT
    },
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("CIDRs"), AGE],
            cells: |o, now| cells![name(o), service::ranges(o), created(o, now)],
        },
        ..Facts::new("/registry/servicecidrs/", 11)
    })
};

/// Mirrors `ValidateServiceCIDR`.
fn validate(problems: &mut Problems, range: &ServiceCIDR) {
    const DUAL: &str = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
    let spec = Path::new("spec");
    let (list, cidrs) = (spec.child("cidrs"), cidrs(range));
    if cidrs.is_empty() {
        return problems.required(&list, "at least one CIDR required");
    }
    if cidrs.len() > 2 {
        let shown = Internal("ServiceCIDRSpec", &range.spec);
        return problems.invalid(&list, shown, "may only hold up to 2 values");
    }
    for (i, cidr) in cidrs.iter().enumerate() {
        if let Some(why) = check_canonical_cidr(cidr) {
            problems.invalid(&list.index(i), cidr.as_str(), &why);
        }
    }
    let family = |cidr: &String| parse_cidr(cidr).map(|(ip, _)| ip.is_ipv4());
    if let [first, second] = cidrs
        && family(first).is_some()
        && family(first) == family(second)
    {
        problems.invalid(&list, Json(&cidrs), DUAL);
    }
}

/// Mirrors `ValidateServiceCIDRUpdate`: a second range may be added, and nothing else happens to those that are there.
fn validate_update(problems: &mut Problems, new: &ServiceCIDR, old: &ServiceCIDR) {
    let spec = Path::new("spec");
    let (list, sent, before) = (spec.child("cidrs"), cidrs(new), cidrs(old));
    let grows = (before.len(), sent.len()) == (1, 2);
    if before.len() != sent.len() && !grows {
        return problems.invalid(&list, Json(&sent), IMMUTABLE);
    }
    for (i, (sent, _)) in sent.iter().zip(before).enumerate().filter(|(_, (sent, before))| sent != before) {
        problems.invalid(&list.index(i), sent.as_str(), IMMUTABLE);
    }
    if grows {
        validate(problems, new);
    }
}

fn cidrs(range: &ServiceCIDR) -> &[String] {
    range.spec.as_ref().and_then(|spec| spec.cidrs.as_deref()).unwrap_or_default()
}
