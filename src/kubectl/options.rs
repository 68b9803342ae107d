//! The query of a request, as flags say it: `--dry-run`, `--validate`, `--field-manager`, and how long it may take.

use std::time::Duration;

use crate::args::Args;
use crate::failure::Failure;
use crate::print::output::{FORMATS, no_printer};
use kinds::printers::duration;
use wire::{FieldValidation, Options};

/// How a write is sent.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// What stands in the query.
    pub options: Options,
    /// `--dry-run=client`, or `--local`: it is not sent at all, and what would have been is taken for the answer.
    pub only_here: bool,
}

/// The query of a write of `manager` that carries a whole object.
pub fn write_options(manager: &str, args: &Args) -> Result<Query, Failure> {
    let mut query = plain_options(manager, args)?;
    query.options.field_validation = match args.value("validate") {
        "" | "strict" | "true" => FieldValidation::Strict,
        "warn" => FieldValidation::Warn,
        "ignore" | "false" => FieldValidation::Ignore,
        other => {
            let why = "must be one of: strict (or true), warn, ignore (or false)";
            return Err(Failure::text(format!("invalid - validate option {other:?}; {why}")));
        }
    };
    Ok(query)
}

/// The query of a write of `manager` without a word on validation.
pub fn plain_options(manager: &str, args: &Args) -> Result<Query, Failure> {
    let dry_run = args.value("dry-run");
    if !matches!(dry_run, "" | "none" | "server" | "client" | "unchanged") {
        let why = "Must be \"none\", \"server\", or \"client\".";
        return Err(Failure::text(format!("Invalid dry-run value ({dry_run}). {why}")));
    }
    let format = args.value("output").split('=').next().unwrap_or_default();
    if !format.is_empty() && !FORMATS.split(',').any(|known| known == format) {
        return Err(Failure::text(no_printer(args.value("output"), FORMATS)));
    }
    let manager = Some(args.value("field-manager")).filter(|manager| !manager.is_empty()).unwrap_or(manager);
    let options = Options { field_manager: manager.to_owned(), dry_run: dry_run == "server", ..Options::default() };
    // Without a value the flag means the client, as it did when it was a boolean.
    Ok(Query { options, only_here: matches!(dry_run, "client" | "unchanged") || args.is_on("local") })
}

/// ` (dry run)` or ` (server dry run)` behind a message, if so.
pub fn dry_run_note(args: &Args) -> &'static str {
    match args.value("dry-run") {
        "client" | "unchanged" => " (dry run)",
        "server" => " (server dry run)",
        _ => "",
    }
}

/// The duration that a flag gives; none if it is 0 or less, or not given.
pub fn timeout(args: &Args, flag: &str) -> Result<Option<Duration>, Failure> {
    let value = args.value(flag);
    if value.is_empty() {
        return Ok(None);
    }
    let millis = duration::parse(value).map_err(|why| args.invalid(flag, &why))?;
    Ok(u64::try_from(millis).ok().filter(|millis| *millis > 0).map(Duration::from_millis))
}
