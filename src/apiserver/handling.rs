//! One request on its way through the stages, and what it comes to.

use std::rc::Rc;
use std::sync::Arc;

use crate::store::Change;
use object::fields::History;
use object::time::Instant;
use object::{Kind, Object, Status};
use wire::{Answer, Body, Impersonated, Request, Response, User, WatchEvent, WatchId};

use super::cache::{Cache, too_large};
use super::defaults;
use super::leases::Lease;
use super::waiting::{Reviews, Waits};
use rules::apiextensions::Version;
use rules::webhook::Call;

/// What handling one request came to.
#[derive(Debug)]
pub struct Handled {
    /// For the caller.
    pub answer: Answer,
    /// For the watchers, in order.
    pub fanout: Vec<(WatchId, WatchEvent)>,
    /// The stages it passed and what each decided; empty unless stages are kept.
    pub stages: Vec<(&'static str, String)>,
    /// The user that a token names.
    pub by_token: Option<Rc<User>>,
    /// The user that the request counts as, if that is another than the one who asks.
    pub impersonated: Option<Impersonated>,
    /// What the server has listed in its own name: kinds and namespaces.
    pub lists: Vec<(Kind, String)>,
    /// What policies want noted in the audit log: keys and values. Empty unless stages are kept.
    pub audit: Vec<(String, String)>,
    /// What the store did, in order.
    pub changes: Vec<Change>,
    /// The lease that it has granted.
    pub granted: Option<Lease>,
    /// It has to go on later, and the answer says no more than that: admission webhooks have to be asked first, or one of
    /// several writes is done.
    pub waits: Option<Box<Waits>>,
}

impl Handled {
    /// What came of the same request when it went on.
    pub(crate) fn followed_by(self, next: Handled) -> Handled {
        fn joined<T>(mut first: Vec<T>, next: Vec<T>) -> Vec<T> {
            first.extend(next);
            first
        }
        Handled {
            fanout: joined(self.fanout, next.fanout),
            stages: joined(self.stages, next.stages),
            lists: joined(self.lists, next.lists),
            audit: joined(self.audit, next.audit),
            changes: joined(self.changes, next.changes),
            ..next
        }
    }
}

/// One request on its way through the stages.
pub(crate) struct Handling<'a> {
    pub request: &'a Request,
    /// In which version of the kind the client speaks.
    pub served: Kind,
    pub now: Instant,
    /// What the server knows of the kind, if a user has defined it.
    pub custom: Option<Arc<Version>>,
    pub watch: Option<WatchId>,
    /// What the server's watch cache has come to, if that is not the newest state.
    pub cache: Option<Cache>,
    pub warnings: Vec<String>,
    pub fanout: Vec<(WatchId, WatchEvent)>,
    pub stages: Option<Vec<(&'static str, String)>>,
    pub lists: Vec<(Kind, String)>,
    pub audit: Vec<(String, String)>,
    pub changes: Vec<Change>,
    /// The lease that the store has granted.
    pub granted: Option<Lease>,
    /// Who would have written what a dry run did not store.
    pub tried: Option<History>,
    /// What admission webhooks have said so far, if any may be about it.
    pub reviews: Option<Reviews>,
    /// What they are still to be asked.
    pub calls: Vec<Call>,
}

impl<'a> Handling<'a> {
    /// At the beginning. A client that speaks in a version that is to go is warned.
    pub(super) fn new(request: &'a Request, served: Kind, now: Instant, keep_stages: bool) -> Handling<'a> {
        Handling {
            request,
            served,
            now,
            custom: None,
            watch: None,
            cache: None,
            warnings: kinds::facts(request.kind).deprecation.map(str::to_owned).into_iter().collect(),
            fanout: Vec::new(),
            stages: keep_stages.then(Vec::new),
            lists: Vec::new(),
            audit: Vec::new(),
            changes: Vec::new(),
            granted: None,
            tried: None,
            reviews: None,
            calls: Vec::new(),
        }
    }

    /// At the end: it is answered, or waits to go on.
    pub(super) fn handled(self, result: Result<(u16, Response), Status>) -> Handled {
        let wrote = !self.changes.is_empty();
        let calls = self.calls;
        let goes_on = |reviews: &Reviews| !calls.is_empty() || reviews.collection.is_some();
        let waits = self.reviews.filter(goes_on).map(|reviews| Box::new(Waits { calls, reviews }));
        let (result, waits) = match waits {
            // It would be gone through again, and change twice what it has changed.
            Some(waits) if wrote && !waits.calls.is_empty() => {
                (Err(Status::internal("a request that has changed something already asks webhooks")), None)
            }
            waits => (result, waits),
        };
        let (code, result) = match result {
            Ok((code, response)) => (code, Ok(response)),
            Err(status) => (status.code, Err(status.into())),
        };
        Handled {
            answer: Answer { code, result, warnings: self.warnings, wrote },
            fanout: self.fanout,
            stages: self.stages.unwrap_or_default(),
            by_token: None,
            impersonated: None,
            lists: self.lists,
            audit: self.audit,
            changes: self.changes,
            granted: self.granted,
            waits,
        }
    }

    /// The revision that the cache answers from; none: it is up to date. An error if that is older than the client allows.
    pub fn cached(&self) -> Result<Option<u64>, Status> {
        match self.cache {
            Some(Cache { missed: Some(wanted), revision, .. }) => Err(too_large(wanted, revision)),
            cache => Ok(cache.map(|cache| cache.revision)),
        }
    }

    /// Fills in what the sender left out.
    pub fn set_defaults(&self, object: &mut Object) {
        match (&self.custom, &mut *object) {
            (Some(version), Object::Custom(custom)) => version.set_defaults(Arc::make_mut(custom)),
            _ => defaults::set_defaults(object),
        }
    }

    /// Whether a person or a program of theirs asks. The cluster's own components read no warnings.
    pub fn is_from_outside(&self) -> bool {
        !matches!(self.request.body, Body::Object(_))
    }

    /// Notes something for the audit log, if stages are kept.
    pub fn note_in_audit(&mut self, key: String, value: String) {
        if self.stages.is_some() {
            self.audit.push((key, value));
        }
    }

    /// Says what a stage decided; the text is made only if stages are kept.
    pub fn stage(&mut self, name: &'static str, detail: impl FnOnce() -> String) {
        if let Some(stages) = &mut self.stages {
            stages.push((name, detail()));
        }
    }
}

/// What a handler returns: the HTTP code and the body.
pub(crate) type Outcome = Result<(u16, Response), Status>;
