//! `vars`: `$(NAME)` in some fields stands for a field of an object. Mirrors `types.Var` and `api/filters/refvar`.
//!
//! Which object a variable means is found as soon as its own directory is built; what the field says, at the very end, when
//! all have their last names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::fields::{Made, Spec};
use super::id::{Gvk, Id};
use super::kustomization::gvk;
use super::read::Fields;
use super::replacements::scalar;
use super::set::Set;

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    name: String,
    /// `v1`, `apps/v1`; empty: as `object` says.
    api_version: String,
    object: Id,
    /// `metadata.name`, if it is empty.
    field: String,
}

/// Reads an entry of `vars`.
///
/// # Errors
/// A field is wrong.
pub fn read(fields: &mut Fields) -> Result<Variable, String> {
    let object = fields.one("objref", "Target", |fields| {
        let id = Id { gvk: gvk(fields)?, name: fields.text("name")?, namespace: fields.text("namespace")? };
        Ok((fields.text("apiVersion")?, id))
    })?;
    let field = fields.one("fieldref", "FieldSelector", |fields| fields.text("fieldPath"))?;
    let (api_version, object) = object.unwrap_or_default();
    Ok(Variable { name: fields.text("name")?, api_version, object, field: field.unwrap_or_default() })
}

impl Variable {
    fn gvk(&self) -> Gvk {
        let mut gvk = self.object.gvk.clone();
        match self.api_version.split_once('/') {
            Some((group, version)) => (gvk.group, gvk.version) = (group.to_owned(), version.to_owned()),
            None if self.api_version.is_empty() => {}
            None => gvk.version.clone_from(&self.api_version),
        }
        gvk
    }

    fn field(&self) -> &str {
        if self.field.is_empty() { "metadata.name" } else { &self.field }
    }

    /// As Go's `%v` shows it once it is known whom it means.
    fn shown(&self) -> String {
        format!("{{{} {} {{{}}}}}", self.name, self.gvk(), self.field())
    }

    /// As Go's `%v` shows it as it was written.
    fn written(&self) -> String {
        format!("{{{} {} {{{}}}}}", self.name, self.object.gvk, self.field)
    }
}

/// The variables of a directory and of those below it, by their names.
#[derive(Debug, Default)]
pub struct Variables(BTreeMap<String, Variable>);

impl Variables {
    /// Adds those of a kustomization, and notes whom they mean.
    ///
    /// # Errors
    /// One is there already, or means several objects.
    pub fn add(&mut self, variables: &[Variable], set: &mut Set) -> Result<(), String> {
        let wrong = |why: String| {
            let all: Vec<String> = variables.iter().map(Variable::written).collect();
            format!("merging vars [{}]: {why}", all.join(" "))
        };
        for variable in variables {
            let wanted = Id { gvk: variable.gvk(), ..variable.object.clone() };
            let anywhere = wanted.namespace.is_empty() && !wanted.gvk.is_cluster_scoped();
            let is = |id: &Id| match anywhere {
                true => (&id.gvk, &id.name) == (&wanted.gvk, &wanted.name),
                false => id.is(&wanted),
            };
            let found: Vec<usize> = (0..set.0.len()).filter(|&at| set.0[at].ids().any(|id| is(&id))).collect();
            match found.as_slice() {
                [] => {}
                &[at] => set.0[at].variables.push(variable.name.clone()),
                several => {
                    let (count, var) = (several.len(), variable.shown());
                    return Err(wrong(format!("found {count} resId matches for var {var} (unable to disambiguate)")));
                }
            }
        }
        variables.iter().try_for_each(|variable| self.insert(variable.clone())).map_err(wrong)
    }

    /// Adds those of a directory below.
    ///
    /// # Errors
    /// One is there already.
    pub fn merge(&mut self, more: Variables) -> Result<(), String> {
        more.0.into_values().try_for_each(|variable| self.insert(variable))
    }

    fn insert(&mut self, variable: Variable) -> Result<(), String> {
        let name = variable.name.clone();
        match self.0.insert(name.clone(), variable) {
            None => Ok(()),
            Some(_) => Err(format!("var '{name}' already encountered")),
        }
    }

    /// Puts values in the place of variables. Gives the names of those that are nowhere.
    ///
    /// # Errors
    /// A variable means no object, or a field that is not there.
    pub fn resolve(&self, set: &mut Set, fields: &[Spec]) -> Result<Vec<String>, String> {
        let mut values = BTreeMap::new();
        for (name, variable) in &self.0 {
            let var = variable.shown();
            let object = set.0.iter().find(|resource| resource.variables.contains(name));
            let object = object
                .ok_or_else(|| format!("var '{var}' cannot be mapped to a field in the set of known resources"))?;
            let value = field(&object.object, variable.field());
            let value = value.filter(|value| !value.is_null());
            let value =
                value.ok_or_else(|| format!("field specified in var '{var}' not found in corresponding resource"))?;
            values.insert(name.as_str(), value.clone());
        }
        if values.is_empty() {
            return Ok(Vec::new());
        }
        let mut used = BTreeSet::new();
        for resource in &mut set.0 {
            for field in fields {
                field.change(resource, Made::Nothing, &mut |node| replace(node, &values, &mut used))?;
            }
        }
        Ok(values.keys().filter(|name| !used.contains(**name)).map(|name| (*name).to_owned()).collect())
    }
}

/// `spec.ports[0].port`: a field of an object.
fn field<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let path = path.replace('[', ".").replace(']', "");
    path.split('.').filter(|part| !part.is_empty()).try_fold(object, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    })
}

fn replace(node: &mut Value, values: &BTreeMap<&str, Value>, used: &mut BTreeSet<String>) -> Result<(), String> {
    match node {
        Value::String(text) => *node = replaced(text, values, used),
        Value::Object(fields) => {
            for value in fields.values_mut() {
                if let Value::String(text) = value {
                    *value = replaced(text, values, used);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                let Value::String(text) = item else { return Err("invalid value type expect a string".to_owned()) };
                *item = replaced(text, values, used);
            }
        }
        _ => {}
    }
    Ok(())
}

/// A text with values in the place of `$(NAME)`; `$$` is one `$`. A text that is one variable becomes its value, which need
/// not be a text. Mirrors `DoReplacements`.
fn replaced(text: &str, values: &BTreeMap<&str, Value>, used: &mut BTreeSet<String>) -> Value {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        out += before;
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let name = rest.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        let found = name.and_then(|(name, after)| Some((name, values.get(name)?, after)));
        match found.and_then(|(name, value, after)| Some((name, value, scalar(value)?, after))) {
            Some((name, value, shown, after)) => {
                used.insert(name.to_owned());
                if text.len() == name.len() + "$()".len() {
                    return value.clone();
                }
                out += &shown;
                rest = after;
            }
            None => out.push('$'),
        }
    }
    json!(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_variables_is_read_as_kustomize_reads_it() {
        let values = BTreeMap::from([("A", json!("a")), ("N", json!(80)), ("M", json!({}))]);
        for (text, want) in [
            ("$(A)", json!("a")),
            ("$(N)", json!(80)),
            ("-$(N)-", json!("-80-")),
            ("$(A)$(A)", json!("aa")),
            ("$$(A)", json!("$(A)")),
            ("$(M) $(B) $A $(A", json!("$(M) $(B) $A $(A")),
            ("$", json!("$")),
            ("a$$", json!("a$")),
        ] {
            assert_eq!(replaced(text, &values, &mut BTreeSet::new()), want, "{text}");
        }
    }
}
