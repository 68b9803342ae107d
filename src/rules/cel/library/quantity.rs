//! Quantities of resources. Mirrors `pkg/cel/library/quantity.go`.

use object::quantity::{Amount, Format};

use super::found::{Found, fails, ok};
use crate::cel::value::Value;

pub const DECLARED: &[&str] = &[
    "quantity(string) quantity",
    "isQuantity(string) bool",
    "quantity.sign() int",
    "quantity.isGreaterThan(quantity) bool",
    "quantity.isLessThan(quantity) bool",
    "quantity.compareTo(quantity) int",
    "quantity.asApproximateFloat() double",
    "quantity.asInteger() int",
    "quantity.isInteger() bool",
    "quantity.add(quantity) quantity",
    "quantity.add(int) quantity",
    "quantity.sub(quantity) quantity",
    "quantity.sub(int) quantity",
];

pub fn call(name: &str, args: &[Value]) -> Found {
    match (name, args) {
        ("quantity", [Value::String(text)]) => match Amount::parse(text) {
            Ok(amount) => ok(Value::Quantity(amount)),
            Err(why) => fails(why.to_string()),
        },
        ("isQuantity", [Value::String(text)]) => ok(Value::Bool(Amount::parse(text).is_ok())),
        (_, [Value::Quantity(amount), rest @ ..]) => of_quantity(name, *amount, rest),
        _ => None,
    }
}

fn of_quantity(name: &str, amount: Amount, rest: &[Value]) -> Found {
    let whole = || amount == whole_units(amount);
    match (name, rest) {
        ("sign", []) => ok(Value::Int(amount.cmp(&Amount::ZERO) as i64)),
        ("isInteger", []) => ok(Value::Bool(whole())),
        ("asInteger", []) if whole() => ok(Value::Int(amount.value())),
        ("asInteger", []) => fails("cannot convert value to integer"),
        ("asApproximateFloat", []) => ok(Value::Double(amount.milli_value() as f64 / 1000.0)),
        ("isGreaterThan", [Value::Quantity(other)]) => ok(Value::Bool(amount > *other)),
        ("isLessThan", [Value::Quantity(other)]) => ok(Value::Bool(amount < *other)),
        ("compareTo", [Value::Quantity(other)]) => ok(Value::Int(amount.cmp(other) as i64)),
        ("add", [Value::Quantity(other)]) => ok(Value::Quantity(amount + *other)),
        ("add", [Value::Int(other)]) => ok(Value::Quantity(amount + Amount::units(*other))),
        ("sub", [Value::Quantity(other)]) => ok(Value::Quantity(amount - *other)),
        ("sub", [Value::Int(other)]) => ok(Value::Quantity(amount - Amount::units(*other))),
        _ => None,
    }
}

/// The amount without what is less than one.
fn whole_units(amount: Amount) -> Amount {
    match amount.format() {
        Format::BinarySI => Amount::bytes(amount.value()),
        _ => Amount::units(amount.value()),
    }
}
