//! The transaction: at last one write to etcd, if nothing has come between; and what follows from it.
//!
//! Mirrors `registry/generic/registry/store.go` and `storage/etcd3/store.go`.

use crate::leases::Expired;
use crate::managed_fields::{self, Written};
use crate::store::{Change, Entry, LeaseId};
use crate::{ApiServer, Handling, registry, strategy};
use object::status::Reason;
use object::{Kind, Object, Status};

use super::deletion::Deletion;
use super::write::{Create, Delete, Done, Update, Write};

/// How many of the newest changes a watch or a list can still go back to. The real server has etcd compacted every
/// five minutes; in virtual time a large cluster writes a million versions in less, and memory is real.
const CHANGES_KEPT: usize = 4096;

/// Whether a write could be stored.
pub(super) enum Committed {
    /// It is.
    Done(Done),
    /// The name of the new object is taken. What is said if no other is found.
    NameTaken(Status),
}

impl ApiServer {
    /// Does what the write has become.
    pub(super) fn commit(&mut self, handling: &mut Handling, write: Write) -> Result<Committed, Status> {
        match write {
            Write::Create(create) => self.store_new(handling, create),
            Write::Update(Update { old, new, written, .. }) => {
                let written = written.unwrap_or(Written::ByNobody);
                self.store_or_finish(handling, &old, new, written).map(Committed::Done)
            }
            Write::Delete(delete) => self.delete_or_mark(handling, delete).map(Committed::Done),
        }
    }

    fn store_new(&mut self, handling: &mut Handling, create: Create) -> Result<Committed, Status> {
        let Create { mut new, written, versioned, .. } = create;
        if versioned {
            // Only the store looks at it, mirrors `ErrResourceVersionSetOnCreate`: what else is wrong is told first.
            const TEXT: &str = "resourceVersion should not be set on objects to be created";
            return Err(Status::new(Reason::Unknown, TEXT));
        }
        self.siblings.share(&mut new);
        let (kind, namespace, name) = (new.kind(), new.namespace().to_owned(), new.name().to_owned());
        let generates = new.meta().generate_name.as_deref().is_some_and(|base| !base.is_empty());
        Ok(match self.put_written(handling, 0, new, written.unwrap_or(Written::ByNobody)) {
            Ok(stored) => Committed::Done(Done::Created(stored)),
            Err(_) => Committed::NameTaken(self.exists((kind, &namespace, &name), generates)),
        })
    }

    /// The name is taken. A client that lets names be made up may ask again, even if this one was said. Mirrors
    /// `CheckGeneratedNameError`.
    fn exists(&self, (kind, namespace, name): (Kind, &str, &str), generates: bool) -> Status {
        let mut status = Status::already_exists(kind, name);
        if generates {
            status.message += ", the server was not able to generate a unique name for the object";
            status.details.get_or_insert_default().retry_after_seconds = 1;
        }
        let there = self.stored(kind, namespace, name);
        if there.is_ok_and(|o| o.meta().deletion_timestamp.is_some()) {
            status.message = format!("object is being deleted: {}", status.message);
        }
        status
    }

    /// Stores the new state, unless nothing changed, or nothing holds a deleted object any more.
    fn store_or_finish(
        &mut self,
        handling: &mut Handling,
        old: &Object,
        mut new: Object,
        written: Written,
    ) -> Result<Done, Status> {
        if new.meta().resource_version != old.meta().resource_version {
            new.meta_mut().resource_version.clone_from(&old.meta().resource_version);
        }
        let other_managers = matches!(&written, Written::Known(managers) if !managers.same(&self.managers_now(old)));
        if new == *old && !other_managers && self.is_stored_so(old) {
            handling.stage("etcd", || "nothing changed: no write".into());
            return Ok(Done::Updated(old.clone()));
        }
        // Mirrors `ShouldDeleteDuringUpdate`.
        let held = new.meta().finalizers.as_ref().is_some_and(|f| !f.is_empty()) || strategy::has_spec_finalizers(&new);
        let graceless = old.meta().deletion_grace_period_seconds.unwrap_or(0) == 0;
        if old.meta().deletion_timestamp.is_some() && graceless && !held {
            // Watches are told of the last version that was stored; the caller is shown what it asked for.
            self.remove(handling, old.clone())?;
            return Ok(Done::Updated(new));
        }
        self.put_written(handling, old.revision(), new, written).map(Done::Updated)
    }

    /// Whether an object that was read is stored just so. One that reads differently since its definition changed, be it only in
    /// another version, is written anew although no client has changed it.
    fn is_stored_so(&self, read: &Object) -> bool {
        let kind = read.kind();
        if !matches!(kind, Kind::Custom(_)) {
            return true;
        }
        let stored = self.store.get(&registry::key(kind, read.namespace(), read.name())).map(|entry| &entry.value);
        stored.is_none_or(|stored| {
            stored.kind() == self.definitions.storage(kind) && stored.clone().in_version(kind) == *read
        })
    }

    /// Removes the object, or marks it as one that is to go.
    fn delete_or_mark(&mut self, handling: &mut Handling, delete: Delete) -> Result<Done, Status> {
        let Delete { old, options, deletion } = delete;
        match deletion.unwrap_or_else(|| Deletion::of(&old, &options, handling.now)) {
            Deletion::Now(last) => {
                let last = self.put_if_other(handling, old, last)?;
                self.remove(handling, last).map(Done::Gone)
            }
            Deletion::Later(dying) => self.put_if_other(handling, old, Some(dying)).map(Done::Dying),
        }
    }

    /// Stores what an object is to become, unless it is so.
    fn put_if_other(&mut self, handling: &mut Handling, old: Object, new: Option<Object>) -> Result<Object, Status> {
        match new.filter(|new| *new != old) {
            Some(new) => self.put(handling, old.revision(), new),
            None => Ok(old),
        }
    }

    /// Stores what the server itself makes of an object: no manager takes that.
    pub(crate) fn put(&mut self, handling: &mut Handling, expected: u64, object: Object) -> Result<Object, Status> {
        self.put_written(handling, expected, object, Written::ByNobody)
    }

    /// Stores `object` if its key is still at `expected`, and tells the watchers.
    pub(crate) fn put_written(
        &mut self,
        handling: &mut Handling,
        expected: u64,
        object: Object,
        written: Written,
    ) -> Result<Object, Status> {
        let (kind, name) = (object.kind(), object.name().to_owned());
        let key = registry::key(kind, object.namespace(), &name);
        let now = handling.now;
        if handling.request.options.dry_run {
            let old = self.store.get(&key);
            if old.map_or(0, |entry| entry.mod_revision) != expected {
                return Err(Status::modified(kind, &name));
            }
            handling.tried =
                Some(managed_fields::after(&self.definitions, &mut self.writers, old, &object, written, now));
            return Ok(object);
        }
        self.claim_addresses(handling, expected, &object)?;
        let object = object.in_version(self.definitions.storage(kind));
        let (definitions, writers) = (&self.definitions, &mut self.writers);
        let history =
            |old: Option<&Entry>, new: &Object| managed_fields::after(definitions, writers, old, new, written, now);
        let (lease, granted) = self.leases.lease_for(&mut self.store, kind, now);
        handling.granted = granted.or(handling.granted);
        let change =
            self.store.put(&key, expected, lease, object, history).map_err(|_| Status::modified(kind, &name))?.clone();
        let new = change.new.as_ref().expect("a put leaves a value").value.clone();
        let old = change.old.as_ref().map(|entry| entry.value.clone());
        self.publish(handling, change, &new, false);
        self.release_addresses(handling, old.as_ref(), Some(&new));
        Ok(new.in_version(kind))
    }

    /// Removes what is stored as `object`, and tells the watchers. Returns the last state, with the revision of the
    /// deletion.
    pub(crate) fn remove(&mut self, handling: &mut Handling, mut object: Object) -> Result<Object, Status> {
        let key = registry::key(object.kind(), object.namespace(), object.name());
        if handling.request.options.dry_run {
            return Ok(object);
        }
        let expected = self.store.get(&key).map_or(0, |entry| entry.mod_revision);
        let change = match self.store.delete(&key, expected) {
            Ok(change) => change.clone(),
            Err(_) => return Err(Status::not_found(object.kind(), object.name())),
        };
        object.meta_mut().resource_version = Some(change.revision.to_string());
        self.publish(handling, change, &object, true);
        self.release_addresses(handling, Some(&object), None);
        Ok(object)
    }

    fn publish(&mut self, handling: &mut Handling, change: Change, new: &Object, deleted: bool) {
        let old = change.old.as_ref().map(|entry| &entry.value);
        self.authorizer.object_changed(new.kind(), old, (!deleted).then_some(new));
        self.addresses.changed(old, (!deleted).then_some(new));
        if !self.several {
            self.tell_watchers(old, new, deleted, &mut handling.fanout);
        }
        if new.kind() == Kind::CustomResourceDefinition {
            self.definitions.changed(old, (!deleted).then_some(new));
        }
        self.policies.changed(old, (!deleted).then_some(new));
        self.webhooks.changed(old, (!deleted).then_some(new));
        self.remotes.changed(old, (!deleted).then_some(new));
        handling.stage("etcd", || format!("{} at revision {}", change.key, change.revision));
        handling.changes.push(change);
        self.store.keep_changes(CHANGES_KEPT);
    }

    /// A lease is over: etcd forgets what hangs on it, and the watchers are told. Only Events do, and the server keeps
    /// no tables of them.
    pub fn expire(&mut self, lease: LeaseId) -> Expired {
        let changes = self.store.revoke(lease);
        let mut fanout = Vec::new();
        for (old, last) in changes.iter().filter(|_| !self.several).filter_map(Change::seen) {
            self.tell_watchers(old, &last, true, &mut fanout);
        }
        self.address(&mut fanout);
        self.store.keep_changes(CHANGES_KEPT);
        Expired { changes, fanout }
    }
}
