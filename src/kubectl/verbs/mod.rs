//! The verbs: one file a family of commands, and one row a command.
//!
//! A new verb is its file, with its row in it, and a line of [`TABLE`].

mod about;
mod apply;
mod apply_last;
mod attach;
pub(crate) mod attached;
mod auth;
mod autoscale;
mod certificate;
mod change;
mod config;
pub(crate) mod connect;
mod cp;
mod create;
mod debug;
mod delete;
mod describe;
mod diff;
mod drain;
mod events;
pub mod exec;
mod explain;
mod expose;
mod get;
mod kustomize;
mod label;
mod last_applied;
mod logs;
mod manifests;
mod options;
mod pod_of;
mod port_forward;
mod prune;
pub(crate) mod raw;
mod reconcile;
mod replace;
mod rollout;
mod run;
mod scale;
mod server_side;
mod set;
mod taint;
mod top;
mod wait;
mod wanted;
mod watch;

use crate::command::Command;

/// All verbs, by name: in this order help lists them.
pub const TABLE: &[&Command] = &[
    &label::ANNOTATE,
    &about::API_RESOURCES,
    &about::API_VERSIONS,
    &apply::APPLY,
    &attach::ATTACH,
    &auth::AUTH,
    &autoscale::AUTOSCALE,
    &certificate::CERTIFICATE,
    &about::CLUSTER_INFO,
    &config::CONFIG,
    &change::CORDON,
    &cp::CP,
    &create::CREATE,
    &debug::DEBUG,
    &delete::DELETE,
    &describe::DESCRIBE,
    &diff::DIFF,
    &drain::DRAIN,
    &events::EVENTS,
    &exec::EXEC,
    &explain::EXPLAIN,
    &expose::EXPOSE,
    &get::GET,
    &kustomize::KUSTOMIZE,
    &label::LABEL,
    &logs::LOGS,
    &options::OPTIONS,
    &change::PATCH,
    &port_forward::PORT_FORWARD,
    &replace::REPLACE,
    &rollout::ROLLOUT,
    &run::RUN,
    &scale::SCALE,
    &set::SET,
    &taint::TAINT,
    &top::TOP,
    &change::UNCORDON,
    &about::VERSION,
    &wait::WAIT,
];

/// Verbs of the real kubectl that do nothing here, and why.
pub const LEFT_OUT: &[(&[&str], &str)] = &[
    (&["edit"], "it needs an editor; change the manifest and apply it, or use patch"),
    (&["proxy"], "the cluster is in this process; get --raw reads a path, port-forward reaches a Pod"),
    (&["plugin", "completion", "kuberc"], "it is about a kubectl that is installed, and none is"),
    (&["alpha"], "it was left out"),
];
