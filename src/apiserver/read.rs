//! GET and WATCH. Mirrors `storage/cacher`.

use std::borrow::Cow;

use crate::store::Change;
use object::selector::Selector;
use object::selector::fields::FieldSelector;
use object::status::Reason;
use object::{Kind, Object, Status};
use wire::{Request, Response, Verb, WatchEvent, WatchId};

use super::cache::{is_exact, parse_version};
use super::watch::Watcher;
use super::{ApiServer, Handling, Outcome, registry};

impl ApiServer {
    pub(super) fn get(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        self.check_not_future(&request.options.resource_version)?;
        let object = match handling.cached()? {
            Some(revision) if !request.options.resource_version.is_empty() => self.stored_at(request, revision)?,
            _ => self.stored(request.kind, &request.namespace, &request.name)?,
        };
        Ok((200, Response::Object(object)))
    }

    /// What was stored under this name as of a revision, or the 404.
    fn stored_at(&self, request: &Request, revision: u64) -> Result<Object, Status> {
        let key = registry::key(request.kind, &request.namespace, &request.name);
        let mut then = self.store.prefix_at(&key, revision).unwrap_or_default();
        let entry = then.remove(&key).ok_or_else(|| Status::not_found(request.kind, &request.name))?;
        Ok(self.definitions.read(&entry.value).into_owned().in_version(request.kind))
    }

    /// All objects that the request's namespace and selectors choose, in key order.
    pub(super) fn matching(&self, handling: &Handling) -> Result<Vec<Object>, Status> {
        let (request, watcher) = (handling.request, self.watcher_for(handling)?);
        let prefix = registry::list_prefix(request.kind, &request.namespace);
        let all = self.store.prefix(&prefix).map(|(_, entry)| self.definitions.read(&entry.value));
        Ok(all.filter(|object| watcher.matches(object)).map(Cow::into_owned).collect())
    }

    pub(super) fn watch(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let Some(id) = handling.watch else {
            return Err(Status::bad_request("a watch needs a connection to send its events on"));
        };
        let watcher = self.watcher_for(handling)?;
        let version = request.options.resource_version.as_str();
        let nowhere = matches!(version, "" | "0");
        if request.options.send_initial_events.unwrap_or(nowhere) {
            self.check_not_future(version)?;
            match handling.cached()? {
                Some(revision) => self.send_cached(handling, id, &watcher, revision)?,
                None => self.send_initial(handling, id, &watcher),
            }
        } else if !nowhere {
            self.send_missed(handling, id, &watcher, parse_version(version)?)?;
        }
        self.watchers.open(id, watcher);
        Ok((200, Response::Watching))
    }

    /// The state so far as ADDED events, then a bookmark that says that this was all of it.
    fn send_initial(&mut self, handling: &mut Handling, id: WatchId, watcher: &Watcher) {
        let prefix = registry::list_prefix(watcher.kind, &watcher.namespace);
        let all = self.store.prefix(&prefix).map(|(_, entry)| self.definitions.read(&entry.value));
        for object in all.filter(|object| watcher.matches(object)) {
            handling.fanout.push((id, WatchEvent::Added(object.into_owned())));
        }
        let revision = self.store.revision();
        let bookmark = WatchEvent::Bookmark { kind: watcher.kind, revision, initial_events_end: true };
        handling.fanout.push((id, bookmark));
    }

    /// The state as a watch cache has it that has come to `revision`; what it has not heard of yet follows.
    fn send_cached(
        &mut self,
        handling: &mut Handling,
        id: WatchId,
        watcher: &Watcher,
        revision: u64,
    ) -> Result<(), Status> {
        let prefix = registry::list_prefix(watcher.kind, &watcher.namespace);
        let then = self
            .store
            .prefix_at(&prefix, revision)
            .map_err(|_| Status::new(Reason::Expired, "The resourceVersion for the provided list is too old."))?;
        for object in then.values().map(|entry| self.definitions.read(&entry.value)) {
            if watcher.matches(&object) {
                handling.fanout.push((id, WatchEvent::Added(object.into_owned())));
            }
        }
        let bookmark = WatchEvent::Bookmark { kind: watcher.kind, revision, initial_events_end: true };
        handling.fanout.push((id, bookmark));
        self.send_missed(handling, id, watcher, revision)
    }

    /// What happened since the revision that the client saw last, as far as the watch cache has heard of it.
    fn send_missed(
        &mut self,
        handling: &mut Handling,
        id: WatchId,
        watcher: &Watcher,
        revision: u64,
    ) -> Result<(), Status> {
        let Ok(changes) = self.store.changes_after(revision) else {
            let oldest = self.store.compacted();
            // Events are served from etcd itself, without a watch cache in between.
            let text = match watcher.kind {
                Kind::Event => "The resourceVersion for the provided watch is too old.".to_owned(),
                _ => format!("too old resource version: {revision} ({oldest})"),
            };
            return Err(Status::new(Reason::Expired, text));
        };
        let heard = handling.cache.map_or(u64::MAX, |cache| cache.heard);
        // Objects of one kind may be stored in several of its versions: they are known by where they lie.
        let prefix = registry::list_prefix(watcher.kind, &watcher.namespace);
        let of_kind = |change: &&Change| change.key.starts_with(&prefix);
        for change in changes.take_while(|change| change.revision <= heard).filter(of_kind) {
            let Some((old, last)) = change.seen() else { continue };
            if let Some(event) = watcher.see(old, &last, change.new.is_none()) {
                handling.fanout.push((id, event));
            }
        }
        Ok(())
    }

    /// The revision to which the watch cache must have come before it can answer; none: any will do, or etcd answers.
    pub fn wants_cache_at(&self, request: &Request) -> Option<u64> {
        let options = &request.options;
        let now = self.store.revision();
        match (request.verb, options.resource_version.as_str()) {
            (_, "0") => None,
            (Verb::List, _) if !options.continue_token.is_empty() || is_exact(options) => None,
            (Verb::List, "") => Some(now),
            // What stands for a list with resourceVersion=0 and a watch from there.
            (Verb::Watch, "") if options.send_initial_events == Some(true) && !self.watch_list => None,
            (Verb::Watch, "") => Some(now),
            (Verb::Watch, _) if options.send_initial_events != Some(true) => None,
            (Verb::Get | Verb::List | Verb::Watch, version) => parse_version(version).ok(),
            _ => None,
        }
    }

    /// What a list or a watch asks for.
    pub(super) fn watcher_for(&self, handling: &Handling) -> Result<Watcher, Status> {
        let request = handling.request;
        let options = &request.options;
        let selectable = self.definitions.of(request.kind).map_or(&[][..], |version| &version.selectable);
        Ok(Watcher {
            kind: request.kind,
            version: handling.served,
            namespace: request.namespace.clone(),
            name: request.name.clone(),
            labels: Selector::parse(&options.label_selector).map_err(Status::bad_request)?,
            fields: FieldSelector::parse_with(handling.served, &options.field_selector, selectable)
                .map_err(Status::bad_request)?,
            managed_fields: options.managed_fields,
        })
    }
}
