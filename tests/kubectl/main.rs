//! kubectl: its requests and its output, beside a real kubectl's.

mod auth;
mod config;
mod custom;
mod drain;
mod exec;
mod explain;
mod ingress;
mod logs;
mod policies;
mod recordings;
mod server_side;
mod shell;
mod verbs;
mod versions;
mod watch;
