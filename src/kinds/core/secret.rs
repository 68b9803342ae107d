//! Secrets. Mirrors `ValidateSecret` of `pkg/apis/core/validation`.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

use crate::defaults::fields::or_text;
use crate::printers::cells::{created, data_count, name};
use crate::printers::columns::{AGE, NAME, column};
use crate::printers::fields::text;
use crate::row::{Facts, Row, Table, Validation, Warnings};
use crate::validation::data::{DATA, DATA_BYTES_MAX, IMMUTABLE, IMMUTABLE_WHY};
use object::json;
use object::validation::field::{Json, Path, Problems, Shown};
use object::validation::names::check_config_key;
use object::well_known::SERVICE_ACCOUNT_TOKEN;

/// What the server knows of Secrets.
pub const ROW: Row<Secret> = Row {
    defaults: Some(defaults),
    validation: Validation { create: validate, update: validate_update, ..Validation::DEFAULT },
    warnings: Warnings { any: warn, ..Warnings::DEFAULT },
    ..Row::new(Facts {
        table: Table {
            columns: &[NAME, column("Type"), column("Data"), AGE],
            cells: |o, now| cells![name(o), text(o, "type"), data_count(o), created(o, now)],
        },
        ..Facts::new("/registry/secrets/", 9)
    })
};

/// `stringData` is only a way to write `data`. Mirrors `Convert_v1_Secret_To_core_Secret`.
fn defaults(secret: &mut Secret) {
    if let Some(texts) = secret.string_data.take() {
        let data = secret.data.get_or_insert_default();
        data.extend(texts.into_iter().map(|(key, text)| (key, ByteString(text.into_bytes()))));
    }
    or_text(&mut secret.type_, "Opaque");
}

/// Whether a certificate and its key can be one, as far as can be seen from their form. Mirrors `warningsForSecret`, and
/// `X509KeyPair` of Go. Left out: what is in a block of PEM.
fn warn(told: &mut Vec<String>, secret: &Secret) {
    if secret.type_.as_deref() != Some("kubernetes.io/tls") {
        return;
    }
    let is_pem = |key: &str| {
        let value = secret.data.as_ref().and_then(|data| data.get(key));
        value.is_some_and(|value| String::from_utf8_lossy(&value.0).contains("-----BEGIN "))
    };
    for (key, input) in [("tls.crt", "certificate"), ("tls.key", "key")] {
        if !is_pem(key) {
            return told.push(format!("tls: failed to find any PEM data in {input} input"));
        }
    }
}

/// Mirrors `ValidateSecret`.
fn validate(problems: &mut Problems, secret: &Secret) {
    let mut bytes = 0;
    for (key, value) in secret.data.iter().flatten() {
        problems.all_invalid(&DATA.key(key), key, check_config_key(key));
        bytes += value.0.len();
    }
    if bytes > DATA_BYTES_MAX {
        problems.too_long(&DATA, DATA_BYTES_MAX);
    }
    let has = |key: &str| secret.data.as_ref().is_some_and(|data| data.contains_key(key));
    let needs: &[&str] = match secret.type_.as_deref().unwrap_or_default() {
        SERVICE_ACCOUNT_TOKEN => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            let annotation = secret.metadata.annotations.as_ref().and_then(|annotations| annotations.get(ACCOUNT));
            if annotation.is_none_or(|name| name.is_empty()) {
                let metadata = Path::new("metadata");
                problems.required(&metadata.child("annotations").key(ACCOUNT), "");
            }
            &[]
        }
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        // One of the two will do.
        "kubernetes.io/basic-auth" if !["username", "password"].into_iter().any(has) => &["username", "password"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    for key in needs {
        match secret.data.as_ref().and_then(|data| data.get(*key)) {
            None => problems.required(&DATA.key(key), ""),
            Some(value) if key.starts_with(".docker") => {
                // Only that it is JSON is looked at, not what it says.
                if let Err(error) = json::parse(&String::from_utf8_lossy(&value.0)) {
                    problems.invalid(&DATA.key(key), "<secret contents redacted>", &error);
                }
            }
            Some(_) => {}
        }
    }
}

/// What may not change in a Secret: its type, and all else if it is marked immutable.
fn validate_update(problems: &mut Problems, new: &Secret, old: &Secret) {
    problems.immutable(&Path::new("type"), &new.type_, &old.type_, |type_| Json(type_).shown());
    if old.immutable == Some(true) {
        if new.immutable != Some(true) {
            problems.forbidden(&IMMUTABLE, IMMUTABLE_WHY);
        }
        if new.data != old.data {
            problems.forbidden(&DATA, IMMUTABLE_WHY);
        }
    }
    if new.data != old.data {
        validate(problems, new);
    }
}
