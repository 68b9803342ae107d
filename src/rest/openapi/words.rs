//! Words of operations: names by which programs call them, and sentences.

use object::Kind;

/// `Apps` of `apps`.
pub fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + chars.as_str())
}

/// `RbacAuthorizationV1`: the group and the version in the name of an operation.
pub fn group_words(kind: Kind) -> String {
    let info = kind.info();
    words_of(if info.group.is_empty() { "core" } else { info.group }) + &capital(info.version)
}

/// `RbacAuthorization`
pub fn words_of(group: &str) -> String {
    group.trim_end_matches(".k8s.io").split(['.', '-']).map(capital).collect()
}

/// `rbacAuthorization`
pub fn tag_word(group: &str) -> String {
    let words = words_of(group);
    words[..1.min(words.len())].to_ascii_lowercase() + words.get(1..).unwrap_or_default()
}

/// `an Ingress`
pub fn article(kind: &str) -> String {
    let article = if kind.starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
    format!("{article} {kind}")
}
