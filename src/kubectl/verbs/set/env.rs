//! `set env`: variables of containers, given one by one or taken from a ConfigMap or a Secret.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::change::{Words, change, containers, of_object, pod_spec};
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use crate::print::fields::{at, map, text};
use crate::targets::Target;
use object::Kind;

/// What a command line asks for.
#[derive(Default)]
struct Changes {
    set: Vec<Value>,
    remove: Vec<String>,
}

/// `kubectl set env KIND/NAME KEY=VALUE KEY- …`, in the containers that `-c` names.
pub(super) async fn env(args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let is_change = |word: &String| word.contains('=') || word.ends_with('-');
    let words = &args.words[1..];
    let (words, given) = words.split_at(words.iter().position(is_change).unwrap_or(words.len()));
    if !given.iter().all(is_change) {
        let all = args.words[1..].join(" ");
        return Err(Failure::text(format!("all resources must be specified before environment changes: {all}")));
    }
    if args.has("keys") && !args.has("from") {
        return Err(Failure::text("when specifying --keys, a configmap or secret must be provided with --from"));
    }
    let mut changes = Changes::parse(args.values("env").iter().chain(given), cx)?;
    if args.has("from") {
        changes.set.extend(taken(args, cx).await?);
    }
    for variable in &mut changes.set {
        variable["name"] = json!(format!("{}{}", args.value("prefix"), text(variable, "name")));
    }
    if args.is_on("list") {
        return list(words, &changes, args, cx).await;
    }
    let said = Words { done: "env updated", refused: "failed to patch env update to pod template: ", always: false };
    change(words, said, args, cx, |kind, object| edit(kind, object, &changes, args, cx)).await
}

impl Changes {
    /// `KEY=VALUE`, `KEY-`, or `-` for lines of such on standard input. Mirrors `ParseEnv`.
    fn parse<'a>(given: impl Iterator<Item = &'a String>, cx: &Kubectl) -> Result<Changes, Failure> {
        let mut changes = Changes::default();
        for word in given {
            match (word.split_once('='), word.strip_suffix('-')) {
                (Some((name, value)), _) => {
                    let problems = check_name(name);
                    if !problems.is_empty() {
                        let why = problems.join(";");
                        return Err(Failure::text(format!("{name:?} is not a valid key name: {why}")));
                    }
                    changes.set.push(json!({"name": name, "value": value}));
                }
                (None, Some("")) => {
                    let lines = cx.stdin.lines().map(|line| line.split('#').next().unwrap_or_default());
                    let pairs = lines.filter_map(|line| line.split_once('='));
                    changes.set.extend(pairs.map(|(name, value)| json!({"name": name, "value": value})));
                }
                (None, Some(name)) => changes.remove.push(name.to_owned()),
                (None, None) => return Err(Failure::text(format!("unknown environment variable: {word}"))),
            }
        }
        if changes.set.iter().any(|variable| changes.remove.iter().any(|name| name == text(variable, "name"))) {
            return Err(Failure::text(
                "can not both modify and remove the same environment variable in the same command",
            ));
        }
        Ok(changes)
    }

    /// The variables of a container after the changes. Mirrors `updateEnv`.
    fn applied(&self, variables: &[Value]) -> Vec<Value> {
        let mut out: Vec<Value> = Vec::new();
        for old in variables.iter().filter(|old| !self.remove.iter().any(|name| name == text(old, "name"))) {
            let new = self.set.iter().find(|new| text(new, "name") == text(old, "name"));
            if new.is_none() || !out.iter().any(|there| text(there, "name") == text(old, "name")) {
                out.push(new.unwrap_or(old).clone());
            }
        }
        for new in &self.set {
            if !out.iter().any(|there| text(there, "name") == text(new, "name")) {
                out.push(new.clone());
            }
        }
        out
    }
}

/// What is wrong with the name of a variable: kubectl is stricter than the API server. Mirrors `IsEnvVarName`.
fn check_name(name: &str) -> Vec<&'static str> {
    const WRONG: &str = "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', \
                         or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or \
                         'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')";
    let may_stand = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let right = !name.is_empty() && name.chars().all(may_stand) && !name.starts_with(|c: char| c.is_ascii_digit());
    let of_folders = match name {
        "." => Some("must not be '.'"),
        ".." => Some("must not be '..'"),
        name if name.starts_with("..") => Some("must not start with '..'"),
        _ => None,
    };
    (!right).then_some(WRONG).into_iter().chain(of_folders).collect()
}

/// A variable for each key of the ConfigMap or Secret behind `--from`, or for those that `--keys` names.
async fn taken(args: &Args, cx: &Kubectl) -> Result<Vec<Value>, Failure> {
    let keys: Vec<&str> = args.values("keys").iter().flat_map(|keys| keys.split(',')).collect();
    let mut variables = Vec::new();
    for Target { kind, name } in cx.targets("set", &[args.value("from").to_owned()]).await? {
        let name = name.ok_or_else(|| Failure::text("resource(s) were provided, but no name was specified"))?;
        let source = cx.get(kind, cx.namespace(args), &name).await?;
        let reference = match kind {
            Kind::ConfigMap => "configMapKeyRef",
            Kind::Secret => "secretKeyRef",
            _ => return Err(Failure::text("unsupported resource specified in --from")),
        };
        for (key, _) in map(&source, "data").filter(|(key, _)| keys.is_empty() || keys.contains(&key.as_str())) {
            let name = key.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_").to_ascii_uppercase();
            if name != *key {
                cx.complain(format!("Warning: key {key} transferred to {name}"));
            }
            let from = json!({reference: {"key": key, "name": text(&source, "metadata.name")}});
            variables.push(json!({"name": name, "valueFrom": from}));
        }
    }
    Ok(variables)
}

fn edit(kind: Kind, object: &mut Value, changes: &Changes, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (before, mut found) = (object.clone(), false);
    for container in containers(pod_spec(kind, object)?, selected(args)) {
        found = true;
        let old = container["env"].as_array().cloned().unwrap_or_default();
        if args.value("overwrite") == "false"
            && let Some(there) = old.iter().find(|old| changes.set.iter().any(|new| new["name"] == old["name"]))
        {
            let [name, value] = ["name", "value"].map(|field| text(there, field));
            let why = format!("'{name}' already has a value ({value}), and --overwrite is false");
            return Err(of_object(kind, &before, &why));
        }
        let Some(container) = container.as_object_mut() else { continue };
        container.remove("env");
        let new = changes.applied(&old);
        if !new.is_empty() {
            container.insert("env".to_owned(), Value::Array(new));
        }
    }
    if !found {
        let what = format!("{}/{}", kind.info().kind, text(&before, "metadata.name"));
        cx.complain(format!("Warning: {what} does not have any containers matching {:?}", selected(args)));
    }
    Ok(())
}

fn selected(args: &Args) -> &str {
    if args.has("container") { args.value("container") } else { "*" }
}

/// `kubectl set env KIND/NAME --list`: what there is, and would be.
async fn list(words: &[String], changes: &Changes, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    for (kind, mut object) in cx.objects("set", words, args).await? {
        edit(kind, &mut object, changes, args, cx)?;
        let whole = object.clone();
        for container in containers(pod_spec(kind, &mut object)?, selected(args)) {
            let [name, container_name] = [text(&whole, "metadata.name"), text(container, "name")];
            cx.line(format!("# {} {name}, container {container_name}", kind.info().kind));
            for variable in container["env"].as_array().into_iter().flatten() {
                show(variable, &whole, args, cx).await?;
            }
        }
    }
    Ok(())
}

async fn show(variable: &Value, object: &Value, args: &Args, cx: &Kubectl) -> Result<(), Failure> {
    let (name, from) = (text(variable, "name"), at(variable, "valueFrom"));
    if from.is_null() {
        cx.line(format!("{name}={}", text(variable, "value")));
        return Ok(());
    }
    let resolved = match args.is_on("resolve") {
        true => resolve(from, object, cx).await,
        false => Ok(None),
    };
    match resolved {
        Ok(Some(value)) => cx.line(format!("{name}={value}")),
        Ok(None) => cx.line(format!("# {name} from {}", reference(from))),
        Err(fault) => {
            cx.line(format!("# {name} from {}", reference(from)));
            cx.complain(format!("error retrieving reference for {name}: {}", fault.message()));
        }
    }
    Ok(())
}

/// Where a value comes from. Mirrors `GetEnvVarRefString`.
fn reference(from: &Value) -> String {
    for (field, what) in [("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")] {
        if let Some(key) = from.get(field) {
            return format!("{what} {}, key {}", text(key, "name"), text(key, "key"));
        }
    }
    match from.get("fieldRef") {
        Some(field) => format!("field path {}", text(field, "fieldPath")),
        None => format!("resource field {}", text(from, "resourceFieldRef.resource")),
    }
}

/// The value in a ConfigMap or Secret, or in the object; none if it stands elsewhere.
async fn resolve(from: &Value, object: &Value, cx: &Kubectl) -> Result<Option<String>, Failure> {
    let namespace = text(object, "metadata.namespace");
    for (field, kind, what) in
        [("secretKeyRef", Kind::Secret, "secret"), ("configMapKeyRef", Kind::ConfigMap, "config map")]
    {
        let Some(key) = from.get(field) else { continue };
        let [name, key] = ["name", "key"].map(|field| text(key, field));
        let source = cx.get_once(kind, namespace, name).await?;
        let missing = || Failure::text(format!("key {key} not found in {what} {name}"));
        let value = at(&source, "data").get(key).and_then(Value::as_str).ok_or_else(missing)?;
        let coded = (kind == Kind::Secret).then(|| serde_json::from_value::<ByteString>(json!(value)).ok()).flatten();
        return Ok(Some(coded.map_or(value.to_owned(), |bytes| String::from_utf8_lossy(&bytes.0).into_owned())));
    }
    let path = text(from, "fieldRef.fieldPath");
    let is_known = ["metadata.name", "metadata.namespace", "metadata.uid"].contains(&path);
    Ok(is_known.then(|| text(object, path).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_begins_with_no_digit() {
        for (name, want) in [
            ("A_b-c.1", vec![]),
            ("1", vec!["a valid environment variable name must"]),
            ("a b", vec!["a valid environment variable name must"]),
            ("", vec!["a valid environment variable name must"]),
            (".", vec!["must not be '.'"]),
            ("..", vec!["must not be '..'"]),
            ("..a", vec!["must not start with '..'"]),
        ] {
            let found = check_name(name);
            let agrees = found.iter().zip(&want).all(|(found, want)| found.starts_with(want));
            assert!(agrees && found.len() == want.len(), "{name:?}: {found:?}");
        }
    }
}
