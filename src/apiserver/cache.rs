//! The watch cache: what an API server knows of the store without asking it.
//!
//! Where there is one API server, its cache and the store are one here. Of several, each follows etcd by a watch of its
//! own for every kind, and answers from what that has brought: most lists, every watch, and a get that says how old the
//! answer may be. So a cache is a point in the store's history, up to which its server has heard of a kind. What a
//! request says in `resourceVersion` decides how old that may be:
//!
//! - none: not older than etcd at the time of asking. The request waits until the cache has come so far, three seconds at
//!   most; then a list is answered by etcd, a watch is refused. A get asks etcd at once.
//! - `0`: whatever there is.
//! - a number: not older than that. The request waits, and is refused if it has waited in vain.
//!
//! Mirrors `storage/cacher`: `waitUntilFreshAndBlock`, `delegator.go`.
//!
//! Left out: what a server learns only for itself. Roles, definitions, policies and the addresses of Services are the same
//! at once for all servers, where real ones follow them with informers. A cache that is up to date knows so, where a real
//! one asks etcd for its progress.

use crate::object::status::{Cause, Details, Reason};
use crate::object::{Kind, Status};
use crate::wire::{Request, Verb, WatchEvent, WatchId};

use super::list::is_exact;
use super::read::parse_version;
use super::{ApiServer, Handling};

/// What a watch cache has come to that lags behind the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its objects are those of this revision.
    pub revision: u64,
    /// Up to here it tells a new watch of what has changed since.
    pub heard: u64,
    /// The revision for which the request has waited in vain.
    pub missed: Option<u64>,
}

impl Handling<'_> {
    /// The revision as of which the cache answers; none: it is up to date. An error if that is too old for who asks.
    pub(super) fn cached(&self) -> Result<Option<u64>, Status> {
        match self.cache {
            Some(Cache { missed: Some(wanted), revision, .. }) => Err(too_large(wanted, revision)),
            cache => Ok(cache.map(|cache| cache.revision)),
        }
    }
}

impl ApiServer {
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

    /// The kind under which etcd keeps the objects of a kind: of custom ones, in one of their versions.
    pub fn kind_in_store(&self, kind: Kind) -> Kind {
        self.definitions.storage(kind)
    }

    /// Who is told what when a watch cache hears of a revision; none if the store has forgotten it.
    pub fn told_of(&self, revision: u64) -> Option<Vec<(WatchId, WatchEvent)>> {
        let change = self.store.change_at(revision)?;
        let mut told = Vec::new();
        if let Some((old, last)) = change.seen() {
            self.tell_watchers(old, &last, change.new.is_none(), &mut told);
        }
        self.show_managers_in_events(&mut told);
        self.tell_in_versions(&mut told);
        Some(told)
    }
}

/// The answer to who asks for what is not there yet.
pub(super) fn too_large(wanted: u64, current: u64) -> Status {
    let cause = Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        ..Cause::default()
    };
    let details = Details { causes: vec![cause], retry_after_seconds: 1, ..Details::default() };
    let text = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    Status { details: Some(Box::new(details)), ..Status::new(Reason::Timeout, text) }
}
