//! Objects in a version of a built-in kind that is not the stored one: `autoscaling/v1`, `events.k8s.io/v1`. They are read in
//! their own version, and converted at once. See [`object::versions`] for what becomes what.

use k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler;
use k8s_openapi::api::events::v1 as events;
use serde::Serialize;
use serde::de::DeserializeOwned;

use object::json::Json;
use object::read::{self, Problem};
use object::{Kind, Object, versions};

/// Reads an object in another version than the stored one, into that.
pub(super) fn decode(version: Kind, json: &Json) -> Result<(Object, Vec<Problem>), read::Error> {
    let stored = versions::stored_as(version);
    match stored {
        Kind::Event => as_sent::<events::Event>(stored, json),
        _ => as_sent::<HorizontalPodAutoscaler>(stored, json),
    }
}

/// Reads it as the type that it has in its own version, which knows its fields.
fn as_sent<T: DeserializeOwned + Serialize>(stored: Kind, json: &Json) -> Result<(Object, Vec<Problem>), read::Error> {
    let (sent, problems) = read::value::<T>(json)?;
    let content = serde_json::to_value(&sent).map_err(|error| error.to_string())?;
    Ok((versions::to_stored(stored, &content).map_err(|error| error.to_string())?, problems))
}
