//! kubectl: its requests and its output, beside a real kubectl's.

mod about;
mod apply;
mod auth;
mod config;
mod custom;
mod describe;
mod drain;
mod events;
mod exec;
mod explain;
mod flags;
mod get;
mod ingress;
mod label;
mod lines;
mod logs;
mod policies;
mod recordings;
mod rollout;
mod server_side;
mod set;
mod shell;
mod verbs;
mod versions;
mod wait;
mod watch;
