//! What every component holds: a typed API handle, informers with their caches, a work queue, an event recorder.
//!
//! This is client-go in small. A component never sees the store, nor another component: it reads from caches that
//! watches keep, puts the keys of what changed into a work queue, and a worker reconciles one key at a time with calls
//! to the API server.
//!
//! - [`api`]: [`Client`], whose calls are the `.await`s at which a reconcile may be interrupted.
//! - [`informer`]: reflector, delta queue and indexed cache of one kind; [`Lister`] reads it. [`Informers`] are those of one
//!   process.
//! - [`queue`]: de-duplicating, delaying, rate-limited work queue.
//! - [`recorder`]: Events, sent without waiting.
//! - [`leader`]: of several processes one works.
//! - [`controller`]: the trait that every controller implements; [`worker`]: who takes its keys from the queue, and what
//!   becomes of them.
//!
//! A component is a [`Controller`]: it hears of changes and puts keys into its [`Queue`], and it reconciles one key at a time,
//! reading from [`Lister`]s and writing through a [`Client`]. A [`Registration`] is its row in a manager's table, and [`Workers`]
//! run it. For less than that, [`Client::new`] takes an engine's hub, the actor's number and a user; each of its calls is
//! awaited and gives typed objects or a [`wire::Error`].
//!
//! Must hold:
//! - The cache is changed before anyone is told. Kept by `no_order_of_events_makes_a_pod_too_many`.
//! - A key is never worked on twice at once. Kept by `a_key_is_never_worked_on_twice_at_once`.
//! - A cache may be old, and nothing here hides that. Kept by `who_starts_anew_may_see_the_past`.
//!
//! Left out: handlers of one informer run in one step, in the order of registration (in Go each has a goroutine of
//! its own); watches do not time out by themselves; a reflector waits no longer by chance.

pub mod api;
mod backoff;
pub mod controller;
mod correlator;
pub mod informer;
pub mod informers;
pub mod leader;
pub mod limiter;
pub mod queue;
pub mod recorder;
pub mod worker;

pub use api::{Call, Client, List, join_all};
pub use controller::{Controller, ControllerContext, Error, Make, Registration};
pub use informer::{Change, Follower, Informer, Lister, Selection};
pub use informers::Informers;
pub use queue::Queue;
pub use recorder::{EventType, Recorder};
pub use worker::Workers;
