//! Reviews: the API server is asked what it would decide.
//!
//! A review is the creation of an object that is not stored: no name, no version, no event. The client sends its `spec`, and
//! what comes back with 201 has a `status`. So components without rules of their own decide as the cluster would: a
//! kubelet sends a TokenReview to know who talks to it, and a SubjectAccessReview to know whether they may. `kubectl auth`
//! sends the others, about its own user.
//!
//! A review passes the stages of any creation up to the store: it is authorized (all users may ask about themselves, see
//! `system:basic-user`), decoded, admitted by webhooks, and validated ([`kinds::authorization::review`]). Policies have no say.
//!
//! - [`access`]: what is asked about, as the authorizers see it. [`selectors`]: that it is about some objects only.
//!
//! Mirrors `pkg/registry/authorization` and `pkg/registry/authentication`.
//!
//! Left out: authorizers that say no, where others say nothing (`status.denied`): webhooks.

use std::rc::Rc;
use std::sync::Arc;

use k8s_openapi::api::authentication::v1::{
    SelfSubjectReview, SelfSubjectReviewStatus, TokenReview, TokenReviewStatus,
};
use k8s_openapi::api::authorization::v1::{
    NonResourceRule, ResourceRule, SelfSubjectRulesReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
    SubjectRulesReviewStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use object::status::aggregate;
use object::time::Instant;
use object::token::ISSUER;
use object::{Object, Status};
use wire::{Response, User};

use super::authentication::{Bearer, said_of};
use super::pipeline::decoding::{clear_system_metadata, place_in_namespace};
use super::{ApiServer, Handling, Outcome, managed_fields};
use access::Access;
use kinds::authorization::review as validation;

pub mod access;
pub mod selectors;

impl ApiServer {
    /// Answers a review, of whichever kind it is.
    pub(super) fn review(&mut self, handling: &mut Handling) -> Outcome {
        let mut asked = self.incoming(handling)?;
        clear_system_metadata(&mut asked);
        place_in_namespace(&mut asked, &handling.request.namespace)?;
        let written = self.written_by_create(handling, &mut asked);
        let history = managed_fields::after(&self.definitions, &mut self.writers, None, &asked, written, handling.now);
        self.mutate(handling, None, &mut asked, None)?;
        asked.meta_mut().managed_fields = Some(self.managers(&history).entries());
        validate(&asked)?;
        handling.stage("validation", String::new);
        self.ask_validating(handling, None, Some(&asked))?;
        asked.meta_mut().managed_fields = None;
        if !matches!(asked, Object::SelfSubjectReview(_) | Object::SelfSubjectRulesReview(_)) {
            handling.tried = Some(history);
        }
        let answered = self.answered(&handling.request.user, asked, handling.now)?;
        Ok((201, Response::Object(answered)))
    }

    /// What was sent with its status; in the place of what one asks about oneself, something new.
    fn answered(&self, user: &Rc<User>, asked: Object, now: Instant) -> Result<Object, Status> {
        Ok(match asked {
            Object::SelfSubjectAccessReview(mut review) => {
                let (resource, url) = (&review.spec.resource_attributes, &review.spec.non_resource_attributes);
                let status = self.would_allow(&Access::new(user.clone(), resource.as_ref(), url.as_ref()));
                Arc::make_mut(&mut review).status = Some(status);
                Object::SelfSubjectAccessReview(review)
            }
            Object::SubjectAccessReview(mut review) => {
                let status = self.would_allow(&of_somebody(&review.spec));
                Arc::make_mut(&mut review).status = Some(status);
                Object::SubjectAccessReview(review)
            }
            Object::LocalSubjectAccessReview(mut review) => {
                let status = self.would_allow(&of_somebody(&review.spec));
                Arc::make_mut(&mut review).status = Some(status);
                Object::LocalSubjectAccessReview(review)
            }
            Object::SelfSubjectRulesReview(review) => {
                let namespace = review.spec.namespace.as_deref().unwrap_or_default();
                let status = Some(self.rules(user, namespace));
                Object::SelfSubjectRulesReview(Arc::new(SelfSubjectRulesReview { status, ..Default::default() }))
            }
            Object::SelfSubjectReview(_) => Object::SelfSubjectReview(Arc::new(who_is(user, now))),
            Object::TokenReview(mut review) => {
                let status = self.whose(&review, now);
                Arc::make_mut(&mut review).status = Some(status);
                Object::TokenReview(review)
            }
            other => return Err(Status::bad_request(format!("{} is no review", other.kind()))),
        })
    }

    fn would_allow(&self, access: &Access) -> SubjectAccessReviewStatus {
        let request = access.as_request();
        let decision = self.authorizer.decide(&access.attributes(), request.as_ref(), &self.store);
        let (allowed, reason) = match decision {
            Ok(allowed) => (true, allowed.reason()),
            Err(reasons) => (false, reasons.join("\n")),
        };
        let evaluation_error = access.evaluation_error();
        let said = |text: String| Some(text).filter(|text| !text.is_empty());
        SubjectAccessReviewStatus {
            allowed,
            denied: None,
            reason: said(reason),
            evaluation_error: said(evaluation_error),
        }
    }

    /// What a user may do in a namespace, as far as rules say so.
    fn rules(&self, user: &User, namespace: &str) -> SubjectRulesReviewStatus {
        let found = self.authorizer.rules_of(user, namespace);
        let mut status = SubjectRulesReviewStatus { incomplete: found.incomplete, ..Default::default() };
        for rule in found.rules {
            let named = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
            if named(&rule.non_resource_urls) {
                let (verbs, non_resource_urls) = (rule.verbs.clone(), rule.non_resource_urls);
                status.non_resource_rules.push(NonResourceRule { verbs, non_resource_urls });
            }
            if named(&rule.resources) {
                status.resource_rules.push(ResourceRule {
                    verbs: rule.verbs,
                    api_groups: rule.api_groups,
                    resources: rule.resources,
                    resource_names: rule.resource_names,
                });
            }
        }
        if !found.errors.is_empty() {
            status.evaluation_error = Some(aggregate(&found.errors));
        }
        status
    }

    /// Finds the user whose token it is.
    fn whose(&self, review: &TokenReview, now: Instant) -> TokenReviewStatus {
        let shown_to = match review.spec.audiences.as_deref().unwrap_or_default() {
            [] => vec![ISSUER.to_owned()],
            audiences => audiences.to_vec(),
        };
        match Bearer::of(&review.spec.token, &shown_to, now, &self.store) {
            Ok(bearer) => TokenReviewStatus {
                authenticated: Some(true),
                user: Some(bearer.user("").info()),
                audiences: Some(bearer.audiences),
                error: None,
            },
            Err(why) => TokenReviewStatus { error: Some(said_of(&why)), ..TokenReviewStatus::default() },
        }
    }
}

/// What is wrong with the question.
fn validate(asked: &Object) -> Result<(), Status> {
    let causes = match asked {
        Object::SelfSubjectAccessReview(review) => validation::self_subject_access(review),
        Object::SubjectAccessReview(review) => validation::subject_access(review),
        Object::LocalSubjectAccessReview(review) => validation::local_subject_access(review),
        Object::SelfSubjectRulesReview(review) if review.spec.namespace.as_deref().unwrap_or_default().is_empty() => {
            return Err(Status::bad_request("no namespace on request"));
        }
        Object::TokenReview(review) if review.spec.token.is_empty() => {
            return Err(Status::bad_request("token is required for TokenReview in authentication"));
        }
        _ => Vec::new(),
    };
    if causes.is_empty() {
        return Ok(());
    }
    // The error is about a struct of the server's own, which does not know its kind.
    Err(Status::invalid_kind(asked.kind().info().group, "", "", causes))
}

fn of_somebody(spec: &SubjectAccessReviewSpec) -> Access<'_> {
    let name = spec.user.clone().unwrap_or_default();
    let user = User { name, groups: spec.groups.clone().unwrap_or_default(), ..User::default() };
    Access::new(user.into(), spec.resource_attributes.as_ref(), spec.non_resource_attributes.as_ref())
}

/// The user who asks, as authentication has found them.
fn who_is(user: &User, now: Instant) -> SelfSubjectReview {
    SelfSubjectReview {
        metadata: ObjectMeta { creation_timestamp: Some(now.time()), ..ObjectMeta::default() },
        status: Some(SelfSubjectReviewStatus { user_info: Some(user.info()) }),
    }
}

#[cfg(test)]
mod tests;
