//! JSON patches as webhooks and policies make them, with the errors of the library that the real server has for them:
//! `gopkg.in/evanphx/json-patch.v4`.

use serde_json::{Value, json};

use object::patch;

const KNOWN: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

/// Why the operations cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum Rejected {
    /// A `test` does not hold.
    #[error("testing value {0} failed: test failed")]
    Test(String),
    /// Something is not where an operation needs it.
    #[error("{op} operation does not apply: doc is missing path: {path:?}: missing value")]
    Missing {
        /// The operation.
        op: String,
        /// Where.
        path: String,
    },
    /// There is no such operation.
    #[error("Unexpected kind: {0}")]
    Unknown(String),
}

/// An object with the operations done.
pub fn patched(mut object: Value, operations: &[Value]) -> Result<Value, Rejected> {
    for operation in operations {
        let text = |field: &str| operation[field].as_str().unwrap_or_default().to_owned();
        object = patch::json(object, &json!([operation])).map_err(|_| match text("op") {
            op if op == "test" => Rejected::Test(text("path")),
            op if KNOWN.contains(&op.as_str()) => Rejected::Missing { op, path: text("path") },
            op => Rejected::Unknown(op),
        })?;
    }
    Ok(object)
}
