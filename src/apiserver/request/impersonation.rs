//! Whom a request asks to be taken for. Mirrors the headers `Impersonate-…` of `authentication.k8s.io/v1`.

use std::collections::BTreeMap;

use crate::apiserver::rest::options::decode_percent;

/// The beginning of headers that give an extra value.
const EXTRA: &str = "impersonate-extra-";

/// Another user, as the one who asks describes them: `kubectl --as`, or the headers `Impersonate-…`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impersonation {
    /// `Impersonate-User`; empty: nobody is named.
    pub user: String,
    /// `Impersonate-Uid`, empty if it is missing.
    pub uid: String,
    /// `Impersonate-Group`, as often as it stands there.
    pub groups: Vec<String>,
    /// `Impersonate-Extra-…`: values by key.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonation {
    /// What these headers ask for; none if they ask for nothing.
    pub fn in_headers(headers: &[(&str, &str)]) -> Option<Impersonation> {
        let mut wanted = Impersonation::default();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                "impersonate-user" if wanted.user.is_empty() => wanted.user = (*value).to_owned(),
                "impersonate-uid" if wanted.uid.is_empty() => wanted.uid = (*value).to_owned(),
                "impersonate-group" => wanted.groups.push((*value).to_owned()),
                _ => {
                    let Some(key) = name.strip_prefix(EXTRA) else { continue };
                    wanted.extra.entry(decode_percent(key)).or_default().push((*value).to_owned());
                }
            }
        }
        (wanted != Impersonation::default()).then_some(wanted)
    }

    /// Whether more than a name is asked for.
    pub fn is_more_than_a_name(&self) -> bool {
        !(self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty())
    }
}
