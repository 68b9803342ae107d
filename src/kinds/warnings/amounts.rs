//! What is said of amounts.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use object::quantity::Amount;

/// Amounts in thousandths, where only whole units make sense.
pub fn fraction(told: &mut Vec<String>, path: &str, amounts: Option<&BTreeMap<String, Quantity>>, resource: &str) {
    let Some(Quantity(value)) = amounts.and_then(|amounts| amounts.get(resource)) else { return };
    if Amount::parse(value).is_ok_and(|amount| amount.milli_value() % 1000 != 0) {
        told.push(format!("{path}[{resource}]: fractional byte value {value:?} is invalid, must be an integer"));
    }
}
