//! SelfSubjectAccessReviews: only asked, never kept.

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;

use crate::row::{Facts, Row};

/// What the server knows of SelfSubjectAccessReviews.
pub const ROW: Row<SelfSubjectAccessReview> = Row::new(Facts::new("/registry/selfsubjectaccessreviews/", 3));
