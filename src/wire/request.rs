//! One request: who asks for what, about which kind, with what.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use object::metrics;
use object::{Kind, Object, Status};

use crate::{Connection, DeleteOptions, Options, Patch, Subresource, User, Verb};

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks. A client that comes by the network is anonymous until a token has said more.
    pub user: Rc<User>,
    /// How it came, if by the network.
    pub connection: Option<Rc<Connection>>,
    /// What for.
    pub verb: Verb,
    /// The kind of the object, or of the list.
    pub kind: Kind,
    /// Which part of it.
    pub subresource: Option<Subresource>,
    /// Empty: cluster-scoped, or all namespaces.
    pub namespace: String,
    /// Empty: none named.
    pub name: String,
    /// What is sent along.
    pub body: Body,
    /// Query parameters.
    pub options: Options,
}

impl Request {
    /// A request with nothing in it but what is given. A name that is empty means all objects of the kind.
    pub fn new(user: Rc<User>, verb: Verb, kind: Kind, namespace: &str, name: &str, body: Body) -> Request {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let options = Options::default();
        Request { user, connection: None, verb, kind, subresource: None, namespace, name, body, options }
    }

    /// A GET of a path that is no object's, with what stands behind its question mark. Its kind means nothing.
    pub fn path(user: Rc<User>, path: &str) -> Request {
        Request::new(user, Verb::Get, Kind::ClusterRole, "", "", Body::Path(path.to_owned()))
    }

    /// The path that it is about, if it is about no object.
    pub fn target(&self) -> Option<&str> {
        match &self.body {
            Body::Path(path) => Some(path),
            Body::Refused(refused) => Some(&refused.target),
            _ => None,
        }
    }

    /// The token that was shown with it.
    pub fn token(&self) -> Option<&str> {
        self.connection.as_ref().map(|connection| connection.bearer.as_str()).filter(|token| !token.is_empty())
    }

    /// The creation of `object` by `user`.
    pub fn create(user: Rc<User>, object: Object) -> Request {
        let (kind, namespace) = (object.kind(), object.namespace().to_owned());
        Request::new(user, Verb::Create, kind, &namespace, "", Body::Object(object))
    }

    /// The request in a line: `update deployments/status default/web`.
    pub fn line(&self) -> String {
        if let Some(target) = self.target() {
            return format!("{} {target}", self.verb.as_str());
        }
        let mut line = format!("{} {}", self.verb.as_str(), self.kind.info().plural);
        if self.subresource == Some(Subresource::Metrics) {
            line = format!("{line}.{}", metrics::GROUP);
        } else if let Some(subresource) = self.subresource {
            line = format!("{line}/{}", subresource.as_str());
        }
        let name = match (&self.body, self.name.as_str()) {
            (Body::Object(object), "") if !object.name().is_empty() => object.name().to_owned(),
            (Body::Object(object), "") => object.meta().generate_name.clone().unwrap_or_default(),
            (Body::Json(text), "") => name_in(text),
            (_, name) => name.to_owned(),
        };
        match (self.namespace.as_str(), name.as_str()) {
            ("", "") => line,
            ("", name) => format!("{line} {name}"),
            (namespace, "") => format!("{line} in {namespace}"),
            (namespace, name) => format!("{line} {namespace}/{name}"),
        }
    }

    /// Whether it is to change an object, and no heartbeat, Event or token.
    pub fn changes(&self) -> bool {
        self.verb.writes() && !self.is_background()
    }

    /// Whether it is traffic that never stops: heartbeats, Events, tokens.
    pub fn is_background(&self) -> bool {
        matches!(self.kind, Kind::Lease | Kind::Event) || self.subresource == Some(Subresource::Token)
    }
}

/// The name of the object that some JSON describes, empty if it has none.
pub fn name_in(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What a request carries.
#[derive(Clone, Debug)]
pub enum Body {
    /// Nothing.
    None,
    /// A typed object from one of the cluster's own components.
    Object(Object),
    /// Bytes from outside, to be decoded.
    Json(String),
    /// A change to an object.
    Patch(Patch),
    /// How to delete.
    Delete(DeleteOptions),
    /// A Pod's node.
    Binding(Binding),
    /// A new replica count.
    Scale {
        /// Wanted replicas.
        replicas: i32,
        /// Refuse if the parent has another resourceVersion.
        resource_version: Option<String>,
    },
    /// `v1 PodExecOptions`: a command to run in a container.
    Exec {
        /// The container's name; empty: the only one.
        container: String,
        /// The command in words.
        command: Vec<String>,
    },
    /// `v1 PodAttachOptions`: to which container's process.
    Attach {
        /// The container's name; empty: the only one.
        container: String,
    },
    /// Something for what is behind a proxy.
    Proxy {
        /// Path and query there; empty: the client has left out the slash that it begins with.
        target: String,
    },
    /// `v1 PodLogOptions`: the container whose log it is. Which lines of it, the client says to the kubelet.
    Log {
        /// The container's name; empty: the only one.
        container: String,
    },
    /// The request is about no object, but about this path: `/readyz?verbose`.
    Path(String),
    /// What could not be made sense of: whether its sender may ask so at all comes first, and then it is refused.
    Refused(Box<Refused>),
    /// `authentication.k8s.io/v1 TokenRequest`.
    Token {
        /// Who may be shown it; empty: the API server.
        audiences: Vec<String>,
        /// Asked lifetime in seconds.
        expiration_seconds: i64,
        /// Kind, name and uid of what the token is bound to: a Pod, a Secret or a node.
        bound: Option<(Kind, String, String)>,
    },
}

/// A request that is refused for how it came over HTTP: at a path where nothing is served, with a method or in a media
/// type that is not allowed there.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Path and query.
    pub target: String,
    /// What it is about, as rules see it.
    pub about: About,
    /// What it is answered; none: the page that says that there is none.
    pub why: Option<Status>,
}

/// What a request is about that could not be made sense of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The kind and part that the request names.
    Kind,
    /// An API group and a resource, with its part after a slash: no server has them.
    Resource(String, String),
    /// A path that is no resource's.
    Path(String),
}

/// `core/v1 Binding`: a Pod gets its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Precondition: the Pod's uid.
    pub uid: Option<String>,
    /// Precondition: the Pod's resourceVersion.
    pub resource_version: Option<String>,
    /// The node's name.
    pub node: String,
    /// Annotations that the Pod gets.
    pub annotations: BTreeMap<String, String>,
    /// Labels that admission adds and binding copies to the Pod.
    pub labels: BTreeMap<String, String>,
}
