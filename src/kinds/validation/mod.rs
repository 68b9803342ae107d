//! Validation: what is wrong with an object, in the API server's own words.
//!
//! The last look at an object before it is stored, after defaults, mutating admission and the kind's strategy. Each
//! problem is one cause of a 422: the field, the kind of problem, the sentence. All problems are listed, in the order
//! in which Kubernetes finds them. Mirrors `pkg/apis/*/validation` and what the strategies add to it.
//!
//! - [`metadata`]: every object's metadata; labels and selectors.
//! - [`pod`], [`container`], [`mod@env`], [`handler`], [`security`], [`dns`], [`volume`], [`scheduling`]: Pods and templates;
//!   [`pod_update`], [`diff`]: what may change.
//! - [`storage`]: volumes, claims, classes; [`csi`]: attachments, drivers.
//! - [`workload`], [`sets`], [`job`], [`cron_job`], [`service`], [`endpoints`], [`node`], [`mod@namespace`], [`config`], [`rbac`],
//!   [`resource_quota`], [`limit_range`], [`budget`], [`autoscaling`], [`admission_policy`],
//!   [`webhooks`]: the other kinds. [`review`]: what is asked, and never kept.
//!
//! Must hold: a valid object costs no text; what did not change in an update is not looked at again.
//!
//! Left out: fields that nothing here acts on, such as those of Windows, of cloud volumes and of resource claims, are
//! accepted as they are.

use crate::object::status::Cause;
use crate::object::{Kind, Object, Resource};

use crate::apiserver::apiextensions::{Version, definition};

pub mod admission_policy;
pub mod autoscaling;
pub mod budget;
pub mod conditions;
pub mod config;
pub mod container;
mod cron_job;
pub mod csi;
pub mod diff;
pub mod dns;
pub mod endpoints;
pub mod env;
pub mod ephemeral;
pub mod event;
pub mod handler;
pub mod ingress;
mod job;
pub mod limit_range;
pub mod metadata;
pub mod namespace;
pub mod network_policy;
pub mod node;
pub mod pod;
pub mod pod_resources;
pub mod pod_update;
pub mod rbac;
pub mod resize;
pub mod resource_quota;
pub mod review;
pub mod runtime_class;
pub mod scheduling;
pub mod security;
pub mod service;
pub mod sets;
pub mod storage;
pub mod volume;
pub mod webhooks;
pub mod workload;

#[cfg(test)]
mod refused;
#[cfg(test)]
mod tests;

use crate::object::validation::field::{self, Problems};

/// What is wrong with a new object; `custom` is what is known of its kind if a user has defined it.
pub fn validate_create(object: &Object, custom: Option<&Version>) -> Vec<Cause> {
    let mut problems = Problems::default();
    metadata::validate_create(&mut problems, object);
    match object {
        Object::Pod(pod) => pod::pod(&mut problems, pod),
        Object::Deployment(deployment) => workload::deployment(&mut problems, deployment),
        Object::ReplicaSet(set) => workload::replica_set(&mut problems, set),
        Object::ReplicationController(controller) => workload::replication_controller(&mut problems, controller),
        Object::DaemonSet(set) => sets::daemon_set(&mut problems, set),
        Object::StatefulSet(set) => sets::new_stateful_set(&mut problems, set),
        Object::ControllerRevision(revision) => sets::controller_revision(&mut problems, revision),
        Object::PodTemplate(template) => workload::pod_template_object(&mut problems, template),
        Object::Job(job) => job::job(&mut problems, job),
        Object::CronJob(job) => cron_job::cron_job(&mut problems, job),
        Object::Service(service) => service::service(&mut problems, service),
        Object::Node(node) => node::node(&mut problems, node),
        Object::ConfigMap(map) => config::config_map(&mut problems, map),
        Object::Secret(secret) => config::secret(&mut problems, secret),
        Object::Lease(lease) => config::lease(&mut problems, lease),
        Object::Event(event) => event::event(&mut problems, event),
        Object::PriorityClass(class) => config::priority_class(&mut problems, class),
        Object::RuntimeClass(class) => runtime_class::runtime_class(&mut problems, class),
        Object::Role(role) => rbac::role(&mut problems, role),
        Object::ClusterRole(role) => rbac::cluster_role(&mut problems, role),
        Object::RoleBinding(binding) => rbac::role_binding(&mut problems, binding),
        Object::ClusterRoleBinding(binding) => rbac::cluster_role_binding(&mut problems, binding),
        Object::PersistentVolume(volume) => storage::volume(&mut problems, volume),
        Object::PersistentVolumeClaim(claim) => storage::claim(&mut problems, claim),
        Object::StorageClass(class) => storage::class(&mut problems, class),
        Object::VolumeAttachment(attachment) => csi::attachment(&mut problems, attachment),
        Object::CSIDriver(driver) => csi::driver(&mut problems, driver),
        Object::CSINode(node) => csi::node(&mut problems, node),
        Object::CSIStorageCapacity(capacity) => csi::capacity(&mut problems, capacity),
        Object::ResourceClaim(_) | Object::ResourceClaimTemplate(_) => no_devices(&mut problems),
        Object::Endpoints(there) => endpoints::endpoints(&mut problems, there),
        Object::EndpointSlice(slice) => endpoints::endpoint_slice(&mut problems, slice),
        Object::IPAddress(address) => endpoints::ip_address(&mut problems, address),
        Object::ServiceCIDR(range) => endpoints::service_cidr(&mut problems, range),
        Object::Ingress(there) => ingress::new_ingress(&mut problems, there),
        Object::IngressClass(class) => ingress::ingress_class(&mut problems, class),
        Object::NetworkPolicy(policy) => network_policy::network_policy(&mut problems, policy),
        Object::PodDisruptionBudget(there) => budget::budget(&mut problems, there),
        Object::HorizontalPodAutoscaler(hpa) => autoscaling::autoscaler(&mut problems, hpa),
        Object::Namespace(there) => namespace::namespace(&mut problems, there),
        Object::ResourceQuota(quota) => resource_quota::resource_quota(&mut problems, quota),
        Object::LimitRange(range) => limit_range::limit_range(&mut problems, range),
        Object::ValidatingAdmissionPolicy(there) => admission_policy::policy(&mut problems, there),
        Object::ValidatingAdmissionPolicyBinding(there) => admission_policy::binding(&mut problems, there),
        Object::MutatingAdmissionPolicy(there) => admission_policy::mutating::policy(&mut problems, there),
        Object::MutatingAdmissionPolicyBinding(there) => admission_policy::mutating::binding(&mut problems, there),
        Object::MutatingWebhookConfiguration(of) => webhooks::mutating(&mut problems, of),
        Object::ValidatingWebhookConfiguration(of) => webhooks::validating(&mut problems, of),
        Object::CustomResourceDefinition(defined) => definition::validate(&mut problems, defined),
        Object::Custom(object) => {
            if let Some(version) = custom {
                version.validate(&mut problems, object, None);
            }
        }
        Object::ServiceAccount(_) => {}
        // What is never kept is looked at by whoever answers it: [`review`].
        Object::Binding(_) | Object::ComponentStatus(_) | Object::SelfSubjectReview(_) | Object::TokenReview(_) => {}
        Object::LocalSubjectAccessReview(_) | Object::SelfSubjectAccessReview(_) => {}
        Object::SelfSubjectRulesReview(_) | Object::SubjectAccessReview(_) => {}
    }
    problems.0
}

/// Devices are not handed out here: no driver tells of any. The kinds are served so that they can be listed, and so that a
/// Namespace is emptied of them.
fn no_devices(problems: &mut Problems) {
    problems.forbidden(&field::Path::new("spec").child("devices"), "this cluster has no devices to claim");
}

/// What is wrong with a new object that was written in this version of its kind: `events.k8s.io` asks more than `v1`.
pub fn validate_create_in(version: Kind, object: &Object, custom: Option<&Version>) -> Vec<Cause> {
    let (Object::Event(event), Kind::Custom(_)) = (object, version) else { return validate_create(object, custom) };
    let mut problems = Problems::default();
    metadata::validate_create(&mut problems, object);
    event::strict_event(&mut problems, event);
    problems.0
}

/// The same of a change.
pub fn validate_update_in(version: Kind, new: &Object, old: &Object, custom: Option<&Version>) -> Vec<Cause> {
    let (Object::Event(event), Kind::Custom(_)) = (new, version) else { return validate_update(new, old, custom) };
    let mut problems = Problems::default();
    metadata::validate_update(&mut problems, new, old);
    event::strict_event_update(&mut problems, event, before(old));
    problems.0
}

/// What is wrong with a change.
pub fn validate_update(new: &Object, old: &Object, custom: Option<&Version>) -> Vec<Cause> {
    let mut problems = Problems::default();
    metadata::validate_update(&mut problems, new, old);
    update(&mut problems, new, old, custom);
    problems.0
}

fn update(problems: &mut Problems, new: &Object, old: &Object, custom: Option<&Version>) {
    match new {
        Object::Pod(new) => pod_update::pod(problems, new, before(old)),
        Object::Deployment(new) => workload::deployment_update(problems, new, before(old)),
        Object::ReplicaSet(new) => workload::replica_set_update(problems, new, before(old)),
        Object::ReplicationController(new) => workload::replication_controller_update(problems, new, before(old)),
        Object::DaemonSet(new) => sets::daemon_set_update(problems, new, before(old)),
        Object::StatefulSet(new) => sets::stateful_set_update(problems, new, before(old)),
        Object::ControllerRevision(new) => sets::controller_revision_update(problems, new, before(old)),
        Object::PodTemplate(new) => workload::pod_template_object(problems, new),
        Object::CSIStorageCapacity(new) => csi::capacity_update(problems, new, before(old)),
        Object::Job(new) => job::job_update(problems, new, before(old)),
        Object::CronJob(new) => cron_job::cron_job_update(problems, new, before(old)),
        Object::Service(new) => service::service_update(problems, new, before(old)),
        Object::Node(new) => node::node_update(problems, new, before(old)),
        Object::ConfigMap(new) => config::config_map_update(problems, new, before(old)),
        Object::Secret(new) => config::secret_update(problems, new, before(old)),
        Object::Lease(new) => config::lease(problems, new),
        Object::Event(new) => event::event(problems, new),
        Object::PriorityClass(new) => config::priority_class_update(problems, new, before(old)),
        Object::RuntimeClass(new) => runtime_class::runtime_class_update(problems, new, before(old)),
        Object::Role(new) => rbac::role(problems, new),
        Object::ClusterRole(new) => rbac::cluster_role(problems, new),
        Object::RoleBinding(new) => rbac::role_binding_update(problems, new, before(old)),
        Object::ClusterRoleBinding(new) => rbac::cluster_role_binding_update(problems, new, before(old)),
        Object::Endpoints(new) => endpoints::endpoints_update(problems, new, before(old)),
        Object::EndpointSlice(new) => endpoints::endpoint_slice_update(problems, new, before(old)),
        Object::IPAddress(new) => endpoints::ip_address_update(problems, new, before(old)),
        Object::ServiceCIDR(new) => endpoints::service_cidr_update(problems, new, before(old)),
        Object::Ingress(new) => ingress::ingress(problems, new),
        Object::IngressClass(new) => ingress::ingress_class_update(problems, new, before(old)),
        Object::NetworkPolicy(new) => network_policy::network_policy(problems, new),
        Object::PodDisruptionBudget(new) => budget::budget(problems, new),
        Object::HorizontalPodAutoscaler(new) => autoscaling::autoscaler_update(problems, new, before(old)),
        Object::PersistentVolume(new) => storage::volume_update(problems, new, before(old)),
        Object::PersistentVolumeClaim(new) => storage::claim_update(problems, new, before(old)),
        Object::StorageClass(new) => storage::class_update(problems, new, before(old)),
        Object::VolumeAttachment(new) => csi::attachment_update(problems, new, before(old)),
        Object::CSIDriver(new) => csi::driver_update(problems, new, before(old)),
        Object::CSINode(new) => csi::node_update(problems, new, before(old)),
        Object::ResourceQuota(new) => resource_quota::resource_quota_update(problems, new, before(old)),
        Object::LimitRange(new) => limit_range::limit_range(problems, new),
        Object::ValidatingAdmissionPolicy(new) => admission_policy::policy(problems, new),
        Object::ValidatingAdmissionPolicyBinding(new) => admission_policy::binding(problems, new),
        Object::MutatingAdmissionPolicy(new) => admission_policy::mutating::policy(problems, new),
        Object::MutatingAdmissionPolicyBinding(new) => admission_policy::mutating::binding(problems, new),
        Object::MutatingWebhookConfiguration(new) => webhooks::mutating(problems, new),
        Object::ValidatingWebhookConfiguration(new) => webhooks::validating(problems, new),
        Object::CustomResourceDefinition(new) => definition::validate_update(problems, new, before(old)),
        Object::Custom(new) => {
            if let (Some(version), Object::Custom(old)) = (custom, old) {
                version.validate(problems, new, Some(old));
            }
        }
        // Of these the metadata is all that is looked at.
        Object::Namespace(_) | Object::ServiceAccount(_) => {}
        // There are none: see [`no_devices`].
        Object::ResourceClaim(_) | Object::ResourceClaimTemplate(_) => {}
        // What is never kept is never updated.
        Object::Binding(_) | Object::ComponentStatus(_) | Object::SelfSubjectReview(_) | Object::TokenReview(_) => {}
        Object::LocalSubjectAccessReview(_) | Object::SelfSubjectAccessReview(_) => {}
        Object::SelfSubjectRulesReview(_) | Object::SubjectAccessReview(_) => {}
    }
}

/// The stored version of an object, typed: an update is of one kind throughout.
fn before<T: Resource>(old: &Object) -> &T {
    T::from_object(old).expect("an update is of an object of the same kind")
}

/// What is wrong with a change of the status.
pub fn validate_status_update(new: &Object, old: &Object, custom: Option<&Version>) -> Vec<Cause> {
    let mut problems = Problems::default();
    metadata::validate_update(&mut problems, new, old);
    match (new, old) {
        (Object::Pod(new), Object::Pod(old)) => pod_update::pod_status(&mut problems, new, old),
        (Object::Deployment(new), Object::Deployment(old)) => workload::deployment_status(&mut problems, new, old),
        (Object::ReplicaSet(new), Object::ReplicaSet(_)) => workload::replica_set_status(&mut problems, new),
        (Object::ReplicationController(new), Object::ReplicationController(_)) => {
            workload::replication_controller_status(&mut problems, new);
        }
        (Object::StatefulSet(new), Object::StatefulSet(old)) => workload::stateful_set_status(&mut problems, new, old),
        (Object::Node(new), Object::Node(old)) => node::node_status(&mut problems, new, old),
        (Object::Namespace(new), Object::Namespace(_)) => namespace::namespace_status(&mut problems, new),
        (Object::ResourceQuota(new), _) => resource_quota::resource_quota_status(&mut problems, new),
        (Object::PodDisruptionBudget(new), _) => budget::budget_status(&mut problems, new),
        (Object::HorizontalPodAutoscaler(new), _) => autoscaling::autoscaler_status(&mut problems, new),
        (Object::DaemonSet(new), Object::DaemonSet(old)) => workload::daemon_set_status(&mut problems, new, old),
        (Object::Ingress(new), Object::Ingress(old)) => ingress::ingress_status(&mut problems, new, old),
        (Object::VolumeAttachment(new), Object::VolumeAttachment(old)) => {
            csi::attachment_update(&mut problems, new, old);
        }
        (Object::Custom(new), Object::Custom(old)) => {
            if let Some(version) = custom {
                version.validate_status(&mut problems, new, Some(old));
            }
        }
        // Other statuses are taken as they come.
        _ => {}
    }
    problems.0
}

/// What is wrong with a change of a Pod's ephemeral containers.
pub fn validate_ephemeral_containers(new: &Object, old: &Object) -> Vec<Cause> {
    let mut problems = Problems::default();
    metadata::validate_update(&mut problems, new, old);
    if let (Object::Pod(new), Object::Pod(old)) = (new, old) {
        ephemeral::update(&mut problems, new, old);
    }
    problems.0
}

/// What is wrong with other sizes of a Pod's containers.
pub fn validate_resize(new: &Object, old: &Object) -> Vec<Cause> {
    let mut problems = Problems::default();
    metadata::validate_update(&mut problems, new, old);
    if let (Object::Pod(new), Object::Pod(old)) = (new, old) {
        resize::update(&mut problems, new, old);
    }
    problems.0
}

/// What is wrong with a change through `finalize`.
pub fn validate_finalize(new: &Object, old: &Object) -> Vec<Cause> {
    let mut problems = Problems::default();
    metadata::validate_update(&mut problems, new, old);
    if let Object::Namespace(new) = new {
        namespace::finalized(&mut problems, new);
    }
    problems.0
}
