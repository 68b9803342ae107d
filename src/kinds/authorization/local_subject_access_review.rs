//! LocalSubjectAccessReviews: only asked, never kept.

use k8s_openapi::api::authorization::v1::LocalSubjectAccessReview;

use crate::row::{Facts, Row};

/// What the server knows of LocalSubjectAccessReviews.
pub const ROW: Row<LocalSubjectAccessReview> = Row::new(Facts::new("/registry/localsubjectaccessreviews/", 3));
