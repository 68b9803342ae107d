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

/// A loop with a counter.
pub fn count(api: &mut dyn Api) -> Result<u64, Refused> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut object = match api.get() {
            Ok(object) => object,
            Err(refused) => return Err(refused),
        };
        if object.data.is_none() {
            object.data = Some(BTreeMap::new());
        }
        let mut next = 1;
        if let Some(text) = object.data.as_ref().unwrap().get("count") {
            next = text.parse::<u64>().unwrap() + 1;
        }
        object.data.as_mut().unwrap().insert(String::from("count"), next.to_string());
        let result = api.update(object);
        if result.is_ok() {
            return Ok(next);
        }
        let refused = result.unwrap_err();
        if refused != Refused::Conflict || tries == 5 {
            return Err(refused);
        }
    }
}
