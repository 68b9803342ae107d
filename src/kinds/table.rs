//! The table of kinds: the row of each.

use crate::row::{Facts, Known};
use object::Kind;

/// The rows of all built-in kinds, in the order of [`Kind::built_in`].
pub static TABLE: &[&dyn Known] = &[
    &crate::core::namespace::ROW,
    &crate::core::node::ROW,
    &crate::core::pod::ROW,
    &crate::core::service::ROW,
    &crate::core::config_map::ROW,
    &crate::core::secret::ROW,
    &crate::core::service_account::ROW,
    &crate::core::event::ROW,
    &crate::apps::deployment::ROW,
    &crate::apps::replica_set::ROW,
    &crate::coordination::lease::ROW,
    &crate::scheduling::priority_class::ROW,
    &crate::rbac::role::ROW,
    &crate::rbac::role_binding::ROW,
    &crate::rbac::cluster_role::ROW,
    &crate::rbac::cluster_role_binding::ROW,
    &crate::core::persistent_volume::ROW,
    &crate::core::persistent_volume_claim::ROW,
    &crate::storage::storage_class::ROW,
    &crate::storage::volume_attachment::ROW,
    &crate::storage::csi_driver::ROW,
    &crate::storage::csi_node::ROW,
    &crate::core::endpoints::ROW,
    &crate::discovery::endpoint_slice::ROW,
    &crate::networking::ip_address::ROW,
    &crate::networking::service_cidr::ROW,
    &crate::core::replication_controller::ROW,
    &crate::apps::daemon_set::ROW,
    &crate::apps::stateful_set::ROW,
    &crate::apps::controller_revision::ROW,
    &crate::batch::job::ROW,
    &crate::batch::cron_job::ROW,
    &crate::networking::ingress::ROW,
    &crate::networking::ingress_class::ROW,
    &crate::networking::network_policy::ROW,
    &crate::core::resource_quota::ROW,
    &crate::core::limit_range::ROW,
    &crate::policy::pod_disruption_budget::ROW,
    &crate::autoscaling::horizontal_pod_autoscaler::ROW,
    &crate::admissionregistration::validating_admission_policy::ROW,
    &crate::admissionregistration::validating_admission_policy_binding::ROW,
    &crate::admissionregistration::mutating_admission_policy::ROW,
    &crate::admissionregistration::mutating_admission_policy_binding::ROW,
    &crate::admissionregistration::mutating_webhook_configuration::ROW,
    &crate::admissionregistration::validating_webhook_configuration::ROW,
    &crate::apiextensions::custom_resource_definition::ROW,
    &crate::node::runtime_class::ROW,
    &crate::core::pod_template::ROW,
    &crate::storage::csi_storage_capacity::ROW,
    &crate::resource::resource_claim::ROW,
    &crate::resource::resource_claim_template::ROW,
    &crate::resource::resource_slice::ROW,
    &crate::resource::device_class::ROW,
    &crate::storage::volume_attributes_class::ROW,
    &crate::certificates::certificate_signing_request::ROW,
    &crate::flowcontrol::flow_schema::ROW,
    &crate::flowcontrol::priority_level_configuration::ROW,
    &crate::apiregistration::api_service::ROW,
    &crate::core::binding::ROW,
    &crate::core::component_status::ROW,
    &crate::authentication::self_subject_review::ROW,
    &crate::authentication::token_review::ROW,
    &crate::authorization::local_subject_access_review::ROW,
    &crate::authorization::self_subject_access_review::ROW,
    &crate::authorization::self_subject_rules_review::ROW,
    &crate::authorization::subject_access_review::ROW,
];

/// The row of a built-in kind; none of a kind that a user has defined.
pub fn row(kind: Kind) -> Option<&'static dyn Known> {
    TABLE.get(kind.index()?).copied()
}

/// What can be told of a kind without an object of it.
pub fn facts(kind: Kind) -> &'static Facts {
    row(kind).map_or(&crate::custom::FACTS, |row| row.facts())
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
