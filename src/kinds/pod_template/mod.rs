//! Pods and templates of Pods: what all kinds that have either ask of them.
//!
//! - [`defaults`]: what is filled in. [`disabled`]: what is taken out.
//! - [`template`], [`spec`]: what a template and its spec must be; [`container`], [`mod@env`], [`handler`], [`security`], [`dns`],
//!   [`volume`], [`volume_source`], [`scheduling`], [`ephemeral`], [`resources`], [`claims`], [`systems`]: the parts of it.
//! - [`warnings`], [`volume_warnings`]: what is right and yet hardly meant.
//!
//! Mirrors `pkg/apis/core/v1/defaults.go`, the validation of Pods in `pkg/apis/core/validation`, and `pkg/api/pod`.

pub mod claims;
pub mod container;
pub mod defaults;
pub mod disabled;
pub mod dns;
pub mod env;
pub mod ephemeral;
pub mod handler;
pub mod resources;
pub mod scheduling;
pub mod security;
pub mod spec;
pub mod systems;
pub mod template;
pub mod volume;
pub mod volume_source;
pub mod volume_warnings;
pub mod warnings;
