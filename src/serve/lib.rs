//! `kubestep serve`: real kubectl, Helm and operators talk to the stepped cluster over HTTP.
//!
//! Two threads. The main one has the session: engine, cluster, stepper. The other has the sockets ([`front`]), and knows
//! HTTP and nothing of Kubernetes. Values pass between them over two channels ([`mod@line`]), so nothing is shared.
//!
//! - [`front`]: connections, their limits, and who may come. [`users`]: the secrets that say who comes; [`tls`]: certificates that
//!   do.
//!   `socket`: connections that go on as WebSockets, `spdy`: what kubectl forwards ports with inside one.
//! - [`mod@line`]: what passes between the threads.
//! - [`reception`]: requests in, answers out, and how time passes, on the main thread.
//! - [`explore`]: runs of a client with something broken, [`trial`] is one of them, and [`program`] what runs in it.
//! - [`kubeconfig`]: the file that a client is given. [`page`]: who is connected, for a browser.
//!
//! Must hold:
//! - A client changes the run by what it sends and when it hangs up, and by nothing else: both are choices in the session, and a
//!   saved session repeats without the client. Kept by `a_session_repeats_without_its_clients`.
//! - No client stops another, or the session: not by sending nothing, reading nothing, or leaving. Kept by
//!   `rude_clients_harm_themselves_alone`.
//! - Only a client that knows a secret, or shows a token of the cluster, gets anything but the page. Kept by
//!   `a_secret_says_who_comes`.
//!
//! Left out: HTTP/2, compressed bodies, answers in protobuf.

pub mod command;
pub mod explore;
pub mod front;
pub mod kubeconfig;
pub mod line;
pub mod page;
pub mod program;
pub mod reception;
mod socket;
mod spdy;
pub mod tls;
pub mod trial;
pub mod users;
