//! What plugins see, what they are, and how they refuse. Mirrors `k8s.io/apiserver/pkg/admission/interfaces.go`.

use crate::authorization::Authorizer;
use object::random::Random;
use object::reader::Reader;
use object::{Object, Status};
use wire::Request;

/// What a plugin sees.
pub struct Attributes<'a> {
    /// The request.
    pub request: &'a Request,
    /// What is stored, on update and delete.
    pub old: Option<&'a Object>,
    /// The store.
    pub reader: &'a dyn Reader,
    /// Who may do what, for plugins that ask for more than the URL tells.
    pub authorizer: &'a Authorizer,
    /// For names that plugins make up.
    pub random: &'a mut Random,
}

impl Attributes<'_> {
    /// Whether the request makes a new object, by POST or by a PUT of an absent one.
    pub fn is_create(&self) -> bool {
        self.old.is_none()
    }
}

/// A plugin that may change the object.
pub type Mutate = fn(&mut Attributes, &mut Object) -> Result<(), Status>;
/// A plugin that may only refuse.
pub type Validate = fn(&Attributes, &Object) -> Result<(), Status>;
/// A plugin that only says something, in `Warning` headers.
pub type Warn = fn(&Attributes, &Object) -> Vec<String>;
/// A plugin that may refuse a delete.
pub type ValidateDelete = fn(&Attributes) -> Result<(), Status>;

/// The 403 of a plugin. Names are not generated yet, so a generateName has to do. Mirrors `admission.NewForbidden`.
pub fn forbidden(request: &Request, object: Option<&Object>, why: &str) -> Status {
    let of_object = || {
        let meta = object?.meta();
        [&meta.name, &meta.generate_name].into_iter().flatten().find(|name| !name.is_empty()).map(String::as_str)
    };
    let name = Some(request.name.as_str()).filter(|name| !name.is_empty()).or_else(of_object);
    Status::forbidden(request.kind, name.unwrap_or("Unknown"), why)
}
