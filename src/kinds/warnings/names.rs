//! What is said of objects' names.

use object::validation::names::check_dns_label;

/// Names that are kept for what a file configures. Mirrors `WarningsForStaticSuffix`.
pub fn of_static_name(told: &mut Vec<String>, name: &str) {
    const SUFFIX: &str = ".static.k8s.io";
    if name.ends_with(SUFFIX) {
        told.push(format!(
            "metadata.name: names ending with {SUFFIX:?} are reserved for static manifest-based configurations and cannot be \
             managed via the API"
        ));
    }
}

/// A name that becomes a host name should be one.
pub fn of_name(name: &str, used: &str) -> Option<String> {
    let wrong = check_dns_label(name);
    (!wrong.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            wrong.join(" ")
        )
    })
}
