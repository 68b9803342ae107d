//! Functions of URLs. Mirrors `pkg/cel/library/urls.go`.

use std::sync::Arc;

use super::found::{Found, fails, ok};
use crate::cel::url::Url;
use crate::cel::value::Value;

pub const DECLARED: &[&str] = &[
    "url(string) url",
    "isURL(string) bool",
    "url.getScheme() string",
    "url.getHost() string",
    "url.getHostname() string",
    "url.getPort() string",
    "url.getEscapedPath() string",
    "url.getQuery() map(string, list(string))",
];

pub fn call(name: &str, args: &[Value]) -> Found {
    match (name, args) {
        ("isURL", [Value::String(text)]) => ok(Value::Bool(Url::parse(text).is_ok())),
        ("url", [Value::String(text)]) => match Url::parse(text) {
            Ok(url) => ok(Value::Url(Arc::new(url))),
            Err(why) => fails(format!("URL parse error during conversion from string: {why}")),
        },
        (_, [Value::Url(url)]) => ok(Value::string(match name {
            "getScheme" => url.scheme(),
            "getHost" => url.host(),
            "getHostname" => url.name_and_port().0,
            "getPort" => url.name_and_port().1,
            "getEscapedPath" => url.path(),
            "getQuery" => return ok(parameters(url)),
            _ => return None,
        })),
        _ => None,
    }
}

fn parameters(url: &Url) -> Value {
    let texts = |values: Vec<String>| Value::list(values.into_iter().map(Value::string).collect());
    Value::object(url.parameters().into_iter().map(|(name, values)| (name, texts(values))))
}
