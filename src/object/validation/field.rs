//! Where in an object something is wrong, and what. Mirrors `k8s.io/apimachinery/pkg/util/validation/field`.
//!
//! A [`Path`] is a chain of borrowed links on the stack; it becomes text only when a problem is written down, so
//! that a valid object costs no allocation.

use std::fmt;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Serialize;

use crate::status::Cause;

/// A field, as a chain up to the object.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// A field of the object itself.
    pub const fn new(name: &'a str) -> Path<'a> {
        Path { parent: None, step: Step::Name(name) }
    }

    /// A field of this one.
    pub const fn child(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Name(name) }
    }

    /// An element of this list.
    pub const fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// A value of this map.
    pub const fn key(&'a self, key: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Name(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Name(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// The path to a field of what stands at `path`, where paths are texts already; an object itself stands at none.
pub fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// How a value is quoted in an error: texts quoted, numbers bare, all else as compact JSON.
pub trait Shown {
    /// The text in the error.
    fn shown(&self) -> String;
}

impl Shown for &str {
    fn shown(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Shown for i32 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for i64 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for &IntOrString {
    fn shown(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A value shown as JSON.
pub struct Json<'a, T: ?Sized>(pub &'a T);

impl<T: Serialize + ?Sized> Shown for Json<'_, T> {
    fn shown(&self) -> String {
        serde_json::to_string(self.0).unwrap_or_default()
    }
}

/// A value that is already written the way Go would.
pub struct Literal<'a>(pub &'a str);

impl Shown for Literal<'_> {
    fn shown(&self) -> String {
        self.0.to_owned()
    }
}

/// `field.ErrorList`: everything wrong so far.
#[derive(Debug, Default)]
pub struct Problems(pub Vec<Cause>);

impl Problems {
    fn add(&mut self, path: &Path, reason: &str, message: String) {
        self.0.push(Cause { reason: reason.to_owned(), message, field: path.to_string() });
    }

    /// `Required value`
    pub fn required(&mut self, path: &Path, detail: &str) {
        self.add(path, "FieldValueRequired", with_detail("Required value".into(), detail));
    }

    /// `Invalid value: "x": why`
    pub fn invalid(&mut self, path: &Path, value: impl Shown, detail: &str) {
        self.add(path, "FieldValueInvalid", with_detail(format!("Invalid value: {}", value.shown()), detail));
    }

    /// `Invalid value: why`, where what is there is too much to be shown.
    pub fn wrong(&mut self, path: &Path, detail: &str) {
        self.add(path, "FieldValueInvalid", with_detail("Invalid value".into(), detail));
    }

    /// `Unsupported value: "x": supported values: "A", "B"`
    pub fn not_supported(&mut self, path: &Path, value: impl Shown, supported: &[&str]) {
        let list: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
        let detail = format!("supported values: {}", list.join(", "));
        self.add(path, "FieldValueNotSupported", with_detail(format!("Unsupported value: {}", value.shown()), &detail));
    }

    /// `Duplicate value: "x"`
    pub fn duplicate(&mut self, path: &Path, value: impl Shown) {
        self.add(path, "FieldValueDuplicate", format!("Duplicate value: {}", value.shown()));
    }

    /// `Not found: "x"`
    pub fn not_found(&mut self, path: &Path, value: impl Shown) {
        self.add(path, "FieldValueNotFound", format!("Not found: {}", value.shown()));
    }

    /// `Forbidden: why`
    pub fn forbidden(&mut self, path: &Path, detail: &str) {
        self.add(path, "FieldValueForbidden", with_detail("Forbidden".into(), detail));
    }

    /// `Too long: may not be more than n bytes`
    pub fn too_long(&mut self, path: &Path, max: usize) {
        self.add(path, "FieldValueTooLong", format!("Too long: may not be more than {max} bytes"));
    }

    /// `Too many: n: must have at most m items`
    pub fn too_many(&mut self, path: &Path, len: usize, max: usize) {
        self.add(path, "FieldValueTooMany", format!("Too many: {len}: must have at most {max} items"));
    }

    /// One `Invalid value` for each sentence.
    pub fn all_invalid(&mut self, path: &Path, value: &str, details: Vec<String>) {
        for detail in details {
            self.invalid(path, value, &detail);
        }
    }

    /// A number that may not be negative. Mirrors `ValidateNonnegativeField`.
    pub fn not_negative(&mut self, path: &Path, value: impl Into<i64>) {
        let value = value.into();
        if value < 0 {
            self.invalid(path, value, "must be greater than or equal to 0");
        }
    }

    /// A value that must be one of a few; a missing one is `Required value`.
    pub fn one_of(&mut self, path: &Path, value: Option<&str>, supported: &[&str]) {
        match value.unwrap_or_default() {
            "" => self.required(path, ""),
            value if supported.contains(&value) => {}
            value => self.not_supported(path, value, supported),
        }
    }

    /// A field that may not change. Mirrors `ValidateImmutableField`.
    pub fn immutable<T: PartialEq>(&mut self, path: &Path, new: &T, old: &T, shown: impl Fn(&T) -> String) {
        if new != old {
            self.invalid(path, Literal(&shown(new)), "field is immutable");
        }
    }
}

fn with_detail(body: String, detail: &str) -> String {
    if detail.is_empty() { body } else { format!("{body}: {detail}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_fields() {
        let spec = Path::new("spec");
        let containers = spec.child("containers");
        assert_eq!(containers.index(0).child("image").to_string(), "spec.containers[0].image");
        let annotations = Path::new("metadata");
        assert_eq!(annotations.child("annotations").key("a/b").to_string(), "metadata.annotations[a/b]");
    }

    #[test]
    fn problems_read_like_kubernetes() {
        let mut problems = Problems::default();
        let path = Path::new("f");
        problems.required(&path, "");
        problems.invalid(&path, -1, "why");
        problems.not_supported(&path, "x", &["A", "B"]);
        problems.forbidden(&path, "no");
        let texts: Vec<&str> = problems.0.iter().map(|cause| cause.message.as_str()).collect();
        let want = [
            "Required value",
            "Invalid value: -1: why",
            "Unsupported value: \"x\": supported values: \"A\", \"B\"",
            "Forbidden: no",
        ];
        assert_eq!(texts, want);
    }
}
