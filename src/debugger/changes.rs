//! What changed: in a step, between two steps, and over an object's life.

use std::collections::BTreeMap;

use engine::{Note, Step, StepId, What};
use object::{Key, Object};

use super::Session;
use super::diff::{self, FieldChange};
use super::target::Target;

/// An object that changed, and how.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Before; none if it is new.
    pub old: Option<Object>,
    /// After; none if it is gone.
    pub new: Option<Object>,
}

impl Changed {
    /// `Pod default/web`.
    pub fn name(&self) -> String {
        self.new.as_ref().or(self.old.as_ref()).map_or(String::new(), |o| format!("{} {}", o.kind(), Key::of(o)))
    }

    /// The fields that differ.
    pub fn fields(&self) -> Vec<FieldChange> {
        diff::fields(self.old.as_ref(), self.new.as_ref())
    }
}

/// What the store held differently after step `to` than after step `from`, in the order of etcd keys. An object that
/// came and went between the two is not in it.
pub fn between(session: &Session, from: StepId, to: StepId) -> Vec<Changed> {
    let (from, to) = (from.min(to), from.max(to));
    let mut changes: BTreeMap<&str, Changed> = BTreeMap::new();
    let steps = session.history().iter().filter(|step| step.id > from && step.id <= to);
    for note in steps.flat_map(|step| &step.notes) {
        let Note::Stored { key, old, new, .. } = note else { continue };
        match changes.get_mut(key.as_str()) {
            Some(changed) => changed.new = new.clone(),
            None => {
                changes.insert(key, Changed { old: old.clone(), new: new.clone() });
            }
        }
    }
    changes.into_values().filter(|changed| changed.old.is_some() || changed.new.is_some()).collect()
}

/// What a step changed in the store: the revision, and the object before and after.
pub fn stored(step: &Step) -> impl Iterator<Item = (u64, Option<&Object>, Option<&Object>)> {
    step.notes.iter().filter_map(|note| match note {
        Note::Stored { revision, old, new, .. } => Some((*revision, old.as_ref(), new.as_ref())),
        _ => None,
    })
}

/// What one step changed: in the store, or in a cache.
pub fn of_step(step: &Step) -> Vec<Changed> {
    let changes = step.notes.iter().filter_map(|note| match note {
        Note::Stored { old, new, .. } | Note::Cache { old, new, .. } => {
            Some(Changed { old: old.clone(), new: new.clone() })
        }
        _ => None,
    });
    changes.collect()
}

/// One revision of an object.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Its number.
    pub number: u64,
    /// The step that wrote it; none if that was before the first step.
    pub step: Option<StepId>,
    /// Who wrote it and with which verb: `replicaset-controller update`; empty if that is not known.
    pub by: String,
    /// What it changed.
    pub changed: Changed,
}

/// Every revision of an object that the store's log and the session's steps still know, oldest first.
pub fn history(session: &Session, target: &Target) -> Vec<Revision> {
    let key = target.etcd_key();
    let store = &session.cluster.engine.server.api.store;
    let mut revisions = BTreeMap::new();
    for change in store.changes_after(store.compacted()).into_iter().flatten().filter(|change| *change.key == *key) {
        let value = |entry: &Option<apiserver::store::Entry>| entry.as_ref().map(|entry| entry.value.clone());
        let changed = Changed { old: value(&change.old), new: value(&change.new) };
        let revision = Revision { number: change.revision, step: None, by: String::new(), changed };
        revisions.insert(change.revision, revision);
    }
    for step in session.history() {
        for note in &step.notes {
            let Note::Stored { key: stored, revision, old, new } = note else { continue };
            if *stored != key {
                continue;
            }
            let changed = Changed { old: old.clone(), new: new.clone() };
            let revision = Revision { number: *revision, step: Some(step.id), by: writer(step), changed };
            revisions.insert(revision.number, revision);
        }
    }
    revisions.into_values().collect()
}

/// The last step before the present one that changed an object, or one of its fields and what is below it; and what it
/// changed there. None if no step before did.
pub fn last(session: &Session, target: &Target, path: &str) -> Option<(StepId, Vec<FieldChange>)> {
    let here = session.current()?.id;
    let below = |field: &FieldChange| {
        let rest = field.path.strip_prefix(path);
        path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    history(session, target).into_iter().rev().find_map(|revision| {
        let step = revision.step.filter(|step| *step < here)?;
        let fields: Vec<FieldChange> = revision.changed.fields().into_iter().filter(below).collect();
        (!fields.is_empty()).then_some((step, fields))
    })
}

fn writer(step: &Step) -> String {
    let What::Request { request, .. } = &step.event.what else { return String::new() };
    let subresource = request.subresource.map_or(String::new(), |s| format!("/{}", s.as_str()));
    format!("{} {}{subresource}", request.user.agent, request.verb.as_str())
}
