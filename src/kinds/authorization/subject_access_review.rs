//! SubjectAccessReviews: only asked, never kept.

use k8s_openapi::api::authorization::v1::SubjectAccessReview;

use crate::row::{Facts, Row};

/// What the server knows of SubjectAccessReviews.
pub const ROW: Row<SubjectAccessReview> = Row::new(Facts::new("/registry/subjectaccessreviews/", 3));
