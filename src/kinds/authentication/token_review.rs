//! TokenReviews: only asked, never kept.

use k8s_openapi::api::authentication::v1::TokenReview;

use crate::row::{Facts, Row};

/// What the server knows of TokenReviews.
pub const ROW: Row<TokenReview> = Row::new(Facts::new("/registry/tokenreviews/", 3));
