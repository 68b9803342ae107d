//! Reviews: the API server is asked what it would decide.
//!
//! A review is a POST like a create, but nothing is stored: the answer is the status of what was sent. `kubectl auth`
//! speaks nothing else. Mirrors `pkg/registry/authorization/{selfsubjectaccessreview,subjectaccessreview,
//! selfsubjectrulesreview}` and `pkg/registry/authentication/selfsubjectreview`.
//!
//! Left out: LocalSubjectAccessReview, TokenReview, and reviews over HTTP.

use std::borrow::Cow;
use std::rc::Rc;

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::object::{Kind, Status};

use super::authorization::Attributes;
use super::request::{Body, Request, Response, Subresource, User, Verb};
use super::{ApiServer, Handling, Outcome};

/// What is asked.
#[derive(Clone, Debug)]
pub enum Review {
    /// `SelfSubjectAccessReview`: may I?
    SelfAccess(Access),
    /// `SubjectAccessReview`: may they?
    Access(Rc<User>, Access),
    /// `SelfSubjectRulesReview`: what may I do in this namespace?
    SelfRules(String),
    /// `SelfSubjectReview`: who am I?
    SelfSubject,
}

/// `ResourceAttributes`: something that one might do.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Empty: all namespaces, or none.
    pub namespace: String,
    /// Any word, for rules may hold any.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The plural, with the subresource after a slash.
    pub resource: String,
    /// Empty: none named.
    pub name: String,
    /// `NonResourceAttributes`: the URL that it is about, if it is about no resource.
    pub path: String,
}

/// What is answered.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Whether, and why; of a refusal the reason is what went wrong in looking, if anything.
    Access {
        /// Whether somebody allows it.
        allowed: bool,
        /// Who allows it.
        reason: String,
    },
    /// Rules about resources, and about URLs.
    Rules(Vec<PolicyRule>),
    /// The user.
    Subject(Rc<User>),
}

impl Review {
    /// The API group and the resource that a rule must name for one to be allowed to ask.
    pub fn resource(&self) -> (&'static str, &'static str) {
        match self {
            Review::SelfAccess(_) => ("authorization.k8s.io", "selfsubjectaccessreviews"),
            Review::Access(..) => ("authorization.k8s.io", "subjectaccessreviews"),
            Review::SelfRules(_) => ("authorization.k8s.io", "selfsubjectrulesreviews"),
            Review::SelfSubject => ("authentication.k8s.io", "selfsubjectreviews"),
        }
    }

    /// The request of `user`. It stores no object, so its kind is that of what is read to answer it.
    pub fn request(self, user: Rc<User>) -> Request {
        let mut request = Request::new(user, Verb::Create, Kind::ClusterRole, "", "", Body::Review(self));
        request.subresource = Some(Subresource::Review);
        request
    }
}

impl ApiServer {
    pub(super) fn review(&mut self, handling: &mut Handling) -> Outcome {
        let Body::Review(review) = &handling.request.body else {
            return Err(Status::bad_request("the request carries no review"));
        };
        let user = &handling.request.user;
        let verdict = match review {
            Review::SelfAccess(access) => self.would_allow(user, access),
            Review::Access(user, access) => self.would_allow(user, access),
            Review::SelfRules(namespace) => Verdict::Rules(self.authorizer.rules_of(user, namespace)),
            Review::SelfSubject => Verdict::Subject(user.clone()),
        };
        Ok((201, Response::Review(verdict)))
    }

    fn would_allow(&self, user: &Rc<User>, access: &Access) -> Verdict {
        let attributes = Attributes {
            user,
            verb: &access.verb,
            group: &access.group,
            resource: Cow::Borrowed(&access.resource),
            namespace: &access.namespace,
            name: &access.name,
            path: &access.path,
        };
        match self.authorizer.decide(&attributes, access.as_request(user).as_ref(), &self.store) {
            Ok(allowed) => Verdict::Access { allowed: true, reason: allowed.to_string() },
            Err(reasons) => Verdict::Access { allowed: false, reason: reasons.join("\n") },
        }
    }
}

impl Access {
    /// The same as a request, if it is one that could be sent: the Node authorizer looks at nothing else.
    fn as_request(&self, user: &Rc<User>) -> Option<Request> {
        let (plural, part) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        let is_it = |kind: &&Kind| kind.info().plural == plural && kind.info().group == self.group;
        let kind = Kind::ALL.iter().find(is_it)?;
        let verb = Verb::ALL.into_iter().find(|verb| verb.as_str() == self.verb)?;
        let mut request = Request::new(user.clone(), verb, *kind, &self.namespace, &self.name, Body::None);
        if !part.is_empty() {
            request.subresource = Some(Subresource::ALL.into_iter().find(|there| there.as_str() == part)?);
        }
        Some(request)
    }
}
