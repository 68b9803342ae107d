//! Who manages what of an object: asked of the store, noted of a write, and shown to clients that want to see it. How it is
//! worked out: [`super::managed_fields`].

use std::rc::Rc;

use object::Object;
use object::fields::history::Run;
use object::fields::{History, Managers, Operation, Writer};
use wire::{Response, WatchEvent, WatchId};

use super::managed_fields::{Written, play, sent_managers, shapes, writer};
use super::{ApiServer, Handling, registry};

/// In whose name a request updates, in the version of the kind in which its client speaks.
fn speaker(handling: &Handling) -> Writer {
    let api_version = handling.served.info().api_version.into();
    Writer { api_version, ..writer(handling.request, Operation::Update) }
}

impl ApiServer {
    /// Who manages what of a stored version.
    pub(crate) fn managers(&self, history: &History) -> Rc<Managers> {
        history.managers(&|managers, run| play(&self.definitions, managers, run))
    }

    /// Who manages what of the version that is stored now.
    pub(crate) fn managers_now(&self, object: &Object) -> Rc<Managers> {
        let key = registry::key(object.kind(), object.namespace(), object.name());
        self.store.get(&key).map_or_else(Rc::default, |entry| self.managers(&entry.history))
    }

    /// What an update says of who manages what, where it brings managedFields itself: they count if they make sense, and a
    /// list that is empty, or has one empty entry, takes away all of them. Mirrors `decodeLiveOrNew`.
    pub(crate) fn written_by_update(&self, handling: &Handling, old: &Object, new: &mut Object) -> Written {
        let by = speaker(handling);
        if new.meta().managed_fields.is_none() {
            return Written::By(by, None);
        }
        let entries = new.meta_mut().managed_fields.take().unwrap_or_default();
        let sent = if by.subresource.is_empty() { sent_managers(&entries) } else { None };
        let Some(managers) = sent else { return Written::By(by, None) };
        let run = Run::of(by, handling.now, Some(old.clone()), new.clone());
        Written::Known(play(&self.definitions, &managers, &run))
    }

    /// Which fields the sender of a creation manages; to be asked before the server changes what was sent.
    pub(crate) fn written_by_create(&mut self, handling: &Handling, object: &mut Object) -> Written {
        let by = speaker(handling);
        let entries = match object.meta().managed_fields {
            Some(_) => object.meta_mut().managed_fields.take().unwrap_or_default(),
            None => Vec::new(),
        };
        if let Some(managers) = sent_managers(&entries).filter(|managers| !managers.is_empty()) {
            let run = Run::of(by, handling.now, None, object.clone());
            return Written::Known(play(&self.definitions, &managers, &run));
        }
        if let Object::Pod(pod) = &*object
            && let Some(fields) = self.templates.fields_of(pod)
        {
            return Written::Fields(by, fields);
        }
        let users_change = self.policies.may_change_objects() || self.webhooks.may_change_objects();
        let sent = (users_change || shapes::is_filled_in(object.kind())).then(|| object.clone());
        Written::By(by, sent)
    }

    /// Puts the managedFields into the objects of an answer, for a client that wants to see them.
    pub(crate) fn show_managers(&self, handling: &mut Handling, response: &mut Response) {
        if !handling.request.options.managed_fields {
            return;
        }
        match response {
            Response::Object(object) => {
                let tried = handling.tried.take();
                self.show_in(object, tried.as_ref());
            }
            Response::List { items, .. } => items.iter_mut().for_each(|object| self.show_in(object, None)),
            _ => {}
        }
    }

    /// The same for the events of watches that want to see them.
    pub(crate) fn show_managers_in_events(&self, events: &mut [(WatchId, WatchEvent)]) {
        for (id, event) in events {
            if let Some(object) = event.object_mut()
                && self.watchers.shows_managers(*id)
            {
                self.show_in(object, None);
            }
        }
    }

    /// A stored object with its managedFields.
    pub fn with_managers(&self, object: &Object) -> Object {
        let mut object = object.clone();
        self.show_in(&mut object, None);
        object
    }

    fn show_in(&self, object: &mut Object, tried: Option<&History>) {
        let key = registry::key(object.kind(), object.namespace(), object.name());
        let history = tried.cloned().or_else(|| self.store.history_at(&key, object.revision()));
        let entries = self.managers(&history.unwrap_or_default()).entries();
        object.meta_mut().managed_fields = (!entries.is_empty()).then_some(entries);
    }
}
