//! `labels`, `commonLabels` and `commonAnnotations`. Mirrors `LabelTransformer` and `AnnotationsTransformer`.

use std::collections::BTreeMap;

use super::fields::Spec;
use super::kustomization::Labels;
use super::set::Set;
use super::specs;

/// Sets labels where they are asked for.
///
/// # Errors
/// A field is in the way, or fields contradict each other.
pub fn label(set: &mut Set, labels: &Labels) -> Result<(), String> {
    let mut fields = labels.fields.clone();
    if labels.selectors {
        merge(&mut fields, specs::selectors())?;
    } else {
        if labels.templates {
            merge(&mut fields, specs::metadata("labels"))?;
        }
        if labels.claim_templates {
            merge(&mut fields, vec![specs::claim_templates()])?;
        }
        merge(&mut fields, vec![specs::own_labels()])?;
    }
    mark(set, &labels.pairs, &fields)
}

/// Sets labels everywhere.
///
/// # Errors
/// A field is in the way.
pub fn label_all(set: &mut Set, pairs: &BTreeMap<String, String>) -> Result<(), String> {
    mark(set, pairs, &specs::selectors())
}

/// Sets annotations everywhere.
///
/// # Errors
/// A field is in the way.
pub fn annotate(set: &mut Set, pairs: &BTreeMap<String, String>) -> Result<(), String> {
    mark(set, pairs, &specs::metadata("annotations"))
}

fn mark(set: &mut Set, pairs: &BTreeMap<String, String>, fields: &[Spec]) -> Result<(), String> {
    for resource in &mut set.0 {
        for (key, value) in pairs {
            fields.iter().try_for_each(|field| field.set_entry(resource, key, value))?;
        }
    }
    Ok(())
}

/// Mirrors `FsSlice.MergeAll`.
fn merge(fields: &mut Vec<Spec>, more: Vec<Spec>) -> Result<(), String> {
    for field in more {
        match fields.iter().find(|known| known.covers(&field)) {
            Some(known) if known.create != field.create => {
                return Err("failed to merge labels: conflicting fieldspecs".to_owned());
            }
            Some(_) => {}
            None => fields.push(field),
        }
    }
    Ok(())
}
