//! What every component of the cluster stands on, from the ground up: objects, etcd, the API server, the engine that
//! delivers one event at a time, and the clients that components hold.
//!
//! A crate of its own, as the components above it are, so that all of them compile side by side and a change compiles no
//! more than it touches. The library `kubestep` shows them as one.

pub use kubestep_object as object;

pub use kubestep_wire as wire;

pub use kubestep_engine as engine;

pub use kubestep_client as client;

pub mod store;

pub mod rules;

pub mod kinds;

pub mod apiserver;
