//! Reading what is stored, for a check that looks at nothing else.

use super::{Kind, Object};

/// Reads stored objects on behalf of a check: an admission plugin, an authorizer, a property.
pub trait Reader {
    /// One object.
    fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Object>;
    /// All of a kind in a namespace, or (empty) in all.
    fn list(&self, kind: Kind, namespace: &str) -> Vec<Object>;
}
