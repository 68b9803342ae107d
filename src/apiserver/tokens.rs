//! `POST serviceaccounts/NAME/token`: the API server issues a token for a service account.
//! Mirrors `pkg/registry/core/serviceaccount/storage/token.go`.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec, TokenRequestStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use object::pod::assigned_node;
use object::status::Cause;
use object::token::{self, Bounds, Claims, ISSUER, Token};
use object::{Kind, Object, Pod, Status};
use wire::{Body, Issued, Response};

use super::admission;
use super::{ApiServer, Handling, Outcome};
use object::validation::field::{Path, Problems};

/// The shortest and the longest life that may be asked for, in seconds.
const SECONDS_MIN: i64 = 10 * 60;
const SECONDS_MAX: i64 = 1 << 32;

impl ApiServer {
    pub(super) fn create_token(&mut self, handling: &mut Handling) -> Outcome {
        let request = handling.request;
        let account = self.stored(Kind::ServiceAccount, &request.namespace, &request.name)?;
        let Body::Token { audiences, expiration_seconds, bound } = &request.body else {
            return Err(Status::bad_request("the request carries no TokenRequest"));
        };
        let problems = validate(*expiration_seconds);
        if !problems.is_empty() {
            return Err(invalid(problems));
        }
        admission::admit_token(request, &self.store)?;
        let bound = bound.as_ref().map(|(kind, name, uid)| self.bound(&account, *kind, name, uid)).transpose()?;
        let (of, node) = bound.clone().map_or((None, None), |(kind, named, node)| (Some((kind, named)), node));
        let named = |wanted: Kind| of.clone().filter(|(kind, _)| *kind == wanted).map(|(_, named)| named);
        let (pod, secret) = (named(Kind::Pod), named(Kind::Secret));
        let audiences = if audiences.is_empty() { vec![ISSUER.to_owned()] } else { audiences.clone() };
        let expires = handling.now + Duration::from_secs(expiration_seconds.unsigned_abs());
        let claims = Claims {
            namespace: request.namespace.clone(),
            account: request.name.clone(),
            account_uid: account.meta().uid.clone().unwrap_or_default(),
            bounds: Bounds::Time {
                audiences: audiences.clone(),
                issued: handling.now,
                expires,
                id: token::number(
                    &format!("{}/{} {pod:?} {audiences:?}", request.namespace, request.name),
                    handling.now,
                ),
                pod: pod.clone(),
                secret,
                node: node.or_else(|| named(Kind::Node)),
            },
        };
        let bound = bound.map(|(kind, (name, uid), _)| BoundObjectReference {
            api_version: Some("v1".into()),
            kind: Some(kind.info().kind.into()),
            name: Some(name),
            uid: Some(uid),
        });
        let spec = TokenRequestSpec {
            audiences: Some(audiences),
            bound_object_ref: bound,
            expiration_seconds: Some(*expiration_seconds),
        };
        let status = TokenRequestStatus { expiration_timestamp: Some(expires.time()), token: None };
        let metadata = ObjectMeta {
            name: Some(request.name.clone()),
            namespace: Some(request.namespace.clone()),
            creation_timestamp: Some(handling.now.time()),
            ..ObjectMeta::default()
        };
        let request = TokenRequest { metadata, spec: Some(spec), status: Some(status) };
        Ok((201, Response::Token(Box::new(Issued { request, token: Token::new(claims) }))))
    }

    /// What the token is to end with, which must be there, and the node on which a Pod is. The name of a node that is gone stands
    /// without a uid.
    fn bound(&self, account: &Object, kind: Kind, name: &str, uid: &str) -> Result<Bound, Status> {
        if name.is_empty() {
            return Err(Status::bad_request("Name parameter required."));
        }
        let namespace = if kind.info().namespaced { account.namespace() } else { "" };
        let object = self.stored(kind, namespace, name)?;
        let node = match &object {
            Object::Pod(pod) => self.node_of(account, pod)?,
            _ => None,
        };
        let there = object.meta().uid.clone().unwrap_or_default();
        if !uid.is_empty() && uid != there {
            let why = format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
                 been deleted and then recreated"
            );
            return Err(Status::conflict_with("", kind.info().kind, name, &why));
        }
        Ok((kind, (name.to_owned(), there), node))
    }

    /// The node of a Pod that a token is bound to: it must run as the account.
    fn node_of(&self, account: &Object, pod: &Pod) -> Result<Option<Named>, Status> {
        let runs_as = pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref()).unwrap_or_default();
        if runs_as != account.name() {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                account.name()
            )));
        }
        Ok(assigned_node(pod).map(|node| {
            let found = self.stored(Kind::Node, "", node).ok();
            (node.to_owned(), found.and_then(|node| node.meta().uid.clone()).unwrap_or_default())
        }))
    }
}

/// An object's name and uid.
type Named = (String, String);
/// What a token ends with, and the node on which it is.
type Bound = (Kind, Named, Option<Named>);

/// Mirrors `ValidateTokenRequest`.
fn validate(seconds: i64) -> Vec<Cause> {
    const SPEC: Path = Path::new("spec");
    let (mut problems, path) = (Problems::default(), SPEC.child("expirationSeconds"));
    if seconds < SECONDS_MIN {
        problems.invalid(&path, seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds > SECONDS_MAX {
        problems.invalid(&path, seconds, "may not specify a duration larger than 2^32 seconds");
    }
    problems.0
}

/// The 422 names the request, which is no kind that is stored.
fn invalid(problems: Vec<Cause>) -> Status {
    Status::invalid_kind("authentication.k8s.io", "TokenRequest", "", problems)
}
