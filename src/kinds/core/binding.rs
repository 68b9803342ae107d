//! Bindings: only sent, never kept.

use k8s_openapi::api::core::v1::Binding;

use crate::row::{Facts, Row};

/// What the server knows of Bindings.
pub const ROW: Row<Binding> = Row::new(Facts::new("/registry/bindings/", 8));
