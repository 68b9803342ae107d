//! What the key and the value of a label may look like. Mirrors `IsQualifiedName` and `IsValidLabelValue` of
//! `k8s.io/apimachinery/pkg/util/validation`; each check gives the API server's sentences about what is wrong.

/// The longest label value, and the longest name part of a key.
const NAME_LEN_MAX: usize = 63;
/// The longest prefix of a key: a DNS subdomain.
const PREFIX_LEN_MAX: usize = 253;

const QUALIFIED_NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// What is wrong with `key` as the key of a label or an annotation: nothing if it is a qualified name.
pub fn check_label_key(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            let prefix_problems = match prefix {
                "" => vec!["must be non-empty".to_owned()],
                _ => check_long_name(prefix),
            };
            problems.extend(prefix_problems.into_iter().map(|problem| format!("prefix part {problem}")));
            name
        }
        _ => {
            const OPTIONAL_PREFIX: &str = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a qualified name {QUALIFIED_NAME} {OPTIONAL_PREFIX}")];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_LEN_MAX {
        problems.push(format!("name part must be no more than {NAME_LEN_MAX} bytes"));
    }
    if !is_name(name) {
        problems.push(format!("name part {QUALIFIED_NAME}"));
    }
    problems
}

/// What is wrong with `value` as the value of a label.
pub fn check_label_value(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > NAME_LEN_MAX {
        problems.push(format!("must be no more than {NAME_LEN_MAX} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        problems.push(LABEL_VALUE.to_owned());
    }
    problems
}

/// What is wrong with `name` as a DNS subdomain. Mirrors `IsDNS1123Subdomain`.
pub fn check_subdomain(name: &str) -> Vec<String> {
    subdomain_problems(name, "characters")
}

/// The same in newer words, which measure in bytes: they are used of prefixes of labels, and where the rule stands at the
/// field's declaration. Mirrors `LongName` of `k8s.io/apimachinery/pkg/api/validate`.
pub fn check_long_name(name: &str) -> Vec<String> {
    subdomain_problems(name, "bytes")
}

fn subdomain_problems(name: &str, unit: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > PREFIX_LEN_MAX {
        problems.push(format!("must be no more than {PREFIX_LEN_MAX} {unit}"));
    }
    if !is_subdomain(name) {
        problems.push(SUBDOMAIN.to_owned());
    }
    problems
}

/// Whether `name` consists of DNS labels with dots between them, however long.
pub fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_dns_label)
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
fn is_dns_label(label: &str) -> bool {
    let lower = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|c| lower(c) || c == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_qualified_names() {
        for key in ["app", "a", "My_app.v-1", "example.com/app", "kubernetes.io/metadata.name", "1/2"] {
            assert_eq!(check_label_key(key), Vec::<String>::new(), "{key}");
        }
        for key in ["", "-a", "a-", "a b", "a/b/c", "/a", "Example.com/a", "a./b", "a/", "ä", &"a".repeat(64)] {
            assert!(!check_label_key(key).is_empty(), "{key}");
        }
    }

    #[test]
    fn labels_are_measured_in_bytes_and_names_in_characters() {
        let long = "a".repeat(254);
        assert_eq!(check_label_key(&format!("{long}/b")), ["prefix part must be no more than 253 bytes"]);
        assert_eq!(check_label_key(&long), ["name part must be no more than 63 bytes"]);
        assert_eq!(check_label_value(&long), ["must be no more than 63 bytes"]);
        assert_eq!(check_subdomain(&long), ["must be no more than 253 characters"]);
    }

    #[test]
    fn values_may_be_empty() {
        for value in ["", "a", "A.b_c-1", &"a".repeat(63)] {
            assert_eq!(check_label_value(value), Vec::<String>::new(), "{value}");
        }
        for value in ["no spaces here", "-a", "a_", "é", &"a".repeat(64)] {
            assert!(!check_label_value(value).is_empty(), "{value}");
        }
    }
}
