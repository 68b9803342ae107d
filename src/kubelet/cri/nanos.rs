//! Times as CRI has them.

use object::time::Instant;

/// An instant as CRI has it: nanoseconds.
pub(super) fn nanos<S: serde::Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(at.0)
}
