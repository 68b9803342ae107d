//! What is asked for a Pod as a whole. Mirrors `validatePodResources` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{PodSpec, ResourceRequirements};

use crate::pod_template::container::{any_resource_name, requirements_of};
use object::Pod;
use object::resources::{amounts, is_huge_page, is_pod_level, limits_of_containers, requests_of_containers};
use object::validation::field::{Path, Problems};

/// What a Pod can be given as a whole.
const SUPPORTED: &[&str] = &["cpu", "hugepages-", "memory"];

/// It must be enough for all containers, and no container may have more.
pub fn pod_resources(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    let Some(resources) = &spec.resources else { return };
    if spec.os.as_ref().is_some_and(|os| os.name == "windows") {
        return problems.forbidden(path, "may not be set for a windows pod");
    }
    requirements_of(problems, path, resources, resource_name);
    all_containers(problems, path, spec, resources);
    each_container(problems, path, spec, resources);
}

/// Mirrors `validatePodResourceName`.
fn resource_name(problems: &mut Problems, path: &Path, name: &str) {
    let there = problems.0.len();
    any_resource_name(problems, path, name);
    if problems.0.len() == there && !is_pod_level(name) {
        problems.not_supported(path, name, SUPPORTED);
    }
}

/// Requests of the containers add up, and so do limits of what is never lent. Mirrors `validatePodResourceConsistency`.
fn all_containers(problems: &mut Problems, path: &Path, spec: &PodSpec, resources: &ResourceRequirements) {
    let pod = Pod { spec: Some(spec.clone().into()), ..Pod::default() };
    let mut huge = limits_of_containers(&pod);
    huge.retain(|name, _| is_huge_page(name));
    for (list, whole, containers) in [
        ("requests", amounts(resources.requests.as_ref()), requests_of_containers(&pod)),
        ("limits", amounts(resources.limits.as_ref()), huge),
    ] {
        let path = path.child(list);
        for (name, sum) in containers {
            let Some(whole) = whole.get(&name).filter(|whole| sum > **whole) else { continue };
            let why = format!("must be greater than or equal to aggregate container {list} of {sum}");
            problems.invalid(&path.key(&name), whole.to_string().as_str(), &why);
        }
    }
}

fn each_container(problems: &mut Problems, path: &Path, spec: &PodSpec, resources: &ResourceRequirements) {
    let whole = amounts(resources.limits.as_ref());
    // The path goes by the Pod's resources, as it does there.
    let list = path.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        let path = list.index(i);
        let limits = container.resources.as_ref().and_then(|resources| resources.limits.as_ref());
        for (name, limit) in amounts(limits) {
            let Some(whole) = whole.get(&name).filter(|whole| limit > **whole) else { continue };
            let why = format!("must be less than or equal to pod limits of {whole}");
            problems.invalid(&path.key(&name).child("limits"), limit.to_string().as_str(), &why);
        }
    }
}
