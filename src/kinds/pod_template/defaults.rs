//! What is filled in where the spec of a Pod says nothing. Mirrors `pkg/apis/core/v1/defaults.go`.

use k8s_openapi::api::core::v1::{
    Container, EmptyDirVolumeSource, PodSecurityContext, PodSpec, PodTemplateSpec, Probe, ResourceRequirements, Volume,
};

use crate::core::persistent_volume_claim;
use crate::defaults::fields::{or, or_text};
use crate::pod_template::volume_source;
use object::ephemeral;

/// Bits of a file that holds configuration: 0644.
const FILE_MODE: i32 = 0o644;

/// Fills in the spec of a Pod.
pub fn pod_spec_defaults(spec: &mut PodSpec) {
    or_text(&mut spec.dns_policy, "ClusterFirst");
    or_text(&mut spec.restart_policy, "Always");
    or_text(&mut spec.scheduler_name, "default-scheduler");
    or(&mut spec.security_context, PodSecurityContext::default());
    or(&mut spec.termination_grace_period_seconds, 30);
    if spec.service_account_name.is_some() {
        spec.service_account.clone_from(&spec.service_account_name);
    } else if spec.service_account.is_some() {
        spec.service_account_name.clone_from(&spec.service_account);
    }
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        container_defaults(container);
    }
    for one in spec.ephemeral_containers.iter_mut().flatten() {
        ephemeral::with_container(one, container_defaults);
    }
    for volume in spec.volumes.iter_mut().flatten() {
        volume_defaults(volume);
    }
}

/// What is named by no version may be another tomorrow.
fn pull_policy(policy: &mut Option<String>, image: &str) {
    or_text(policy, if names_latest(image) { "Always" } else { "IfNotPresent" });
}

fn container_defaults(container: &mut Container) {
    pull_policy(&mut container.image_pull_policy, container.image.as_deref().unwrap_or_default());
    or_text(&mut container.termination_message_path, "/dev/termination-log");
    or_text(&mut container.termination_message_policy, "File");
    or(&mut container.resources, ResourceRequirements::default());
    for port in container.ports.iter_mut().flatten() {
        or_text(&mut port.protocol, "TCP");
    }
    for env in container.env.iter_mut().flatten() {
        if let Some(field) = env.value_from.as_mut().and_then(|from| from.field_ref.as_mut()) {
            or_text(&mut field.api_version, "v1");
        }
    }
    let probes = [&mut container.liveness_probe, &mut container.readiness_probe, &mut container.startup_probe];
    probes.into_iter().flatten().for_each(probe_defaults);
    let hooks = container.lifecycle.as_mut().map(|lifecycle| [&mut lifecycle.post_start, &mut lifecycle.pre_stop]);
    for http in hooks.into_iter().flatten().flatten().filter_map(|hook| hook.http_get.as_mut()) {
        or_text(&mut http.path, "/");
        or_text(&mut http.scheme, "HTTP");
    }
}

fn probe_defaults(probe: &mut Probe) {
    or(&mut probe.timeout_seconds, 1);
    or(&mut probe.period_seconds, 10);
    or(&mut probe.success_threshold, 1);
    or(&mut probe.failure_threshold, 3);
    if let Some(http) = &mut probe.http_get {
        or_text(&mut http.path, "/");
        or_text(&mut http.scheme, "HTTP");
    }
    if let Some(grpc) = &mut probe.grpc {
        or_text(&mut grpc.service, "");
    }
}

fn volume_defaults(volume: &mut Volume) {
    volume_source::defaults(volume);
    let sourceless = Volume { name: volume.name.clone(), ..Volume::default() };
    if *volume == sourceless {
        volume.empty_dir = Some(EmptyDirVolumeSource::default());
    }
    if let Some(source) = &mut volume.config_map {
        or(&mut source.default_mode, FILE_MODE);
    }
    if let Some(source) = &mut volume.secret {
        or(&mut source.default_mode, FILE_MODE);
    }
    if let Some(source) = &mut volume.downward_api {
        or(&mut source.default_mode, FILE_MODE);
        for item in source.items.iter_mut().flatten() {
            if let Some(field) = &mut item.field_ref {
                or_text(&mut field.api_version, "v1");
            }
        }
    }
    if let Some(source) = &mut volume.image {
        pull_policy(&mut source.pull_policy, source.reference.as_deref().unwrap_or_default());
    }
    if let Some(source) = &mut volume.host_path {
        or_text(&mut source.type_, "");
    }
    if let Some(template) = volume.ephemeral.as_mut().and_then(|source| source.volume_claim_template.as_mut()) {
        persistent_volume_claim::spec_defaults(&mut template.spec);
    }
    if let Some(source) = &mut volume.projected {
        or(&mut source.default_mode, FILE_MODE);
        for part in source.sources.iter_mut().flatten() {
            if let Some(token) = &mut part.service_account_token {
                or(&mut token.expiration_seconds, 3600);
            }
            for item in part.downward_api.iter_mut().flat_map(|api| api.items.iter_mut().flatten()) {
                if let Some(field) = &mut item.field_ref {
                    or_text(&mut field.api_version, "v1");
                }
            }
        }
    }
}

/// Fills in a template of Pods.
pub fn template_defaults(template: &mut PodTemplateSpec) {
    pod_spec_defaults(template.spec.get_or_insert_default());
}

/// Whether an image's tag is `latest`, said or unsaid. Mirrors `ParseImageName`: a digest says it where no tag does.
pub fn names_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').unwrap_or((image, ""));
    let last = name.rsplit('/').next().unwrap_or(name);
    last.split_once(':').map_or(digest.is_empty(), |(_, tag)| tag == "latest")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_a_tag_means_latest() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.27", false),
            ("registry:5000/nginx", true),
            ("nginx@sha256:0", false),
            ("nginx:1.27@sha256:0", false),
            ("nginx:latest@sha256:0", true),
        ] {
            assert_eq!(names_latest(image), latest, "{image}");
        }
    }
}
