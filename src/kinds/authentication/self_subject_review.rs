//! SelfSubjectReviews: only asked, never kept.

use k8s_openapi::api::authentication::v1::SelfSubjectReview;

use crate::row::{Facts, Row};

/// What the server knows of SelfSubjectReviews.
pub const ROW: Row<SelfSubjectReview> = Row::new(Facts::new("/registry/selfsubjectreviews/", 3));
