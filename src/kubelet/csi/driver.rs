//! The driver: its controller half, which talks to the storage system, and its node half, which mounts.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::backend::Backend;
use super::{CsiRequest, CsiResponse, DRIVER};
use crate::cri::error;
use engine::{Actor, ActorId, CallId, Delivery, Hub, Message, RpcError, RpcResult};
use network::disk::{Contents, Disk};
use object::well_known::ZONE;

/// Making or destroying a volume takes this long.
const CREATE: Duration = Duration::from_millis(800);
/// Connecting or disconnecting it.
const PUBLISH: Duration = Duration::from_millis(600);
/// Mounting it on a node.
const STAGE: Duration = Duration::from_millis(150);
/// Showing it to a pod.
const SHOW: Duration = Duration::from_millis(10);
/// How many volumes a node takes.
const VOLUMES_MAX: i32 = 16;

/// The controller half.
pub struct ControllerPlugin(Rc<Plugin<()>>);

/// The node half.
pub struct NodePlugin(Rc<Plugin<NodeInfo>>);

struct Plugin<T> {
    name: String,
    hub: Hub,
    actor: ActorId,
    backend: Backend,
    node: T,
}

/// The node that a node half works on.
struct NodeInfo {
    name: String,
    zone: String,
    disk: Disk,
}

impl ControllerPlugin {
    /// The controller half, in front of a storage system.
    pub fn new(hub: Hub, actor: ActorId, backend: Backend) -> ControllerPlugin {
        ControllerPlugin(Rc::new(Plugin { name: "csi-controller".into(), hub, actor, backend, node: () }))
    }
}

impl NodePlugin {
    /// The node half on a node in a zone, which mounts on its disk.
    pub fn new(hub: Hub, actor: ActorId, backend: Backend, node: &str, zone: &str, disk: Disk) -> NodePlugin {
        let info = NodeInfo { name: node.into(), zone: zone.into(), disk };
        NodePlugin(Rc::new(Plugin { name: format!("csi-node/{node}"), hub, actor, backend, node: info }))
    }
}

/// Takes a call: waits as long as it takes, does it, answers.
fn serve<T: 'static>(
    plugin: &Rc<Plugin<T>>,
    delivery: Delivery,
    handle: fn(&Plugin<T>, &CsiRequest) -> Result<CsiResponse, RpcError>,
) {
    let Delivery::Rpc { call, from, message } = delivery else { return };
    let any: Rc<dyn Any> = message;
    let Ok(request) = any.downcast::<CsiRequest>() else { return };
    let plugin = plugin.clone();
    let label = format!("{} {}", plugin.name, request.method());
    plugin.hub.clone().spawn(plugin.actor, label, async move {
        let took = duration(&request);
        if !took.is_zero() {
            plugin.hub.sleep(took).await;
        }
        let result = handle(&plugin, &request);
        reply(&plugin.hub, plugin.actor, from, call, request.method(), result);
    });
}

fn reply(
    hub: &Hub,
    me: ActorId,
    to: ActorId,
    call: CallId,
    method: &'static str,
    result: Result<CsiResponse, RpcError>,
) {
    let result: RpcResult = result.map(|response| Rc::new(response) as Rc<dyn Message>);
    hub.reply(me, to, call, method, result);
}

fn duration(request: &CsiRequest) -> Duration {
    match request {
        CsiRequest::CreateVolume { .. }
        | CsiRequest::DeleteVolume { .. }
        | CsiRequest::ControllerExpandVolume { .. } => CREATE,
        CsiRequest::ControllerPublishVolume { .. } | CsiRequest::ControllerUnpublishVolume { .. } => PUBLISH,
        CsiRequest::NodeStageVolume { .. }
        | CsiRequest::NodeUnstageVolume { .. }
        | CsiRequest::NodeExpandVolume { .. } => STAGE,
        CsiRequest::NodePublishVolume { .. } | CsiRequest::NodeUnpublishVolume { .. } => SHOW,
        CsiRequest::GetPluginInfo | CsiRequest::NodeGetInfo | CsiRequest::NodeGetCapabilities => Duration::ZERO,
    }
}

fn plugin_info() -> CsiResponse {
    CsiResponse::PluginInfo { name: DRIVER.into(), vendor_version: "1.0.0".into() }
}

fn unimplemented(request: &CsiRequest) -> RpcError {
    error("Unimplemented", format!("unknown method {}", request.method()))
}

impl Plugin<()> {
    fn handle(&self, request: &CsiRequest) -> Result<CsiResponse, RpcError> {
        match request {
            CsiRequest::GetPluginInfo => Ok(plugin_info()),
            CsiRequest::CreateVolume { name, required_bytes, topology, .. } => {
                let (volume_id, volume) = self.backend.create(name, *required_bytes, topology)?;
                let (capacity_bytes, accessible_topology) = (volume.bytes, volume.topology);
                Ok(CsiResponse::Volume { volume_id, capacity_bytes, accessible_topology })
            }
            CsiRequest::DeleteVolume { volume_id } => self.backend.delete(volume_id).map(|()| CsiResponse::Done),
            CsiRequest::ControllerPublishVolume { volume_id, node_id, shared } => {
                self.backend.publish(volume_id, node_id, *shared)?;
                let context = [("devicePath".to_owned(), format!("/dev/disk/by-id/{volume_id}"))];
                Ok(CsiResponse::Published { publish_context: context.into() })
            }
            CsiRequest::ControllerExpandVolume { volume_id, required_bytes } => {
                let capacity_bytes = self.backend.expand(volume_id, *required_bytes)?;
                Ok(CsiResponse::Expanded { capacity_bytes, node_expansion_required: true })
            }
            CsiRequest::ControllerUnpublishVolume { volume_id, node_id } => {
                self.backend.unpublish(volume_id, node_id);
                Ok(CsiResponse::Done)
            }
            other => Err(unimplemented(other)),
        }
    }
}

impl Plugin<NodeInfo> {
    fn handle(&self, request: &CsiRequest) -> Result<CsiResponse, RpcError> {
        let (disk, node) = (&self.node.disk, &self.node.name);
        match request {
            CsiRequest::GetPluginInfo => Ok(plugin_info()),
            CsiRequest::NodeGetCapabilities => {
                Ok(CsiResponse::Capabilities(vec!["STAGE_UNSTAGE_VOLUME".into(), "EXPAND_VOLUME".into()]))
            }
            CsiRequest::NodeGetInfo => {
                let zone = (ZONE.to_owned(), self.node.zone.clone());
                let accessible_topology: BTreeMap<String, String> = [zone].into();
                let node_id = node.clone();
                Ok(CsiResponse::NodeInfo { node_id, max_volumes_per_node: VOLUMES_MAX, accessible_topology })
            }
            CsiRequest::NodeStageVolume { volume_id, staging_target_path, .. } => {
                let files = self.backend.files(volume_id, node)?;
                disk.mount(staging_target_path, Rc::new(files));
                Ok(CsiResponse::Done)
            }
            CsiRequest::NodePublishVolume { volume_id, staging_target_path, target_path, readonly } => {
                let staged = disk.mounted(staging_target_path).ok_or_else(|| {
                    error("FailedPrecondition", format!("volume {volume_id} is not staged at {staging_target_path}"))
                })?;
                let shown: Rc<dyn Contents> = if *readonly { Rc::new(ReadOnly(staged)) } else { staged };
                disk.mount(target_path, shown);
                Ok(CsiResponse::Done)
            }
            CsiRequest::NodeExpandVolume { volume_id, volume_path, .. } => {
                if disk.mounted(volume_path).is_none() {
                    return Err(error("NotFound", format!("volume {volume_id} is not mounted at {volume_path}")));
                }
                let capacity_bytes = self.backend.expand_file_system(volume_id, node)?;
                Ok(CsiResponse::Expanded { capacity_bytes, node_expansion_required: false })
            }
            CsiRequest::NodeUnpublishVolume { target_path, .. } => {
                disk.unmount(target_path);
                Ok(CsiResponse::Done)
            }
            CsiRequest::NodeUnstageVolume { staging_target_path, .. } => {
                disk.unmount(staging_target_path);
                Ok(CsiResponse::Done)
            }
            other => Err(unimplemented(other)),
        }
    }
}

/// A mount that refuses writes.
#[derive(Debug)]
struct ReadOnly(Rc<dyn Contents>);

impl Contents for ReadOnly {
    fn read(&self, path: &str) -> Option<String> {
        self.0.read(path)
    }

    fn paths(&self) -> Vec<String> {
        self.0.paths()
    }

    fn write(&self, _: &str, _: &str, _: bool) -> Result<(), &'static str> {
        Err("Read-only file system")
    }
}

impl Actor for ControllerPlugin {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn deliver(&self, delivery: Delivery) {
        serve(&self.0, delivery, Plugin::<()>::handle);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Actor for NodePlugin {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn deliver(&self, delivery: Delivery) {
        serve(&self.0, delivery, Plugin::<NodeInfo>::handle);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
