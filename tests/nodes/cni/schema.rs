//! As much of JSON Schema as `schema.json` uses.

use std::net::IpAddr;

use serde_json::Value;

/// Checks a value against a definition of the schema. The error says where it does not fit, and why.
pub fn check(definition: &str, value: &Value) -> Result<(), String> {
    let root: Value = serde_json::from_str(include_str!("schema.json")).expect("the schema is JSON");
    let schema = root.pointer(&format!("/$defs/{definition}")).expect("the definition is there");
    fits(&root, schema, value, definition)
}

fn fits(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if *schema == Value::Bool(false) {
        return Err(format!("{at} must not be there"));
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = root.pointer(reference.trim_start_matches('#')).expect("the reference leads somewhere");
        return fits(root, target, value, at);
    }
    let right_type = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        other => panic!("type {other:?} of {at} is not one this checker knows"),
    };
    if !right_type {
        return Err(format!("{at} is {value}, not of type {}", schema["type"]));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array).filter(|allowed| !allowed.contains(value)) {
        return Err(format!("{at} is {value}, not one of {allowed:?}"));
    }
    if let (Some(least), Some(number)) = (schema.get("minimum").and_then(Value::as_i64), value.as_i64())
        && number < least
    {
        return Err(format!("{at} is {number}, below {least}"));
    }
    if let (Some(format), Some(text)) = (schema.get("format").and_then(Value::as_str), value.as_str())
        && !is(format, text)
    {
        return Err(format!("{at} is {text:?}, which is no {format}"));
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        if value.get(name.as_str().unwrap_or_default()).is_none() {
            return Err(format!("{at} has no {name}"));
        }
    }
    for (name, field) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match schema.get("properties").and_then(|properties| properties.get(name)) {
            Some(schema) => fits(root, schema, field, &at)?,
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                return Err(format!("{at} is not known"));
            }
            None => {}
        }
    }
    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
        fits(root, &schema["items"], item, &format!("{at}[{n}]"))?;
    }
    Ok(())
}

fn is(format: &str, text: &str) -> bool {
    let cidr = |text: &str| {
        let (address, prefix) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let prefix: u8 = prefix.parse().ok()?;
        (prefix <= if address.is_ipv4() { 32 } else { 128 }).then_some(())
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    match format {
        "cidr" => cidr(text).is_some(),
        "ip" => text.parse::<IpAddr>().is_ok(),
        "mac" => text.split(':').count() == 6 && text.split(':').all(|byte| u8::from_str_radix(byte, 16).is_ok()),
        "interface" => !text.is_empty() && text.len() < 16 && !text.contains(['/', ':', ' ']),
        "name" => text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(plain),
        other => panic!("format {other} is not one this checker knows"),
    }
}
