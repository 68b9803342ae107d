//! The crate of [`cluster`]; floors below are named as if they stood in it.

use kubestep_controllers::controllers;
use kubestep_kubectl as kubectl;
use kubestep_machinery::{apiserver, client, engine, kinds, object, rules, store, wire};
use kubestep_kubelet as kubelet;
use kubestep_network as network;
use kubestep_scheduler::scheduler;
use kubestep_userland as userland;

#[path = "mod.rs"]
pub mod cluster;
