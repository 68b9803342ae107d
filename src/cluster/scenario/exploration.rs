//! What a scenario says for `kubestep explore`: how far to look, what must hold, and what is different where its bug is
//! mended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The scenario of a bug, mended.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// These programs run; without a word, those that are shipped.
    #[serde(default)]
    pub parts: Option<String>,
    /// Manifests that are others.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// How far the explorer looks.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Exploration {
    /// So many messages may come late.
    #[serde(default)]
    pub late: Option<u8>,
    /// By so many milliseconds at most.
    #[serde(default)]
    pub window: Option<u64>,
    /// Whose: what these components send and get. Without, everyone's.
    #[serde(default, rename = "lateAt")]
    pub late_at: Vec<String>,
    /// So many steps a run at most: a longer one never comes to rest.
    #[serde(default)]
    pub steps: Option<u64>,
    /// So many faults there may be.
    #[serde(default)]
    pub faults: Option<u8>,
    /// Only what the scenario states must hold: what it breaks shows in other ways too, and sooner.
    #[serde(default, rename = "statedOnly")]
    pub stated_only: bool,
    /// Of these kinds: `hold`, `crash` …
    #[serde(default)]
    pub kinds: Vec<String>,
    /// There: `kube-scheduler nodes`, `kubelet/*`.
    #[serde(default)]
    pub at: Vec<String>,
}

/// Something that must hold. Exactly one of `shared`, `never`, `always`, `eventually` and `atMost` is given; the
/// conditions are those of breakpoints.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct OwnProperty {
    /// In words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// One that the program knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<String>,
    /// The objects: a kind, and perhaps a name with `*`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// No change of such an object is like this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never: Option<String>,
    /// Each change of such an object is like this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
    /// Once all is quiet each such object is like this; if there is none, nothing (`null`) is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eventually: Option<String>,
    /// There are never more such objects that are as `where` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<usize>,
    /// Which of the objects count, for `atMost` and `eventually`.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub which: Option<String>,
}
