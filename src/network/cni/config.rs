//! Network configurations: what an installer puts into `/etc/cni/net.d`, and what a plugin reads from its standard input.
//!
//! Mirrors `libcni/conf.go`, with its errors, and `pkg/version`. Left out: plugins in files of their own
//! (`loadOnlyInlinedPlugins`).

use std::rc::Rc;

use serde_json::{Map, Value, json};

use object::go_types::untyped;
use object::{base64, json};

/// The newest version of the specification that runtime and plugins understand.
pub const VERSION: &str = "1.1.0";
/// Where network plugins are installed.
pub const PLUGINS: &str = "/opt/cni/bin";
/// Where the runtime looks for configurations.
pub const DIRECTORY: &str = "/etc/cni/net.d";
/// The configuration that a node comes with.
pub const DEFAULT_FILE: &str = "/etc/cni/net.d/10-kubestep.conflist";

/// The text of [`DEFAULT_FILE`]: Pods get addresses of `subnet` and are ports of a bridge.
pub fn default_text(subnet: &str) -> String {
    format!(
        r#"{{
  "cniVersion": "{VERSION}",
  "name": "kubestep",
  "plugins": [
    {{
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "ipMasq": true,
      "hairpinMode": true,
      "ipam": {{
        "type": "host-local",
        "ranges": [[{{"subnet": "{subnet}"}}]],
        "routes": [{{"dst": "0.0.0.0/0"}}]
      }}
    }},
    {{
      "type": "portmap",
      "capabilities": {{"portMappings": true}}
    }}
  ]
}}
"#
    )
}

/// A network: plugins that are run one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkList {
    /// Its name.
    pub name: String,
    /// The version in which runtime and plugins talk; empty stands for 0.1.0.
    pub cni_version: String,
    /// CHECK is not to be called.
    pub disable_check: bool,
    /// GC is not to be called.
    pub disable_gc: bool,
    /// In the order in which ADD runs them.
    pub plugins: Vec<PluginConfig>,
    /// The file as it was read, in base64: so it is kept with results.
    pub encoded: Rc<str>,
}

/// One plugin's part of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginConfig {
    /// The program's name.
    pub plugin_type: String,
    /// The values of the runtime that it wants to have.
    pub capabilities: Vec<String>,
    /// All of it, as it was written.
    pub value: Map<String, Value>,
}

impl NetworkList {
    /// Reads a `.conflist`. The error is libcni's.
    pub fn parse(text: &str) -> Result<NetworkList, String> {
        let wrong = |why: String| format!("error parsing configuration list: {why}");
        let Value::Object(list) = parse_json(text).map_err(wrong)? else {
            return Err(wrong("json: cannot unmarshal into Go value of type map[string]interface {}".into()));
        };
        let name = match list.get("name") {
            None => return Err(wrong("no name".into())),
            Some(Value::String(name)) => name.clone(),
            Some(other) => return Err(wrong(format!("invalid name type {}", untyped(other)))),
        };
        let plugins = match list.get("plugins") {
            None => return Err("no plugin configs found".into()),
            Some(Value::Array(plugins)) if plugins.is_empty() => return Err(wrong("no plugins in list".into())),
            Some(Value::Array(plugins)) => plugins,
            Some(other) => return Err(wrong(format!("invalid 'plugins' type {}", untyped(other)))),
        };
        let plugin = |(at, value)| {
            PluginConfig::parse(value).map_err(|error| format!("failed to parse plugin config {at}: {error}"))
        };
        Ok(NetworkList {
            name,
            cni_version: cni_version(&list).map_err(wrong)?,
            disable_check: flag(&list, "disableCheck").map_err(wrong)?,
            disable_gc: flag(&list, "disableGC").map_err(wrong)?,
            plugins: plugins.iter().enumerate().map(plugin).collect::<Result<_, _>>()?,
            encoded: base64::padded(text.as_bytes()).into(),
        })
    }

    /// Reads a `.conf`, which holds one plugin, as a list of one.
    pub fn parse_single(text: &str) -> Result<NetworkList, String> {
        let value = parse_json(text).map_err(|error| format!("error parsing configuration: {error}"))?;
        let plugin = PluginConfig::parse(&value)?;
        let field = |name: &str| plugin.value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(NetworkList {
            name: field("name"),
            cni_version: field("cniVersion"),
            disable_check: false,
            disable_gc: false,
            plugins: vec![plugin],
            encoded: base64::padded(text.as_bytes()).into(),
        })
    }

    /// Whether runtime and plugins talk in this version or a newer one.
    pub fn talks(&self, version: &str) -> Result<bool, String> {
        Ok(parse_version(&self.cni_version)? >= parse_version(version)?)
    }

    /// The standard input of a plugin: its part, with the list's name and version, and what this call adds. What
    /// the plugin wants to have of the runtime is known by then.
    pub fn stdin(&self, plugin: &PluginConfig, more: Vec<(&str, Value)>) -> Value {
        let wanted = plugin.value.iter().filter(|(key, _)| *key != "capabilities");
        let mut value: Map<String, Value> = wanted.map(|(key, value)| (key.clone(), value.clone())).collect();
        let own = [("name", json!(self.name)), ("cniVersion", json!(self.cni_version))];
        for (key, inserted) in own.into_iter().chain(more) {
            value.insert(key.to_owned(), inserted);
        }
        Value::Object(value)
    }
}

impl PluginConfig {
    fn parse(value: &Value) -> Result<PluginConfig, String> {
        let wrong = |why: String| format!("error parsing configuration: {why}");
        let Value::Object(fields) = value else {
            return Err(wrong(format!(
                "json: cannot unmarshal {} into Go value of type types.PluginConf",
                json::Json::of(value).type_name()
            )));
        };
        let plugin_type = match fields.get("type") {
            Some(Value::String(name)) if !name.is_empty() => name.clone(),
            None | Some(Value::String(_) | Value::Null) => return Err(wrong("missing 'type'".into())),
            Some(other) => {
                let kind = json::Json::of(other).type_name();
                return Err(wrong(format!(
                    "json: cannot unmarshal {kind} into Go struct field PluginConf.type of type string"
                )));
            }
        };
        let wanted = fields.get("capabilities").and_then(Value::as_object).into_iter().flatten();
        let capabilities = wanted.filter(|(_, on)| **on == Value::Bool(true)).map(|(name, _)| name.clone()).collect();
        Ok(PluginConfig { plugin_type, capabilities, value: fields.clone() })
    }
}

/// The text as JSON, or Go's complaint about it.
fn parse_json(text: &str) -> Result<Value, String> {
    json::parse(text)?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// `cniVersion`, or the highest of `cniVersions` and it that is not above ours.
fn cni_version(list: &Map<String, Value>) -> Result<String, String> {
    let single = match list.get("cniVersion") {
        None => String::new(),
        Some(Value::String(version)) => version.clone(),
        Some(other) => return Err(format!("invalid cniVersion type {}", untyped(other))),
    };
    let several = match list.get("cniVersions") {
        None => return Ok(single),
        Some(Value::Array(versions)) => versions,
        Some(other) => return Err(format!("invalid type for cniVersions: {}", untyped(other))),
    };
    let ours = parse_version(VERSION)?;
    let mut known = Vec::new();
    for (at, version) in several.iter().enumerate() {
        let Value::String(version) = version else {
            return Err(format!("invalid type for cniVersions index {at}: {}", untyped(version)));
        };
        let number = parse_version(version)
            .map_err(|error| format!("invalid cniVersions entry {version} at index {at}: {error}"))?;
        known.push((number, version.clone()));
    }
    if !single.is_empty() {
        let number = parse_version(&single).map_err(|error| format!("invalid cniVersion {single}: {error}"))?;
        known.push((number, single.clone()));
    }
    let highest = known.into_iter().filter(|(number, _)| *number <= ours).max();
    Ok(highest.map_or(single, |(_, version)| version))
}

/// A version's numbers. An empty one is 0.1.0, from before there was a field for it.
pub fn parse_version(version: &str) -> Result<(u32, u32, u32), String> {
    if version.is_empty() {
        return Ok((0, 1, 0));
    }
    let parts: Vec<&str> = version.split('.').collect();
    if parts.len() > 3 {
        return Err(format!("invalid version {version:?}: too many parts"));
    }
    let mut numbers = [0; 3];
    for ((number, part), name) in numbers.iter_mut().zip(parts).zip(["major", "minor", "micro"]) {
        let why =
            format!("failed to convert {name} version part {part:?}: strconv.Atoi: parsing {part:?}: invalid syntax");
        *number = part.parse().map_err(|_| why)?;
    }
    Ok(numbers.into())
}

/// A truth value, which may be written as a word.
fn flag(list: &Map<String, Value>, key: &str) -> Result<bool, String> {
    match list.get(key) {
        None => Ok(false),
        Some(Value::Bool(on)) => Ok(*on),
        Some(Value::String(word)) => match word.to_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(format!("invalid value {other:?} for {key}")),
        },
        Some(other) => Err(format!("invalid type {} for {key}", untyped(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_that_a_node_comes_with_is_whole() {
        let list = NetworkList::parse(&default_text("10.244.0.0/24")).unwrap();
        let types: Vec<&str> = list.plugins.iter().map(|plugin| plugin.plugin_type.as_str()).collect();
        assert_eq!(types, ["bridge", "portmap"]);
        assert_eq!(list.plugins[1].capabilities, ["portMappings"]);
        let stdin = list.stdin(&list.plugins[0], vec![("prevResult", json!({}))]);
        assert_eq!(stdin["name"], "kubestep");
        assert_eq!(stdin["cniVersion"], "1.1.0");
        assert_eq!(stdin["ipam"]["ranges"][0][0]["subnet"], "10.244.0.0/24");
    }

    #[test]
    fn the_highest_version_in_common_is_taken() {
        for (versions, taken) in [
            (r#""cniVersion": "0.3.1""#, "0.3.1"),
            (r#""cniVersions": ["0.4.0", "1.1.0", "1.0.0"]"#, "1.1.0"),
            (r#""cniVersion": "1.0.0", "cniVersions": ["0.3.1", "2.0.0"]"#, "1.0.0"),
            (r#""cniVersion": "2.0.0", "cniVersions": ["2.1.0"]"#, "2.0.0"),
            (r#""disableCheck": true"#, ""),
        ] {
            let text = format!(r#"{{"name": "n", {versions}, "plugins": [{{"type": "bridge"}}]}}"#);
            assert_eq!(NetworkList::parse(&text).unwrap().cni_version, taken, "{versions}");
        }
    }

    #[test]
    fn a_malformed_list_is_refused_in_the_words_of_libcni() {
        let list = "error parsing configuration list: ";
        for (text, says) in [
            ("", format!("{list}unexpected end of JSON input")),
            ("{name: 1}", format!("{list}invalid character 'n' looking for beginning of object key string")),
            ("{}", format!("{list}no name")),
            (r#"{"name": 1}"#, format!("{list}invalid name type float64")),
            (r#"{"name": "n"}"#, "no plugin configs found".into()),
            (r#"{"name": "n", "plugins": []}"#, format!("{list}no plugins in list")),
            (r#"{"name": "n", "plugins": {}}"#, format!("{list}invalid 'plugins' type map[string]interface {{}}")),
            (
                r#"{"name": "n", "plugins": [{"type": "bridge"}, {"bridge": "cni0"}]}"#,
                "failed to parse plugin config 1: error parsing configuration: missing 'type'".into(),
            ),
            (
                r#"{"name": "n", "disableGC": "perhaps", "plugins": [{"type": "bridge"}]}"#,
                format!("{list}invalid value \"perhaps\" for disableGC"),
            ),
            (
                r#"{"name": "n", "cniVersions": ["1.x"], "plugins": [{"type": "bridge"}]}"#,
                format!(
                    "{list}invalid cniVersions entry 1.x at index 0: failed to convert minor version part \"x\": \
                     strconv.Atoi: parsing \"x\": invalid syntax"
                ),
            ),
        ] {
            assert_eq!(NetworkList::parse(text).unwrap_err(), says, "{text}");
        }
    }
}
