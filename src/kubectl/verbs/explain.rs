//! `explain`: which fields a kind has, and what they mean. Mirrors `k8s.io/kubectl/pkg/explain/v2` and its template
//! `plaintext`.
//!
//! Left out: descriptions in the API's own words, which the API server's OpenAPI documents bring: these are ours; the
//! output of older versions, `plaintext-openapiv2`.

use crate::args::Args;
use crate::command::{Command, Named, Run, Takes};
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::targets::one_kind;
use crate::usage::Usage;
use object::explain::{self, Explanation, Field};
use object::{Discovery, Kind, versions};

/// So wide are a description and the description of a field in a list.
const WIDTH: usize = 76;

/// `kubectl explain`.
pub const EXPLAIN: Command = Command {
    usage: Usage {
        name: "explain",
        words: "TYPE[.FIELD]",
        about: "Which fields there are, and what they mean.",
        flags: &[&["api-version", "output", "recursive"]],
        ..Usage::EMPTY
    },
    reads_only: |_| true,
    takes: Takes::named(Named::Fields),
    run: Run::There(|args, cx| Box::pin(explain(args, cx))),
    ..Command::EMPTY
};

/// `kubectl explain TYPE[.field]`.
async fn explain(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let word = match args.words.as_slice() {
        [word] => word.strip_suffix('.').unwrap_or(word),
        [] => {
            let why = "You must specify the type of resource to explain.";
            let way = "Use \"kubectl api-resources\" for a complete list of supported resources.";
            return Err(Failure::text(format!("{why} {way}")));
        }
        _ => return Err(Failure::text("We accept only this format: explain RESOURCE")),
    };
    let first = word.split(['.', '[']).next().unwrap_or_default();
    if matches!(first, "" | "*") {
        return Err(Failure::text("invalid jsonpath syntax, first node must be field node"));
    }
    // The real one asks for the OpenAPI documents, of built-in kinds too.
    let known = cx.discover().await?;
    let kind = one_kind(first, &known).map_err(|missing| cx.told(&missing))?;
    let (kind, path) = match args.value("api-version") {
        "" => (kind, path_in(kind, word, first)?),
        wanted => {
            let path = fields(&word[first.len()..], "all nodes must be field nodes")?;
            (in_version(kind, wanted, &known)?, path)
        }
    };
    match args.value("output") {
        "" | "plaintext" => {}
        "plaintext-openapiv2" => return Err(Failure::text("-o plaintext-openapiv2 is left out here: write plaintext")),
        other => return Err(Failure::text(format!("unrecognized format: {other}"))),
    }
    let about = About { kind, known: &known };
    let (page, found) = about.page(&path, args.is_on("recursive"));
    cx.print(&page);
    found
}

/// `deployments.apps.spec.replicas`: the way to a field behind the kind, which stands there with its group or without. Mirrors
/// `SplitAndParseResourceRequestWithMatchingPrefix`.
fn path_in<'a>(kind: Kind, word: &'a str, first: &str) -> Result<Vec<&'a str>, Failure> {
    let qualified = word.strip_prefix(&kind.info().qualified_plural());
    let rest = qualified.filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    // Not only the first node is meant, but so it says.
    fields(rest.unwrap_or(&word[first.len()..]), "first node must be field node")
}

/// `.spec.containers`: the names one after the other. Mirrors `jsonPathParse`, as far as anything but fields is refused.
fn fields<'a>(path: &'a str, else_say: &str) -> Result<Vec<&'a str>, Failure> {
    let names: Vec<&str> = path.split('.').skip(1).collect();
    if path.contains('[') || path.contains("..") || names.contains(&"*") {
        return Err(Failure::text(format!("invalid jsonpath syntax, {else_say}")));
    }
    Ok(names)
}

/// The kind in the version that `--api-version` names.
fn in_version(kind: Kind, wanted: &str, known: &Discovery) -> Result<Kind, Failure> {
    let info = kind.info();
    if wanted == info.api_version {
        return Ok(kind);
    }
    let (group, version) = wanted.split_once('/').unwrap_or(("", wanted));
    if version.contains('/') {
        return Err(Failure::text(format!("unexpected GroupVersion string: {wanted}")));
    }
    if let Some(kind) = known.from_manifest(wanted, info.kind) {
        return Ok(kind);
    }
    let resource = format!("{group}/{version}, Resource={}", info.plural);
    let served = known.kinds().chain(versions::others()).any(|kind| kind.info().api_version == wanted);
    Err(Failure::text(match served {
        true => format!("GVR ({resource}) not found in OpenAPI schema"),
        false => format!("couldn't find resource for \"{resource}\""),
    }))
}

/// The kind that is explained.
struct About<'k> {
    kind: Kind,
    known: &'k Discovery,
}

impl About<'_> {
    fn explain(&self, path: &[&str]) -> Option<Explanation> {
        explain::explain(self.kind, self.known.definition(self.kind), path)
    }

    /// The page, and what is wrong with the path: the head is printed all the same.
    fn page(&self, path: &[&str], recursive: bool) -> (String, Result<(), Failure>) {
        let info = self.kind.info();
        let group = if info.group.is_empty() { String::new() } else { format!("GROUP:      {}\n", info.group) };
        let head = format!("{group}KIND:       {}\nVERSION:    {}\n\n", info.kind, info.version);
        match self.body(path, recursive) {
            Ok(body) => (head + &body, Ok(())),
            Err(fault) => (head, Err(fault)),
        }
    }

    fn body(&self, path: &[&str], recursive: bool) -> Result<String, Failure> {
        // The real one blames the last word too, wherever the path leaves the schema.
        let missing =
            || Failure::text(format!("field \"{}\" does not exist", path.last().copied().unwrap_or_default()));
        let explained = self.explain(path).ok_or_else(missing)?;
        let mut page = String::new();
        let mut field = None;
        if let Some((name, above)) = path.split_last() {
            let found = self.explain(above).and_then(|above| above.field(name).cloned()).ok_or_else(missing)?;
            page += &format!("FIELD: {name} <{}>\n{}\n\n", found.type_name, values(&found));
            field = Some(found);
        }
        let said = explained.said_as(field.as_ref());
        let about: String = said.into_iter().map(|(about, writer)| paragraph(about, writer)).collect();
        let about = if about.is_empty() { "<empty>" } else { &about };
        page += &format!("DESCRIPTION:\n{}\n", indent(&wrap(about, WIDTH), 4));
        if !explained.fields.is_empty() {
            page += "FIELDS:\n";
            match recursive {
                true => self.tree(&mut page, path, &explained, &mut Vec::new()),
                false => explained.fields.iter().for_each(|field| page += &listed(field)),
            }
        }
        Ok(page + "\n")
    }

    /// Names and types of all fields below a place. A type inside itself is not gone into.
    fn tree(&self, page: &mut String, path: &[&str], explained: &Explanation, around: &mut Vec<String>) {
        around.push(explained.item_type().to_owned());
        for field in &explained.fields {
            let pad = "  ".repeat(around.len());
            *page += &format!("{pad}{}{}\n", head(field), choices(field, &pad));
            let path = [path, &[field.name.as_str()]].concat();
            let Some(below) = self.explain(&path) else { continue };
            // Custom kinds name no types, and none of theirs is inside itself.
            if below.item_type() == "Object" || !around.iter().any(|there| there == below.item_type()) {
                self.tree(page, &path, &below, around);
            }
        }
        around.pop();
    }
}

/// A field's name and type, and whether it must be there.
fn head(field: &Field) -> String {
    let required = if field.required { " -required-" } else { "" };
    format!("{}\t<{}>{required}", field.name, field.type_name)
}

/// A field in a list of them.
fn listed(field: &Field) -> String {
    let about = match paragraph(&field.about, field.writer) {
        about if about.is_empty() => "<no description>".to_owned(),
        about => about.trim_end().to_owned(),
    };
    format!("  {}{}\n{}\n\n", head(field), choices(field, "  "), indent(&wrap(&about, WIDTH), 4))
}

/// All values that a field may have, a line each.
fn values(field: &Field) -> String {
    if field.values.is_empty() { String::new() } else { format!("ENUM:\n    {}", field.values.join("\n    ")) }
}

/// The first values that a field may have, in a line of their own.
fn choices(field: &Field, pad: &str) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<&str> = field.values.iter().take(SHOWN).map(String::as_str).collect();
    let more = if field.values.len() > SHOWN { ", ...." } else { "" };
    if shown.is_empty() { String::new() } else { format!("\n{pad}enum: {}{more}", shown.join(", ")) }
}

/// A description, and who writes what it describes.
fn paragraph(about: &str, writer: Option<&str>) -> String {
    match (about, writer) {
        ("", _) => String::new(),
        (about, None) => format!("{about}\n"),
        (about, Some(writer)) => format!("{about} Written by {writer}.\n"),
    }
}

fn indent(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    format!("{pad}{}", text.replace('\n', &format!("\n{pad}")))
}

/// Breaks lines at spaces, so that none is longer, unless a word is. Mirrors `go-wordwrap`.
fn wrap(text: &str, width: usize) -> String {
    let line = |line: &str| {
        let mut broken = String::new();
        let mut length = 0;
        for word in line.split(' ') {
            let long = word.chars().count();
            if length > 0 && length + 1 + long > width {
                broken.push('\n');
                length = 0;
            } else if length > 0 {
                broken.push(' ');
                length += 1;
            }
            broken += word;
            length += long;
        }
        broken
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
