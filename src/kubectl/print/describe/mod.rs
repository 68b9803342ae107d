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
use crate::object::Kind;

use page::Page;

/// The page about `object`.
pub fn describe(kind: Kind, object: &Value, related: &Related, now: Timestamp) -> String {
    let mut page = Page { text: String::new(), now };
    match kind {
        Kind::Pod => pod::describe(&mut page, object),
        Kind::Deployment => workloads::describe_deployment(&mut page, object, &related.replica_sets),
        Kind::ReplicaSet | Kind::ReplicationController => {
            workloads::describe_replica_set(&mut page, object, &related.pods)
        }
        Kind::DaemonSet => sets::describe_daemon_set(&mut page, object, &related.pods),
        Kind::StatefulSet => sets::describe_stateful_set(&mut page, object, &related.pods),
        Kind::Job => sets::describe_job(&mut page, object),
        Kind::CronJob => sets::describe_cron_job(&mut page, object),
        Kind::Node => node::describe(&mut page, object, related),
        Kind::Service => service::describe_service(&mut page, object, &related.slices),
        Kind::Endpoints => service::describe_endpoints(&mut page, object),
        Kind::EndpointSlice => service::describe_slice(&mut page, object),
        Kind::Ingress => ingress::describe(&mut page, object, &related.backends),
        Kind::IngressClass => ingress::describe_class(&mut page, object),
        Kind::IPAddress => addresses::describe_address(&mut page, object),
        Kind::ServiceCIDR => addresses::describe_range(&mut page, object),
        Kind::NetworkPolicy => network_policy::describe(&mut page, object),
        Kind::ResourceQuota => policy::describe_quota(&mut page, object),
        Kind::LimitRange => policy::describe_limit_range(&mut page, object),
        Kind::PodDisruptionBudget => simple::describe_budget(&mut page, object),
        Kind::HorizontalPodAutoscaler => autoscaler::describe(&mut page, object),
        Kind::Namespace => {
            simple::describe_namespace(&mut page, object);
            policy::of_namespace(&mut page, &related.quotas, &related.limit_ranges);
        }
        Kind::ConfigMap => simple::describe_config_map(&mut page, object),
        Kind::Secret => simple::describe_secret(&mut page, object),
        Kind::ServiceAccount => simple::describe_service_account(&mut page, object),
        Kind::PersistentVolume => storage::describe_volume(&mut page, object),
        Kind::PersistentVolumeClaim => storage::describe_claim(&mut page, object, &related.pods),
        Kind::StorageClass => storage::describe_class(&mut page, object),
        Kind::CSINode => storage::describe_driver_node(&mut page, object),
        Kind::PriorityClass => simple::describe_priority_class(&mut page, object),
        Kind::Role | Kind::ClusterRole => rbac::describe_role(&mut page, object),
        Kind::RoleBinding | Kind::ClusterRoleBinding => rbac::describe_binding(&mut page, object),
        _ => any::describe(&mut page, object),
    }
    if let Some(events) = related.events.as_ref().filter(|_| has_events(kind)) {
        page.events(events);
    }
    tabs::page(&page.text)
}

/// Whether the page about a kind ends with its Events; that of a Namespace ends with its quotas.
pub fn has_events(kind: Kind) -> bool {
    #[rustfmt::skip]
    let without = [
        Kind::Namespace, Kind::Secret, Kind::NetworkPolicy, Kind::ResourceQuota, Kind::LimitRange, Kind::Role, Kind::ClusterRole,
        Kind::RoleBinding, Kind::ClusterRoleBinding,
    ];
    !without.contains(&kind)
}

/// A Pod template alone, as `rollout history --revision` shows it: with the tabs as they are, for nothing aligns them
/// there. Mirrors `printTemplate`.
pub fn template_page(template: &Value) -> String {
    let mut page = Page { text: String::new(), now: Timestamp::UNIX_EPOCH };
    workloads::describe_template(&mut page, template);
    page.text
}
