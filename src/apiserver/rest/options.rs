//! Query parameters: `ListOptions`, `CreateOptions` and their like, decoded and validated as `metav1` has them.

use crate::apiserver::request::{FieldValidation, Options, Verb};
use crate::object::Status;
use crate::object::status::{Cause, Details, Reason};

/// The parameters of a query, in order.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what follows the question mark.
    pub fn parse(query: &str) -> Query {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let plain = |text: &str| decode_percent(&text.replace('+', " "));
        Query(pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(|(k, v)| (plain(k), plain(v))).collect())
    }

    /// The first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A boolean parameter: anything but `0` and `false` is true, even nothing.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

/// Turns `%2F` into `/`. Bytes that are no UTF-8 become the replacement character.
pub fn decode_percent(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        let code = match (*byte, after) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                digit(*high).zip(digit(*low)).map(|(high, low)| (high * 16 + low) as u8)
            }
            _ => None,
        };
        out.push(code.unwrap_or(*byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The options of a request, or what is wrong with them.
pub fn parse(query: &Query, verb: Verb) -> Result<Options, Status> {
    let options = Options {
        label_selector: query.text("labelSelector"),
        field_selector: query.text("fieldSelector"),
        resource_version: query.text("resourceVersion"),
        resource_version_match: query.text("resourceVersionMatch"),
        field_validation: match query.get("fieldValidation") {
            Some("Strict") => FieldValidation::Strict,
            Some("Ignore") => FieldValidation::Ignore,
            _ => FieldValidation::Warn,
        },
        dry_run: query.get("dryRun").is_some_and(|value| !value.is_empty()),
        field_manager: query.text("fieldManager"),
        force: query.flag("force"),
        managed_fields: true,
        limit: integer(query, "limit")?.max(0).unsigned_abs(),
        continue_token: query.text("continue"),
        send_initial_events: query.flag("sendInitialEvents"),
        allow_watch_bookmarks: query.flag("allowWatchBookmarks"),
    };
    integer(query, "timeoutSeconds")?;
    match verb {
        Verb::Get => {}
        Verb::List | Verb::Watch | Verb::DeleteCollection => check_list_options(query, verb)?,
        _ => check_write_options(query, verb)?,
    }
    Ok(options)
}

fn integer(query: &Query, name: &str) -> Result<i64, Status> {
    match query.get(name) {
        None | Some("") => Ok(0),
        Some(text) => {
            text.parse().map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
        }
    }
}

/// Mirrors `ValidateListOptions` of `apimachinery/pkg/apis/meta/internalversion/validation`.
fn check_list_options(query: &Query, verb: Verb) -> Result<(), Status> {
    let text = |name| query.get(name).unwrap_or_default();
    let (version, version_match) = (text("resourceVersion"), text("resourceVersionMatch"));
    let forbidden = |field: &str, why: &str| Err(invalid_options("ListOptions", vec![cause(field, "Forbidden", why)]));
    const MATCH: &str = "resourceVersionMatch";
    if verb == Verb::Watch && query.flag("sendInitialEvents") {
        return match version_match {
            "NotOlderThan" => Ok(()),
            _ => forbidden(MATCH, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        };
    }
    if version_match.is_empty() {
        return Ok(());
    }
    if verb == Verb::Watch {
        return forbidden(MATCH, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    }
    if version.is_empty() {
        return forbidden(MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if !text("continue").is_empty() {
        return forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided");
    }
    match version_match {
        "Exact" if version == "0" => {
            forbidden(MATCH, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
        }
        "Exact" | "NotOlderThan" => Ok(()),
        other => {
            let supported = "supported values: \"Exact\", \"NotOlderThan\", \"\"";
            let unsupported = cause(MATCH, "Unsupported value", &format!("{other:?}: {supported}"));
            Err(invalid_options("ListOptions", vec![unsupported]))
        }
    }
}

/// Mirrors `ValidateCreateOptions` and its like in `apimachinery/pkg/apis/meta/v1/validation`.
fn check_write_options(query: &Query, verb: Verb) -> Result<(), Status> {
    let kind = match verb {
        Verb::Create => "CreateOptions",
        Verb::Update => "UpdateOptions",
        Verb::Patch => "PatchOptions",
        _ => "DeleteOptions",
    };
    let mut causes = Vec::new();
    match query.get("fieldManager") {
        Some(manager) if manager.len() > 128 => {
            causes.push(cause("fieldManager", "Too long", "may not be more than 128 bytes"));
        }
        _ => {}
    }
    match query.get("dryRun") {
        None | Some("" | "All") => {}
        Some(other) => {
            let text = format!("{other:?}: supported values: \"All\"");
            causes.push(cause("dryRun", "Unsupported value", &text));
        }
    }
    match query.get("fieldValidation") {
        None | Some("" | "Ignore" | "Strict" | "Warn") => {}
        Some(other) => {
            let text = format!("{other:?}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
            causes.push(cause("fieldValidation", "Unsupported value", &text));
        }
    }
    if causes.is_empty() { Ok(()) } else { Err(invalid_options(kind, causes)) }
}

/// One thing wrong with an option, `what` being the beginning of its message.
pub fn cause(field: &str, what: &str, detail: &str) -> Cause {
    let reason = match what {
        "Forbidden" => "FieldValueForbidden",
        "Unsupported value" => "FieldValueNotSupported",
        "Too long" => "FieldValueTooLong",
        "Required value" => "FieldValueRequired",
        _ => "FieldValueInvalid",
    };
    Cause { reason: reason.into(), message: format!("{what}: {detail}"), field: field.into() }
}

/// 422 about the options of a request: `DeleteOptions.meta.k8s.io "" is invalid: …`.
pub fn invalid_options(kind: &str, causes: Vec<Cause>) -> Status {
    const GROUP: &str = "meta.k8s.io";
    let mut texts: Vec<String> = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    let list = if texts.len() == 1 { texts.remove(0) } else { format!("[{}]", texts.join(", ")) };
    let details = Details { group: GROUP.into(), kind: kind.into(), causes, ..Details::default() };
    let status = Status::new(Reason::Invalid, format!("{kind}.{GROUP} \"\" is invalid: {list}"));
    Status { details: Some(Box::new(details)), ..status }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("labelSelector=a%3D%3D%3Db+c&watch&x=%zz%4&&y=1&y=2");
        assert_eq!(query.get("labelSelector"), Some("a===b c"));
        assert!(query.flag("watch"));
        assert_eq!(query.get("x"), Some("%zz%4"));
        assert_eq!(query.get("y"), Some("1"));
        assert!(!Query::parse("watch=False").flag("watch"));
    }

    #[test]
    fn wrong_options_are_refused() {
        #[rustfmt::skip]
        let cases = [
            (Verb::Create, "dryRun=Some", 422, "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: \"Some\": supported values: \"All\""),
            (Verb::List, "limit=ten", 400, "strconv.ParseInt: parsing \"ten\": invalid syntax"),
            (Verb::List, "resourceVersionMatch=Exact", 422, "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: \
                Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ];
        for (verb, query, code, message) in cases {
            let status = parse(&Query::parse(query), verb).unwrap_err();
            assert_eq!((status.code, status.message.as_str()), (code, message), "{query}");
        }
        assert!(parse(&Query::parse("limit=5&resourceVersion=2&resourceVersionMatch=Exact"), Verb::List).is_ok());
    }
}
