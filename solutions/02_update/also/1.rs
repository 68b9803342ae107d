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

/// With a helper that tries, like client-go's RetryOnConflict.
pub fn count(api: &mut dyn Api) -> Result<u64, Refused> {
    retry_on_conflict(5, || {
        let object = api.get()?;
        let mut data = object.data.clone().unwrap_or_default();
        let before: u64 = data.get("count").map(|text| text.parse().unwrap()).unwrap_or_default();
        data.insert("count".into(), format!("{}", before + 1));
        api.update(ConfigMap { data: Some(data), ..object })?;
        Ok(before + 1)
    })
}

fn retry_on_conflict<T>(tries: u32, mut attempt: impl FnMut() -> Result<T, Refused>) -> Result<T, Refused> {
    let result = attempt();
    if tries > 1 && matches!(result, Err(Refused::Conflict)) {
        return retry_on_conflict(tries - 1, attempt);
    }
    result
}
