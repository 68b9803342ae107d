//! Environment variables of a container, and the fields that they and downward API files may take. Mirrors
//! `ValidateEnv`, `ValidateEnvFrom` and `validateObjectFieldSelector` of `pkg/apis/core/validation`.

use k8s_openapi::api::core::v1::{
    EnvFromSource, EnvVar, EnvVarSource, FileKeySelector, ObjectFieldSelector, PodSpec, ResourceFieldSelector,
};

use object::selector::names::{check_label_key, check_subdomain};
use object::validation::field::{Path, Problems};
use object::validation::names::{check_config_key, check_dns_label, check_env_name};

/// Fields of a Pod that an environment variable may take its value from, as they are listed in errors.
const ENV_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields of a Pod that a file may take its text from.
pub const FILE_FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/// Fields of a Pod that have a name outside of it, but are not for its containers.
const OTHER_FIELDS: &[&str] = &["spec.restartPolicy", "spec.schedulerName", "status.phase"];
/// Amounts that a container may be told.
const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const HUGE_PAGES: [&str; 2] = ["limits.hugepages-", "requests.hugepages-"];
const CPU_DIVISORS: &[&str] = &["1m", "1"];
const BYTE_DIVISORS: &[&str] = &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Variables given one by one.
pub fn variables(problems: &mut Problems, path: &Path, variables: &[EnvVar]) {
    for (i, variable) in variables.iter().enumerate() {
        let path = path.index(i);
        match variable.name.as_str() {
            "" => problems.required(&path.child("name"), ""),
            name => {
                if let Some(why) = check_env_name(name) {
                    problems.invalid(&path.child("name"), name, why);
                }
            }
        }
        if let Some(from) = &variable.value_from {
            value_from(problems, &path.child("valueFrom"), from, variable.value.as_deref().unwrap_or_default());
        }
    }
}

/// Variables given by the keys of a ConfigMap or Secret.
pub fn from(problems: &mut Problems, list: &Path, sources: &[EnvFromSource]) {
    for (i, source) in sources.iter().enumerate() {
        let path = list.index(i);
        if let Some(prefix) = source.prefix.as_deref().filter(|prefix| !prefix.is_empty())
            && let Some(why) = check_env_name(prefix)
        {
            problems.invalid(&path.child("prefix"), prefix, why);
        }
        let config_map = source.config_map_ref.as_ref().map(|source| ("configMapRef", source.name.as_str()));
        let secret = source.secret_ref.as_ref().map(|source| ("secretRef", source.name.as_str()));
        for (field, name) in config_map.into_iter().chain(secret) {
            match name {
                "" => problems.required(&path.child(field).child("name"), ""),
                name => problems.all_invalid(&path.child(field).child("name"), name, check_subdomain(name)),
            }
        }
        // The whole list is blamed for one entry.
        match (config_map, secret) {
            (None, None) => problems.invalid(list, "", "must specify one of: `configMapRef` or `secretRef`"),
            (Some(_), Some(_)) => problems.invalid(list, "", "may not have more than one field specified at a time"),
            _ => {}
        }
    }
}

fn value_from(problems: &mut Problems, path: &Path, from: &EnvVarSource, value: &str) {
    let sources = sources(problems, path, from);
    if sources == 0 {
        const WHY: &str = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or \
            `fileKeyRef`";
        problems.invalid(path, "", WHY);
    } else if !value.is_empty() {
        problems.invalid(path, "", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        problems.invalid(path, "", "may not have more than one field specified at a time");
    }
}

/// Checks where a value comes from, and counts the places.
fn sources(problems: &mut Problems, path: &Path, from: &EnvVarSource) -> usize {
    let mut sources = 0;
    if let Some(file) = &from.file_key_ref {
        sources += 1;
        file_ref(problems, &path.child("fileKeyRef"), file);
    }
    if let Some(field) = &from.field_ref {
        sources += 1;
        field_ref(problems, &path.child("fieldRef"), field, ENV_FIELDS);
    }
    if let Some(resource) = &from.resource_field_ref {
        sources += 1;
        resource_ref(problems, &path.child("resourceFieldRef"), resource, false);
    }
    let config_map = from.config_map_key_ref.as_ref().map(|from| ("configMapKeyRef", &from.name, &from.key));
    let secret = from.secret_key_ref.as_ref().map(|from| ("secretKeyRef", &from.name, &from.key));
    for (field, name, key) in config_map.into_iter().chain(secret) {
        sources += 1;
        let path = path.child(field);
        problems.all_invalid(&path.child("name"), name, check_subdomain(name));
        match key.as_str() {
            "" => problems.required(&path.child("key"), ""),
            key => problems.all_invalid(&path.child("key"), key, check_config_key(key)),
        }
    }
    sources
}

/// A key of a file in a volume. Mirrors `validateFileKeySelector`.
fn file_ref(problems: &mut Problems, path: &Path, selector: &FileKeySelector) {
    let [key, volume, file] = ["key", "volumeName", "path"].map(|field| path.child(field));
    match selector.key.as_str() {
        "" => problems.required(&key, ""),
        text => problems.all_invalid(&key, text, check_env_name(text).map(str::to_owned).into_iter().collect()),
    }
    match selector.volume_name.as_str() {
        "" => problems.required(&volume, ""),
        name => problems.all_invalid(&volume, name, check_dns_label(name)),
    }
    match selector.path.as_str() {
        "" => problems.required(&file, ""),
        text if text.split('/').any(|part| part == "..") => problems.invalid(&file, text, "must not contain '..'"),
        _ => {}
    }
}

/// Files are read in what the Pod's own containers have written. Mirrors `validateFileKeyRefVolumes`.
pub fn file_volumes(problems: &mut Problems, path: &Path, spec: &PodSpec) {
    let volume_of = |name: &str| spec.volumes.iter().flatten().find(|volume| volume.name == name);
    let inits = spec.init_containers.as_deref().unwrap_or_default();
    for (list, containers) in [("initContainers", inits), ("containers", &spec.containers)] {
        let list = path.child(list);
        for (i, container) in containers.iter().enumerate() {
            let (at, env) = (list.index(i), container.env.as_deref().unwrap_or_default());
            let at = at.child("env");
            for (j, variable) in env.iter().enumerate() {
                let Some(selector) = variable.value_from.as_ref().and_then(|from| from.file_key_ref.as_ref()) else {
                    continue;
                };
                let (entry, name) = (at.index(j), selector.volume_name.as_str());
                let from = entry.child("valueFrom");
                let file = from.child("fileKeyRef");
                match volume_of(name) {
                    None => problems.not_found(&file.child("volumeName"), name),
                    Some(volume) if volume.empty_dir.is_none() => {
                        const WHY: &str = "referenced volume must be of type emptyDir";
                        problems.invalid(&file.child("volumeName"), name, WHY);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

/// A field of the Pod itself; `known` are those that may be had here. Mirrors `validateObjectFieldSelector`.
pub fn field_ref(problems: &mut Problems, path: &Path, selector: &ObjectFieldSelector, known: &[&str]) {
    let (at, field) = (path.child("fieldPath"), selector.field_path.as_str());
    if field.is_empty() {
        return problems.required(&at, "");
    }
    if let Some((map, key)) = field.strip_suffix("']").and_then(|field| field.split_once("['")) {
        match map {
            "metadata.annotations" => {
                problems.all_invalid(path, &key.to_lowercase(), check_label_key(&key.to_lowercase()))
            }
            "metadata.labels" => problems.all_invalid(path, key, check_label_key(key)),
            _ => {
                let why = format!("error converting fieldPath: field label does not support subscript: {field}");
                problems.invalid(&at, field, &why);
            }
        }
        return;
    }
    if known.contains(&field) {
        return;
    }
    if ENV_FIELDS.contains(&field) || FILE_FIELDS.contains(&field) || OTHER_FIELDS.contains(&field) {
        return problems.not_supported(&at, field, known);
    }
    problems.invalid(&at, field, &format!("error converting fieldPath: field label not supported: {field}"));
}

/// An amount that a container has. Mirrors `validateContainerResourceFieldSelector`.
pub fn resource_ref(problems: &mut Problems, path: &Path, selector: &ResourceFieldSelector, in_file: bool) {
    let name = selector.resource.as_str();
    if in_file && selector.container_name.as_deref().unwrap_or_default().is_empty() {
        problems.required(&path.child("containerName"), "");
    } else if name.is_empty() {
        problems.required(&path.child("resource"), "");
    } else if !RESOURCES.contains(&name) && !HUGE_PAGES.iter().any(|start| name.starts_with(start)) {
        problems.not_supported(&path.child("resource"), name, RESOURCES);
    }
    let divisor = selector.divisor.as_ref().map_or("", |divisor| divisor.0.as_str());
    let (divisors, what) = match name {
        "limits.cpu" | "requests.cpu" => (CPU_DIVISORS, "cpu"),
        "limits.memory" | "requests.memory" => (BYTE_DIVISORS, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (BYTE_DIVISORS, "local ephemeral storage"),
        _ if HUGE_PAGES.iter().any(|start| name.starts_with(start)) => (BYTE_DIVISORS, "hugepages"),
        _ => return,
    };
    if !matches!(divisor, "" | "0") && !divisors.contains(&divisor) {
        let joint = if what == "cpu" { " and " } else { ", " };
        let why = format!("only divisor's values {} are supported with the {what} resource", divisors.join(joint));
        problems.invalid(&path.child("divisor"), name, &why);
    }
}
