//! Whom a request asks to be taken for. Mirrors the headers `Impersonate-…` of `authentication.k8s.io/v1`.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::User;

/// Another user, as the one who asks describes them: `kubectl --as`, or the headers `Impersonate-…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// `Impersonate-User`; empty: nobody is named.
    pub user: String,
    /// `Impersonate-Uid`, empty if it is missing.
    pub uid: String,
    /// `Impersonate-Group`, as often as it stands there.
    pub groups: Vec<String>,
    /// `Impersonate-Extra-…`: values by key.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonation {
    /// Whether more than a name is asked for.
    pub fn is_more_than_a_name(&self) -> bool {
        !(self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty())
    }
}

/// Who was allowed to be impersonated.
#[derive(Clone, Debug)]
pub struct Impersonated {
    /// Whom the request counts as.
    pub user: Rc<User>,
    /// The verb of the constrained mode that allowed it, empty if it was the old one.
    pub constraint: &'static str,
}
