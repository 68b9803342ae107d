//! ServiceAccounts.

use k8s_openapi::api::core::v1::ServiceAccount;

use crate::row::{Facts, Row};

/// What the server knows of ServiceAccounts.
pub const ROW: Row<ServiceAccount> =
    Row::new(Facts { returns_deleted: true, ..Facts::new("/registry/serviceaccounts/", 3) });
