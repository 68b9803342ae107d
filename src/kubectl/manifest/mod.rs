//! Manifests: files of YAML or JSON, each document one object, and where in the file each stands.
//!
//! Mirrors `k8s.io/cli-runtime/pkg/resource`: a file, a directory (its `.yaml`, `.yml` and `.json` files, by name), or
//! standard input; documents parted by `---`; a `List` stands for its items. What kubectl says of a file it cannot
//! read is said here too, followed by the line and a way out, because the users here are learners.
//!
//! YAML is read into a tree, and from there into JSON; the strict decoding of the objects themselves is the API
//! server's. Two readers want different things of what is wrong in a file, which [`Reading`] says.

use std::fmt;
use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use object::{Discovery, Kind, read};

use super::workdir::{FILE_BYTES_MAX, Found, Listing, Unread, Workdir};
use yaml::Booleans;

mod unknown;
mod yaml;

/// One object as it was written down.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The object, with `apiVersion` and `kind` that the cluster knows.
    pub object: Value,
    /// Its kind.
    pub kind: Kind,
    /// Where it stands.
    pub source: Source,
}

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The file as the user named it; `STDIN` for standard input.
    pub file: String,
    /// The line, from 1; 0 if no line can be blamed.
    pub line: usize,
    /// The column, from 1; 0 if unknown.
    pub column: usize,
}

/// What is done about a file in which something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It is refused as a whole: what begins a run has to be right.
    Whole,
    /// What stands before it counts all the same. Mirrors `StreamVisitor`.
    Stream,
}

/// What stands in a file: objects of kinds that the cluster knows, and complaints about all else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifests {
    /// In the order of the file.
    pub known: Vec<Manifest>,
    /// One complaint for each object of a kind that is not defined yet, and what ended a [`Reading::Stream`].
    pub faults: Vec<ManifestError>,
    /// Whether there are such kinds.
    pub names_unknown_kinds: bool,
    /// Documents in which a key stands twice. The last one counts, and kubectl, which does not decode strictly, says nothing.
    pub doubled: Vec<ManifestError>,
}

impl Manifests {
    /// Adds what stands in another file.
    pub fn append(&mut self, mut other: Manifests) {
        self.known.append(&mut other.known);
        self.faults.append(&mut other.faults);
        self.names_unknown_kinds |= other.names_unknown_kinds;
        self.doubled.append(&mut other.doubled);
    }

    /// Whether there is nothing in it, right or wrong.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.faults.is_empty()
    }

    /// The objects, if nothing is wrong.
    pub fn all(mut self) -> Result<Vec<Manifest>, ManifestError> {
        if self.faults.is_empty() { Ok(self.known) } else { Err(self.faults.remove(0)) }
    }
}

/// Why a manifest cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// What kubectl says, without `error: `.
    pub message: String,
    /// Where it is.
    pub source: Source,
    /// What to do about it.
    pub advice: String,
}

impl ManifestError {
    fn new(source: Source, message: impl Into<String>, advice: impl Into<String>) -> ManifestError {
        ManifestError { message: message.into(), source, advice: advice.into() }
    }

    /// There are no objects in a file, for this verb.
    pub fn nothing_in(file: &str, verb: &str) -> ManifestError {
        let advice = format!("{file} has no objects in it: only comments, blank lines or empty documents.");
        ManifestError::new(whole(file), format!("no objects passed to {verb}"), advice)
    }
}

impl fmt::Display for Source {
    /// `manifests/web.yaml:3:5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (0, _) => f.write_str(&self.file),
            (line, 0) => write!(f, "{}:{line}", self.file),
            (line, column) => write!(f, "{}:{line}:{column}", self.file),
        }
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (self.source.line, self.advice.is_empty()) {
            (0, true) => Ok(()),
            (0, false) => write!(f, "\n  hint: {}", self.advice),
            (_, true) => write!(f, "\n  hint: {}", self.source),
            (_, false) => write!(f, "\n  hint: {}: {}", self.source, self.advice),
        }
    }
}

impl std::error::Error for ManifestError {}

/// Reads what `-f path` names: a file or a directory.
pub fn read_path(workdir: &Workdir, path: &str, known: &Discovery, how: Reading) -> Result<Manifests, ManifestError> {
    let seen = workdir.look(path);
    let Found::Directory(listing) = &seen.found else {
        return read_text(path, text_of(&seen.found, path)?, known, how);
    };
    let mut manifests = Manifests::default();
    let files = manifest_files(listing);
    if files.is_empty() {
        let message = format!("error reading [{path}]: recognized file extensions are [.json .yaml .yml]");
        let advice = "No file in this directory ends in .yaml, .yml or .json; name the file or the right directory.";
        return Err(ManifestError::new(whole(path), message, advice));
    }
    for file in files {
        let name = format!("{}/{file}", path.trim_end_matches('/'));
        manifests.append(read_text(&name, text_of(&workdir.look(&name).found, &name)?, known, how)?);
    }
    Ok(manifests)
}

/// Reads the text of a file named `file`.
///
/// # Errors
/// What is wrong in it, or that there is nothing; of a [`Reading::Stream`] what is wrong is among the
/// [`faults`](Manifests::faults).
pub fn read_text(file: &str, text: &str, known: &Discovery, reading: Reading) -> Result<Manifests, ManifestError> {
    let mut manifests = Manifests::default();
    let read = yaml::documents(text).into_iter().try_for_each(|document| {
        match yaml::read(file, document, Some(&mut manifests.doubled), Booleans::Old)? {
            (Value::Null, _) => Ok(()),
            (value, source) => {
                has_metadata(&value, &source)?;
                add_objects(value, source, known, &mut manifests)
            }
        }
    });
    match (read, reading) {
        (read, Reading::Whole) => read?,
        (read, Reading::Stream) => manifests.faults.extend(read.err()),
    }
    match reading {
        Reading::Whole if manifests.is_empty() => Err(ManifestError::nothing_in(file, "apply")),
        _ => Ok(manifests),
    }
}

/// Reads values that are already apart, such as those that a kustomization makes; `file` is where they come from.
pub fn of_values(file: &str, values: Vec<Value>, known: &Discovery) -> Result<Manifests, ManifestError> {
    let mut manifests = Manifests::default();
    values.into_iter().try_for_each(|value| add_objects(value, whole(file), known, &mut manifests))?;
    Ok(manifests)
}

/// The values of all documents of a text named `file`, of any sort, as kustomize reads them.
pub(super) fn values(file: &str, text: &str) -> Result<Vec<Value>, ManifestError> {
    let read = yaml::documents(text).into_iter().map(|document| Ok(yaml::read(file, document, None, Booleans::New)?.0));
    let values = read.collect::<Result<Vec<Value>, ManifestError>>()?;
    Ok(values.into_iter().filter(|value| !value.is_null()).collect())
}

/// What is in metadata has to be of the types that metadata has. Mirrors `metadataValidatingDecoder`, which comes to it
/// after it was found that the document says what it is.
fn has_metadata(value: &Value, source: &Source) -> Result<(), ManifestError> {
    let says = |name: &str| value.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let Some(metadata) = value.get("metadata").filter(|_| says("apiVersion") && says("kind")) else { return Ok(()) };
    read::from_value::<ConfigMap>(&json!({ "metadata": metadata })).map(drop).map_err(|why| {
        let why = why.to_string().replace("field ConfigMap.metadata of", "field metadataOnlyObject.metadata of");
        let advice =
            "Labels, annotations and names are text: a number, and a word such as `true` or `no`, needs quotes.";
        ManifestError::new(source.clone(), format!("unable to decode \"{}\": {why}", source.file), advice)
    })
}

fn add_objects(
    value: Value,
    source: Source,
    known: &Discovery,
    manifests: &mut Manifests,
) -> Result<(), ManifestError> {
    let of_kind = value.get("kind").and_then(Value::as_str).and_then(|kind| kind.strip_suffix("List"));
    if let (Some(of_kind), Some(Value::Array(items))) = (of_kind, value.get("items")) {
        return items.iter().cloned().try_for_each(|mut item| {
            name_kind(&mut item, of_kind, &value["apiVersion"]);
            add_objects(item, source.clone(), known, manifests)
        });
    }
    match kind_of(&value, &source, known)? {
        Ok(kind) => manifests.known.push(Manifest { object: value, kind, source }),
        Err(unknown) => {
            manifests.faults.push(unknown);
            manifests.names_unknown_kinds = true;
        }
    }
    Ok(())
}

/// Gives an item of a `ConfigMapList` the kind that the list says. Mirrors `unstructuredJSONScheme.decodeToList`.
fn name_kind(item: &mut Value, kind: &str, api_version: &Value) {
    let Some(fields) = item.as_object_mut().filter(|_| !kind.is_empty()) else { return };
    if !fields.contains_key("kind") && !fields.contains_key("apiVersion") {
        fields.insert("kind".to_owned(), kind.into());
        fields.insert("apiVersion".to_owned(), api_version.clone());
    }
}

/// The kind that a document names, or what a real cluster says of it. Mirrors `meta.NoKindMatchError`.
fn kind_of(value: &Value, source: &Source, known: &Discovery) -> Result<Result<Kind, ManifestError>, ManifestError> {
    let invalid = |why: &str, advice: &str| {
        let message = format!(
            "error validating \"{}\": error validating data: {why}; if you choose to ignore these errors, turn validation \
             off with --validate=false",
            source.file
        );
        Err(ManifestError::new(source.clone(), message, advice))
    };
    if !value.is_object() {
        let advice = "A manifest is a mapping: apiVersion, kind, metadata and so on, each on a line of its own.";
        return invalid("invalid object to validate", advice);
    }
    let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (field("apiVersion"), field("kind"));
    for (name, text) in [("apiVersion", api_version), ("kind", kind)] {
        if text.is_empty() {
            let advice = format!("Every object begins with apiVersion and kind; add `{name}:`.");
            return invalid(&format!("{name} not set"), &advice);
        }
    }
    Ok(known.from_manifest(api_version, kind).ok_or_else(|| {
        let meta = |field| value.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let mut error = ManifestError::new(source.clone(), "", unknown::way_out(api_version, kind));
        error.message = format!(
            "resource mapping not found for name: \"{}\" namespace: \"{}\" from \"{}\": no matches for kind \"{kind}\" in \
             version \"{api_version}\"\nensure CRDs are installed first",
            meta("/metadata/name"),
            meta("/metadata/namespace"),
            source.file
        );
        error
    }))
}

fn whole(file: &str) -> Source {
    Source { file: file.to_owned(), ..Source::default() }
}

fn unreadable(path: &str, why: &Unread) -> ManifestError {
    match why {
        Unread::Missing if path.starts_with("https://") || path.starts_with("http://") => {
            let advice = "Save it into a file first, and name that.";
            ManifestError::new(whole(path), format!("unable to read URL \"{path}\": nothing is fetched here"), advice)
        }
        Unread::Missing => {
            let advice = "Check the name, and the directory that you are in.";
            ManifestError::new(whole(path), format!("the path \"{path}\" does not exist"), advice)
        }
        Unread::TooLarge(bytes) => {
            let message = format!("the file \"{path}\" is too large: {} MiB", bytes / (1024 * 1024));
            let advice = format!("A manifest may have {} MiB here; split the file.", FILE_BYTES_MAX / (1024 * 1024));
            ManifestError::new(whole(path), message, advice)
        }
        Unread::Failed(error) => {
            ManifestError::new(whole(path), format!("the path \"{path}\" cannot be accessed: {error}"), "")
        }
    }
}

/// The manifests directly in a directory, by name. Subdirectories are for `-R`, which is left out.
fn manifest_files(listing: &Listing) -> Vec<&String> {
    let ends = |name: &&String| {
        Path::new(name).extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
    };
    let mut files: Vec<&String> = listing.files.iter().chain(&listing.links).filter(ends).collect();
    files.sort();
    files
}

/// The bytes of a manifest named `name`, as they were found.
pub(super) fn bytes_of<'a>(found: &'a Found, name: &str) -> Result<&'a [u8], ManifestError> {
    match found {
        Found::Text(text) => Ok(text.as_bytes()),
        Found::Bytes(bytes) => Ok(bytes),
        Found::Directory(_) => Err(unreadable(name, &Unread::Failed("is a directory".to_owned()))),
        Found::Nothing(why) => Err(unreadable(name, why)),
    }
}

/// The text of a file that was found, to read a manifest from.
///
/// # Errors
/// That there is none: it is missing, too large, or no text.
pub fn text_of<'a>(found: &'a Found, name: &str) -> Result<&'a str, ManifestError> {
    let bytes = bytes_of(found, name)?;
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        let message = format!("error parsing {name}: error converting YAML to JSON: yaml: invalid leading UTF-8 octet");
        let source = Source { line, ..whole(name) };
        ManifestError::new(source, message, "This is no text file. Manifests are YAML or JSON in UTF-8.")
    })
}

#[cfg(test)]
mod tests;
