//! RuntimeClasses. Mirrors `pkg/apis/node/validation`.

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::api::node::v1::RuntimeClass;

use crate::kinds::pod_template::{container, scheduling};
use crate::kinds::validation::metadata;
use crate::object::validation::field::{Path, Problems};
use crate::object::validation::names::check_dns_label;
/// Mirrors `ValidateRuntimeClass`.
pub fn runtime_class(problems: &mut Problems, class: &RuntimeClass) {
    let handler = class.handler.as_str();
    problems.all_invalid(&Path::new("handler"), handler, check_dns_label(handler));
    if let Some(overhead) = &class.overhead {
        let limits = ResourceRequirements { limits: overhead.pod_fixed.clone(), ..ResourceRequirements::default() };
        container::resources(problems, &Path::new("overhead"), &limits);
    }
    let Some(asked) = &class.scheduling else { return };
    let path = Path::new("scheduling");
    metadata::labels(problems, &path.child("nodeSelector"), asked.node_selector.as_ref());
    let tolerations = asked.tolerations.as_deref().unwrap_or_default();
    scheduling::tolerations(problems, &path.child("tolerations"), tolerations);
}

/// What may not change in a RuntimeClass.
pub fn runtime_class_update(problems: &mut Problems, new: &RuntimeClass, old: &RuntimeClass) {
    runtime_class(problems, new);
    problems.immutable(&Path::new("handler"), &new.handler, &old.handler, |handler| format!("{handler:?}"));
}
