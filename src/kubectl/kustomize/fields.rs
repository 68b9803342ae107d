//! Fields of manifests by their paths: `spec/template/metadata/labels`. Mirrors `api/filters/fieldspec`.
//!
//! A path goes through lists without saying so: `spec/containers/env/value` is the field of each variable of each container.

use serde_json::{Map, Value, json};

use super::id::Gvk;
use super::resource::Resource;

/// A field of some kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Which kinds; what is empty is any.
    pub gvk: Gvk,
    path: Vec<String>,
    /// Whether it is made where it is not.
    pub create: bool,
}

/// What is made of a field that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Made {
    Nothing,
    Mapping,
    Scalar,
}

impl Spec {
    /// A field by its path. A slash in a name is written `\/`.
    pub fn of(gvk: Gvk, path: &str, create: bool) -> Spec {
        let mut parts: Vec<String> = Vec::new();
        for part in path.trim_start_matches('/').split('/') {
            match parts.last_mut().filter(|last| last.ends_with('\\')) {
                Some(last) => {
                    last.pop();
                    last.push('/');
                    last.push_str(part);
                }
                None => parts.push(part.to_owned()),
            }
        }
        Spec { gvk, path: parts, create }
    }

    /// The same of one kind of a group; an empty one is any.
    pub fn of_kind(group: &str, kind: &str, path: &str, create: bool) -> Spec {
        let gvk = Gvk { group: group.to_owned(), version: String::new(), kind: kind.to_owned() };
        Spec::of(gvk, path, create)
    }

    /// Whether the other one need not be looked at beside this one.
    pub fn covers(&self, other: &Spec) -> bool {
        self.gvk.is_selected(&other.gvk) && self.path == other.path
    }

    /// Whether its path ends in these two parts.
    pub fn ends_with(&self, last_but_one: &str, last: &str) -> bool {
        self.path.ends_with(&[last_but_one.to_owned(), last.to_owned()])
    }

    /// Whether it is the name of an object.
    pub fn is_name(&self) -> bool {
        self.path.iter().eq(["metadata", "name"])
    }

    fn path(&self) -> String {
        self.path.join("/")
    }

    /// Has each field that is meant changed, if this resource is of such a kind.
    ///
    /// # Errors
    /// The path leads through a value that has no fields, or the change says so.
    pub fn change(
        &self,
        resource: &mut Resource,
        made: Made,
        set: &mut dyn FnMut(&mut Value) -> Result<(), String>,
    ) -> Result<(), String> {
        let id = resource.id();
        if !id.gvk.is_selected(&self.gvk) {
            return Ok(());
        }
        let made = if self.create { made } else { Made::Nothing };
        walk(&mut resource.object, &self.path, made, set)
            .map_err(|why| format!("considering field '{}' of object {id}: {why}", self.path()))
    }

    /// The same; what is set is said.
    ///
    /// # Errors
    /// As [`Spec::change`].
    pub fn set(&self, resource: &mut Resource, made: Made, value: &Value) -> Result<(), String> {
        self.change(resource, made, &mut |node| {
            *node = value.clone();
            Ok(())
        })
    }

    /// An entry of a mapping.
    ///
    /// # Errors
    /// As [`Spec::change`].
    pub fn set_entry(&self, resource: &mut Resource, key: &str, value: &str) -> Result<(), String> {
        self.change(resource, Made::Mapping, &mut |node| match node {
            Value::Object(fields) => {
                fields.insert(key.to_owned(), json!(value));
                Ok(())
            }
            Value::Null => {
                *node = json!({key: value});
                Ok(())
            }
            _ => Err("wrong node kind: expected MappingNode".to_owned()),
        })
    }
}

fn walk(
    node: &mut Value,
    path: &[String],
    made: Made,
    set: &mut dyn FnMut(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else { return set(node) };
    match node {
        Value::Null => Ok(()),
        Value::Array(items) => items.iter_mut().try_for_each(|item| walk(item, path, made, set)),
        Value::Object(fields) => {
            let (name, is_list) = first.strip_suffix("[]").map_or((first.as_str(), false), |name| (name, true));
            if name.is_empty() {
                return Err("cannot set or create an empty field name".to_owned());
            }
            if made != Made::Nothing && !is_list {
                make(fields, name, if rest.is_empty() { made } else { Made::Mapping });
            }
            fields.get_mut(name).map_or(Ok(()), |field| walk(field, rest, made, set))
        }
        _ => Err("expected sequence or mapping node".to_owned()),
    }
}

fn make(fields: &mut Map<String, Value>, name: &str, made: Made) {
    let field = fields.entry(name).or_insert(Value::Null);
    if field.is_null() && made == Made::Mapping {
        *field = json!({});
    } else if field.is_null() {
        *field = json!("");
    }
}
