//! `create configmap` and `create secret generic`.

use k8s_openapi::ByteString;
use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use object::validation::names::check_config_key;

pub(super) fn config_map(name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    made("ConfigMap", name, args, cx)
}

/// Mirrors `create_secret.go`.
pub(super) fn secret(name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let mut object = made("Secret", name, args, cx)?;
    if !args.value("type").is_empty() {
        object["type"] = json!(args.value("type"));
    }
    Ok(object)
}

fn made(kind: &'static str, name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let [files, literals, env_files] = ["from-file", "from-literal", "from-env-file"].map(|flag| args.values(flag));
    if (!files.is_empty() || !literals.is_empty()) && !env_files.is_empty() {
        return Err(Failure::text("from-env-file cannot be combined with from-file or from-literal"));
    }
    let entries = entries(files, literals, env_files, cx, Of { kind, name })?;
    let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
    if kind == "Secret" {
        if !entries.0.is_empty() {
            object["data"] = entries.coded();
        }
        return Ok(object);
    }
    for (key, bytes) in entries.0 {
        match String::from_utf8(bytes) {
            Ok(text) => object["data"][key] = json!(text),
            Err(no_text) => object["binaryData"][key] = json!(ByteString(no_text.into_bytes())),
        }
    }
    Ok(object)
}

/// The object into which it all goes.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    /// `ConfigMap` or `Secret`.
    pub kind: &'static str,
    /// Its name.
    pub name: &'a str,
}

impl Of<'_> {
    /// What is said of a key that cannot be one. Mirrors `validateNewConfigMap` and `addKeyFromLiteralToSecret`, which
    /// have one rule and two ways to say it. `there`: what it has already.
    fn check(self, key: &str, there: Option<&[u8]>) -> Result<(), Failure> {
        let Of { kind, name } = self;
        let (problems, is_secret) = (check_config_key(key), kind == "Secret");
        Err(Failure::text(match (problems.is_empty(), there) {
            (true, None) => return Ok(()),
            (false, _) if is_secret => format!("{key:?} is not valid key name for a {kind} {}", problems.join(";")),
            (false, _) => format!("{key:?} is not a valid key name for a {kind}: {}", problems.join(",")),
            (true, Some(_)) if is_secret => format!("cannot add key {key}, another key by that name already exists"),
            (true, Some(value)) => {
                let place = if std::str::from_utf8(value).is_ok() { "Data" } else { "BinaryData" };
                format!(
                    "cannot add key {key:?}, another key by that name already exists in {place} for {kind} {name:?}"
                )
            }
        }))
    }
}

/// What is in files, literals and files of literals, in this order.
pub(super) fn entries(
    files: &[String],
    literals: &[String],
    env_files: &[String],
    cx: &Kubectl,
    of: Of<'_>,
) -> Result<Entries, Failure> {
    let mut entries = Entries::default();
    for source in files {
        entries.file(source, cx, of)?;
    }
    for literal in literals {
        let wrong = || Failure::text(format!("invalid literal source {literal}, expected key=value"));
        let (key, value) = literal.split_once('=').ok_or_else(wrong)?;
        entries.add(key, value.into(), of)?;
    }
    for path in env_files {
        for line in text(cx, path)?.lines().map(str::trim_start) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // A name alone stands for the value that it has in kubectl's own environment, which is empty here.
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            entries.add(key, value.into(), of)?;
        }
    }
    Ok(entries)
}

/// Keys and values of a ConfigMap or Secret.
#[derive(Default)]
pub(super) struct Entries(Vec<(String, Vec<u8>)>);

impl Entries {
    /// `data` of a Secret.
    pub(super) fn coded(self) -> Value {
        self.0.into_iter().map(|(key, value)| (key, json!(ByteString(value)))).collect::<Map<String, Value>>().into()
    }

    fn add(&mut self, key: &str, value: Vec<u8>, of: Of<'_>) -> Result<(), Failure> {
        of.check(key, self.0.iter().find(|(there, _)| there == key).map(|(_, value)| &**value))?;
        self.0.push((key.to_owned(), value));
        Ok(())
    }

    /// `PATH`, whose name is the key, a folder of such, or `KEY=PATH`. Mirrors `ParseFileSource`.
    fn file(&mut self, source: &str, cx: &Kubectl, of: Of<'_>) -> Result<(), Failure> {
        let (key, path) = match source.split_once('=') {
            None => (source.trim_end_matches('/').rsplit('/').next().unwrap_or(source), source),
            Some(("", path)) => return Err(Failure::text(format!("key name for file path {path} missing"))),
            Some((key, "")) => return Err(Failure::text(format!("file path for key name {key} missing"))),
            Some((_, path)) if path.contains('=') => {
                return Err(Failure::text("key names or file paths cannot contain '='"));
            }
            Some((key, path)) => (key, path),
        };
        let names = cx.names_in(path);
        if names.is_empty() {
            return self.add(key, read(cx, path)?, of);
        }
        if source.contains('=') {
            return Err(Failure::text("cannot give a key name for a directory path"));
        }
        for name in names {
            let bytes = read(cx, &format!("{}/{name}", path.trim_end_matches('/')))?;
            self.add(&name, bytes, of)?;
        }
        Ok(())
    }
}

/// What is in a file.
fn read(cx: &Kubectl, path: &str) -> Result<Vec<u8>, Failure> {
    cx.read_bytes(path).map_err(|why| unread(path, &why))
}

fn text(cx: &Kubectl, path: &str) -> Result<String, Failure> {
    cx.read_text(path).map_err(|why| unread(path, &why))
}

fn unread(path: &str, why: &str) -> Failure {
    Failure::text(format!("error reading {path}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_and_one_that_can_be() {
        const RULE: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
                            'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
        #[rustfmt::skip]
        let cases = [
            ("Secret", "a", None, Ok(())),
            ("Secret", "a", Some(b"1".as_slice()), Err("cannot add key a, another key by that name already exists".to_owned())),
            ("Secret", "a b", Some(b"1"), Err(format!("\"a b\" is not valid key name for a Secret {RULE}"))),
            ("ConfigMap", "a", Some(&[0xff]),
                Err("cannot add key \"a\", another key by that name already exists in BinaryData for ConfigMap \"s\""
                    .to_owned())),
            ("ConfigMap", "a", Some(b"1"),
                Err("cannot add key \"a\", another key by that name already exists in Data for ConfigMap \"s\""
                    .to_owned())),
            ("ConfigMap", "a b", None, Err(format!("\"a b\" is not a valid key name for a ConfigMap: {RULE}"))),
        ];
        for (kind, key, there, want) in cases {
            assert_eq!(Of { kind, name: "s" }.check(key, there).map_err(|fault| fault.message()), want);
        }
    }
}
