//! Defaults of single fields.

/// Sets a field that is absent.
pub fn or<T>(field: &mut Option<T>, default: T) {
    if field.is_none() {
        *field = Some(default);
    }
}

/// Sets a text that is absent or empty.
pub fn or_text(field: &mut Option<String>, default: &str) {
    // In Go an empty text is a missing one.
    if field.as_deref().unwrap_or_default().is_empty() && field.as_deref() != Some(default) {
        *field = Some(default.to_owned());
    }
}
