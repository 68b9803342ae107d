//! The pages about ResourceQuotas and LimitRanges, and what the page of a Namespace says of them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::fields::{at, list, map, plain, text};
use super::page::Page;
use object::quantity::{Amount, Format};

/// Mirrors `describeQuota`.
pub(super) fn describe_quota(page: &mut Page, quota: &Value) {
    page.name(quota);
    page.namespace(quota);
    scopes(page, quota, "", " * ");
    page.line("Resource\tUsed\tHard");
    page.line("--------\t----\t----");
    resources(page, quota, "");
}

/// Mirrors `describeLimitRange`.
pub(super) fn describe_limit_range(page: &mut Page, range: &Value) {
    page.name(range);
    page.namespace(range);
    limits_head(page, "");
    limits(page, range, "");
}

/// What a Namespace's page ends with. Mirrors `DescribeResourceQuotas` and `DescribeLimitRanges`.
pub(super) fn of_namespace(page: &mut Page, quotas: &[Value], ranges: &[Value]) {
    page.line(if quotas.is_empty() { "\nNo resource quota." } else { "\nResource Quotas" });
    for quota in quotas {
        page.line(format!("  Name:\t{}", text(quota, "metadata.name")));
        scopes(page, quota, "  ", "  * ");
        page.line("  Resource\tUsed\tHard\n  --------\t---\t---");
        resources(page, quota, "  ");
    }
    if ranges.is_empty() {
        return page.line("\nNo LimitRange resource.");
    }
    page.line("\nResource Limits");
    limits_head(page, " ");
    ranges.iter().for_each(|range| limits(page, range, " "));
}

fn scopes(page: &mut Page, quota: &Value, indent: &str, bullet: &str) {
    let mut scopes: Vec<&str> = list(quota, "spec.scopes").iter().filter_map(Value::as_str).collect();
    scopes.sort_unstable();
    if scopes.is_empty() {
        return;
    }
    page.line(format!("{indent}Scopes:\t{}", scopes.join(", ")));
    scopes.into_iter().filter_map(meaning).for_each(|meaning| page.line(format!("{bullet}{meaning}")));
}

/// Mirrors `helpTextForResourceQuotaScope`.
fn meaning(scope: &str) -> Option<&'static str> {
    Some(match scope {
        "Terminating" => {
            "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being \
             actively terminated by the system."
        }
        "NotTerminating" => {
            "Matches all pods that do not have an active deadline. These pods usually include long running pods whose \
             container command is not expected to terminate."
        }
        "BestEffort" => {
            "Matches all pods that do not have resource requirements set. These pods have a best effort quality of \
             service."
        }
        "NotBestEffort" => {
            "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed \
             quality of service."
        }
        _ => return None,
    })
}

fn resources(page: &mut Page, quota: &Value, indent: &str) {
    for (name, hard) in map(quota, "status.hard") {
        let used = at(quota, "status.used").get(name).map_or_else(|| "0".to_owned(), plain);
        page.line(format!("{indent}{name}\t{}\t{}", like(&used, &plain(hard)), plain(hard)));
    }
}

/// What is used, written with the suffixes of what is allowed.
fn like(used: &str, hard: &str) -> String {
    let (Ok(amount), Ok(hard)) = (Amount::parse(used), Amount::parse(hard)) else { return used.to_owned() };
    match hard.format() {
        format if format == amount.format() => amount.to_string(),
        Format::BinarySI => Amount::bytes(amount.value()).to_string(),
        _ => Amount::units(amount.value()).to_string(),
    }
}

fn limits_head(page: &mut Page, indent: &str) {
    page.line(format!(
        "{indent}Type\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio\n\
         {indent}----\t--------\t---\t---\t---------------\t-------------\t-----------------------"
    ));
}

/// Mirrors `describeLimitRangeSpec`.
fn limits(page: &mut Page, range: &Value, indent: &str) {
    const FIELDS: [&str; 5] = ["min", "max", "defaultRequest", "default", "maxLimitRequestRatio"];
    for limit in list(range, "spec.limits") {
        let names: BTreeSet<&String> =
            FIELDS.iter().flat_map(|field| map(limit, field).map(|(name, _)| name)).collect();
        for name in names {
            let amount = |field: &&str| at(limit, field).get(name).map_or_else(|| "-".to_owned(), plain);
            let amounts: Vec<String> = FIELDS.iter().map(amount).collect();
            page.line(format!("{indent}{}\t{name}\t{}", text(limit, "type"), amounts.join("\t")));
        }
    }
}
