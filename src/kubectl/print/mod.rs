//! What kubectl prints: tables, describe pages, YAML, JSON, templates.
//!
//! All of it is pure: objects and the time it is, in; text, out. Objects come as JSON because that is what a client
//! gets, and because templates and custom columns ask for any field.
//!
//! - [`output`]: what `-o` asks for. [`names`]: how objects are named.
//! - [`table`]: tables of objects; the cells are the API server's, see [`layout`]. [`describe`]: pages about one.
//! - [`jsonpath`], [`template`], [`yaml`], [`kyaml`], [`custom`]: the other output formats.
//! - [`rules`]: what roles allow. [`tabs`], [`duration`], [`fields`]: what all this is made of.

pub mod custom;
pub mod describe;
pub mod kyaml;
pub mod names;
pub mod output;
pub mod rules;
pub mod table;
pub mod tabs;
pub mod template;
pub mod yaml;

pub use kinds::printers::{cells, duration, fields, ingress, layout, pod, service, storage, workloads};
pub use object::jsonpath;
