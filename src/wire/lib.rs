//! The wire: what is said to an API server, and what it answers.
//!
//! Everybody stands around it. Components, kubectl, the engine and the API server all speak these types, and none of them
//! knows another. Typed objects travel as they are, shared; raw JSON only arrives from outside the cluster, and the API
//! server decodes it with strict field validation.
//!
//! - [`request`]: what a client asks for. [`user`]: who asks, and as whom; [`connection`]: from where.
//!   [`verb`]: to do what, with which part of an object. [`options`]: how. [`patch`]: changes in the formats that there are.
//! - [`answer`]: what the server answers; [`error`]: why a call came to nothing; [`token`]: a token that it has issued.
//! - [`watch`]: what a watch is told, event by event.
//!
//! A caller makes a [`Request`] ([`Request::create`], [`Request::new`]) for a [`User`] and hears a [`Response`], whose `result` is
//! an [`Answer`] or an [`Error`]: the server's [`Status`](object::Status), or a [`Transport`] error when there was no answer at
//! all. How it gets there is not said here: in a test the crate `apiserver` has a function for it, and in a cluster the crate
//! `engine` carries it, a pending event each way.
//!
//! ```
//! use std::rc::Rc;
//!
//! use kubestep_wire::{Body, Request, User, Verb};
//! use object::Kind;
//!
//! let request = Request::new(Rc::new(User::admin()), Verb::Get, Kind::Deployment, "default", "web", Body::None);
//! assert_eq!(request.line(), "get deployments default/web");
//! ```
//!
//! Must hold:
//! - These are values. Nothing here knows an engine, a server or a client. Kept by
//!   `the_picture_of_the_crates_is_as_they_are`.

pub mod answer;
pub mod connection;
pub mod error;
pub mod options;
pub mod patch;
pub mod request;
pub mod status_text;
pub mod token;
pub mod user;
pub mod verb;
pub mod watch;

pub use answer::{Answer, Response};
pub use connection::Connection;
pub use error::{Error, Transport};
pub use options::{DeleteOptions, FieldValidation, Options, Propagation};
pub use patch::{Patch, StatusPatch};
pub use request::{About, Binding, Body, Refused, Request, name_in};
pub use status_text::status_text;
pub use token::Issued;
pub use user::{Impersonated, Impersonation, MASTERS, User};
pub use verb::{Subresource, Verb};
pub use watch::{WatchEvent, WatchId};
