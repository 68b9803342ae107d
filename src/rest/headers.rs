//! Headers that say which user a client acts as.

use wire::Impersonation;

use super::options::decode_percent;

/// The beginning of headers that give an extra value.
const EXTRA: &str = "impersonate-extra-";

/// The user that the headers `Impersonate-…` ask to act as; none if they ask for nothing.
pub fn impersonation(headers: &[(&str, &str)]) -> Option<Impersonation> {
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
