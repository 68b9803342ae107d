//! Defaults: what the API server fills in when a manifest leaves it out.
//!
//! Mirrors `pkg/apis/*/v1/defaults.go`. An object is copied only when a default is really missing.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStrategy, ReplicaSet, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{Container, EmptyDirVolumeSource, Endpoints, LimitRange, Namespace, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, PodSecurityContext, PodSpec, PodTemplate, PodTemplateSpec, Probe, ReplicationController, ResourceRequirements, Secret, Service, Volume};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{IngressClass, NetworkPolicy};
use k8s_openapi::api::rbac::v1::{RoleRef, Subject};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSIDriver, StorageClass};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::kinds::row;
use crate::object::resources::{is_pod_level, may_overcommit, quantities, requests_of_containers};
use crate::object::well_known::RBAC;
use crate::object::{Accessor, Object, Pod, ephemeral};

pub mod admission;
pub mod autoscaling;
pub mod workloads;

/// Bits of a file that holds configuration: 0644.
const FILE_MODE: i32 = 0o644;
/// Where a client's connections stay on one Pod, for how long: three hours.
const AFFINITY_SECONDS: i32 = 10_800;
/// The label of each namespace with its name.
pub const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Fills in what the sender left out. A spec that is left out counts as an empty one: in Go it is a struct, and always
/// there.
pub fn set_defaults(object: &mut Object) {
    if let Some(row) = row(object.kind()) {
        row.set_defaults(object);
    }
}

/// Sets a field that is absent.
fn or<T>(field: &mut Option<T>, default: T) {
    if field.is_none() {
        *field = Some(default);
    }
}

fn or_text(field: &mut Option<String>, default: &str) {
    // In Go an empty text is a missing one.
    if field.as_deref().unwrap_or_default().is_empty() && field.as_deref() != Some(default) {
        *field = Some(default.to_owned());
    }
}

pub fn pod_defaults(pod: &mut Pod) {
    let spec: &mut PodSpec = pod.spec.get_or_insert_default();
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        if let Some(resources) = &mut container.resources {
            request_what_is_limited(resources);
        }
    }
    request_what_is_limited_in_all(pod);
    let spec: &mut PodSpec = pod.spec.get_or_insert_default();
    pod_spec_defaults(spec);
    or(&mut spec.enable_service_links, true);
    if spec.host_network == Some(true) {
        for port in spec.containers.iter_mut().flat_map(|c| c.ports.iter_mut().flatten()) {
            or(&mut port.host_port, port.container_port);
        }
    }
}

/// A container that limits a resource without requesting it requests the limit. Pods only, not templates.
fn request_what_is_limited(resources: &mut ResourceRequirements) {
    let Some(limits) = &resources.limits else { return };
    let requests = resources.requests.get_or_insert_default();
    for (name, quantity) in limits {
        requests.entry(name.clone()).or_insert_with(|| quantity.clone());
    }
}

/// A Pod that is limited as a whole requests what its containers do; and where they do not, the limit. Mirrors
/// `defaultPodRequests`.
fn request_what_is_limited_in_all(pod: &mut Pod) {
    let limits = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.limits.clone()).unwrap_or_default();
    if limits.is_empty() {
        return;
    }
    let mut of_containers = requests_of_containers(pod);
    of_containers.retain(|name, _| is_pod_level(name) && may_overcommit(name));
    let Some(resources) = pod.spec.as_deref_mut().and_then(|spec| spec.resources.as_mut()) else { return };
    let requests = resources.requests.get_or_insert_default();
    for (name, quantity) in quantities(&of_containers).into_iter().chain(limits) {
        if is_pod_level(&name) {
            requests.entry(name).or_insert(quantity);
        }
    }
}

/// A container that says nothing gets the most it may have, and requests what it is limited to, or else the least.
/// Mirrors `SetDefaults_LimitRangeItem`.
pub fn limit_range_defaults(range: &mut LimitRange) {
    let limits = range.spec.iter_mut().flat_map(|spec| spec.limits.iter_mut());
    for limit in limits.filter(|limit| limit.type_ == "Container") {
        fill(&mut limit.default, limit.max.as_ref());
        fill(&mut limit.default_request, limit.default.as_ref());
        fill(&mut limit.default_request, limit.min.as_ref());
    }
}

/// Adds what only `from` has.
fn fill(list: &mut Option<BTreeMap<String, Quantity>>, from: Option<&BTreeMap<String, Quantity>>) {
    for (name, quantity) in from.into_iter().flatten() {
        list.get_or_insert_default().entry(name.clone()).or_insert_with(|| quantity.clone());
    }
}

fn pod_spec_defaults(spec: &mut PodSpec) {
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

fn container_defaults(container: &mut Container) {
    if container.image_pull_policy.is_none() {
        let policy =
            if names_latest(container.image.as_deref().unwrap_or_default()) { "Always" } else { "IfNotPresent" };
        container.image_pull_policy = Some(policy.to_owned());
    }
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

/// Whether an image's tag is `latest`, said or unsaid. Mirrors `ParseImageName`: a digest says it where no tag does.
fn names_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').unwrap_or((image, ""));
    let last = name.rsplit('/').next().unwrap_or(name);
    last.split_once(':').map_or(digest.is_empty(), |(_, tag)| tag == "latest")
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
    if let Some(source) = &mut volume.host_path {
        or_text(&mut source.type_, "");
    }
    if let Some(template) = volume.ephemeral.as_mut().and_then(|source| source.volume_claim_template.as_mut()) {
        claim_spec_defaults(&mut template.spec);
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

pub fn deployment_defaults(deployment: &mut Deployment) {
    let spec = deployment.spec.get_or_insert_default();
    or(&mut spec.replicas, 1);
    or(&mut spec.revision_history_limit, 10);
    or(&mut spec.progress_deadline_seconds, 600);
    let strategy = spec.strategy.get_or_insert_with(DeploymentStrategy::default);
    or_text(&mut strategy.type_, "RollingUpdate");
    if strategy.type_.as_deref() == Some("RollingUpdate") {
        let rolling = strategy.rolling_update.get_or_insert_with(RollingUpdateDeployment::default);
        or(&mut rolling.max_unavailable, IntOrString::String("25%".into()));
        or(&mut rolling.max_surge, IntOrString::String("25%".into()));
    }
    template_defaults(&mut spec.template);
}

pub fn pod_template_defaults(template: &mut PodTemplate) {
    template_defaults(template.template.get_or_insert_default());
}

fn template_defaults(template: &mut PodTemplateSpec) {
    pod_spec_defaults(template.spec.get_or_insert_default());
}

pub fn is_named_by_label(namespace: &Namespace) -> bool {
    let name = namespace.metadata.name();
    let labels = namespace.metadata.labels.as_ref();
    name.is_empty() || labels.and_then(|labels| labels.get(NAME_LABEL)).is_some_and(|label| label == name)
}

/// A label with the name, which nobody can take away.
pub fn namespace_defaults(namespace: &mut Namespace) {
    let name = namespace.metadata.name.clone().unwrap_or_default();
    namespace.metadata.labels.get_or_insert_default().insert(NAME_LABEL.to_owned(), name);
}

pub fn replica_set_defaults(set: &mut ReplicaSet) {
    let spec = set.spec.get_or_insert_default();
    or(&mut spec.replicas, 1);
    template_defaults(spec.template.get_or_insert_default());
}

/// What a ReplicationController does not say it takes from its template: whom it selects, and its own labels.
pub fn replication_controller_defaults(controller: &mut ReplicationController) {
    let spec = controller.spec.get_or_insert_default();
    if let Some(template) = &mut spec.template {
        let labels = template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
        for missing in [&mut spec.selector, &mut controller.metadata.labels] {
            if let Some(labels) = labels.filter(|_| missing.as_ref().is_none_or(|there| there.is_empty())) {
                *missing = Some(labels.clone());
            }
        }
        template_defaults(template);
    }
    or(&mut spec.replicas, 1);
}

/// A policy that does not say which way it isolates does so for ingress, and for egress if it has rules for that.
pub fn network_policy_defaults(policy: &mut NetworkPolicy) {
    let spec = policy.spec.get_or_insert_default();
    let ingress = spec.ingress.iter_mut().flatten().flat_map(|rule| rule.ports.iter_mut().flatten());
    let egress = spec.egress.iter_mut().flatten().flat_map(|rule| rule.ports.iter_mut().flatten());
    for port in ingress.chain(egress) {
        or_text(&mut port.protocol, "TCP");
    }
    if spec.policy_types.as_ref().is_none_or(Vec::is_empty) {
        let egress = spec.egress.as_ref().is_some_and(|rules| !rules.is_empty()).then(|| "Egress".to_owned());
        spec.policy_types = Some(["Ingress".to_owned()].into_iter().chain(egress).collect());
    }
}

pub fn service_defaults(service: &mut Service) {
    let spec = service.spec.get_or_insert_default();
    or_text(&mut spec.type_, "ClusterIP");
    or_text(&mut spec.session_affinity, "None");
    let type_ = spec.type_.clone().unwrap_or_default();
    if type_ != "ExternalName" {
        or_text(&mut spec.internal_traffic_policy, "Cluster");
    }
    if matches!(type_.as_str(), "NodePort" | "LoadBalancer") {
        or_text(&mut spec.external_traffic_policy, "Cluster");
    }
    if type_ == "LoadBalancer" {
        or(&mut spec.allocate_load_balancer_node_ports, true);
        let balancer = service.status.as_mut().and_then(|status| status.load_balancer.as_mut());
        for ingress in balancer.into_iter().flat_map(|balancer| balancer.ingress.iter_mut().flatten()) {
            if ingress.ip.is_some() {
                or_text(&mut ingress.ip_mode, "VIP");
            }
        }
    }
    if spec.session_affinity.as_deref() == Some("ClientIP") {
        let config = spec.session_affinity_config.get_or_insert_default();
        or(&mut config.client_ip.get_or_insert_default().timeout_seconds, AFFINITY_SECONDS);
    }
    for port in spec.ports.iter_mut().flatten() {
        or_text(&mut port.protocol, "TCP");
        or(&mut port.target_port, IntOrString::Int(port.port));
    }
}

/// What says more about a class is an object of the cluster.
pub fn ingress_class_defaults(class: &mut IngressClass) {
    if let Some(parameters) = class.spec.as_mut().and_then(|spec| spec.parameters.as_mut()) {
        or(&mut parameters.scope, "Cluster".to_owned());
    }
}

pub fn endpoints_defaults(endpoints: &mut Endpoints) {
    for port in endpoints.subsets.iter_mut().flatten().flat_map(|subset| subset.ports.iter_mut().flatten()) {
        or_text(&mut port.protocol, "TCP");
    }
}

pub fn endpoint_slice_defaults(slice: &mut EndpointSlice) {
    for port in slice.ports.iter_mut().flatten() {
        or(&mut port.name, String::new());
        or_text(&mut port.protocol, "TCP");
    }
}

/// `stringData` is only a way to write `data`. Mirrors `Convert_v1_Secret_To_core_Secret`.
pub fn secret_defaults(secret: &mut Secret) {
    if let Some(texts) = secret.string_data.take() {
        let data = secret.data.get_or_insert_default();
        data.extend(texts.into_iter().map(|(key, text)| (key, ByteString(text.into_bytes()))));
    }
    or_text(&mut secret.type_, "Opaque");
}

/// Whether a binding leaves out a group that is always the same.
pub fn lacks_group(role: &RoleRef, subjects: Option<&[Subject]>) -> bool {
    let empty = |group: &Option<String>| group.as_deref().unwrap_or_default().is_empty();
    empty(&role.api_group) || subjects.into_iter().flatten().any(|s| s.kind != "ServiceAccount" && empty(&s.api_group))
}

/// Mirrors `pkg/apis/rbac/v1/defaults.go`.
pub fn binding_defaults(role: &mut RoleRef, subjects: Option<&mut [Subject]>) {
    or_text(&mut role.api_group, RBAC);
    for subject in subjects.into_iter().flatten().filter(|subject| matches!(subject.kind.as_str(), "User" | "Group")) {
        or_text(&mut subject.api_group, RBAC);
    }
}

pub fn priority_class_defaults(class: &mut PriorityClass) {
    or_text(&mut class.preemption_policy, "PreemptLowerPriority");
}

pub fn volume_object_defaults(volume: &mut PersistentVolume) {
    or_text(&mut volume.status.get_or_insert_default().phase, "Pending");
    let spec = volume.spec.get_or_insert_default();
    or_text(&mut spec.persistent_volume_reclaim_policy, "Retain");
    or_text(&mut spec.volume_mode, "Filesystem");
    if let Some(source) = &mut spec.host_path {
        or_text(&mut source.type_, "");
    }
}

pub fn claim_defaults(claim: &mut PersistentVolumeClaim) {
    or_text(&mut claim.status.get_or_insert_default().phase, "Pending");
    claim_spec_defaults(claim.spec.get_or_insert_default());
}

fn claim_spec_defaults(spec: &mut PersistentVolumeClaimSpec) {
    or_text(&mut spec.volume_mode, "Filesystem");
}

pub fn storage_class_defaults(class: &mut StorageClass) {
    or_text(&mut class.reclaim_policy, "Delete");
    or_text(&mut class.volume_binding_mode, "Immediate");
}

pub fn driver_defaults(driver: &mut CSIDriver) {
    let spec = &mut driver.spec;
    or(&mut spec.attach_required, true);
    or(&mut spec.pod_info_on_mount, false);
    or(&mut spec.storage_capacity, false);
    or(&mut spec.requires_republish, false);
    or(&mut spec.se_linux_mount, false);
    or_text(&mut spec.fs_group_policy, "ReadWriteOnceWithFSType");
    let modes = spec.volume_lifecycle_modes.get_or_insert_default();
    if modes.is_empty() {
        modes.push("Persistent".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Kind;

    #[test]
    fn a_port_of_a_slice_has_a_name_though_it_is_empty() {
        let sent =
            json!({"addressType": "IPv4", "endpoints": [], "ports": [{"port": 80}, {"name": "", "protocol": "UDP"}]});
        let mut slice = Kind::EndpointSlice.decode(sent).unwrap();
        set_defaults(&mut slice);
        let ports = json!([{"name": "", "port": 80, "protocol": "TCP"}, {"name": "", "protocol": "UDP"}]);
        assert_eq!(slice.to_json()["ports"], ports);
        // What is told of it, and read there, is the same.
        assert_eq!(Kind::EndpointSlice.decode(slice.to_json()), Ok(slice));
    }

    #[test]
    fn a_pod_that_is_limited_as_a_whole_requests_something_as_a_whole() {
        let limits = || json!({"limits": {"cpu": "2", "memory": "1Gi"}});
        for (whole, of_container, requests) in [
            (limits(), json!({}), json!({"cpu": "2", "memory": "1Gi"})),
            (limits(), json!({"requests": {"cpu": "500m"}}), json!({"cpu": "500m", "memory": "1Gi"})),
            (json!({"requests": {"cpu": "1"}}), json!({"requests": {"memory": "1Gi"}}), json!({"cpu": "1"})),
        ] {
            let spec = json!({"resources": whole, "containers": [{"name": "a", "resources": of_container}]});
            let mut pod = Kind::Pod.decode(json!({"spec": spec})).unwrap();
            set_defaults(&mut pod);
            assert_eq!(pod.to_json()["spec"]["resources"]["requests"], requests, "{spec}");
        }
    }

    #[test]
    fn a_driver_has_volumes_that_last_unless_it_says_otherwise() {
        for (spec, want) in [
            (json!({}), json!(["Persistent"])),
            (json!({"volumeLifecycleModes": []}), json!(["Persistent"])),
            (json!({"volumeLifecycleModes": ["Ephemeral"]}), json!(["Ephemeral"])),
        ] {
            let mut driver = Kind::CSIDriver.decode(json!({"metadata": {"name": "d"}, "spec": spec})).unwrap();
            set_defaults(&mut driver);
            assert_eq!(driver.to_json()["spec"]["volumeLifecycleModes"], want, "{spec}");
        }
    }

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
