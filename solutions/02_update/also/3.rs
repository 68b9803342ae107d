//! Exercise 02: how do two write the same object?
//!
//! A ConfigMap counts something in `data.count`. Count one more: read it, and write it with the number that is one higher (1,
//! if there is none yet). Others may write it at the same time, and no change may be lost, theirs or yours.
//!
//! Every object carries `metadata.resourceVersion`, which changes with each write. An update is refused with
//! `Refused::Conflict` if the object has another one by now: then all that you know of it is old. Read and write five times at
//! most, without a pause, then give that refusal to the caller; any other refusal at once.

#![allow(unused_imports)]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kubestep_exercise::update::{Api, Refused};

// Yours from here.

/// Five attempts in a lazy iterator; the first that is no conflict is the answer, and what was written is read from it.
pub fn count(api: &mut dyn Api) -> Result<u64, Refused> {
    let mut attempts = std::iter::repeat_with(|| attempt(api)).take(5);
    attempts.find(|result| *result != Err(Refused::Conflict)).unwrap_or(Err(Refused::Conflict))
}

fn attempt(api: &mut dyn Api) -> Result<u64, Refused> {
    let mut object = api.get()?;
    let next = read(&object) + 1;
    object.data.get_or_insert_with(Default::default).insert("count".to_string(), next.to_string());
    let written = api.update(object)?;
    Ok(read(&written))
}

fn read(object: &ConfigMap) -> u64 {
    let Some(data) = &object.data else { return 0 };
    match data.get("count") {
        Some(text) => text.parse().unwrap_or(0),
        None => 0,
    }
}
