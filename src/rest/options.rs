//! Query parameters: `ListOptions`, `CreateOptions` and their like, decoded and validated as `metav1` has them.

use std::num::{IntErrorKind, ParseIntError};

use object::Status;
use object::status::{Cause, Details, Reason};
use wire::{FieldValidation, Options, Verb};

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

    /// Asks for a watch, of the object of this name if there is one.
    pub fn watch(&mut self, name: &str) {
        let selector = (!name.is_empty()).then(|| ("fieldSelector".to_owned(), format!("metadata.name={name}")));
        let first = selector.into_iter().chain([("watch".to_owned(), "1".to_owned())]);
        self.0.splice(..0, first);
    }

    /// The first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter, in order.
    pub fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }

    /// A boolean parameter: anything but `0` and `false` is true, even nothing.
    pub fn flag(&self, name: &str) -> bool {
        self.said(name) == Some(true)
    }

    /// The same where it makes a difference whether the parameter is there.
    pub fn said(&self, name: &str) -> Option<bool> {
        self.get(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
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

/// The options of a request, or what is wrong with them. `applies` says whether it is an apply patch.
pub fn parse(query: &Query, verb: Verb, applies: bool) -> Result<Options, Status> {
    // Where they mean nothing, numbers are not read.
    let of_many = matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection);
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
        patch_problems: Vec::new(),
        dry_run: query.get("dryRun").is_some(),
        field_manager: query.text("fieldManager"),
        force: query.flag("force"),
        managed_fields: true,
        limit: if of_many { integer(query, "limit")?.max(0).unsigned_abs() } else { 0 },
        continue_token: query.text("continue"),
        send_initial_events: query.said("sendInitialEvents"),
        allow_watch_bookmarks: query.flag("allowWatchBookmarks"),
    };
    if of_many {
        integer(query, "timeoutSeconds")?;
    }
    timeout(query)?;
    match verb {
        Verb::Get => {}
        Verb::Watch => check_options("ListOptions", watch_options(query))?,
        Verb::List | Verb::DeleteCollection => check_options("ListOptions", list_options(query))?,
        Verb::Create => check_options("CreateOptions", write_options(query))?,
        Verb::Update => check_options("UpdateOptions", write_options(query))?,
        Verb::Patch => check_options("PatchOptions", patch_options(query, applies))?,
        // They come in the body, or instead of one.
        Verb::Delete => {}
    }
    Ok(options)
}

fn integer(query: &Query, name: &str) -> Result<i64, Status> {
    match query.get(name) {
        None => Ok(0),
        Some(text) => parse_int(text),
    }
}

/// A whole number, or what is wrong with it in Go's words.
pub fn parse_int(text: &str) -> Result<i64, Status> {
    text.parse().map_err(|why: ParseIntError| {
        let why = match why.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: {why}"))
    })
}

/// How long the server may take, which is not long here. Mirrors `withRequestDeadline`.
fn timeout(query: &Query) -> Result<(), Status> {
    match query.get("timeout") {
        None | Some("") => Ok(()),
        Some(text) => rules::cel::duration::parse_duration(text).map(drop).ok_or_else(|| {
            let why = format!("time: invalid duration {text:?}");
            Status::bad_request(format!("invalid timeout specified in the request URL - {why}"))
        }),
    }
}

fn check_options(kind: &str, causes: Vec<Cause>) -> Result<(), Status> {
    if causes.is_empty() { Ok(()) } else { Err(invalid_options(kind, causes)) }
}

const MATCH: &str = "resourceVersionMatch";

/// Mirrors `ValidateListOptions` of `apimachinery/pkg/apis/meta/internalversion/validation`.
fn list_options(query: &Query) -> Vec<Cause> {
    let text = |name| query.get(name).unwrap_or_default();
    let (version, version_match) = (text("resourceVersion"), text(MATCH));
    let mut causes = Vec::new();
    let forbid = |causes: &mut Vec<Cause>, field: &str, why: &str| causes.push(cause(field, "Forbidden", why));
    if !version_match.is_empty() {
        if version.is_empty() {
            forbid(&mut causes, MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !text("continue").is_empty() {
            forbid(&mut causes, MATCH, "resourceVersionMatch is forbidden when continue is provided");
        }
        if !matches!(version_match, "Exact" | "NotOlderThan") {
            causes.push(unsupported(MATCH, version_match, &["Exact", "NotOlderThan", ""]));
        }
        if version_match == "Exact" && version == "0" {
            forbid(&mut causes, MATCH, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    if query.said("sendInitialEvents").is_some() {
        forbid(&mut causes, "sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    causes
}

/// Mirrors `validateWatchOptions`.
fn watch_options(query: &Query) -> Vec<Cause> {
    let (version_match, initial) = (query.get(MATCH).unwrap_or_default(), query.said("sendInitialEvents"));
    let mut causes = Vec::new();
    let forbid = |causes: &mut Vec<Cause>, why: &str| causes.push(cause(MATCH, "Forbidden", why));
    if initial.is_some() && version_match != "NotOlderThan" {
        forbid(&mut causes, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if version_match.is_empty() {
        return causes;
    }
    if initial.is_none() {
        forbid(&mut causes, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    }
    if version_match != "NotOlderThan" {
        causes.push(unsupported(MATCH, version_match, &["NotOlderThan"]));
    }
    if query.get("continue").is_some_and(|token| !token.is_empty()) {
        forbid(&mut causes, "resourceVersionMatch is forbidden when continue is provided");
    }
    causes
}

/// An apply patch must name its field manager, and no other patch can be forced. Mirrors `ValidatePatchOptions`.
fn patch_options(query: &Query, applies: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    match applies {
        true if query.text("fieldManager").is_empty() => {
            causes.push(cause("fieldManager", "Required value", "is required for apply patch"));
        }
        false if query.said("force").is_some() => {
            causes.push(cause("force", "Forbidden", "may not be specified for non-apply patch"));
        }
        _ => {}
    }
    causes.extend(write_options(query));
    causes
}

/// Mirrors `ValidateCreateOptions` and its like in `apimachinery/pkg/apis/meta/v1/validation`.
fn write_options(query: &Query) -> Vec<Cause> {
    let mut causes = Vec::new();
    let manager = query.text("fieldManager");
    if manager.len() > MANAGER_LEN_MAX {
        let why = format!("may not be more than {MANAGER_LEN_MAX} bytes");
        causes.push(cause("fieldManager", "Too long", &why));
    }
    for (at, unseen) in manager.char_indices().filter(|(_, c)| c.is_control()) {
        let shown = manager.replace(unseen, &quoted(unseen));
        let why = format!("\"{shown}\": invalid character U+{:04X} (at position {at})", u32::from(unseen));
        causes.push(cause("fieldManager", "Invalid value", &why));
    }
    let stages = query.all("dryRun");
    causes.extend(dry_run(&stages.iter().map(String::as_str).collect::<Vec<_>>()));
    match query.get("fieldValidation") {
        None | Some("" | "Ignore" | "Strict" | "Warn") => {}
        Some(other) => causes.push(unsupported("fieldValidation", other, &["", "Ignore", "Strict", "Warn"])),
    }
    causes
}

/// A control character as Go quotes it.
fn quoted(c: char) -> String {
    let short = [
        ('\u{7}', "\\a"),
        ('\u{8}', "\\b"),
        ('\u{c}', "\\f"),
        ('\n', "\\n"),
        ('\r', "\\r"),
        ('\t', "\\t"),
        ('\u{b}', "\\v"),
    ];
    let found = short.iter().find(|(known, _)| *known == c);
    found.map_or_else(|| format!("\\x{:02x}", u32::from(c)), |(_, short)| (*short).to_owned())
}

/// The longest name of a manager of fields.
const MANAGER_LEN_MAX: usize = 128;

/// What is wrong with the stages that a request is not to go through. Mirrors `ValidateDryRun`.
pub fn dry_run(stages: &[&str]) -> Option<Cause> {
    if stages.iter().all(|stage| *stage == "All") {
        return None;
    }
    let shown: Vec<String> = stages.iter().map(|stage| format!("{stage:?}")).collect();
    Some(cause("dryRun", "Unsupported value", &format!("[{}]: supported values: \"All\"", shown.join(","))))
}

fn unsupported(field: &str, value: &str, supported: &[&str]) -> Cause {
    let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
    cause(field, "Unsupported value", &format!("{value:?}: supported values: {}", supported.join(", ")))
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
            (Verb::Create, "dryRun=Some", 422, "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""),
            (Verb::Patch, "force=true&fieldManager=%01", 422, "PatchOptions.meta.k8s.io \"\" is invalid: [force: Forbidden: may not be \
                specified for non-apply patch, fieldManager: Invalid value: \"\\x01\": invalid character U+0001 (at position 0)]"),
            (Verb::Update, "dryRun=All&dryRun=", 422, "UpdateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"All\",\"\"]: supported values: \"All\""),
            (Verb::List, "limit=99999999999999999999", 400, "strconv.ParseInt: parsing \"99999999999999999999\": value out of range"),
            (Verb::Watch, "timeoutSeconds=", 400, "strconv.ParseInt: parsing \"\": invalid syntax"),
            (Verb::List, "limit=ten", 400, "strconv.ParseInt: parsing \"ten\": invalid syntax"),
            (Verb::List, "resourceVersionMatch=Exact", 422, "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: \
                Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"),
            (Verb::List, "sendInitialEvents=false", 422, "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: \
                sendInitialEvents is forbidden for list"),
            (Verb::Watch, "sendInitialEvents=true&resourceVersionMatch=Exact", 422, "ListOptions.meta.k8s.io \"\" is invalid: \
                [resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, \
                resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]"),
        ];
        for (verb, query, code, message) in cases {
            let status = parse(&Query::parse(query), verb, false).unwrap_err();
            assert_eq!((status.code, status.message.as_str()), (code, message), "{query}");
        }
        assert!(
            parse(&Query::parse("limit=5&resourceVersion=2&resourceVersionMatch=Exact"), Verb::List, false).is_ok()
        );
        assert!(parse(&Query::parse("limit=ten&timeoutSeconds=ten"), Verb::Get, false).is_ok());
    }
}
