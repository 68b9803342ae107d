//! `labels`, `commonLabels` and `commonAnnotations`. Mirrors `LabelTransformer` and `AnnotationsTransformer`.

use std::collections::BTreeMap;

use super::config::{Config, merge};
use super::fields::Spec;
use super::kustomization::Labels;
use super::set::Set;
use super::specs;

/// Sets labels where they are asked for.
///
/// # Errors
/// A field is in the way, or fields contradict each other.
pub fn label(set: &mut Set, labels: &Labels, config: &Config) -> Result<(), String> {
    let mut fields = labels.fields.clone();
    let mut add = |more| merge(&mut fields, more).map_err(|why| format!("failed to merge labels: {why}"));
    add(config.labels.clone())?;
    if labels.selectors {
        add(config.selectors.clone())?;
    } else {
        if labels.templates {
            add(config.templates.clone())?;
        }
        if labels.claim_templates {
            add(config.claim_templates.clone())?;
        }
        add(vec![specs::own_labels()])?;
    }
    mark(set, &labels.pairs, &fields)
}

/// Sets labels or annotations in these fields.
///
/// # Errors
/// A field is in the way.
pub fn mark(set: &mut Set, pairs: &BTreeMap<String, String>, fields: &[Spec]) -> Result<(), String> {
    for resource in &mut set.0 {
        for (key, value) in pairs {
            fields.iter().try_for_each(|field| field.set_entry(resource, key, value))?;
        }
    }
    Ok(())
}
