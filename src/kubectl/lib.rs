//! kubectl: the commands of the person at the keyboard, as a client of the API server and nothing more.
//!
//! Mirrors `k8s.io/kubectl`. A command is one task of the actor `user/kubectl`. It sends exactly the requests that the
//! real kubectl sends, in the same order, so that what a learner sees in a trace is what a real API server would have
//! been asked: `apply` is GET, then POST or a three-way PATCH; `rollout status` and `wait` are GET, LIST, WATCH; `scale`,
//! `set image`, `label` and `taint` are GET and a small PATCH. What it prints is what the real one prints.
//!
//! From the bottom up, each using only those before it:
//!
//! - [`workdir`]: where it is called, and what was read of the disk there. [`manifest`]: files with objects. [`kustomize`]:
//!   folders whose files change them. [`mod@print`]: tables, describe pages and the other output formats.
//! - [`flags`], [`usage`], [`args`], [`targets`]: the command line. [`config`]: the kubeconfig. [`failure`]: errors as it words
//!   them.
//! - [`mod@kubectl`]: whose it is and what it prints, with [`nodes`], the way to what runs on nodes, [`mod@log`], what a
//!   container has printed, [`proxied`], what a server behind a proxy answers, [`feeds`], the watches it follows, and [`left_open`],
//!   what a command leaves behind.
//! - [`klog`], [`calls`], [`options`], [`tell`]: what is logged, requests, their queries, and what is said of their answers.
//! - [`command`], [`mod@verbs`]: one row for each verb, one file for each family of them. [`mod@run`]: runs a command line.
//! - [`forwards`], [`terminal`]: what becomes of ports that are forwarded, and of a shell that is typed into.
//!
//! Left out: discovery and OpenAPI requests (kubectl caches them); verbs that [`refused`] names, which say so. What a command in
//! a container prints is shown when it has ended; `edit` needs a terminal, and is the stepper's.
//! `get` asks for objects and makes the table itself, out of the API server's own cells, where the real one asks for a
//! table.

pub mod workdir;

pub mod manifest;

pub mod print;

mod kustomize;

pub mod flags;

pub mod usage;

pub mod failure;

pub mod args;

pub mod targets;

pub mod config;

pub mod nodes;

pub mod log;

pub mod proxied;

pub mod feeds;

pub mod left_open;

pub mod kubectl;

pub mod options;

pub mod klog;

pub mod calls;

pub mod tell;

pub mod command;

pub mod verbs;

pub mod run;

pub mod forwards;

pub mod terminal;

pub use failure::Failure;
pub use feeds::Feeds;
pub use kubectl::{Kubectl, Output};
pub use run::{does, from_verb, goes_on, knows, reads_only, refused, row, run, verbs};
