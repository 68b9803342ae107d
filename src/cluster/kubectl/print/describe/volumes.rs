//! The volumes of a Pod or of a template.

use serde_json::Value;

use super::super::fields::{at, flag, int, list, plain, text};
use super::Page;

pub(super) fn describe(page: &mut Page, volumes: &[Value], indent: &str) {
    if volumes.is_empty() {
        return page.field(&format!("{indent}Volumes"), "<none>");
    }
    page.line(format!("{indent}Volumes:"));
    let shift = if indent.is_empty() { "" } else { " " };
    for volume in volumes {
        page.line(format!("  {shift}{}:", text(volume, "name")));
        source(page, volume);
    }
}

fn source(page: &mut Page, volume: &Value) {
    let [directory, host, config, secret, projected, claim] =
        ["emptyDir", "hostPath", "configMap", "secret", "projected", "persistentVolumeClaim"].map(|f| at(volume, f));
    let mut field = |name: &str, value: &str| page.field(&format!("    {name}"), value);
    if !directory.is_null() {
        field("Type", "EmptyDir (a temporary directory that shares a pod's lifetime)");
        field("Medium", text(directory, "medium"));
        let limit = at(directory, "sizeLimit");
        field("SizeLimit", &if limit.is_null() { "<unset>".to_owned() } else { plain(limit) });
    } else if !host.is_null() {
        field("Type", "HostPath (bare host directory volume)");
        field("Path", text(host, "path"));
        field("HostPathType", text(host, "type"));
    } else if !config.is_null() {
        field("Type", "ConfigMap (a volume populated by a ConfigMap)");
        field("Name", text(config, "name"));
        field("Optional", &flag(config, "optional").to_string());
    } else if !secret.is_null() {
        field("Type", "Secret (a volume populated by a Secret)");
        field("SecretName", text(secret, "secretName"));
        field("Optional", &flag(secret, "optional").to_string());
    } else if !claim.is_null() {
        const TYPE: &str = "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)";
        field("Type", TYPE);
        field("ClaimName", text(claim, "claimName"));
        field("ReadOnly", &flag(claim, "readOnly").to_string());
    } else if !projected.is_null() {
        describe_projected(page, projected);
    } else {
        field("Type", "<unknown>");
    }
}

/// The order is the sources' own; an unset `optional` shows as Go's nil.
fn describe_projected(page: &mut Page, projected: &Value) {
    page.field("    Type", "Projected (a volume that contains injected data from multiple sources)");
    for source in list(projected, "sources") {
        let [secret, downward, config] = ["secret", "downwardAPI", "configMap"].map(|field| at(source, field));
        if !secret.is_null() {
            page.field("    SecretName", text(secret, "name"));
            page.field("    SecretOptionalName", plain(at(secret, "optional")));
        } else if !downward.is_null() {
            page.field("    DownwardAPI", "true");
        } else if !config.is_null() {
            page.field("    ConfigMapName", text(config, "name"));
            page.field("    ConfigMapOptional", plain(at(config, "optional")));
        } else {
            let seconds = int(source, "serviceAccountToken.expirationSeconds");
            page.field("    TokenExpirationSeconds", seconds.to_string());
        }
    }
}
