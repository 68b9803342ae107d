//! Describe pages. Mirrors `k8s.io/kubectl/pkg/describe/describe.go`: lines of `Name:<tab>value`, lined up at the end.

mod addresses;
mod any;
mod autoscaler;
mod containers;
mod ingress;
mod network_policy;
mod node;
mod page;
mod pod;
mod policy;
mod rbac;
mod service;
mod sets;
mod simple;
mod storage;
mod volumes;
mod workloads;

pub use node::taint_text;
pub use page::{Related, event_age, toleration_text};
pub(crate) use workloads::template_of;

use jiff::Timestamp;
use serde_json::Value;

use super::tabs;
use object::Kind;

use page::Page;

/// The page about `object`.
pub fn describe(kind: Kind, object: &Value, related: &Related, now: Timestamp) -> String {
    let mut page = Page { text: String::new(), now };
    (row(kind).map_or(ANY, |row| row.page))(&mut page, object, related);
    if let Some(events) = related.events.as_ref().filter(|_| has_events(kind)) {
        page.events(events);
    }
    tabs::page(&page.text)
}

/// Whether the page about a kind ends with its Events; that of a Namespace ends with its quotas.
pub fn has_events(kind: Kind) -> bool {
    row(kind).is_none_or(|row| row.events)
}

/// How a kind is described.
struct Row {
    kind: Kind,
    page: Describe,
    /// Whether the page ends with the object's Events.
    events: bool,
}

/// Writes the page about an object.
type Describe = fn(&mut Page, &Value, &Related);

/// The page about an object of a kind without a row.
const ANY: Describe = |page, object, _| any::describe(page, object);

fn row(kind: Kind) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.kind == kind)
}

const fn with_events(kind: Kind, page: Describe) -> Row {
    Row { kind, page, events: true }
}

const fn without_events(kind: Kind, page: Describe) -> Row {
    Row { kind, page, events: false }
}

/// The kinds that have pages of their own.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    without_events(Kind::Namespace, |page, object, related| {
        simple::describe_namespace(page, object);
        policy::of_namespace(page, &related.quotas, &related.limit_ranges);
    }),
    with_events(Kind::Node, node::describe),
    with_events(Kind::Pod, |page, object, _| pod::describe(page, object)),
    with_events(Kind::Service, |page, object, related| service::describe_service(page, object, &related.slices)),
    with_events(Kind::ConfigMap, |page, object, _| simple::describe_config_map(page, object)),
    without_events(Kind::Secret, |page, object, _| simple::describe_secret(page, object)),
    with_events(Kind::ServiceAccount, |page, object, _| simple::describe_service_account(page, object)),
    with_events(Kind::Deployment, |page, object, related| workloads::describe_deployment(page, object, &related.replica_sets)),
    with_events(Kind::ReplicaSet, |page, object, related| workloads::describe_replica_set(page, object, &related.pods)),
    with_events(Kind::PriorityClass, |page, object, _| simple::describe_priority_class(page, object)),
    without_events(Kind::Role, |page, object, _| rbac::describe_role(page, object)),
    without_events(Kind::RoleBinding, |page, object, _| rbac::describe_binding(page, object)),
    without_events(Kind::ClusterRole, |page, object, _| rbac::describe_role(page, object)),
    without_events(Kind::ClusterRoleBinding, |page, object, _| rbac::describe_binding(page, object)),
    with_events(Kind::PersistentVolume, |page, object, _| storage::describe_volume(page, object)),
    with_events(Kind::PersistentVolumeClaim, |page, object, related| storage::describe_claim(page, object, &related.pods)),
    with_events(Kind::StorageClass, |page, object, _| storage::describe_class(page, object)),
    with_events(Kind::CSINode, |page, object, _| storage::describe_driver_node(page, object)),
    with_events(Kind::Endpoints, |page, object, _| service::describe_endpoints(page, object)),
    with_events(Kind::EndpointSlice, |page, object, _| service::describe_slice(page, object)),
    with_events(Kind::IPAddress, |page, object, _| addresses::describe_address(page, object)),
    with_events(Kind::ServiceCIDR, |page, object, _| addresses::describe_range(page, object)),
    with_events(Kind::ReplicationController, |page, object, related| workloads::describe_replica_set(page, object, &related.pods)),
    with_events(Kind::DaemonSet, |page, object, related| sets::describe_daemon_set(page, object, &related.pods)),
    with_events(Kind::StatefulSet, |page, object, related| sets::describe_stateful_set(page, object, &related.pods)),
    with_events(Kind::Job, |page, object, _| sets::describe_job(page, object)),
    with_events(Kind::CronJob, |page, object, _| sets::describe_cron_job(page, object)),
    with_events(Kind::Ingress, |page, object, related| ingress::describe(page, object, &related.backends)),
    with_events(Kind::IngressClass, |page, object, _| ingress::describe_class(page, object)),
    without_events(Kind::NetworkPolicy, |page, object, _| network_policy::describe(page, object)),
    without_events(Kind::ResourceQuota, |page, object, _| policy::describe_quota(page, object)),
    without_events(Kind::LimitRange, |page, object, _| policy::describe_limit_range(page, object)),
    with_events(Kind::PodDisruptionBudget, |page, object, _| simple::describe_budget(page, object)),
    with_events(Kind::HorizontalPodAutoscaler, |page, object, _| autoscaler::describe(page, object)),
];

/// A Pod template alone, as `rollout history --revision` shows it: with the tabs as they are, for nothing aligns them
/// there. Mirrors `printTemplate`.
pub fn template_page(template: &Value) -> String {
    let mut page = Page { text: String::new(), now: Timestamp::UNIX_EPOCH };
    workloads::describe_template(&mut page, template);
    page.text
}
