//! The runtime's half of CNI: runs the plugins of a network one after another, and remembers what they said.
//!
//! Mirrors `libcni/api.go`. ADD runs the plugins in order and gives each the result of the one before; DEL runs them in
//! reverse and gives each the last result. That result is kept in a file, since a runtime may be restarted between the
//! two: `/var/lib/cni/results/NETWORK-CONTAINER-INTERFACE`.
//!
//! Must hold: a plugin is run only if its program is on the disk; a result is kept until a DEL has succeeded.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::engine::{ActorId, Hub};
use crate::node::disk::Disk;
use crate::node::host::{Host, PLUGINS};

use super::config::{NetworkList, PluginConfig};
use super::exec::{Command, Environment, PluginExit, PluginRun};
use super::result::CniResult;

/// Where results are kept.
pub const RESULTS: &str = "/var/lib/cni/results";
/// How a kept result says what it is.
const CACHE_KIND: &str = "cniCacheV1";

/// Who runs plugins.
pub struct Libcni {
    hub: Hub,
    plugins: ActorId,
    host: Rc<Host>,
}

/// What one attachment is called with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeConf {
    /// The sandbox.
    pub container_id: String,
    /// Its namespace; empty: it is gone.
    pub netns: String,
    /// The interface inside.
    pub ifname: String,
    /// `CNI_ARGS`.
    pub args: Vec<(String, String)>,
    /// What the runtime knows, by capability: a plugin gets what it asks for.
    pub capabilities: BTreeMap<String, Value>,
}

/// A kept result. The configuration is in base64.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cached {
    kind: String,
    container_id: String,
    config: String,
    if_name: String,
    network_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    netns: String,
    #[serde(default)]
    cni_args: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    capability_args: BTreeMap<String, Value>,
    result: Value,
}

impl Libcni {
    /// For the plugins behind `plugins`, on `host`.
    pub fn new(hub: Hub, plugins: ActorId, host: Rc<Host>) -> Libcni {
        Libcni { hub, plugins, host }
    }

    /// ADD. The result of the last plugin counts.
    pub async fn add(&self, list: &NetworkList, runtime: &RuntimeConf) -> Result<CniResult, String> {
        let mut result = None;
        for plugin in &list.plugins {
            let printed = self.run(Command::Add, list, plugin, result.take(), runtime).await;
            result = Some(printed.map_err(|error| format!("plugin {} failed (add): {error}", described(plugin)))?);
        }
        let result = result.unwrap_or_default();
        self.keep(list, runtime, &result)
            .map_err(|error| format!("failed to set network {:?} cached result: {error}", list.name))?;
        CniResult::from_json(&result)
    }

    /// DEL. What fails stops it, and the result is kept for the next try. A plugin whose program is gone stops it too, so
    /// that an address may be lost: on a real node somebody then removes its file by hand.
    pub async fn del(&self, list: &NetworkList, runtime: &RuntimeConf) -> Result<(), String> {
        let previous = if list.talks("0.4.0")? { self.kept(list, runtime).unwrap_or_default() } else { None };
        for plugin in list.plugins.iter().rev() {
            let done = self.run(Command::Del, list, plugin, previous.clone(), runtime).await;
            done.map_err(|error| format!("plugin {} failed (delete): {error}", described(plugin)))?;
        }
        let _ = self.host.disk.remove(&path(list, runtime));
        Ok(())
    }

    /// CHECK: an error says that the attachment is broken for good.
    pub async fn check(&self, list: &NetworkList, runtime: &RuntimeConf) -> Result<(), String> {
        if !list.talks("0.4.0")? {
            return Err(format!("configuration version {:?} does not support the CHECK command", list.cni_version));
        }
        if list.disable_check {
            return Ok(());
        }
        let previous = self
            .kept(list, runtime)
            .map_err(|error| format!("failed to get network {:?} cached result: {error}", list.name))?;
        for plugin in &list.plugins {
            self.run(Command::Check, list, plugin, previous.clone(), runtime).await?;
        }
        Ok(())
    }

    /// GC: DEL for every kept result that is not among `valid`, pairs of container and interface; then GC for the
    /// plugins. Errors do not stop it.
    pub async fn gc(&self, list: &NetworkList, valid: &[(String, String)]) -> Result<(), String> {
        if list.disable_gc {
            return Ok(());
        }
        let mut errors = Vec::new();
        for stale in self.attachments(&list.name) {
            if valid.contains(&(stale.container_id.clone(), stale.ifname.clone())) {
                continue;
            }
            if let Err(error) = self.del(list, &stale).await {
                let (id, ifname) = (&stale.container_id, &stale.ifname);
                errors.push(format!("failed to delete stale attachment {id} {ifname}: {error}"));
            }
        }
        if list.talks("1.1.0")? {
            let attachment = |(id, ifname): &(String, String)| json!({"containerID": id, "ifname": ifname});
            let valid: Value = valid.iter().map(attachment).collect();
            let more = [("cni.dev/valid-attachments", valid.clone()), ("cni.dev/attachments", valid)];
            for plugin in &list.plugins {
                let stdin = list.stdin(plugin, &more);
                if let Err(error) = self.exec(Command::Gc, plugin, stdin, &RuntimeConf::default()).await {
                    errors.push(format!("failed to GC plugin {}: {error}", plugin.plugin_type));
                }
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
    }

    /// STATUS: whether an ADD would work. Networks of older versions are not asked.
    pub async fn status(&self, list: &NetworkList) -> Result<(), String> {
        if list.talks("1.1.0") == Ok(true) {
            for plugin in &list.plugins {
                let stdin = list.stdin(plugin, &[]);
                self.exec(Command::Status, plugin, stdin, &RuntimeConf::default()).await?;
            }
        }
        Ok(())
    }

    /// One plugin of a chain. Gives what it printed.
    async fn run(
        &self,
        command: Command,
        list: &NetworkList,
        plugin: &PluginConfig,
        previous: Option<Value>,
        runtime: &RuntimeConf,
    ) -> Result<Value, String> {
        let wanted = plugin.capabilities.iter();
        let given = wanted.filter_map(|name| Some((name.clone(), runtime.capabilities.get(name)?.clone())));
        let given: Map<String, Value> = given.collect();
        let mut more = Vec::new();
        more.extend((!given.is_empty()).then_some(("runtimeConfig", Value::Object(given))));
        more.extend(previous.map(|previous| ("prevResult", previous)));
        self.exec(command, plugin, list.stdin(plugin, &more), runtime).await
    }

    async fn exec(
        &self,
        command: Command,
        plugin: &PluginConfig,
        stdin: Value,
        runtime: &RuntimeConf,
    ) -> Result<Value, String> {
        let program = find(&self.host.disk, &plugin.plugin_type, PLUGINS)?;
        let args: Vec<String> = runtime.args.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let environment = Environment {
            command,
            container_id: runtime.container_id.clone(),
            netns: runtime.netns.clone(),
            ifname: runtime.ifname.clone(),
            args: args.join(";"),
            path: PLUGINS.to_owned(),
        };
        let reply = self.hub.rpc(self.plugins, Rc::new(PluginRun { program, environment, stdin })).await;
        let reply: Rc<dyn Any> = reply.map_err(|error| error.to_string())?;
        match reply.downcast::<PluginExit>() {
            Ok(exit) => exit.stdout.clone().map_err(|error| error.to_string()),
            Err(_) => Err("netplugin failed with no error message".into()),
        }
    }

    fn keep(&self, list: &NetworkList, runtime: &RuntimeConf, result: &Value) -> Result<(), String> {
        let cached = Cached {
            kind: CACHE_KIND.into(),
            container_id: runtime.container_id.clone(),
            config: base64(list.text.as_bytes()),
            if_name: runtime.ifname.clone(),
            network_name: list.name.clone(),
            netns: runtime.netns.clone(),
            cni_args: runtime.args.clone(),
            capability_args: runtime.capabilities.clone(),
            result: result.clone(),
        };
        let text = serde_json::to_string(&cached).map_err(|error| error.to_string())?;
        let written = self.host.disk.put(&path(list, runtime), &text);
        written.map_err(|error| format!("open {}: {error}", path(list, runtime)))
    }

    /// The kept result of an attachment, in the network's version. One that cannot be read is forgotten.
    fn kept(&self, list: &NetworkList, runtime: &RuntimeConf) -> Result<Option<Value>, String> {
        let Some(text) = self.host.disk.read(&path(list, runtime)) else { return Ok(None) };
        let cached: Cached = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let result = CniResult::from_json(&cached.result)?;
        let converted = result.to_json(&list.cni_version);
        let version = &list.cni_version;
        converted
            .map(Some)
            .map_err(|error| format!("failed to convert cached result to config version {version:?}: {error}"))
    }

    /// The kept attachments of a network, in the order of their files. Files that make no sense are passed over.
    pub fn attachments(&self, network: &str) -> Vec<RuntimeConf> {
        let read = |(_, text): (String, String)| serde_json::from_str::<Cached>(&text).ok();
        let ours = self.host.disk.files_in(RESULTS).into_iter().filter_map(read);
        let ours = ours.filter(|cached| cached.kind == CACHE_KIND && cached.network_name == network);
        let conf = |cached: Cached| RuntimeConf {
            container_id: cached.container_id,
            netns: cached.netns,
            ifname: cached.if_name,
            args: cached.cni_args,
            capabilities: cached.capability_args,
        };
        ours.map(conf).collect()
    }
}

/// Where an attachment's result is kept.
fn path(list: &NetworkList, runtime: &RuntimeConf) -> String {
    format!("{RESULTS}/{}-{}-{}", list.name, runtime.container_id, runtime.ifname)
}

fn described(plugin: &PluginConfig) -> String {
    match plugin.value.get("name").and_then(Value::as_str) {
        Some(name) => format!("type={:?} name={name:?}", plugin.plugin_type),
        None => format!("type={:?}", plugin.plugin_type),
    }
}

/// A plugin's program on a disk (`FindInPath`).
pub fn find(disk: &Disk, plugin: &str, directory: &str) -> Result<String, String> {
    if plugin.contains('/') {
        return Err(format!("invalid plugin name: {plugin}"));
    }
    let program = format!("{directory}/{plugin}");
    match disk.read(&program).is_some() {
        true => Ok(program),
        false => Err(format!("failed to find plugin {plugin:?} in path [{directory}]")),
    }
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let value = bits >> (18 - 6 * digit) & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }
}
