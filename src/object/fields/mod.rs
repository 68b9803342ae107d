//! Fields and who manages them: what server-side apply is made of.
//!
//! Every object tells in `metadata.managedFields` who set which of its fields. A client that uses PUT, POST or a patch takes
//! what the write changes ([`Managers::update`]). A client that *applies* says all that it wants, and the server does the rest
//! ([`Managers::apply`]): it lays the configuration over the object, takes away what the same manager applied before and
//! now leaves out, unless another manages it too, and refuses to change what another manages.
//!
//! - [`set`]: sets of fields, and `FieldsV1`.
//! - [`schema`]: what is one field, and which items of a list are which.
//! - [`mod@compare`]: which fields differ; which fields there are.
//! - [`mod@merge`]: a configuration over an object; an object without some fields.
//! - [`managers`]: who has which, before and after a write.
//! - [`history`]: the same, worked out only when a client asks.
//!
//! Mirrors `sigs.k8s.io/structured-merge-diff` and `apimachinery/pkg/util/managedfields`.
//!
//! Left out: a schema that changes under a set (`reconcileManagedFieldsWithSchemaChanges`); of a list that has an item twice,
//! the second is lost when a client applies to it.

pub mod compare;
pub mod history;
pub mod managers;
pub mod merge;
pub mod schema;
pub mod set;

pub use history::History;
pub use managers::{Managed, Managers, Operation, Refused, Write, Writer};
pub use schema::{BuiltIn, List, Schema};
pub use set::{Set, Step};

#[cfg(test)]
mod tests;
