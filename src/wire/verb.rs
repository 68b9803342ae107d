//! What a request is to do, and to which part of an object.

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
    /// What was seen, written by the component that sees it.
    Status,
    /// The replica count alone: `autoscaling/v1 Scale`.
    Scale,
    /// POST gives a Pod its node.
    Binding,
    /// POST deletes a Pod, where its disruption budget allows.
    Eviction,
    /// POST asks for a service account's token.
    Token,
    /// The containers that are added to a Pod which runs, to look around in it.
    EphemeralContainers,
    /// How much CPU and memory the containers of a Pod have, while they run.
    Resize,
    /// What a container printed.
    Log,
    /// Runs a command in a container.
    Exec,
    /// Sees and feeds the process of a container.
    Attach,
    /// Connects to ports of a Pod.
    PortForward,
    /// What a Pod, the Pods of a Service or a node serve: the request goes there.
    Proxy,
    /// PUT takes finalizers out of a Namespace's spec: each owner has found nothing left in it to clean up.
    Finalize,
    /// What was decided about a request for a certificate.
    Approval,
    /// What Pods or nodes use, as the aggregated API `metrics.k8s.io` has it.
    Metrics,
}

impl Subresource {
    /// Whether the whole object is read and written through it, though only some of its fields change.
    pub fn is_of_object(self) -> bool {
        use Subresource::{Approval, EphemeralContainers, Resize, Status};
        matches!(self, Status | EphemeralContainers | Resize | Approval)
    }

    /// Whether a request for it stays open, for as long as client and kubelet talk: a `CONNECT` verb of the real one.
    pub fn is_connection(self) -> bool {
        matches!(self, Subresource::Exec | Subresource::Attach | Subresource::PortForward)
    }

    /// The parts that objects have, but for [`Subresource::Proxy`], behind which is no part of the object, and metrics.
    pub const ALL: [Subresource; 13] = [
        Subresource::Status,
        Subresource::Scale,
        Subresource::Binding,
        Subresource::Eviction,
        Subresource::Token,
        Subresource::EphemeralContainers,
        Subresource::Resize,
        Subresource::Log,
        Subresource::Exec,
        Subresource::Attach,
        Subresource::PortForward,
        Subresource::Finalize,
        Subresource::Approval,
    ];

    /// As in URLs and RBAC rules: `status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Subresource::Status => "status",
            Subresource::Scale => "scale",
            Subresource::Binding => "binding",
            Subresource::Eviction => "eviction",
            Subresource::Token => "token",
            Subresource::EphemeralContainers => "ephemeralcontainers",
            Subresource::Resize => "resize",
            Subresource::Log => "log",
            Subresource::Exec => "exec",
            Subresource::Attach => "attach",
            Subresource::PortForward => "portforward",
            Subresource::Proxy => "proxy",
            Subresource::Finalize => "finalize",
            Subresource::Approval => "approval",
            Subresource::Metrics => "metrics",
        }
    }
}
