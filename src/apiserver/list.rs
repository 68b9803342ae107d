//! LIST: all that match, at one revision, whole or in pages. Mirrors `storage/etcd3/store.go`'s `GetList`.

use std::collections::BTreeMap;

use crate::store::Entry;
use object::status::Reason;
use object::{Kind, Object, Status};
use wire::{Request, Response};

use super::cache::{Cache, is_exact, parse_version, too_large};
use super::watch::Watcher;
use super::{ApiServer, Handling, Outcome, continue_token, registry};

/// Which state of the store a list is of, and where in it the list starts.
struct Snapshot {
    /// None: as it is now.
    revision: Option<u64>,
    /// The first key; empty for the first of all.
    start: String,
}

impl ApiServer {
    pub(super) fn list(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let prefix = registry::list_prefix(request.kind, &request.namespace);
        let watcher = self.watcher_for(handling)?;
        let snapshot = self.snapshot(handling, &prefix)?;
        let revision = snapshot.revision.unwrap_or(self.store.revision());
        let page = match snapshot.revision {
            None => self.page_of(self.store.prefix(&prefix), &prefix, &snapshot.start, &watcher, request),
            Some(revision) => {
                let then = self.entries_at(&prefix, revision, &snapshot.start)?;
                let entries = then.iter().map(|(key, entry)| (key.as_str(), entry));
                self.page_of(entries, &prefix, &snapshot.start, &watcher, request)
            }
        };
        handling.stage("watch cache", || format!("{} objects at revision {revision}", page.items.len()));
        let continue_token = page.last.map_or(String::new(), |last| continue_token::encode(&last, Some(revision)));
        Ok((200, Response::List { items: page.items, revision, continue_token, remaining: page.remaining }))
    }

    /// Whether the options ask for a state that can be had. A collection is deleted from a list like any other.
    pub(super) fn check_state(&self, handling: &Handling) -> Result<(), Status> {
        self.snapshot(handling, "").map(drop)
    }

    /// Which state the options ask for.
    fn snapshot(&self, handling: &Handling, prefix: &str) -> Result<Snapshot, Status> {
        let options = &handling.request.options;
        let version = options.resource_version.as_str();
        if !options.continue_token.is_empty() {
            let (revision, start) = continue_token::decode(&options.continue_token)
                .map_err(|why| Status::bad_request(format!("invalid continue token: {why}")))?;
            if !matches!(version, "" | "0") {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            let start = start.trim_start_matches('/');
            return Ok(Snapshot { revision, start: format!("{prefix}{start}") });
        }
        if !version.is_empty() {
            parse_version(version)
                .map_err(|status| Status::bad_request(format!("invalid resource version: {}", status.message)))?;
        }
        self.check_not_future(version)?;
        let revision = match handling.cache {
            _ if is_exact(options) => Some(parse_version(version)?),
            // A list that is to be of the newest state does not fail for a cache that lags behind: etcd answers it.
            Some(Cache { missed: Some(_), .. }) if version.is_empty() => None,
            _ => handling.cached()?,
        };
        Ok(Snapshot { revision, start: String::new() })
    }

    fn entries_at(&self, prefix: &str, revision: u64, start: &str) -> Result<BTreeMap<String, Entry>, Status> {
        self.store.prefix_at(prefix, revision).map_err(|_| match start.strip_prefix(prefix) {
            None => Status::new(Reason::Expired, "The resourceVersion for the provided list is too old."),
            // The rest can still be had, as it is now.
            Some(start) => {
                let token = continue_token::encode(start.trim_end_matches('\u{0}'), None);
                Status { continue_token: Some(token.into()), ..Status::new(Reason::Expired, TOKEN_TOO_OLD) }
            }
        })
    }

    /// A read at a revision that is not written yet times out in a real cluster.
    pub(super) fn check_not_future(&self, version: &str) -> Result<(), Status> {
        if version.is_empty() {
            return Ok(());
        }
        let (wanted, current) = (parse_version(version)?, self.store.revision());
        if wanted <= current { Ok(()) } else { Err(too_large(wanted, current)) }
    }
}

const TOKEN_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can \
    start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder \
    of the results. Continuing with the provided token results in an inconsistent list - objects that were created, \
    modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// A part of a list.
struct Page {
    items: Vec<Object>,
    /// The last key looked at, below the list's prefix, if there are more.
    last: Option<String>,
    /// How many more; unknown when selectors choose.
    remaining: Option<u64>,
}

impl ApiServer {
    fn page_of<'a>(
        &self,
        entries: impl Iterator<Item = (&'a str, &'a Entry)>,
        prefix: &str,
        start: &str,
        watcher: &Watcher,
        request: &Request,
    ) -> Page {
        let mut page = Page { items: Vec::new(), last: None, remaining: None };
        // The watch cache, which any version will do for, has all at hand. Events have no watch cache.
        let whole = request.options.resource_version == "0" && request.kind != Kind::Event;
        let limit = if whole { 0 } else { usize::try_from(request.options.limit).unwrap_or(usize::MAX) };
        let mut entries = entries.skip_while(|(key, _)| *key < start).peekable();
        while let Some((key, entry)) = entries.next() {
            let object = self.definitions.read(&entry.value);
            if watcher.matches(&object) {
                page.items.push(object.into_owned());
            }
            if limit > 0 && page.items.len() == limit && entries.peek().is_some() {
                page.last = Some(key.strip_prefix(prefix).unwrap_or(key).to_owned());
                let unselected = watcher.labels.is_everything() && watcher.fields.is_everything();
                page.remaining = unselected.then(|| entries.count() as u64);
                break;
            }
        }
        page
    }
}
