//! Real clients at the cluster: over sockets, as they come and as they misbehave.

mod clients;
mod explore;
mod helm;
mod http;
mod kube;
mod kubectl;
mod libraries;
mod mcp;
mod operator;
mod program;
mod recorded;
mod replay;
mod rude;
mod same;
mod sent;
#[path = "../skip/mod.rs"]
mod skip;
mod tls;
