//! Defaulting: what the sender left out, by fixed rules that do not depend on the cluster; and who manages what was sent.

use crate::{ApiServer, Handling};
use object::Object;

use super::write::{Create, Update, Write};

impl ApiServer {
    /// Fills in what the sender left out, and notes who manages what, before anything else changes the object.
    pub(super) fn set_defaults(&mut self, handling: &mut Handling, write: &mut Write) {
        match write {
            Write::Create(Create { new, written, came, .. }) => {
                *came = self.plugins.as_it_came(handling.request, new);
                handling.set_defaults(new);
                handling.stage("defaulting", String::new);
                if written.is_none() {
                    *written = Some(self.written_by_create(handling, new));
                }
            }
            Write::Update(Update { old, new, written, in_part }) => {
                if !*in_part && !shares_spec(new, old) {
                    handling.set_defaults(new);
                }
                if written.is_none() {
                    *written = Some(self.written_by_update(handling, old, new));
                }
            }
            Write::Delete(_) => {}
        }
    }
}

/// Whether the spec is that of the stored version, in which nothing is left to default: looking for it would copy it.
fn shares_spec(new: &Object, old: &Object) -> bool {
    match (new, old) {
        (Object::Pod(new), Object::Pod(old)) => match (&new.spec, &old.spec) {
            (Some(new), Some(old)) => new.same(old),
            _ => false,
        },
        _ => false,
    }
}
