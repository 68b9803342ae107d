//! Why a field of a wrong type cannot be converted, where an object is made from maps and not from JSON.
//!
//! Mirrors the errors of `runtime.DefaultUnstructuredConverter` of `k8s.io/apimachinery`, which reads what a strategic merge
//! patch has made. What is told in them is less than what JSON's errors tell: no field.

use object::go_types::{GoType, resolve};
use object::read::Error;

/// The converter's words for an error of the JSON reader; other errors are the same in both.
pub(super) fn error(why: &Error) -> String {
    match why {
        Error::WrongType { value, go_type, .. } => cannot_convert(value, go_type),
        Error::Told(why) if why.starts_with("illegal base64 data") => format!("error decoding from json: {why}"),
        other => other.to_string(),
    }
}

/// `value` is the JSON type, and the number if it does not fit: `string`, `number 1.5`.
fn cannot_convert(value: &str, go_type: &str) -> String {
    let (json_type, number) = value.split_once(' ').unwrap_or((value, ""));
    let from = match json_type {
        "number" if number.contains(['.', 'e']) => "float64",
        "number" => "int64",
        "object" => "map",
        "array" => "slice",
        other => other,
    };
    let is_number = ["int64", "float64"].contains(&from);
    match resolve(go_type.strip_prefix("v1.").unwrap_or(go_type)) {
        GoType::Text | GoType::Number if is_number => format!("cannot convert {from} to {go_type}"),
        GoType::Text => "unrecognized type: string".to_owned(),
        GoType::Number | GoType::Bool => format!("unrecognized type: {go_type}"),
        GoType::List(_) => format!("cannot restore slice from {from}"),
        GoType::Map(_) => format!("cannot restore map from {from}"),
        _ => format!("cannot restore struct from: {from}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_type_is_told_as_the_converter_tells_it() {
        #[rustfmt::skip]
        let cases = [
            ("string", "int32", "unrecognized type: int32"), ("bool", "string", "unrecognized type: string"),
            ("number", "string", "cannot convert int64 to string"), ("number 1.5", "int32", "cannot convert float64 to int32"),
            ("object", "[]v1.Container", "cannot restore slice from map"), ("string", "v1.Container", "cannot restore struct from: string"),
            ("array", "map[string]string", "cannot restore map from slice"), ("bool", "v1.RestartPolicy", "unrecognized type: string"),
        ];
        for (value, go_type, want) in cases {
            assert_eq!(cannot_convert(value, go_type), want, "{value} into {go_type}");
        }
        let told = |why: &str| error(&Error::Told(why.to_owned()));
        assert_eq!(told("strict decoding error: unknown field \"x\""), "strict decoding error: unknown field \"x\"");
        assert!(told("illegal base64 data at input byte 0").starts_with("error decoding from json: illegal"));
    }
}
