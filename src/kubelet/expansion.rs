//! `$(NAME)` in commands, arguments, values of variables and paths in volumes. Mirrors `third_party/forked/golang/expansion`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, VolumeMount};

/// Replaces `$(NAME)` by the value of the variable; what has none stays as it is, and `$$` is a dollar sign.
pub fn expand<'a>(text: &str, mut value_of: impl FnMut(&str) -> Option<&'a str>) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        done += before;
        rest = match after.strip_prefix('(').and_then(|after| after.split_once(')')) {
            Some((name, after)) => {
                done += &value_of(name).map_or_else(|| format!("$({name})"), str::to_owned);
                after
            }
            None => {
                done.push('$');
                after.strip_prefix('$').unwrap_or(after)
            }
        };
    }
    done + rest
}

/// The same with the variables of a container.
pub fn with(variables: &[(String, String)], texts: Option<&Vec<String>>) -> Vec<String> {
    let value_of = |name: &str| variables.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str());
    texts.into_iter().flatten().map(|text| expand(text, value_of)).collect()
}

/// The part of a volume that a mount shows, empty if it is all of it: `subPath`, or `subPathExpr` with the container's variables.
///
/// # Errors
/// Which variables have no value, or that it leads out of the volume. Mirrors `ExpandContainerVolumeMounts` and `makeMounts`.
pub fn sub_path(mount: &VolumeMount, variables: &[(String, String)]) -> Result<String, String> {
    let Some(expression) = mount.sub_path_expr.as_deref().filter(|text| !text.is_empty()) else {
        return Ok(mount.sub_path.clone().unwrap_or_default());
    };
    let mut missing = BTreeSet::new();
    let value_of = |name: &str| {
        let found = variables.iter().find(|(there, _)| there == name).map_or("", |(_, value)| value.as_str());
        if found.is_empty() {
            missing.insert(name.to_owned());
        }
        Some(found)
    };
    let path = expand(expression, value_of);
    let missing: Vec<String> = missing.into_iter().collect();
    if !missing.is_empty() {
        return Err(format!("missing value for {}", missing.join(", ")));
    }
    if path.starts_with('/') {
        return Err(format!("error SubPath `{path}` must not be an absolute path"));
    }
    if path.split('/').any(|part| part == "..") {
        return Err(format!("unable to provision SubPath `{path}`: must not contain '..'"));
    }
    Ok(path)
}

/// Whether all paths in the container's volumes have the variables that they name.
///
/// # Errors
/// Which have no value.
pub fn for_mounts(container: &Container, variables: &[(String, String)]) -> Result<(), String> {
    container.volume_mounts.iter().flatten().try_for_each(|mount| sub_path(mount, variables).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_volumes_have_variables_too() {
        let variables = [("A".to_owned(), "a".to_owned()), ("E".to_owned(), String::new())];
        let path = |mount: VolumeMount| sub_path(&mount, &variables);
        let expression = |text: &str| VolumeMount { sub_path_expr: Some(text.to_owned()), ..VolumeMount::default() };
        assert_eq!(path(VolumeMount::default()), Ok(String::new()));
        assert_eq!(
            path(VolumeMount { sub_path: Some("$(A)".to_owned()), ..VolumeMount::default() }),
            Ok("$(A)".to_owned())
        );
        assert_eq!(path(expression("logs/$(A)")), Ok("logs/a".to_owned()));
        assert_eq!(path(expression("$(E)/$(B)/$(A)")), Err("missing value for B, E".to_owned()));
        let outside = "unable to provision SubPath `../a`: must not contain '..'";
        assert_eq!(path(expression("../$(A)")), Err(outside.to_owned()));
        assert!(path(expression("/$(A)")).is_err_and(|why| why.contains("must not be an absolute path")));
    }

    #[test]
    fn names_are_replaced_and_dollars_doubled_are_not() {
        let value_of = |name: &str| (name == "A").then_some("1");
        for (text, expected) in [
            ("$(A) and $(A)", "1 and 1"),
            ("$(B) ${A} $A", "$(B) ${A} $A"),
            ("$$(A) $$$(A)", "$(A) $1"),
            ("$", "$"),
            ("$(A", "$(A"),
        ] {
            assert_eq!(expand(text, value_of), expected, "{text}");
        }
    }
}
