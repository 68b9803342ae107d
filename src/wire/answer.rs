//! What a request is answered.

use std::net::Ipv4Addr;

use object::Object;
use object::metrics::Metrics;

use crate::{Error, Issued, Transport};

/// The answer to one request.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status code; 0 if there is no answer.
    pub code: u16,
    /// What came of it.
    pub result: Result<Response, Error>,
    /// Texts of the `Warning` headers.
    pub warnings: Vec<String>,
    /// Whether the store was written.
    pub wrote: bool,
}

impl Answer {
    /// What a client has of a request that found no server.
    pub fn unsent(why: Transport) -> Answer {
        Answer { code: 0, result: Err(why.into()), warnings: Vec::new(), wrote: false }
    }
}

/// What a request that succeeded returns.
#[derive(Clone, Debug)]
pub enum Response {
    /// One object.
    Object(Object),
    /// A list, and the revision at which it was taken.
    List {
        /// In key order.
        items: Vec<Object>,
        /// The list's resourceVersion.
        revision: u64,
        /// Where the next page starts; empty on the last.
        continue_token: String,
        /// How many more there are, when the server knows.
        remaining: Option<u64>,
    },
    /// `Status` Success: a binding, or a delete that left no object.
    Success {
        /// The deleted object's uid, empty if none.
        uid: String,
    },
    /// `autoscaling/v1 Scale`.
    Scale(Box<k8s_openapi::api::autoscaling::v1::Scale>),
    /// A token was issued: it stands in the status.
    Token(Box<Issued>),
    /// What Pods or nodes used.
    Metrics(Vec<Metrics>),
    /// What follows is between the client and the kubelet of this node. A real API server stays in the middle and passes
    /// everything on.
    PassedOn {
        /// The node's name.
        node: String,
        /// Where its kubelet listens: `172.18.0.10:10250`.
        kubelet: String,
        /// The container that was meant; empty if it is about the whole Pod.
        container: String,
    },
    /// What follows is between the client and a server behind a proxy. A real API server stays in the middle.
    Proxied {
        /// Where the server listens.
        address: Ipv4Addr,
        /// The port there.
        port: u16,
        /// It is spoken to in TLS.
        tls: bool,
    },
    /// What stands at a path that is no object's.
    Page {
        /// The `Content-Type` header.
        content_type: &'static str,
        /// What is sent.
        body: String,
    },
    /// The watch is open; its events follow.
    Watching,
}
