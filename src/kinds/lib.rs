//! What the API server knows of each kind: a folder for an API group, a file for a kind, a row of functions in it.
//!
//! [`mod@row`] says what there is to know. [`TABLE`] has the rows, in the order of [`object::kinds`]; that table has the
//! kinds' names. Adding a kind touches its file and its row in either table. Mirrors `pkg/apis` and `pkg/registry`, which keep
//! it so.
//!
//! - [`defaults`], [`strategy`], [`validation`], [`warnings`], [`printers`], [`registry`]: for a caller that holds an object
//!   of any kind; and what several kinds have in common.
//! - [`custom`]: kinds that users define, of which less is known.
//!
//! Must hold:
//! - All of it is functions of what they are handed. Nothing here knows a request, the store, or another object. Kept by
//!   `the_picture_of_the_crates_is_as_they_are`.

use object::Kind;

#[macro_use]
pub mod printers;
pub mod defaults;
pub mod pod_template;
pub mod registry;
pub mod row;
pub mod strategy;
pub mod validation;
pub mod warnings;

pub mod admissionregistration;
pub mod apiextensions;
pub mod apiregistration;
pub mod apps;
pub mod authentication;
pub mod authorization;
pub mod autoscaling;
pub mod batch;
pub mod certificates;
pub mod coordination;
pub mod core;
pub mod custom;
pub mod discovery;
pub mod flowcontrol;
pub mod networking;
pub mod node;
pub mod policy;
pub mod rbac;
pub mod resource;
pub mod scheduling;
pub mod storage;

use row::{Facts, Known};

/// The rows of all built-in kinds, in the order of [`Kind::built_in`].
pub static TABLE: &[&dyn Known] = &[
    &core::namespace::ROW,
    &core::node::ROW,
    &core::pod::ROW,
    &core::service::ROW,
    &core::config_map::ROW,
    &core::secret::ROW,
    &core::service_account::ROW,
    &core::event::ROW,
    &apps::deployment::ROW,
    &apps::replica_set::ROW,
    &coordination::lease::ROW,
    &scheduling::priority_class::ROW,
    &rbac::role::ROW,
    &rbac::role_binding::ROW,
    &rbac::cluster_role::ROW,
    &rbac::cluster_role_binding::ROW,
    &core::persistent_volume::ROW,
    &core::persistent_volume_claim::ROW,
    &storage::storage_class::ROW,
    &storage::volume_attachment::ROW,
    &storage::csi_driver::ROW,
    &storage::csi_node::ROW,
    &core::endpoints::ROW,
    &discovery::endpoint_slice::ROW,
    &networking::ip_address::ROW,
    &networking::service_cidr::ROW,
    &core::replication_controller::ROW,
    &apps::daemon_set::ROW,
    &apps::stateful_set::ROW,
    &apps::controller_revision::ROW,
    &batch::job::ROW,
    &batch::cron_job::ROW,
    &networking::ingress::ROW,
    &networking::ingress_class::ROW,
    &networking::network_policy::ROW,
    &core::resource_quota::ROW,
    &core::limit_range::ROW,
    &policy::pod_disruption_budget::ROW,
    &autoscaling::horizontal_pod_autoscaler::ROW,
    &admissionregistration::validating_admission_policy::ROW,
    &admissionregistration::validating_admission_policy_binding::ROW,
    &admissionregistration::mutating_admission_policy::ROW,
    &admissionregistration::mutating_admission_policy_binding::ROW,
    &admissionregistration::mutating_webhook_configuration::ROW,
    &admissionregistration::validating_webhook_configuration::ROW,
    &apiextensions::custom_resource_definition::ROW,
    &node::runtime_class::ROW,
    &core::pod_template::ROW,
    &storage::csi_storage_capacity::ROW,
    &resource::resource_claim::ROW,
    &resource::resource_claim_template::ROW,
    &resource::resource_slice::ROW,
    &resource::device_class::ROW,
    &storage::volume_attributes_class::ROW,
    &certificates::certificate_signing_request::ROW,
    &flowcontrol::flow_schema::ROW,
    &flowcontrol::priority_level_configuration::ROW,
    &apiregistration::api_service::ROW,
    &core::binding::ROW,
    &core::component_status::ROW,
    &authentication::self_subject_review::ROW,
    &authentication::token_review::ROW,
    &authorization::local_subject_access_review::ROW,
    &authorization::self_subject_access_review::ROW,
    &authorization::self_subject_rules_review::ROW,
    &authorization::subject_access_review::ROW,
];

/// The row of a built-in kind; none of a kind that a user has defined.
pub fn row(kind: Kind) -> Option<&'static dyn Known> {
    TABLE.get(kind.index()?).copied()
}

/// What can be told of a kind without an object of it.
pub fn facts(kind: Kind) -> &'static Facts {
    row(kind).map_or(&custom::FACTS, |row| row.facts())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_row() {
        let rows: Vec<Kind> = TABLE.iter().map(|row| row.kind()).collect();
        assert_eq!(rows, Kind::built_in().collect::<Vec<_>>());
        assert!(Kind::built_in().all(|kind| row(kind).is_some_and(|row| row.kind() == kind)));
    }

    #[test]
    fn no_two_kinds_share_a_place_in_etcd() {
        let mut places: Vec<&str> = TABLE.iter().map(|row| row.facts().etcd).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), TABLE.len());
    }
}
