//! The pages about addresses of Services, and the ranges that they are from.

use serde_json::Value;

use super::super::fields::{list, long_time, plain, text};
use super::page::Page;

pub(super) fn describe_address(page: &mut Page, address: &Value) {
    page.head(address);
    page.line("Parent Reference:");
    for (title, field) in [("Group", "group"), ("Resource", "resource"), ("Namespace", "namespace"), ("Name", "name")] {
        page.field(&format!("  {title}"), text(address, &format!("spec.parentRef.{field}")));
    }
}

pub(super) fn describe_range(page: &mut Page, range: &Value) {
    page.head(range);
    let cidrs: Vec<String> = list(range, "spec.cidrs").iter().map(plain).collect();
    page.field("CIDRs", cidrs.join(", "));
    let conditions = list(range, "status.conditions");
    if conditions.is_empty() {
        return;
    }
    page.line("Status:\nConditions:\n  Type\tStatus\tLastTransitionTime\tReason\tMessage");
    page.line("  ----\t------\t------------------\t------\t-------");
    for condition in conditions {
        let [kind, status, reason, message] = ["type", "status", "reason", "message"].map(|f| text(condition, f));
        let time = long_time(condition, "lastTransitionTime").unwrap_or_default();
        page.line(format!("  {kind}\t{status}\t{time}\t{reason}\t{message}"));
    }
}
