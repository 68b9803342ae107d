//! The runtime's half of CNI: runs the plugins of a network one after another, and remembers what they said.
//!
//! Mirrors `libcni/api.go`. ADD runs the plugins in order and gives each the result of the one before; DEL runs them in
//! reverse and gives each the last result. That result is kept in a file, since a runtime may be restarted between the
//! two: `/var/lib/cni/results/NETWORK-CONTAINER-INTERFACE`.
//!
//! Must hold:
//! - A plugin is run only if its program is on the disk. Kept by `pods_wait_for_the_network_and_say_so`.
//! - A result is kept until a DEL has succeeded. Kept by `add_goes_forward_and_del_backward_with_the_last_result`.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::config::{NetworkList, PLUGINS, PluginConfig};
use super::exec::{Command, Environment, PluginExit, PluginRun, find};
use super::result::CniResult;
use crate::host::Host;
use engine::{ActorId, Hub};

/// Where results are kept.
pub const RESULTS: &str = "/var/lib/cni/results";
/// How a kept result says what it is.
const CACHE_KIND: &str = "cniCacheV1";
/// How its configuration is written as long as it is empty.
const NO_CONFIG: &str = "\"config\":\"\"";

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
struct Cached<'a> {
    kind: Cow<'a, str>,
    container_id: Cow<'a, str>,
    config: Cow<'a, str>,
    if_name: Cow<'a, str>,
    network_name: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    netns: Cow<'a, str>,
    #[serde(default)]
    cni_args: Cow<'a, [(String, String)]>,
    #[serde(default, skip_serializing_if = "no_capability")]
    capability_args: Cow<'a, BTreeMap<String, Value>>,
    result: Cow<'a, Value>,
}

fn no_capability(capabilities: &BTreeMap<String, Value>) -> bool {
    capabilities.is_empty()
}

impl Libcni {
    /// For the plugins behind `plugins`, on `host`.
    pub fn new(hub: Hub, plugins: ActorId, host: Rc<Host>) -> Libcni {
        Libcni { hub, plugins, host }
    }

    /// ADD. The result of the last plugin counts.
    pub async fn add(&self, list: &NetworkList, runtime: &RuntimeConf) -> Result<CniResult, String> {
        let mut result: Option<Rc<Value>> = None;
        for plugin in &list.plugins {
            let printed = self.run(Command::Add, list, plugin, result.as_deref(), runtime).await;
            result = Some(printed.map_err(|error| format!("plugin {} failed (add): {error}", described(plugin)))?);
        }
        let result = result.unwrap_or_default();
        self.keep(list, runtime, &result)
            .map_err(|error| format!("failed to set network {:?} cached result: {error}", list.name))?;
        CniResult::from_json(&result)
    }

    /// DEL. A failure stops it, and the result is kept for the next try. A plugin whose program is gone stops it too, so
    /// that an address may be lost: on a real node an administrator then removes its file by hand.
    pub async fn del(&self, list: &NetworkList, runtime: &RuntimeConf) -> Result<(), String> {
        let previous = if list.talks("0.4.0")? { self.kept(list, runtime).unwrap_or_default() } else { None };
        for plugin in list.plugins.iter().rev() {
            let done = self.run(Command::Del, list, plugin, previous.as_ref(), runtime).await;
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
            self.run(Command::Check, list, plugin, previous.as_ref(), runtime).await?;
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
            let more = vec![("cni.dev/valid-attachments", valid.clone()), ("cni.dev/attachments", valid)];
            for plugin in &list.plugins {
                let stdin = list.stdin(plugin, more.clone());
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
                let stdin = list.stdin(plugin, Vec::new());
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
        previous: Option<&Value>,
        runtime: &RuntimeConf,
    ) -> Result<Rc<Value>, String> {
        let wanted = plugin.capabilities.iter();
        let given = wanted.filter_map(|name| Some((name.clone(), runtime.capabilities.get(name)?.clone())));
        let given: Map<String, Value> = given.collect();
        let mut more = Vec::new();
        more.extend((!given.is_empty()).then_some(("runtimeConfig", Value::Object(given))));
        more.extend(previous.map(|previous| ("prevResult", previous.clone())));
        self.exec(command, plugin, list.stdin(plugin, more), runtime).await
    }

    async fn exec(
        &self,
        command: Command,
        plugin: &PluginConfig,
        stdin: Value,
        runtime: &RuntimeConf,
    ) -> Result<Rc<Value>, String> {
        let program = find(&self.host.disk, &plugin.plugin_type, PLUGINS)?;
        let args: Vec<String> = runtime.args.iter().map(|(key, value)| [key, "=", value].concat()).collect();
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
            container_id: (&*runtime.container_id).into(),
            config: "".into(),
            if_name: (&*runtime.ifname).into(),
            network_name: (&*list.name).into(),
            netns: (&*runtime.netns).into(),
            cni_args: (&*runtime.args).into(),
            capability_args: Cow::Borrowed(&runtime.capabilities),
            result: Cow::Borrowed(result),
        };
        let text = serde_json::to_string(&cached).map_err(|error| error.to_string())?;
        let path = path(list, runtime);
        // Nothing in base64 needs a backslash in JSON, and most of the file is this.
        let at = text.find(NO_CONFIG).map_or(text.len(), |at| at + NO_CONFIG.len() - 1);
        self.host
            .disk
            .put_around(&path, &text[..at], &list.encoded, &text[at..])
            .map_err(|error| format!("open {path}: {error}"))
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
        self.host.disk.visit(RESULTS, |_, text| {
            let cached: Cached = serde_json::from_str(text).ok()?;
            let ours = cached.kind == CACHE_KIND && cached.network_name == network;
            ours.then(|| RuntimeConf {
                container_id: cached.container_id.into_owned(),
                netns: cached.netns.into_owned(),
                ifname: cached.if_name.into_owned(),
                args: cached.cni_args.into_owned(),
                capabilities: cached.capability_args.into_owned(),
            })
        })
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
