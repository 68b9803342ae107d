//! SelfSubjectRulesReviews: only asked, never kept.

use k8s_openapi::api::authorization::v1::SelfSubjectRulesReview;

use crate::row::{Facts, Row};

/// What the server knows of SelfSubjectRulesReviews.
pub const ROW: Row<SelfSubjectRulesReview> = Row::new(Facts::new("/registry/selfsubjectrulesreviews/", 3));
