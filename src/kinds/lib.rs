//! What the API server knows of each kind: a folder for an API group, a file for a kind, a row of functions in it.
//!
//! [`mod@row`] says what there is to know. [`TABLE`] has the rows, in the order of [`object::kinds`]; that table has the
//! kinds' names. Adding a kind touches its file and its row in either table. Mirrors `pkg/apis` and `pkg/registry`, which keep
//! it so.
//!
//! From the ground up:
//! - [`mod@row`], and most files in [`defaults`], [`strategy`], [`validation`], [`warnings`] and [`printers`]: what several kinds
//!   have in common;
//! - [`pod_template`] and the folders of API groups: the kinds; [`custom`]: those that users define, about which less is known;
//! - [`mod@table`]: the rows of all of them;
//! - [`defaults`], [`strategy`], [`validation`], [`warnings`], [`printers`] themselves, and [`registry`]: for a caller that holds
//!   an object of any kind. They ask the table, and no kind's file uses them. Kept by
//!   `files_use_one_another_in_small_circles_only`.
//!
//! Must hold:
//! - All of it is functions of what they are handed. Nothing here knows a request, the store, or another object. Kept by
//!   `the_picture_of_the_crates_is_as_they_are`.

#[macro_use]
pub mod printers;
pub mod defaults;
pub mod pod_template;
pub mod registry;
pub mod row;
pub mod strategy;
pub mod table;
pub mod validation;
pub mod warnings;

pub mod admissionregistration;
pub mod apiextensions;
pub mod apiregistration;
pub mod apps;
pub mod authentication;
pub mod authorization;
pub mod autoscaling;
pub mod batch;
pub mod certificates;
pub mod coordination;
pub mod core;
pub mod custom;
pub mod discovery;
pub mod flowcontrol;
pub mod networking;
pub mod node;
pub mod policy;
pub mod rbac;
pub mod resource;
pub mod scheduling;
pub mod storage;

pub use table::{TABLE, facts, row};
