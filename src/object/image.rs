//! Names of images, as a registry reads them.

/// What is wrong with an image's name, if anything is. Mirrors `ParseNormalizedNamed` of `distribution/reference`.
pub fn wrong_name(image: &str) -> Option<String> {
    let is_domain = |first: &str| first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first;
    let (domain, rest) = match image.split_once('/') {
        Some((first, rest)) if is_domain(first) => (Some(first), rest.to_owned()),
        Some(_) => (None, image.to_owned()),
        None => (None, format!("library/{image}")),
    };
    let (named, digest) = rest.split_once('@').map_or((rest.as_str(), None), |(named, digest)| (named, Some(digest)));
    let (path, tag) = named.split_once(':').map_or((named, None), |(path, tag)| (path, Some(tag)));
    if path.to_lowercase() != path {
        return Some(format!("invalid reference format: repository name ({path}) must be lowercase"));
    }
    let right = domain.is_none_or(is_host)
        && path.split('/').all(is_component)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest);
    (!right).then(|| "invalid reference format".to_owned())
}

fn is_host(domain: &str) -> bool {
    let (host, port) = domain.split_once(':').unwrap_or((domain, "0"));
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    host.split('.').all(label) && !port.is_empty() && port.chars().all(|c| c.is_ascii_digit())
}

/// Lower-case letters and digits, with `.`, `_`, `__` or any number of `-` between them.
fn is_component(component: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separator = |text: &str| matches!(text, "" | "." | "_" | "__") || text.chars().all(|c| c == '-');
    component.starts_with(is_word) && component.ends_with(is_word) && component.split(is_word).all(separator)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= 128 && tag.starts_with(is_word) && tag.chars().all(|c| is_word(c) || matches!(c, '.' | '-'))
}

fn is_digest(digest: &str) -> bool {
    let hex = |hex: &str| hex.len() >= 32 && hex.chars().all(|c| c.is_ascii_hexdigit());
    digest
        .split_once(':')
        .is_some_and(|(kind, value)| kind.starts_with(|c: char| c.is_ascii_alphabetic()) && hex(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_a_registry_reads_them() {
        const WRONG: Option<&str> = Some("invalid reference format");
        for (image, expected) in [
            ("nginx", None),
            ("nginx:1.27-alpine", None),
            ("registry.k8s.io/e2e-test-images/agnhost:2.40", None),
            ("localhost:5000/a__b/c-d.e:v_1", None),
            ("Example.com/app", None),
            ("nginx@sha256:0123456789abcdef0123456789abcdef", None),
            ("Nginx", Some("invalid reference format: repository name (library/Nginx) must be lowercase")),
            ("shop/Cart:1", Some("invalid reference format: repository name (shop/Cart) must be lowercase")),
            ("shop/app/Cart:1", Some("invalid reference format: repository name (shop/app/Cart) must be lowercase")),
            ("<your-private-image>", WRONG),
            ("nginx:", WRONG),
            ("nginx: 1.27", WRONG),
            ("a..b", WRONG),
            ("nginx@sha256:12", WRONG),
            ("http://example.com/app", WRONG),
        ] {
            assert_eq!(wrong_name(image).as_deref(), expected, "{image}");
        }
    }
}
