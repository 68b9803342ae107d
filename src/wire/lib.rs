//! The wire: what is said to an API server, and what it answers.
//!
//! Everybody stands around it. Components, kubectl, the engine and the API server all speak these types, and none of them
//! knows another. Typed objects travel as they are, shared; raw JSON only arrives from outside the cluster, and the API
//! server decodes it with strict field validation.
//!
//! - [`request`]: what a client asks for. [`user`]: who asks; [`impersonation`]: as whom; [`connection`]: from where.
//!   [`verb`]: to do what, with which part of an object. [`options`]: how. [`patch`]: changes in the formats that there are.
//! - [`answer`]: what the server answers; [`error`]: why a call came to nothing; [`token`]: a token that it has issued.
//! - [`watch`]: what a watch is told, event by event.

pub mod answer;
pub mod connection;
pub mod error;
pub mod impersonation;
pub mod options;
pub mod patch;
pub mod request;
pub mod token;
pub mod user;
pub mod verb;
pub mod watch;

pub use answer::{Answer, Response};
pub use connection::Connection;
pub use error::{Error, Transport};
pub use impersonation::{Impersonated, Impersonation};
pub use options::{DeleteOptions, FieldValidation, Options, Propagation};
pub use patch::{Patch, StatusPatch};
pub use request::{Binding, Body, Request, name_in};
pub use token::Issued;
pub use user::{MASTERS, User};
pub use verb::{Subresource, Verb};
pub use watch::{WatchEvent, WatchId};
