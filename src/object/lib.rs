//! Objects: what a cluster stores and all its components talk about.
//!
//! A Kubernetes object is metadata (who it is), a spec (what should be) and a status (what was seen). Here the
//! objects are the `k8s-openapi` structs themselves, the [`Pod`] and the [`event`] apart. They are shared, never copied to
//! look at: an [`Object`] is one reference-counted typed struct, and changing one makes a new version of it.
//!
//! - [`kinds`]: the table of kinds; adding a kind to the cluster starts with one row there. [`custom`]: kinds that
//!   users define; [`definition`], [`discovery`]: how they define them, and how clients learn of them. [`versions`]:
//!   kinds that are served in an older version too.
//! - [`meta`]: names, keys, owners.
//! - [`status`]: errors as the API server gives them.
//! - [`selector`], [`quantity`], [`patch`], [`time`]: the small languages inside objects.
//! - [`explain`]: what fields there are, and what they mean; [`schemas`]: the same as OpenAPI documents have it.
//! - [`fields`]: who manages which field, and what applying a configuration does.
//! - [`cron`], [`zone`]: schedules, and the clocks they go by; [`share`]: a number or a percentage.
//! - [`shared`]: parts that the versions of an object share; [`text`]: texts with many copies.
//! - [`pod`], [`node`], [`volume`], [`budget`], [`certificates`]: what statuses and specs say, in words that several components use.
//!   [`downward`]: what a Pod may know about itself; [`image`]: names of images.
//! - [`resources`]: what a Pod asks for in all; [`quota`]: what an object costs a ResourceQuota; [`metrics`]: what is used.
//! - [`read`]: objects from text, with the complaints that Go would have; [`go_types`]: how Go declares and prints them.
//! - [`reader`]: reading what is stored, for a check that looks at nothing else.
//! - [`json`]: JSON as it was written; [`jsonpath`]: paths into it; [`glob`]: patterns of names.
//! - [`nearest`]: what was meant by an unknown word.
//! - [`token`]: who the bearer is, signed; [`x509`]: certificates, and requests for them; [`base64`], [`sha256`]; [`tar`]: archives.
//! - [`template`]: which objects make Pods, and the hash by which a Pod template is known; [`taint`]: which Pods bear one.
//! - [`well_known`]: labels, taints and finalizers by which components know one another's marks.
//! - [`validation`]: where in an object something is wrong; what names and addresses look like.
//! - [`random`]: where generated names and uids come from.
//!
//! Objects are made from JSON by the decoder of their kind, which says what Go's would of a value that does not fit, and are read
//! through [`Object`], or typed, by its variants:
//!
//! ```
//! use kubestep_object::selector::Selector;
//! use kubestep_object::{Kind, Object};
//! use serde_json::json;
//!
//! let web = Kind::Deployment.decode(json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"replicas": 2}}))?;
//! assert_eq!((web.kind(), web.name()), (Kind::Deployment, "web"));
//! assert!(Selector::parse("app in (web, shop)")?.matches(web.meta().labels.as_ref()));
//! let Object::Deployment(typed) = &web else { unreachable!() };
//! assert_eq!(typed.spec.as_ref().and_then(|spec| spec.replicas), Some(2));
//! # Ok::<(), String>(())
//! ```
//!
//! Must hold:
//! - Nothing here knows that a cluster exists; these are values and pure functions over them. Kept by
//!   `the_picture_of_the_crates_is_as_they_are`.

pub mod base64;
pub mod budget;
pub mod certificates;
pub mod cron;
pub mod custom;
pub mod definition;
pub mod discovery;
pub mod doubled;
pub mod downward;
pub mod ephemeral;
pub mod event;
pub mod explain;
pub mod fields;
pub mod glob;
pub mod go_types;
pub mod host_port;
pub mod image;
pub mod json;
pub mod jsonpath;
pub mod kinds;
pub mod loads;
pub mod meta;
pub mod metrics;
pub mod nearest;
pub mod nesting;
pub mod node;
pub mod patch;
pub mod pod;
pub mod quantity;
pub mod quota;
pub mod random;
pub mod read;
pub mod reader;
pub mod resources;
pub mod schemas;
pub mod selector;
pub mod sha256;
pub mod share;
pub mod shared;
pub mod small_map;
pub mod status;
pub mod taint;
pub mod tar;
pub mod template;
pub mod terminal;
pub mod text;
pub mod time;
pub mod token;
pub mod validation;
pub mod versions;
pub mod volume;
pub mod well_known;
pub mod x509;
pub mod zone;

pub use custom::{CustomKind, CustomObject};
pub use discovery::Discovery;
pub use kinds::{Kind, KindInfo, Object, Resource};
pub use meta::{Accessor, Key};
pub use pod::Pod;
pub use shared::{Last, Shared};
pub use status::Status;
