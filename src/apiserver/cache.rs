//! The watch cache: what an API server knows of the store without asking it.
//!
//! Where there is one API server, its cache and the store are one here. Of several, each follows etcd by a watch of its
//! own for every kind, and answers from what that has brought: most lists, every watch, and a get that says how old the
//! answer may be. So a cache is a point in the store's history, up to which its server has heard of a kind. What a
//! request says in `resourceVersion` decides how old that may be:
//!
//! - none: not older than etcd at the time of asking. The request waits until the cache has come so far, three seconds at
//!   most; then a list is answered by etcd, a watch is refused. A get asks etcd at once.
//! - `0`: the cache answers as it is, however old.
//! - a number: not older than that. The request waits, and is refused if it has waited in vain.
//!
//! Mirrors `storage/cacher`: `waitUntilFreshAndBlock`, `delegator.go`.
//!
//! Left out: what a server learns only for itself. Roles, definitions, policies and the addresses of Services are the same
//! at once for all servers, where real ones follow them with informers. A cache that is up to date knows so, where a real
//! one asks etcd for its progress.

use object::Status;
use object::status::{Cause, Details, Reason};
use wire::Options;

/// What a watch cache has come to that lags behind the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its objects are those of this revision.
    pub revision: u64,
    /// Up to here it tells a new watch of what has changed since.
    pub heard: u64,
    /// The revision for which the request has waited in vain.
    pub missed: Option<u64>,
}

/// The answer to a client that asks for a revision that is not there yet.
pub(super) fn too_large(wanted: u64, current: u64) -> Status {
    let cause = Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        ..Cause::default()
    };
    let details = Details { causes: vec![cause], retry_after_seconds: 1, ..Details::default() };
    let text = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    Status { details: Some(Box::new(details)), ..Status::new(Reason::Timeout, text) }
}

/// Whether a list is to be of just the revision that it names. That is for etcd to answer.
pub(super) fn is_exact(options: &Options) -> bool {
    match options.resource_version_match.as_str() {
        "Exact" => true,
        // A page of a named version is of just that version.
        "" => options.limit > 0 && !matches!(options.resource_version.as_str(), "" | "0"),
        _ => false,
    }
}

/// A resourceVersion as a number.
pub(super) fn parse_version(version: &str) -> Result<u64, Status> {
    version.parse().map_err(|_| {
        let why = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
        Status::new(Reason::Unknown, format!("resourceVersion: Invalid value: {version:?}: {why}"))
    })
}
