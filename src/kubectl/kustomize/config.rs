//! The fields of each kind that a change applies to: those that kustomize knows, and those that files under `configurations` add.
//! Mirrors `builtinconfig.TransformerConfig`.

use super::fields::Spec;
use super::id::Gvk;
use super::kustomization::{gvk, spec};
use super::read::{Fields, whole};
use super::specs;
use crate::manifest;

/// Fields, by what changes them.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub prefixes: Vec<Spec>,
    pub suffixes: Vec<Spec>,
    pub namespaces: Vec<Spec>,
    /// Of `commonLabels`, and of labels that selectors get.
    pub selectors: Vec<Spec>,
    /// Of each entry of `labels`.
    pub labels: Vec<Spec>,
    pub templates: Vec<Spec>,
    pub claim_templates: Vec<Spec>,
    pub annotations: Vec<Spec>,
    /// Fields that name objects of a kind, beside those that are known.
    pub references: Vec<(Gvk, Spec)>,
    /// Fields in which variables stand.
    pub variables: Vec<Spec>,
    /// Beside those of containers.
    pub images: Vec<Spec>,
    pub replicas: Vec<Spec>,
}

impl Config {
    /// What kustomize knows by itself.
    pub fn built_in() -> Config {
        Config {
            prefixes: vec![specs::name()],
            suffixes: vec![specs::name()],
            namespaces: specs::namespaces(),
            selectors: specs::selectors(),
            labels: Vec::new(),
            templates: specs::metadata("labels"),
            claim_templates: vec![specs::claim_templates()],
            annotations: specs::metadata("annotations"),
            references: Vec::new(),
            variables: specs::variables(),
            images: specs::images(),
            replicas: specs::replicas(),
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no YAML, or has a field that is not known.
    pub fn read(path: &str, text: &str) -> Result<Config, String> {
        let values = manifest::values(path, text).map_err(|error| error.message)?;
        let value = values.into_iter().next().unwrap_or_default();
        let wrong = |why| format!("error unmarshaling JSON: while decoding JSON: {why}");
        whole(value, "TransformerConfig", "", fields_of).map_err(wrong)
    }

    /// Adds what another one has beside this one.
    ///
    /// # Errors
    /// They contradict each other.
    pub fn merge(&mut self, more: Config) -> Result<(), String> {
        for (name, own, more) in [
            ("NamePrefix", &mut self.prefixes, more.prefixes),
            ("NameSuffix", &mut self.suffixes, more.suffixes),
            ("NameSpace", &mut self.namespaces, more.namespaces),
            ("CommonAnnotations", &mut self.annotations, more.annotations),
            ("CommonLabels", &mut self.selectors, more.selectors),
            ("Labels", &mut self.labels, more.labels),
            ("TemplateLabels", &mut self.templates, more.templates),
            ("VolumeClaimTemplateLabels", &mut self.claim_templates, more.claim_templates),
            ("VarReference", &mut self.variables, more.variables),
            ("Images", &mut self.images, more.images),
            ("Replicas", &mut self.replicas, more.replicas),
        ] {
            merge(own, more).map_err(|why| format!("failed to merge {name} fieldSpec: {why}"))?;
        }
        for reference in more.references {
            if !self.references.contains(&reference) {
                self.references.push(reference);
            }
        }
        Ok(())
    }
}

/// Adds fields that are not covered yet. Mirrors `FsSlice.MergeAll`.
///
/// # Errors
/// One of them is to be made where it is not, and in the other list it is not to be made.
pub fn merge(fields: &mut Vec<Spec>, more: Vec<Spec>) -> Result<(), String> {
    for field in more {
        match fields.iter().find(|known| known.covers(&field)) {
            Some(known) if known.create != field.create => return Err("conflicting fieldspecs".to_owned()),
            Some(_) => {}
            None => fields.push(field),
        }
    }
    Ok(())
}

fn fields_of(fields: &mut Fields) -> Result<Config, String> {
    let mut specs = |name| fields.list(name, "FieldSpec", spec);
    let mut config = Config {
        prefixes: specs("namePrefix")?,
        suffixes: specs("nameSuffix")?,
        namespaces: specs("namespace")?,
        selectors: specs("commonLabels")?,
        labels: specs("labels")?,
        templates: specs("templateLabels")?,
        claim_templates: specs("volumeClaimTemplateLabels")?,
        annotations: specs("commonAnnotations")?,
        references: Vec::new(),
        variables: specs("varReference")?,
        images: specs("images")?,
        replicas: specs("replicas")?,
    };
    let named = fields.list("nameReference", "NameBackReferences", |fields| {
        Ok((gvk(fields)?, fields.list("fieldSpecs", "FieldSpec", spec)?))
    })?;
    config.references =
        named.into_iter().flat_map(|(to, fields)| fields.into_iter().map(move |field| (to.clone(), field))).collect();
    Ok(config)
}
