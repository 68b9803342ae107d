//! A raw request, what it came to mean, and how its answer shall look.

use std::rc::Rc;

use kinds::printers::Include;
use object::Status;
use object::status::{Details, Reason};
use wire::{Connection, Request, Subresource, User};

/// A raw request.
#[derive(Clone, Debug, Default)]
pub struct HttpRequest<'a> {
    /// `GET`, `POST` …
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// The `Content-Type` header, empty if missing.
    pub content_type: &'a str,
    /// The `Accept` header, empty if missing.
    pub accept: &'a str,
    /// What was sent.
    pub body: &'a [u8],
    /// The user who asks; none if the credentials are wrong.
    pub user: Option<Rc<User>>,
    /// How it came, if by the network.
    pub connection: Option<Rc<Connection>>,
}

impl<'a> HttpRequest<'a> {
    /// A request of a user, answered in JSON.
    pub fn in_json(
        user: Rc<User>,
        method: &'a str,
        target: &'a str,
        content_type: &'a str,
        body: &'a str,
    ) -> HttpRequest<'a> {
        let (accept, body, user) = ("application/json", body.as_bytes(), Some(user));
        HttpRequest { method, target, content_type, accept, body, user, connection: None }
    }
}

/// A request that made sense, and how its answer shall look.
#[derive(Clone, Debug)]
pub struct Call {
    /// For the API server.
    pub request: Request,
    /// In what the answer is written.
    pub encoding: Encoding,
    /// The form of the answer.
    pub format: Format,
}

impl Call {
    /// Whether the client wants to be connected to a Pod.
    pub fn is_connection(&self) -> bool {
        self.request.subresource.is_some_and(Subresource::is_connection)
    }
}

/// A client that wants a connection must name the protocol to go on with, which a plain request does not.
pub fn upgrade_required() -> Status {
    Status::bad_request("Upgrade request required")
}

/// In what answers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// `application/json`
    #[default]
    Json,
    /// `application/yaml`
    Yaml,
}

/// The forms of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// As it is.
    #[default]
    Plain,
    /// `application/json;as=Table;v=v1;g=meta.k8s.io`: what [`kinds::printers`] make of it.
    Table(Include),
    /// `…;as=PartialObjectMetadata;…`: nothing of an object but its metadata.
    Metadata,
    /// `…;as=PartialObjectMetadataList;…`: nothing of a list's objects but their metadata.
    MetadataList,
    /// `…;as=APIGroupDiscoveryList;…`: all kinds at once, of the page that lists them.
    Discovery,
    /// A page of [`super::openapi`], in one of these forms.
    OpenApi {
        /// In JSON.
        json: bool,
    },
}

/// Errors of the HTTP layer itself have details, but nothing in them.
pub(super) fn with_empty_details(reason: Reason, message: impl Into<String>) -> Status {
    Status { details: Some(Box::new(Details::default())), ..Status::new(reason, message) }
}
