//! The files that the kubelet writes itself: of ConfigMaps, Secrets, the downward API, tokens, and all of these in one
//! directory.
//!
//! Mirrors `MakePayload` of `pkg/volume/{configmap,secret,downwardapi,projected}`. The kubelet writes them beside the
//! old ones and swaps a link, so that a container sees all of the new files or none.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, KeyToPath, Volume, VolumeProjection};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::sources;
use network::disk::Contents;
use object::status::aggregate;
use object::token::Token;
use object::{Kind, Object, Pod, downward};

/// Paths and texts.
type Pairs = Vec<(String, Text)>;

/// What is in a file.
#[derive(Debug)]
enum Text {
    /// This.
    Own(String),
    /// What that version of a ConfigMap or Secret has at this key. All Pods of a namespace have the CA's certificate so.
    Of(Object, String),
    /// The token's.
    Token(Token),
}

impl Text {
    fn read(&self) -> String {
        match self {
            Text::Own(text) => text.clone(),
            Text::Of(object, key) => sources::text(object, key).unwrap_or_default(),
            Text::Token(token) => token.text(),
        }
    }
}

/// What the files are made from.
pub struct Material<'a> {
    /// Whose volume it is.
    pub pod: &'a Pod,
    /// What the node can give, for limits that are not set.
    pub node: &'a BTreeMap<String, Quantity>,
    /// The tokens that were asked for, by the paths of their files.
    pub tokens: &'a BTreeMap<String, Token>,
    /// Finds the objects that it names.
    pub object: sources::Find<'a>,
}

/// Files that a container can only read.
#[derive(Debug)]
pub struct Payload(Box<[(String, Text)]>);

impl Contents for Payload {
    fn read(&self, path: &str) -> Option<String> {
        self.0.iter().find(|(file, _)| file == path).map(|(_, text)| text.read())
    }

    fn paths(&self) -> Vec<String> {
        self.0.iter().map(|(file, _)| file.clone()).collect()
    }

    fn write(&self, _: &str, _: &str, _: bool) -> Result<(), &'static str> {
        Err("Read-only file system")
    }
}

/// Whether the kubelet writes the files of a volume, and writes them anew when what they are made from changes.
pub fn is_written_here(volume: &Volume) -> bool {
    let Volume { config_map, secret, downward_api, projected, .. } = volume;
    config_map.is_some() || secret.is_some() || downward_api.is_some() || projected.is_some()
}

/// Whether two versions of a pod tell different things through the downward API of a volume.
pub fn tells_differently(volume: &Volume, old: &Pod, new: &Pod) -> bool {
    let parts = volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
    let parts = parts.filter_map(|part| part.downward_api.as_ref()?.items.as_ref());
    let own = volume.downward_api.iter().filter_map(|source| source.items.as_ref());
    let tells = |pod: &Pod, item: &DownwardAPIVolumeFile| match (&item.field_ref, &item.resource_field_ref) {
        (Some(field), _) => downward::field(pod, &field.field_path),
        (None, Some(selector)) => downward::resource(pod, selector, None, &BTreeMap::new()),
        (None, None) => Ok(String::new()),
    };
    own.chain(parts).flatten().any(|item| tells(old, item) != tells(new, item))
}

/// The files of a volume; None if the kubelet does not write any for its type. The error is why they cannot be made.
pub fn of_volume(volume: &Volume, from: &Material) -> Result<Option<Payload>, String> {
    let files = if let Some(source) = &volume.config_map {
        from.keys(Kind::ConfigMap, &source.name, source.items.as_deref(), source.optional)?
    } else if let Some(source) = &volume.secret {
        let name = source.secret_name.as_deref().unwrap_or_default();
        from.keys(Kind::Secret, name, source.items.as_deref(), source.optional)?
    } else if let Some(source) = &volume.downward_api {
        from.downward(source.items.as_deref().unwrap_or_default())?
    } else if let Some(source) = &volume.projected {
        from.projected(source.sources.as_deref().unwrap_or_default())?
    } else {
        return Ok(None);
    };
    // Of two sources with a file of the same path the later one has it.
    let files: BTreeMap<String, Text> = files.into_iter().collect();
    Ok(Some(Payload(files.into_iter().collect())))
}

impl Material<'_> {
    /// Sources one after another; all errors are told together, each once, as Go's aggregate does.
    fn projected(&self, parts: &[VolumeProjection]) -> Result<Pairs, String> {
        let (mut files, mut errors) = (Pairs::new(), Vec::new());
        for part in parts {
            match self.part(part) {
                Ok(more) => files.extend(more),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(files) } else { Err(aggregate(&errors)) }
    }

    fn part(&self, part: &VolumeProjection) -> Result<Pairs, String> {
        if let Some(map) = &part.config_map {
            self.keys(Kind::ConfigMap, &map.name, map.items.as_deref(), map.optional)
        } else if let Some(secret) = &part.secret {
            self.keys(Kind::Secret, &secret.name, secret.items.as_deref(), secret.optional)
        } else if let Some(source) = &part.downward_api {
            self.downward(source.items.as_deref().unwrap_or_default())
        } else if let Some(token) = &part.service_account_token {
            let text = self.tokens.get(&token.path).cloned().map(Text::Token);
            Ok(vec![(token.path.clone(), text.unwrap_or_else(|| Text::Own(String::new())))])
        } else {
            Ok(Pairs::new())
        }
    }

    /// All keys as files, or those that are chosen.
    fn keys(
        &self,
        kind: Kind,
        name: &str,
        items: Option<&[KeyToPath]>,
        optional: Option<bool>,
    ) -> Result<Pairs, String> {
        let optional = optional == Some(true);
        let Some(object) = (self.object)(kind, name)? else {
            let missing = format!("{} {name:?} not found", kind.info().singular());
            return if optional { Ok(Pairs::new()) } else { Err(missing) };
        };
        let text = |key: &str| Text::Of(object.clone(), key.to_owned());
        let Some(items) = items.filter(|items| !items.is_empty()) else {
            return Ok(sources::keys(&object).map(|key| (key.to_owned(), text(key))).collect());
        };
        let mut files = Pairs::new();
        for item in items {
            match sources::keys(&object).find(|key| *key == item.key) {
                Some(key) => files.push((item.path.clone(), text(key))),
                None if optional => {}
                None if kind == Kind::Secret => {
                    return Err(format!("references non-existent secret key: {}", item.key));
                }
                None => return Err(format!("configmap references non-existent config key: {}", item.key)),
            }
        }
        Ok(files)
    }

    fn downward(&self, items: &[DownwardAPIVolumeFile]) -> Result<Pairs, String> {
        let file = |item: &DownwardAPIVolumeFile| {
            let text = match (&item.field_ref, &item.resource_field_ref) {
                (Some(field), _) => downward::field(self.pod, &field.field_path)?,
                (None, Some(selector)) => downward::resource(self.pod, selector, None, self.node)?,
                (None, None) => String::new(),
            };
            Ok((item.path.clone(), Text::Own(text)))
        };
        items.iter().map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The files of a volume as `path=text` pairs, or the error.
    fn files(volume: Value) -> Result<String, String> {
        let pod: Pod =
            serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "shop"}})).expect("a Pod");
        let volume: Volume = serde_json::from_value(volume).expect("a volume");
        let object = |kind: Kind, name: &str| {
            let data = match (kind, name) {
                (Kind::ConfigMap, "settings") => json!({"color": "blue", "size": "7"}),
                (Kind::ConfigMap, "more") => json!({"color": "green"}),
                (Kind::Secret, "keys") => json!({"password": "aHVudGVyMg=="}),
                _ => return Ok(None),
            };
            let manifest = json!({"metadata": {"name": name}, "data": data});
            Ok(Some(kind.decode(manifest).expect("the manifest decodes")))
        };
        let tokens = BTreeMap::from([("token".to_owned(), Token::default())]);
        let from = Material { pod: &pod, node: &BTreeMap::new(), tokens: &tokens, object: &object };
        let payload = of_volume(&volume, &from)?.expect("the kubelet writes these");
        let mut lines: Vec<String> = payload.0.iter().map(|(path, text)| format!("{path}={}", text.read())).collect();
        let token = Token::default().text();
        lines.iter_mut().for_each(|line| *line = line.replace(&token, "t"));
        lines.sort();
        Ok(lines.join(" "))
    }

    #[test]
    fn files_come_from_what_the_volume_names() {
        let optional = json!({"name": "gone", "optional": true});
        let picked = json!([{"key": "color", "path": "etc/color"}]);
        let wrong = json!([{"key": "shape", "path": "shape"}]);
        let namespace = json!([{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]);
        for (source, expected) in [
            (json!({"configMap": {"name": "settings"}}), Ok("color=blue size=7")),
            (json!({"configMap": {"name": "settings", "items": picked}}), Ok("etc/color=blue")),
            (json!({"configMap": optional}), Ok("")),
            (json!({"configMap": {"name": "gone"}}), Err("configmap \"gone\" not found")),
            (
                json!({"configMap": {"name": "settings", "items": wrong}}),
                Err("configmap references non-existent config key: shape"),
            ),
            (json!({"configMap": {"name": "settings", "items": wrong, "optional": true}}), Ok("")),
            (json!({"secret": {"secretName": "keys"}}), Ok("password=hunter2")),
            (json!({"secret": {"secretName": "gone"}}), Err("secret \"gone\" not found")),
            (
                json!({"secret": {"secretName": "keys", "items": wrong}}),
                Err("references non-existent secret key: shape"),
            ),
            (json!({"downwardAPI": {"items": namespace}}), Ok("namespace=shop")),
            (
                json!({"projected": {"sources": [
                    {"serviceAccountToken": {"path": "token"}},
                    {"configMap": {"name": "settings", "items": picked}},
                    {"secret": {"name": "keys"}},
                    {"downwardAPI": {"items": namespace}},
                ]}}),
                Ok("etc/color=blue namespace=shop password=hunter2 token=t"),
            ),
            (
                json!({"projected": {"sources": [
                    {"configMap": {"name": "settings"}},
                    {"configMap": {"name": "more"}},
                ]}}),
                Ok("color=green size=7"),
            ),
            (
                json!({"projected": {"sources": [{"configMap": {"name": "gone"}}, {"secret": {"name": "gone"}}]}}),
                Err("[configmap \"gone\" not found, secret \"gone\" not found]"),
            ),
            (
                json!({"projected": {"sources": [{"secret": {"name": "gone"}}, {"secret": {"name": "gone"}}]}}),
                Err("secret \"gone\" not found"),
            ),
        ] {
            let mut volume = source.clone();
            volume["name"] = json!("v");
            assert_eq!(files(volume).as_deref().map_err(String::as_str), expected, "{source}");
        }
    }
}
