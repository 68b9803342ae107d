//! The user who asks, and the user that the request counts as: both are known before anything else is looked at.
//!
//! [`ApiServer::identify`] reads the credentials ([`super::authentication`]), lets one user take another's place
//! ([`super::impersonation`]), and hands on the request in the name of the user it counts as. Nothing after it knows the
//! credentials. Refusals are kept in the [`Identity`], so that the stages can be told in their order.
//!
//! Must hold:
//! - A user who is refused here does nothing at all. Kept by `wrong_credentials_end_everything` and
//!   `who_may_ask_as_somebody_else`.
//!
//! Mirrors the filters `WithAuthentication` and `WithImpersonation` of `k8s.io/apiserver/pkg/endpoints/filters`.

use std::borrow::Cow;
use std::rc::Rc;

use object::time::Instant;
use object::{Kind, Status};
use wire::{Impersonated, Request, User};

use super::{ApiServer, Handling, authentication};

/// A request whose user is known.
pub(super) struct Identity<'a> {
    /// The request, in the name of the user it counts as.
    pub request: Cow<'a, Request>,
    /// The user that a token names.
    pub by_token: Option<Rc<User>>,
    /// The user that the request counts as, if that is another than the one who asks.
    pub impersonated: Option<Impersonated>,
    asker: Rc<User>,
    refused: Option<Refused>,
}

/// Why it goes no further.
enum Refused {
    /// The token that was shown is no good.
    Token(Status),
    /// The user may not impersonate the other.
    Impersonation(Status),
}

impl ApiServer {
    /// Finds the user of a request. `served`: in which version of the kind the client speaks.
    pub(super) fn identify<'a>(&self, request: Cow<'a, Request>, served: Kind, now: Instant) -> Identity<'a> {
        let (by_token, no_token) = split(authentication::by_token(&request, now, &self.store));
        let by_token = by_token.map(Rc::new);
        let request = in_the_name_of(by_token.as_ref(), request);
        let asker = request.user.clone();
        if let Some(status) = no_token {
            return Identity { request, by_token, impersonated: None, asker, refused: Some(Refused::Token(status)) };
        }
        let (impersonated, refused) = split(self.impersonate(&request, served));
        let request = in_the_name_of(impersonated.as_ref().map(|other| &other.user), request);
        Identity { request, by_token, impersonated, asker, refused: refused.map(Refused::Impersonation) }
    }
}

impl Identity<'_> {
    /// Tells of the stages that it has passed.
    ///
    /// # Errors
    /// The 401 for a token that is no good; the 403 or 400 for a user who may not be another.
    pub fn check(&self, handling: &mut Handling) -> Result<(), Status> {
        if let Some(Refused::Token(status)) = &self.refused {
            handling.stage("authentication", || "the bearer token is no good".to_owned());
            return Err(status.clone());
        }
        let names = |user: &User| format!("{} [{}]", user.name, user.groups.join(", "));
        let shown = if self.request.token().is_some() { "bearer token → " } else { "" };
        handling.stage("authentication", || format!("{shown}{}", names(&self.asker)));
        if let Some(Refused::Impersonation(status)) = &self.refused {
            handling.stage("impersonation", || "refused".to_owned());
            return Err(status.clone());
        }
        if let Some(other) = &self.impersonated {
            handling.stage("impersonation", || format!("as {}", names(&other.user)));
        }
        Ok(())
    }
}

fn in_the_name_of<'a>(user: Option<&Rc<User>>, request: Cow<'a, Request>) -> Cow<'a, Request> {
    match user {
        None => request,
        Some(user) => Cow::Owned(Request { user: user.clone(), ..request.into_owned() }),
    }
}

/// What was found, and why nothing was.
fn split<T>(found: Result<Option<T>, Status>) -> (Option<T>, Option<Status>) {
    match found {
        Ok(found) => (found, None),
        Err(status) => (None, Some(status)),
    }
}
