//! Requests in an older version of a built-in kind: `autoscaling/v1`.
//!
//! Only the edges of the pipeline know of it. A request is turned into one of the version that is stored and worked with,
//! what it carries is read in its own version and converted at once, and what is answered or told is converted back. See
//! [`crate::object::versions`] for what becomes what.
//!
//! Mirrors the codecs of `k8s.io/apimachinery/pkg/runtime/serializer/versioning`.
//!
//! Left out: managedFields in the older version; they are told in that which is stored.

use std::borrow::Cow;

use k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler;

use super::ApiServer;
use super::request::{Body, Patch, Request, Response};
use super::watch::{WatchEvent, WatchId};
use crate::object::json::Json;
use crate::object::read::{self, Problem};
use crate::object::{Kind, Object, versions};

/// The request as the pipeline works with it.
pub(super) fn internal(request: &Request) -> Cow<'_, Request> {
    let kind = versions::stored_as(request.kind);
    if kind == request.kind {
        return Cow::Borrowed(request);
    }
    let mut request = Request { kind, ..request.clone() };
    let converted = match &request.body {
        Body::Object(object) => versions::to_stored(&object.to_json()).ok().map(Body::Object),
        Body::Patch(Patch::Apply(config)) => {
            versions::to_stored(config).ok().map(|object| Body::Patch(Patch::Apply(object.to_json())))
        }
        _ => None,
    };
    request.body = converted.unwrap_or(request.body);
    Cow::Owned(request)
}

/// Reads the older version of an object.
pub(super) fn decode(json: &Json) -> Result<(Object, Vec<Problem>), String> {
    let (sent, problems) = read::value::<HorizontalPodAutoscaler>(json)?;
    let content = serde_json::to_value(&sent).map_err(|error| error.to_string())?;
    let object = versions::from_v1(sent.metadata, &content).map_err(|error| error.to_string())?;
    Ok((Object::HorizontalPodAutoscaler(object.into()), problems))
}

impl Response {
    /// The same to a client that speaks this version of the kind.
    pub(super) fn in_version(self, kind: Kind) -> Response {
        match self {
            Response::Object(object) => Response::Object(object.in_version(kind)),
            Response::List { items, revision, continue_token, remaining } => {
                let items = items.into_iter().map(|object| object.in_version(kind)).collect();
                Response::List { items, revision, continue_token, remaining }
            }
            other => other,
        }
    }
}

impl ApiServer {
    /// Events as those watches have asked for them that speak an older version.
    pub(super) fn tell_in_versions(&self, events: &mut [(WatchId, WatchEvent)]) {
        for (id, event) in events {
            let of_kind = event.kind().and_then(versions::older);
            if let (Some(kind), Some(object)) = (of_kind, event.object_mut())
                && self.watchers.version(*id) == Some(kind)
            {
                *object = object.clone().in_version(kind);
            }
        }
    }
}
