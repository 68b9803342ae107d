//! Admission.

use crate::object::random::Random;
use crate::object::{Kind, Object, Status};

use super::request::{Binding, Request};

/// Reads the store on behalf of a check.
pub trait Reader {
    /// One object.
    fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Object>;
    /// All of a kind in a namespace, or (empty) in all.
    fn list(&self, kind: Kind, namespace: &str) -> Vec<Object>;
}

/// What a plugin sees.
pub struct Attributes<'a> {
    /// The request.
    pub request: &'a Request,
    /// What is stored, on update and delete.
    pub old: Option<&'a Object>,
    /// The store.
    pub reader: &'a dyn Reader,
    /// For names that plugins make up.
    pub random: &'a mut Random,
}

/// A plugin that may change the object.
pub type Mutate = fn(&mut Attributes, &mut Object) -> Result<(), Status>;
/// A plugin that may only refuse.
pub type Validate = fn(&Attributes, &Object) -> Result<(), Status>;
/// A plugin that may refuse a delete.
pub type ValidateDelete = fn(&Attributes) -> Result<(), Status>;

/// Mutating plugins in the server's order.
pub const MUTATING: &[(&str, Mutate)] = &[];
/// Validating plugins in the server's order.
pub const VALIDATING: &[(&str, Validate)] = &[];
/// Plugins that see deletes.
pub const DELETING: &[(&str, ValidateDelete)] = &[];

/// PodTopologyLabels: the node's zone and region go with the binding.
pub fn admit_binding(_: &mut Binding, _: &dyn Reader) {}
