//! The controllers that make a CustomResourceDefinition work.
//!
//! # How a definition comes to be served
//!
//! A new definition claims names: a plural, a singular, short names, a kind. [`naming`] checks whether another definition of
//! the group has them already, and writes the accepted names into the status. [`establishing`] then says that the kind is
//! *Established*, and from there on clients find it and create objects. When the definition is deleted, a finalizer holds
//! it until [`finalizer`] has deleted all objects of the kind: without the definition no client could delete them.
//!
//! # Must hold
//!
//! - Two definitions of a group never have the same accepted name. Kept by `names_are_given_to_whoever_asks_first`.
//! - A definition that is gone has left no objects behind. Kept by `a_definition_waits_for_its_objects`.
//!
//! Mirrors `pkg/controller/{status,establish,finalizer}` of `k8s.io/apiextensions-apiserver`, which run inside
//! kube-apiserver and ask it as itself.
//!
//! # Left out
//!
//! - They are a process beside the API server here, and do not stop when it does: their watches break, as everybody's.
//! - The controllers that approve `*.k8s.io` groups, and that publish OpenAPI documents.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use client::{Error, Registration};
use object::Accessor;

pub mod establishing;
pub mod finalizer;
pub mod naming;

/// The process in which they run.
pub const PROCESS: &str = "apiextensions-apiserver";

/// The controllers of the process.
pub static TABLE: &[Registration] = &[naming::REGISTRATION, establishing::REGISTRATION, finalizer::REGISTRATION];

/// A write that came too late is no failure: the change that was faster brings the definition back into the queue.
fn unless_late(result: Result<(), wire::Error>) -> Result<(), Error> {
    match result {
        Err(status) if !status.is_not_found() && !status.is_conflict() => Err(status.into()),
        _ => Ok(()),
    }
}

fn name_of(definition: &CustomResourceDefinition) -> &str {
    definition.metadata.name()
}
