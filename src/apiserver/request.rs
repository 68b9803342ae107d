//! What a client asks of the API server, and what it is told.
//!
//! The in-process clients, the debugger and the HTTP front end all speak these types. Typed objects travel as
//! they are; raw JSON only arrives from outside and is decoded with strict field validation.

use std::rc::Rc;

use k8s_openapi::api::core::v1::{NodeStatus, PodStatus};
use serde_json::Value;

use crate::object::metrics::{self, Metrics};
use crate::object::{Kind, Object, Shared, Status};

use super::reviews::{Review, Verdict};

/// The request's verb, as RBAC names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read all that match.
    List,
    /// Follow all that match.
    Watch,
    /// POST a new object.
    Create,
    /// PUT a whole object.
    Update,
    /// PATCH part of an object.
    Patch,
    /// DELETE one object.
    Delete,
    /// DELETE all that match.
    DeleteCollection,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Verb; 8] = [
        Verb::Get,
        Verb::List,
        Verb::Watch,
        Verb::Create,
        Verb::Update,
        Verb::Patch,
        Verb::Delete,
        Verb::DeleteCollection,
    ];

    /// `get`, `list` … as in RBAC rules and audit logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }

    /// Whether the verb may change what is stored.
    pub fn writes(self) -> bool {
        !matches!(self, Verb::Get | Verb::List | Verb::Watch)
    }
}

/// A part of an object with an endpoint of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subresource {
    /// What was seen, written by whoever sees it.
    Status,
    /// The replica count alone: `autoscaling/v1 Scale`.
    Scale,
    /// POST gives a Pod its node.
    Binding,
    /// POST deletes a Pod, where its disruption budget allows.
    Eviction,
    /// POST asks for a service account's token.
    Token,
    /// What a container printed.
    Log,
    /// POST runs a command in a container.
    Exec,
    /// PUT takes finalizers out of a Namespace's spec: nothing is left in it that whoever put them there minds.
    Finalize,
    /// What Pods or nodes use, as the aggregated API `metrics.k8s.io` has it: see [`super::metrics`].
    Metrics,
    /// POST asks what would be decided, and stores nothing: see [`super::reviews`].
    Review,
}

impl Subresource {
    /// The parts that objects have.
    pub const ALL: [Subresource; 8] = [
        Subresource::Status,
        Subresource::Scale,
        Subresource::Binding,
        Subresource::Eviction,
        Subresource::Token,
        Subresource::Log,
        Subresource::Exec,
        Subresource::Finalize,
    ];

    /// As in URLs and RBAC rules: `status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Subresource::Status => "status",
            Subresource::Scale => "scale",
            Subresource::Binding => "binding",
            Subresource::Eviction => "eviction",
            Subresource::Token => "token",
            Subresource::Log => "log",
            Subresource::Exec => "exec",
            Subresource::Finalize => "finalize",
            Subresource::Metrics => "metrics",
            Subresource::Review => "review",
        }
    }
}

/// Members may do everything. Mirrors `user.SystemPrivilegedGroup`.
pub const MASTERS: &str = "system:masters";

/// Who asks: the identity that authentication finds behind a certificate or a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// `system:kube-scheduler`, `system:node:node-1`, `system:serviceaccount:kube-system:deployment-controller` …
    pub name: String,
    /// `system:authenticated` and others.
    pub groups: Vec<String>,
    /// The component, as traces name it: `deployment-controller`, `kubelet/node-1`, `user/kubectl`.
    pub agent: Rc<str>,
}

impl User {
    fn new(name: String, groups: &[&str], agent: &str) -> User {
        let groups = groups.iter().map(|g| (*g).to_owned()).chain(["system:authenticated".to_owned()]).collect();
        User { name, groups, agent: agent.into() }
    }

    /// A component by its client certificate: `system:kube-scheduler`.
    pub fn component(name: &str, agent: &str) -> User {
        User::new(name.to_owned(), &[], agent)
    }

    /// A controller by its service account's token.
    pub fn service_account(namespace: &str, account: &str, agent: &str) -> User {
        let group = format!("system:serviceaccounts:{namespace}");
        let groups = ["system:serviceaccounts", &group];
        User::new(format!("system:serviceaccount:{namespace}:{account}"), &groups, agent)
    }

    /// An operator by its service account's token. As most that are installed by hand, it may do everything.
    pub fn operator(account: &str, agent: &str) -> User {
        User::new(format!("system:serviceaccount:kube-system:{account}"), &[MASTERS], agent)
    }

    /// A kubelet by its client certificate.
    pub fn node(node: &str) -> User {
        User::new(format!("system:node:{node}"), &["system:nodes"], &format!("kubelet/{node}"))
    }

    /// The API server itself, when it writes what it always writes.
    pub fn loopback() -> User {
        User::part_of_server("kube-apiserver")
    }

    /// One of the controllers that the API server has in its own process.
    pub fn part_of_server(agent: &str) -> User {
        User::new("system:apiserver".to_owned(), &[MASTERS], agent)
    }

    /// Somebody whom the person at the keyboard acts as: `kubectl --as`. A service account is in the groups of its like.
    /// Mirrors `endpoints/filters/impersonation.go`.
    pub fn impersonated(name: &str, groups: &[String]) -> User {
        let account = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
        let namespace = account.map(|(namespace, _)| format!("system:serviceaccounts:{namespace}"));
        let mut all: Vec<&str> = groups.iter().map(String::as_str).collect();
        if let (true, Some(namespace)) = (groups.is_empty(), &namespace) {
            all.extend(["system:serviceaccounts", namespace]);
        }
        User::new(name.to_owned(), &all, "user/kubectl")
    }

    /// The person at the keyboard, who may do everything.
    pub fn admin() -> User {
        User::new("kubernetes-admin".to_owned(), &[MASTERS], "user/kubectl")
    }

    /// Whether they may do everything.
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// Whether this is one of the controllers that are one program, each with its own account.
    pub fn is_controller(&self) -> bool {
        self.name.starts_with("system:serviceaccount:kube-system:") && !self.is_master()
    }

    /// The program that a client says it is, which is the first part of its `User-Agent`.
    pub fn program(&self) -> &str {
        match self.name.as_str() {
            "system:kube-controller-manager" => "kube-controller-manager",
            "system:kube-scheduler" if &*self.agent == "kube-scheduler" => "kube-scheduler",
            "system:apiserver" => "kube-apiserver",
            _ if self.is_controller() => "kube-controller-manager",
            name if name.starts_with("system:node:") => "kubelet",
            _ => {
                let agent = self.agent.strip_prefix("user/").unwrap_or(&self.agent);
                agent.split('/').next().filter(|name| !name.is_empty()).unwrap_or("unknown")
            }
        }
    }
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks.
    pub user: Rc<User>,
    /// What for.
    pub verb: Verb,
    /// Of which kind.
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

impl Patch {
    /// What is sent, if it is sent as text.
    pub fn document(&self) -> Option<&Value> {
        match self {
            Patch::Json(document) | Patch::Merge(document) | Patch::Strategic(document) | Patch::Apply(document) => {
                Some(document)
            }
            Patch::Status(_) => None,
        }
    }
}

impl Request {
    /// A request with nothing in it but what is given. A name that is empty means all objects of the kind.
    pub fn new(user: Rc<User>, verb: Verb, kind: Kind, namespace: &str, name: &str, body: Body) -> Request {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Request { user, verb, kind, subresource: None, namespace, name, body, options: Options::default() }
    }

    /// A GET of a path that is no object's. Its kind means nothing.
    pub fn path(user: Rc<User>, path: &str) -> Request {
        Request::new(user, Verb::Get, Kind::ClusterRole, "", "", Body::Path(path.to_owned()))
    }

    /// The creation of `object` by `user`.
    pub fn create(user: Rc<User>, object: Object) -> Request {
        let (kind, namespace) = (object.kind(), object.namespace().to_owned());
        Request::new(user, Verb::Create, kind, &namespace, "", Body::Object(object))
    }

    /// The request in a line: `update deployments/status default/web`.
    pub fn line(&self) -> String {
        match &self.body {
            Body::Review(review) => return format!("{} {}", self.verb.as_str(), review.resource().1),
            Body::Path(path) => return format!("{} {path}", self.verb.as_str()),
            _ => {}
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
    /// What would be decided?
    Review(Review),
    /// The request is about no object, but about this path: `/healthz`. See [`super::non_resource`].
    Path(String),
    /// `authentication.k8s.io/v1 TokenRequest`.
    Token {
        /// Who may be shown it; nobody named: the API server.
        audiences: Vec<String>,
        /// Asked lifetime in seconds.
        expiration_seconds: i64,
        /// Name and uid of the Pod that the token is bound to.
        pod: Option<(String, String)>,
    },
}

/// The patch formats. Values are the patch documents.
#[derive(Clone, Debug)]
pub enum Patch {
    /// RFC 6902.
    Json(Value),
    /// RFC 7386.
    Merge(Value),
    /// `application/strategic-merge-patch+json`.
    Strategic(Value),
    /// `application/apply-patch+yaml`: all that its author wants.
    Apply(Value),
    /// What a node agent sends as a strategic merge patch of a status, kept typed on its way.
    Status(Box<StatusPatch>),
}

/// A status patch with its conditions merged by type, everything else replaced: what the strategic merge patch
/// that the kubelet computes comes to.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a patch holds it in a Box")]
pub enum StatusPatch {
    /// `pods/status`; the uid is a precondition.
    Pod {
        /// The Pod this status was made for.
        uid: String,
        /// The whole status as its writer sees it, which is often what will be stored.
        status: Shared<PodStatus>,
    },
    /// `nodes/status`.
    Node {
        /// The whole status as its writer sees it.
        status: NodeStatus,
    },
}

/// `metav1.DeleteOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Seconds; absent means the object's own.
    pub grace_period_seconds: Option<i64>,
    /// What happens to dependents.
    pub propagation: Option<Propagation>,
    /// Precondition: this uid.
    pub uid: Option<String>,
    /// Precondition: this resourceVersion.
    pub resource_version: Option<String>,
}

/// `metav1.DeletionPropagation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents stay.
    Orphan,
    /// The object goes at once, dependents follow.
    Background,
    /// Dependents go first.
    Foreground,
}

/// `core/v1 Binding`: a Pod gets its node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Precondition: the Pod's uid.
    pub uid: Option<String>,
    /// The node's name.
    pub node: String,
    /// Labels that admission adds and binding copies to the Pod.
    pub labels: std::collections::BTreeMap<String, String>,
}

/// What to do about unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Nothing.
    Ignore,
    /// Say so in a Warning header: the server's default.
    #[default]
    Warn,
    /// Refuse: kubectl's default.
    Strict,
}

/// Query parameters.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `app=web,tier in (a,b)`.
    pub label_selector: String,
    /// `spec.nodeName=node-1`.
    pub field_selector: String,
    /// For get, list and watch; empty means the newest.
    pub resource_version: String,
    /// `Exact` or `NotOlderThan`.
    pub resource_version_match: String,
    /// How to treat unknown fields.
    pub field_validation: FieldValidation,
    /// Do all but store.
    pub dry_run: bool,
    /// Who manages the fields written.
    pub field_manager: String,
    /// An apply patch takes fields from others.
    pub force: bool,
    /// The answer tells who manages which fields. Components throw that away, so they need not ask.
    pub managed_fields: bool,
    /// Page size of a list; 0 means all.
    pub limit: u64,
    /// Where the next page starts.
    pub continue_token: String,
    /// A watch begins with the state so far.
    pub send_initial_events: bool,
    /// A watch may carry bookmarks.
    pub allow_watch_bookmarks: bool,
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
    Token(Box<k8s_openapi::api::authentication::v1::TokenRequest>),
    /// What Pods or nodes used.
    Metrics(Vec<Metrics>),
    /// What would be decided.
    Review(Verdict),
    /// `101 Switching Protocols`: what follows is between the client and the kubelet of this node. A real API server
    /// stays in the middle and passes everything on.
    Upgraded {
        /// The node's name.
        node: String,
        /// Where its kubelet listens: `172.18.0.10:10250`.
        kubelet: String,
        /// The container that was meant.
        container: String,
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

/// The answer to one request.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status code.
    pub code: u16,
    /// The body.
    pub result: Result<Response, Status>,
    /// Texts of the `Warning` headers.
    pub warnings: Vec<String>,
    /// Whether the store was written.
    pub wrote: bool,
}
