//! The pipeline: the stages of a request, in the order in which the real server runs them.
//!
//! [`ApiServer::handle`] begins them, and two functions are all of their order. Every request passes authentication,
//! impersonation, flow control and authorization, and then its handler is asked ([`go_through`](ApiServer::go_through)). A
//! handler that reads answers. One that writes decodes what was sent, or applies a patch, and says what is to be written
//! ([`Write`]); that passes the row of [`write`](ApiServer::write), whether it creates, updates or deletes:
//!
//! | stage | what it does | where |
//! |---|---|---|
//! | decoding | from bytes to the object, in its place | [`decoding`] |
//! | defaulting | fills in what was left out; notes who manages what | [`defaulting`] |
//! | preconditions | the uid, where the sender names it; of a delete the resourceVersion too | [`preconditions`] |
//! | mutating admission | plugins, [`policies`] and [`webhooks`] that may change the object; [`rounds`] | [`mutating_admission`] |
//! | escalation | users grant only permissions that they have | [`crate::authorization`] |
//! | version | is the resourceVersion that was sent the stored one? | [`preconditions`] |
//! | strategy | what the server sets and keeps; [`deletion`]: what a delete means | [`strategy`] |
//! | validation | what is wrong with the object | [`validation`] |
//! | validating admission | plugins, policies and webhooks that may refuse; quotas are charged | [`validating_admission`] |
//! | transaction | one write to etcd, and what follows from it | [`transaction`] |
//!
//! Must hold:
//! - Nothing is stored that has not passed the row, but for what the server writes itself (bindings, the marks of
//!   evictions, quotas, addresses). Kept by `raw_requests_are_answered_as_kubernetes_answers_them`.
//! - A request that waits for webhooks has changed nothing, but for objects of a collection that have had their turn. Kept by
//!   `an_object_that_has_changed_meanwhile_is_put_to_the_webhook_again` and
//!   `of_many_each_is_asked_about_in_its_turn_and_then_goes`.
//!
//! Mirrors `k8s.io/apiserver/pkg/server/config.go` (`DefaultBuildHandlerChain`), `endpoints/handlers` and
//! `registry/generic/registry/store.go`.

use object::status::Reason;
use object::time::Instant;
use object::{Kind, Status};
use wire::{Body, Request, Subresource, Verb, WatchEvent, WatchId};

use super::cache::Cache;
use super::handling::{Handled, Handling, Outcome};
use super::server::ApiServer;
use super::waiting::Reviews;
use super::{flow_control, versions};
use object::random::Random;
use preconditions::{check_preconditions, check_version};
use rest::path::is_served;
use transaction::Committed;
use validation::validate;
use write::{Done, Write};

pub(super) mod decoding;
mod defaulting;
mod deletion;
mod mutating_admission;
mod patched_by_policy;
mod policies;
pub(super) mod preconditions;
mod rounds;
mod strategy;
mod transaction;
mod validating_admission;
mod validation;
mod webhooks;
pub(super) mod write;

impl ApiServer {
    /// Handles one request at time `now`. `watch` names the watch that a watch request opens.
    pub fn handle(&mut self, request: &Request, watch: Option<WatchId>, now: Instant) -> Handled {
        let mut handled = self.handle_with(None, request, watch, now);
        // Nothing is waited for here but webhooks.
        while let Some(waits) = handled.waits.take_if(|waits| waits.calls.is_empty()) {
            let next = self.resume(None, request, waits.reviews);
            handled = handled.followed_by(next);
        }
        handled
    }

    /// The same on a server whose watch cache may lag behind the store, and which waits for what it has written.
    pub fn handle_with(
        &mut self,
        cache: Option<Cache>,
        request: &Request,
        watch: Option<WatchId>,
        now: Instant,
    ) -> Handled {
        if !self.webhooks.concern(request) {
            return self.go_through(cache, request, watch, now, None);
        }
        let random = Random::new(self.random.next_u64());
        self.resume(cache, request, Reviews::new(random, now))
    }

    /// Handles a request again, for which webhooks had to be asked, or goes on with one that deletes many objects.
    pub fn resume(&mut self, cache: Option<Cache>, request: &Request, reviews: Reviews) -> Handled {
        let usual = self.swap_random(reviews.random.clone());
        let handled = self.go_through(cache, request, None, reviews.now, Some(reviews));
        self.swap_random(usual);
        handled
    }

    /// The stages of every request, the last of them its handler.
    fn go_through(
        &mut self,
        cache: Option<Cache>,
        request: &Request,
        watch: Option<WatchId>,
        now: Instant,
        reviews: Option<Reviews>,
    ) -> Handled {
        let served = request.kind;
        let identity = self.identify(versions::internal(request), served, now);
        let mut handling = Handling::new(&identity.request, served, now, self.keep_stages);
        (handling.watch, handling.cache, handling.reviews) = (watch, cache, reviews);
        let outcome = match handling.reviews.as_mut().and_then(|reviews| reviews.collection.take()) {
            Some(collection) => {
                self.find_version(&mut handling).and_then(|()| self.delete_next(&mut handling, collection))
            }
            None => identity
                .check(&mut handling)
                .map(|()| ApiServer::classify(&mut handling))
                .and_then(|()| self.authorize(&mut handling))
                .and_then(|()| self.route(&mut handling)),
        };
        let handled = self.finish(handling, outcome);
        Handled { by_token: identity.by_token, impersonated: identity.impersonated, ..handled }
    }

    /// The stages of every write, on the way from what is wanted to what is stored.
    pub(super) fn write(&mut self, handling: &mut Handling, mut write: Write) -> Result<Done, Status> {
        self.set_defaults(handling, &mut write);
        if let Some(done) = check_preconditions(handling.request.verb, &write)? {
            return Ok(done);
        }
        self.admit_mutating(handling, &mut write)?;
        self.check_escalation(handling, &write)?;
        check_version(&write)?;
        // A generated name that is taken is made up anew.
        for _ in 1..write.attempts() {
            if let Committed::Done(done) = self.name_and_store(handling, write.clone())? {
                return Ok(done);
            }
        }
        match self.name_and_store(handling, write)? {
            Committed::Done(done) => Ok(done),
            Committed::NameTaken(status) => Err(status),
        }
    }

    /// The stages from the one on that gives a new object its name.
    fn name_and_store(&mut self, handling: &mut Handling, mut write: Write) -> Result<Committed, Status> {
        self.prepare(handling, &mut write)?;
        validate(handling, &write)?;
        self.admit_validating(handling, &write)?;
        self.commit(handling, write)
    }

    /// Flow control: in which flow the request would wait, if any had to.
    fn classify(handling: &mut Handling) {
        if let (true, Some(flow)) = (handling.stages.is_some(), flow_control::classify(handling.request)) {
            handling.stage("priority and fairness", || flow.to_string());
        }
    }

    /// Authorization: whether it is allowed.
    fn authorize(&self, handling: &mut Handling) -> Result<(), Status> {
        let rule = match handling.served == handling.request.kind {
            true => self.authorizer.authorize(handling.request, &self.store)?,
            // Rules name the group that was asked.
            false => {
                let asked = Request { kind: handling.served, ..handling.request.clone() };
                self.authorizer.authorize(&asked, &self.store)?
            }
        };
        handling.stage("authorization", || rule.to_string());
        Ok(())
    }

    /// What users have said of the kind, if it is theirs.
    fn find_version(&mut self, handling: &mut Handling) -> Result<(), Status> {
        if let Kind::Custom(kind) = handling.request.kind {
            let version = self.definitions.of(handling.request.kind);
            handling.warnings.extend(version.and_then(|version| version.deprecation.clone()));
            let version = self.definitions.for_request(kind, handling.request)?;
            handling.custom = Some(version);
        }
        Ok(())
    }

    /// The handler of a request.
    fn route(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        if let Body::Refused(refused) = &request.body {
            return refused.why.clone().map_or_else(|| Ok(self.nothing_at(&refused.target)), Err);
        }
        self.find_version(handling)?;
        if !matches!(request.kind, Kind::Custom(_))
            && request.subresource.is_some_and(|part| !is_served(handling.served, part))
        {
            return Err(Status::not_served());
        }
        if let Body::Path(path) = &request.body {
            return self.page(path);
        }
        if !request.kind.is_kept() {
            return self.route_unkept(handling);
        }
        match (request.verb, request.subresource) {
            (_, Some(Subresource::Proxy)) => self.proxy(handling),
            (Verb::Get | Verb::List, Some(Subresource::Metrics)) => self.use_of(handling),
            (Verb::Get, part) if part.is_none_or(Subresource::is_of_object) => self.get(handling),
            (Verb::List, _) => self.list(handling),
            (Verb::Watch, _) => self.watch(handling),
            (Verb::Create, None) => self.create(handling),
            (Verb::Update | Verb::Patch, part) if part.is_none_or(Subresource::is_of_object) => self.update(handling),
            (Verb::Update, Some(Subresource::Finalize)) => self.update(handling),
            (Verb::Delete, None) => self.delete(handling),
            (Verb::DeleteCollection, None) => self.delete_collection(handling),
            (Verb::Create, Some(Subresource::Binding)) => self.bind(handling),
            (Verb::Create, Some(Subresource::Token)) => self.create_token(handling),
            (Verb::Create, Some(Subresource::Eviction)) => self.evict(handling),
            (Verb::Get | Verb::Create, Some(part)) if part.is_connection() => self.connect(handling),
            (Verb::Get, Some(Subresource::Log)) => self.log(handling),
            (Verb::Get | Verb::Update | Verb::Patch, Some(Subresource::Scale)) => self.scale(handling),
            _ => Err(not_allowed()),
        }
    }

    /// What is only asked about has no verbs but these.
    fn route_unkept(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        match (request.kind, request.verb, request.subresource) {
            (Kind::Binding, Verb::Create, None) => self.bind_named(handling),
            (Kind::ComponentStatus, Verb::Get | Verb::List, None) => self.neighbours.answer(handling),
            (Kind::ComponentStatus, Verb::Watch, None) => {
                const WHY: &str = "watch is not supported on resources of kind \"componentstatuses\"";
                Err(Status::new(Reason::MethodNotAllowed, WHY))
            }
            (Kind::Binding | Kind::ComponentStatus, ..) => Err(not_allowed()),
            (_, Verb::Create, None) => self.review(handling),
            _ => Err(not_allowed()),
        }
    }

    /// Users grant only permissions that they have themselves.
    fn check_escalation(&self, handling: &Handling, write: &Write) -> Result<(), Status> {
        match write.states() {
            (old, Some(new)) => self.authorizer.check_escalation(handling.request, old, new, &self.store),
            (_, None) => Ok(()),
        }
    }

    /// Says what came of it, to the caller and to the watches, in the version that each speaks.
    fn finish(&self, mut handling: Handling, outcome: Outcome) -> Handled {
        if let (Err(status), Some(watch)) = (&outcome, handling.watch) {
            handling.fanout.push((watch, WatchEvent::Error(status.clone().into())));
        }
        let result = outcome.map(|(code, mut response)| {
            self.show_managers(&mut handling, &mut response);
            (code, versions::answered_in(handling.served, response))
        });
        self.address(&mut handling.fanout);
        handling.handled(result)
    }
}

/// The 405.
fn not_allowed() -> Status {
    Status::new(Reason::MethodNotAllowed, "the server does not allow this method on the requested resource")
}

#[cfg(test)]
mod tests;
