//! Scenes: a part of a run, recorded so that a page can step through it.
//!
//! A block such as
//!
//! ```text
//! scene deployment from="create deployments request" to="notification pod to=kubelet/*"
//! notification rs to=kube-controller-manager: Two controllers hear of it, and only one has work to do.
//! ```
//!
//! runs the scenario when the book is built ([`mod@record`]) and becomes a player ([`page`]). Both ends of the range, and the
//! places of captions, are conditions as `until` takes them. A run that no longer comes there fails the build. What a
//! page shows is therefore what the program does; nothing is drawn or told by hand but the captions.
//!
//! [`mod@record`] finds the part that is asked for; what a scene is, and how a page reads it, is in `debugger::scene`. [`page`]
//! is the HTML around it, which is all there is without a script.

pub mod page;
pub mod record;

pub use record::{Ask, record};
