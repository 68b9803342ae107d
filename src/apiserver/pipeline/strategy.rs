//! The kind's strategy: what only the server knows is filled in, and what the sender may not change stays as it is.
//!
//! Mirrors `rest.BeforeCreate` and `rest.BeforeUpdate`, and `NameGenerator` of `k8s.io/apiserver`. What each kind has of its
//! own is in [`crate::strategy`].

use crate::{ApiServer, Handling, strategy};
use object::{Accessor, Object, Status};
use wire::Subresource;

use super::deletion::Deletion;
use super::write::{Create, Delete, Update, Write};

/// `generateName` is cut to this, so that the suffix still fits a DNS label.
const GENERATED_BASE_MAX: usize = 58;

impl ApiServer {
    /// Makes of what is wanted what can be stored.
    pub(super) fn prepare(&mut self, handling: &Handling, write: &mut Write) -> Result<(), Status> {
        match write {
            Write::Create(Create { new, .. }) => {
                self.identify_new(handling, new);
                strategy::prepare_for_create(new, handling.custom.as_deref(), handling.now);
                strategy::note_requester(new, &|| handling.request.user.info());
                self.addresses.allocate(new, None, &mut self.random)
            }
            Write::Update(Update { old, new, .. }) => self.prepare_for_update(handling, old, new),
            Write::Delete(Delete { old, options, deletion }) => {
                *deletion = Some(Deletion::of(old, options, handling.now));
                Ok(())
            }
        }
    }

    /// A uid, the time, and a name if none was given.
    fn identify_new(&mut self, handling: &Handling, new: &mut Object) {
        let meta = new.meta_mut();
        meta.uid = Some(self.random.uid());
        meta.creation_timestamp = Some(handling.now.time());
        if meta.name().is_empty()
            && let Some(base) = meta.generate_name.as_deref().filter(|base| !base.is_empty())
        {
            let base: String = base.chars().take(GENERATED_BASE_MAX).collect();
            meta.name = Some(format!("{base}{}", self.random.suffix()));
        }
    }

    fn prepare_for_update(&mut self, handling: &Handling, old: &Object, new: &mut Object) -> Result<(), Status> {
        strategy::carry_over_metadata(new, old);
        match handling.request.subresource {
            Some(Subresource::Status) => strategy::prepare_for_status_update(new, old, handling.now),
            Some(Subresource::Finalize) => strategy::prepare_for_finalize(new, old),
            Some(Subresource::EphemeralContainers) => strategy::prepare_for_ephemeral_containers(new, old),
            Some(Subresource::Resize) => strategy::prepare_for_resize(new, old),
            Some(Subresource::Approval) => strategy::prepare_for_approval(new, old, handling.now),
            _ => {
                strategy::prepare_for_update(new, old, handling.custom.as_deref());
                self.addresses.allocate(new, Some(old), &mut self.random)?;
            }
        }
        Ok(())
    }
}
