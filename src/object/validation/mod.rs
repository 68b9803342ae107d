//! Validation of values: where in an object something is wrong, and what values of well-known forms look like.
//!
//! - [`field`]: paths and lists of problems.
//! - [`names`]: names, labels, ports, addresses.
//! - [`internal`]: how Go prints what the sentences show.
//!
//! Mirrors `k8s.io/apimachinery/pkg/util/validation`.

pub mod field;
pub mod internal;
pub mod names;
