//! The connection by which a request came, if it came by the network.

use std::net::Ipv4Addr;

/// What the server sees of it. Components and kubectl are connected as the engine connects them, and have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The address that its packets come from: a node's, if they are masqueraded on their way.
    pub peer: Ipv4Addr,
    /// The `User-Agent` header, empty if it is missing.
    pub user_agent: String,
    /// The token of `Authorization: Bearer …`, empty if there is none.
    pub bearer: String,
}
