//! Fan-out: a change is offered to the watches of its kind, and each that is told of it is told in the version of the kind that
//! it speaks, with or without who manages which fields.

use object::{Kind, Object};
use wire::{WatchEvent, WatchId};

use super::ApiServer;

impl ApiServer {
    /// Offers a change to the watches of its kind, and of every version of it.
    pub(crate) fn tell_watchers(
        &self,
        old: Option<&Object>,
        new: &Object,
        deleted: bool,
        fanout: &mut Vec<(WatchId, WatchEvent)>,
    ) {
        let Kind::Custom(kind) = new.kind() else { return self.watchers.fan_out(old, new, deleted, fanout) };
        for version in self.definitions.told_as(kind) {
            let old = old.map(|old| self.definitions.read(old).into_owned().in_version(version));
            self.watchers.fan_out(old.as_ref(), &new.clone().in_version(version), deleted, fanout);
        }
    }

    /// Which watches are told what when a watch cache hears of a revision; none if the store has forgotten it.
    pub fn told_of(&self, revision: u64) -> Option<Vec<(WatchId, WatchEvent)>> {
        let change = self.store.change_at(revision)?;
        let mut told = Vec::new();
        if let Some((old, last)) = change.seen() {
            self.tell_watchers(old, &last, change.new.is_none(), &mut told);
        }
        self.address(&mut told);
        Some(told)
    }

    /// Makes events such as their watches have asked for them.
    pub(super) fn address(&self, events: &mut [(WatchId, WatchEvent)]) {
        self.show_managers_in_events(events);
        self.tell_in_versions(events);
    }

    /// Events as those watches have asked for them that speak another version than the one that is stored.
    fn tell_in_versions(&self, events: &mut [(WatchId, WatchEvent)]) {
        for (id, event) in events {
            if let (Some(version @ Kind::Custom(_)), Some(object)) = (self.watchers.version(*id), event.object_mut())
                && object.kind() != version
            {
                *object = object.clone().in_version(version);
            }
        }
    }
}
