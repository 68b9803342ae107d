//! Whether a ReplicaSet is that of today, and what learners compare instead of the whole template.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::rule::Slip;
use crate::controllers::deployment::revision::equal_ignoring_hash;
use crate::exercise::deployment::TEMPLATE_HASH;

/// Whether the ReplicaSet is that of the Deployment's template.
pub(super) fn is_of_today(deployment: &Deployment, set: &ReplicaSet, slip: Option<Slip>) -> bool {
    let its = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
    let templates = deployment.spec.as_ref().map(|spec| &spec.template).zip(its);
    templates.is_some_and(|(wanted, its)| match slip {
        Some(Slip::ImagesOnly) => images(wanted) == images(its),
        Some(Slip::SomeFields) => equal_ignoring_hash(&some_fields(wanted), &some_fields(its)),
        Some(Slip::SpecOnly) => wanted.spec == its.spec,
        Some(Slip::IgnoresAnnotations) => equal_ignoring_hash(&plain(wanted), &plain(its)),
        Some(Slip::ContainersOnly) => equal_ignoring_hash(&bare(wanted), &bare(its)),
        Some(Slip::LabelsWithin) => {
            let mut less = its.clone();
            let wanted_labels = wanted.metadata.clone().unwrap_or_default().labels.unwrap_or_default();
            if let Some(labels) = less.metadata.get_or_insert_default().labels.as_mut() {
                labels.retain(|key, _| wanted_labels.contains_key(key));
            }
            equal_ignoring_hash(wanted, &less)
        }
        Some(Slip::LabelNames) => {
            let labels = |template: &PodTemplateSpec| template.metadata.clone().unwrap_or_default().labels;
            let mut alike = its.clone();
            let names =
                |template| labels(template).unwrap_or_default().into_keys().filter(|name| name != TEMPLATE_HASH);
            if names(wanted).eq(names(its)) {
                alike.metadata.get_or_insert_default().labels = labels(wanted);
            }
            equal_ignoring_hash(wanted, &alike)
        }
        Some(Slip::KeepsOwnHash) => {
            let has_hash = |meta: &ObjectMeta| meta.labels.iter().flatten().any(|(name, _)| name == TEMPLATE_HASH);
            !wanted.metadata.as_ref().is_some_and(has_hash) && equal_ignoring_hash(wanted, its)
        }
        _ => equal_ignoring_hash(wanted, its),
    })
}

/// A template with nothing but its metadata and containers.
fn bare(template: &PodTemplateSpec) -> PodTemplateSpec {
    let containers = template.spec.iter().flat_map(|spec| spec.containers.clone()).collect();
    let spec = PodSpec { containers, ..PodSpec::default() };
    PodTemplateSpec { metadata: template.metadata.clone(), spec: Some(spec) }
}

/// A template without annotations.
fn plain(template: &PodTemplateSpec) -> PodTemplateSpec {
    let mut template = template.clone();
    template.metadata.get_or_insert_default().annotations = None;
    template
}

/// A template with what people change most often, and nothing else.
fn some_fields(template: &PodTemplateSpec) -> PodTemplateSpec {
    let spec = template.spec.clone().unwrap_or_default();
    let containers = spec.containers.into_iter().map(|one| Container {
        name: one.name,
        image: one.image,
        command: one.command,
        args: one.args,
        env: one.env,
        ..Container::default()
    });
    let spec = PodSpec {
        containers: containers.collect(),
        node_selector: spec.node_selector,
        termination_grace_period_seconds: spec.termination_grace_period_seconds,
        ..PodSpec::default()
    };
    PodTemplateSpec { metadata: template.metadata.clone(), spec: Some(spec) }
}

fn images(template: &PodTemplateSpec) -> Vec<Option<&String>> {
    let containers = template.spec.iter().flat_map(|spec| &spec.containers);
    containers.map(|container| container.image.as_ref()).collect()
}
