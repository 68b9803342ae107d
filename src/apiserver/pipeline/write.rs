//! One write on its way through the row of stages, and what it comes to.

use std::sync::Arc;

use crate::managed_fields::Written;
use object::{Object, Pod};
use wire::{DeleteOptions, Response};

use super::deletion::Deletion;

/// A write that a request wants. What is to be stored changes from stage to stage.
#[derive(Clone)]
pub enum Write {
    /// A new object.
    Create(Create),
    /// A stored object is to be another.
    Update(Update),
    /// A stored object is to go.
    Delete(Delete),
}

/// A new object.
#[derive(Clone)]
pub struct Create {
    /// The object.
    pub new: Object,
    /// Who manages what of it, as soon as that is known.
    pub written: Option<Written>,
    /// Whether it came with a version, as no new object has.
    pub versioned: bool,
    /// How it came, if a plugin from elsewhere admits it.
    pub came: Option<Arc<Pod>>,
}

/// A change of a stored object.
#[derive(Clone)]
pub struct Update {
    /// What is stored.
    pub old: Object,
    /// What is to be stored.
    pub new: Object,
    /// Who manages what of it, as soon as that is known.
    pub written: Option<Written>,
    /// Whether only a part was sent, and all else is as it was read: then nothing is left to default.
    pub in_part: bool,
}

/// A stored object that is to go.
#[derive(Clone)]
pub struct Delete {
    /// What is stored.
    pub old: Object,
    /// How it is to go.
    pub options: DeleteOptions,
    /// What that means for it, as soon as it is known.
    pub deletion: Option<Deletion>,
}

impl Write {
    /// A change of a stored object that was sent whole.
    pub fn update(old: Object, new: Object, written: Option<Written>) -> Write {
        Write::Update(Update { old, new, written, in_part: false })
    }

    /// A change of a part of a stored object.
    pub fn update_in_part(old: Object, new: Object, written: Option<Written>) -> Write {
        Write::Update(Update { old, new, written, in_part: true })
    }

    /// A stored object is to go.
    pub fn delete(old: Object, options: DeleteOptions) -> Write {
        Write::Delete(Delete { old, options, deletion: None })
    }

    /// What is stored, and what is to be stored.
    pub fn states(&self) -> (Option<&Object>, Option<&Object>) {
        match self {
            Write::Create(Create { new, .. }) => (None, Some(new)),
            Write::Update(Update { old, new, .. }) => (Some(old), Some(new)),
            Write::Delete(Delete { old, .. }) => (Some(old), None),
        }
    }

    /// How often it is tried: a generated name may be taken.
    pub fn attempts(&self) -> usize {
        match self {
            Write::Create(Create { new, .. }) if new.name().is_empty() => NAME_ATTEMPTS,
            _ => 1,
        }
    }
}

/// How often a generated name may collide before the server gives up.
const NAME_ATTEMPTS: usize = 8;

/// What a write has come to.
pub enum Done {
    /// The object is there, and was not before.
    Created(Object),
    /// The object is this now.
    Updated(Object),
    /// The object is to go, and still there.
    Dying(Object),
    /// The object was this when it went.
    Gone(Object),
}

impl Done {
    /// The object as it is now, or was at last.
    pub fn into_object(self) -> Object {
        match self {
            Done::Created(object) | Done::Updated(object) | Done::Dying(object) | Done::Gone(object) => object,
        }
    }

    /// The answer to a client that has written an object.
    pub fn answer(self) -> (u16, Response) {
        let code = if matches!(self, Done::Created(_)) { 201 } else { 200 };
        (code, Response::Object(self.into_object()))
    }
}
