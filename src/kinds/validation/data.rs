//! What ConfigMaps and Secrets have in common.

use object::validation::field::Path;

/// The most bytes that the data of a ConfigMap or Secret may have.
pub const DATA_BYTES_MAX: usize = 1024 * 1024;

/// Where the data are.
pub const DATA: Path = Path::new("data");

/// Where an object says that its data stay.
pub const IMMUTABLE: Path = Path::new("immutable");

/// Why they do.
pub const IMMUTABLE_WHY: &str = "field is immutable when `immutable` is set";
