//! What a webhook answers. Mirrors `pkg/admission/plugin/webhook/{request/admissionreview,errors/statuserror}.go`.
//!
//! Left out: `auditAnnotations`; a reason that Kubernetes does not know.

use std::fmt;

use serde_json::{Value, json};

use object::Status;
use object::status::Reason;

/// The `response` of an AdmissionReview.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdmissionResponse {
    /// Whether the request may pass.
    pub allowed: bool,
    /// Why not.
    pub message: String,
    /// The HTTP status of the refusal; below 400 it counts as 400.
    pub code: u16,
    /// The machine-readable reason: `Forbidden`, or any word that the webhook chooses.
    pub reason: String,
    /// The operations of a JSON patch.
    pub patch: Vec<Value>,
    /// What the sender is told beside.
    pub warnings: Vec<String>,
}

impl AdmissionResponse {
    /// What the sender is told of a refusal. Mirrors `ToStatusErr`.
    pub fn refusal(&self, webhook: &str) -> Status {
        let why = [&self.message, &self.reason].into_iter().find(|text| !text.is_empty());
        let why = why.map_or_else(|| " without explanation".to_owned(), |why| format!(": {why}"));
        let reason = Reason::named(&self.reason).unwrap_or(Reason::Unknown);
        let status = Status::new(reason, format!("admission webhook {webhook:?} denied the request{why}"));
        Status { code: self.code.max(400), ..status }
    }

    /// As it is sent.
    pub fn to_json(&self) -> Value {
        let mut response = json!({"allowed": self.allowed});
        if !self.allowed {
            response["status"] = json!({"code": self.code, "message": self.message, "reason": self.reason});
        }
        if !self.patch.is_empty() {
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(self.patch);
        }
        if !self.warnings.is_empty() {
            response["warnings"] = json!(self.warnings);
        }
        response
    }
}

impl fmt::Display for AdmissionResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.allowed, self.patch.len()) {
            (true, 0) => f.write_str("allowed"),
            (true, 1) => f.write_str("allowed, with a patch of 1 operation"),
            (true, n) => write!(f, "allowed, with a patch of {n} operations"),
            (false, _) => write!(f, "denied: {}", self.message),
        }
    }
}
