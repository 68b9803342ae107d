//! The storage system behind the driver: one pool, volumes in it, and the files on them.
//!
//! It outlives nodes, which is what it is for. A volume is made in a zone and can be connected to the nodes there, to
//! one of them at a time unless it is made to be shared.

use std::collections::{BTreeMap, BTreeSet};

use crate::cri::error;
use engine::{Hub, Memory, RpcError};
use network::disk::Tree;

/// Bytes in the pool.
const POOL_BYTES: i64 = 1 << 40;

/// The storage system. Clones share it.
#[derive(Clone)]
pub struct Backend {
    hub: Hub,
    state: Memory<State>,
}

/// What it holds.
#[derive(Clone, Debug, Default)]
struct State {
    volumes: BTreeMap<String, Volume>,
    /// Ids by the names that makers gave.
    by_name: BTreeMap<String, String>,
    /// Bytes of the pool that volumes have taken.
    used: i64,
    made: u64,
}

/// One volume.
#[derive(Clone, Debug)]
pub struct Volume {
    /// The name that its maker gave it.
    pub name: String,
    /// Its size.
    pub bytes: i64,
    /// The size of the file system on it.
    pub file_system_bytes: i64,
    /// Where it can be used; empty: anywhere.
    pub topology: BTreeMap<String, String>,
    /// The nodes that it is connected to.
    pub published: BTreeSet<String>,
    /// What is on it.
    pub files: Tree,
}

impl Backend {
    /// An empty pool.
    pub fn new(hub: &Hub) -> Backend {
        Backend { hub: hub.clone(), state: hub.memory(State::default()) }
    }

    /// All volumes by id.
    pub fn volumes(&self) -> BTreeMap<String, Volume> {
        self.state.borrow().volumes.clone()
    }

    /// Makes a volume, or finds the one of that name.
    pub fn create(
        &self,
        name: &str,
        bytes: i64,
        topology: &BTreeMap<String, String>,
    ) -> Result<(String, Volume), RpcError> {
        let mut state = self.state.borrow_mut();
        let known = state.by_name.get(name).and_then(|id| Some((id, state.volumes.get(id)?)));
        if let Some((id, there)) = known {
            return match there.bytes >= bytes {
                true => Ok((id.clone(), there.clone())),
                false => Err(error("AlreadyExists", format!("volume {name} exists with a smaller size"))),
            };
        }
        let left = POOL_BYTES - state.used;
        if bytes > left {
            return Err(error("ResourceExhausted", format!("{bytes} bytes are asked for and {left} are left")));
        }
        state.made += 1;
        state.used += bytes;
        let id = format!("vol-{:08x}", state.made);
        let (name, topology, files) = (name.to_owned(), topology.clone(), Tree::new(&self.hub));
        let volume = Volume { name, bytes, file_system_bytes: bytes, topology, published: BTreeSet::new(), files };
        state.by_name.insert(volume.name.clone(), id.clone());
        state.volumes.insert(id.clone(), volume.clone());
        Ok((id, volume))
    }

    /// Destroys a volume. One that is not there is fine.
    pub fn delete(&self, id: &str) -> Result<(), RpcError> {
        let mut state = self.state.borrow_mut();
        if let Some(node) = state.volumes.get(id).and_then(|volume| volume.published.first()) {
            return Err(error("FailedPrecondition", format!("volume {id} is in use on {node}")));
        }
        if let Some(gone) = state.volumes.remove(id) {
            state.by_name.remove(&gone.name);
            state.used -= gone.bytes;
        }
        Ok(())
    }

    /// Makes a volume larger, and says how large it is. One that is large enough stays as it is.
    pub fn expand(&self, id: &str, bytes: i64) -> Result<i64, RpcError> {
        let mut state = self.state.borrow_mut();
        let left = POOL_BYTES - state.used;
        let volume = state.volumes.get_mut(id).ok_or_else(|| no_volume(id))?;
        let more = bytes.saturating_sub(volume.bytes).max(0);
        if more > left {
            return Err(error("OutOfRange", format!("{more} more bytes are asked for and {left} are left")));
        }
        volume.bytes += more;
        let bytes = volume.bytes;
        state.used += more;
        Ok(bytes)
    }

    /// Makes the file system as large as the volume, on a node that the volume is connected to.
    pub fn expand_file_system(&self, id: &str, node: &str) -> Result<i64, RpcError> {
        let mut state = self.state.borrow_mut();
        let volume = state.volumes.get_mut(id).ok_or_else(|| no_volume(id))?;
        if !volume.published.contains(node) {
            return Err(error("FailedPrecondition", format!("volume {id} is not published on {node}")));
        }
        volume.file_system_bytes = volume.bytes;
        Ok(volume.file_system_bytes)
    }

    /// Connects a volume to a node.
    pub fn publish(&self, id: &str, node: &str, shared: bool) -> Result<(), RpcError> {
        let mut state = self.state.borrow_mut();
        let volume = state.volumes.get_mut(id).ok_or_else(|| no_volume(id))?;
        if let Some(other) = volume.published.iter().find(|other| *other != node).filter(|_| !shared) {
            return Err(error("FailedPrecondition", format!("volume {id} is already published on {other}")));
        }
        volume.published.insert(node.to_owned());
        Ok(())
    }

    /// Disconnects it. One that is not there, or not connected, is fine.
    pub fn unpublish(&self, id: &str, node: &str) {
        if let Some(volume) = self.state.borrow_mut().volumes.get_mut(id) {
            volume.published.remove(node);
        }
    }

    /// The files of a volume, as a node it is connected to sees them.
    pub fn files(&self, id: &str, node: &str) -> Result<Tree, RpcError> {
        let state = self.state.borrow();
        let volume = state.volumes.get(id).ok_or_else(|| no_volume(id))?;
        match volume.published.contains(node) {
            true => Ok(volume.files.clone()),
            false => Err(error("FailedPrecondition", format!("volume {id} is not published on {node}"))),
        }
    }
}

fn no_volume(id: &str) -> RpcError {
    error("NotFound", format!("volume {id} does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_can_be_made_again() {
        let backend = Backend::new(&Hub::new(0));
        let code = |result: Result<(), RpcError>| result.err().map(|error| error.code);
        let nowhere = BTreeMap::new();
        let (id, _) = backend.create("a", 10, &nowhere).expect("there is room");
        assert_eq!(backend.create("a", 10, &nowhere).expect("the same").0, id);
        assert_eq!(backend.create("a", 20, &nowhere).err().map(|e| e.code), Some("AlreadyExists"));
        assert_eq!(backend.create("b", POOL_BYTES, &nowhere).err().map(|e| e.code), Some("ResourceExhausted"));
        assert_eq!(code(backend.publish(&id, "n1", false)), None);
        assert_eq!(code(backend.publish(&id, "n1", false)), None);
        assert_eq!(code(backend.publish(&id, "n2", false)), Some("FailedPrecondition"));
        assert_eq!(code(backend.publish(&id, "n2", true)), None);
        assert_eq!(code(backend.publish("none", "n1", true)), Some("NotFound"));
        assert_eq!(code(backend.delete(&id)), Some("FailedPrecondition"));
        assert!(backend.files(&id, "n1").is_ok() && backend.files(&id, "n3").is_err());
        for (bytes, size) in [(30, Ok(30)), (30, Ok(30)), (20, Ok(30)), (i64::MAX, Err("OutOfRange"))] {
            assert_eq!(backend.expand(&id, bytes).map_err(|error| error.code), size, "{bytes}");
        }
        assert_eq!(backend.volumes()[&id].file_system_bytes, 10, "a larger disk has the file system it had");
        assert_eq!(backend.expand_file_system(&id, "n1"), Ok(30));
        assert_eq!(backend.expand_file_system(&id, "n3").map_err(|error| error.code), Err("FailedPrecondition"));
        backend.unpublish(&id, "n1");
        backend.unpublish(&id, "n2");
        backend.unpublish(&id, "n2");
        assert_eq!(code(backend.delete(&id)), None);
        assert_eq!(code(backend.delete(&id)), None);
        let (again, _) = backend.create("a", POOL_BYTES, &nowhere).expect("the pool is empty again");
        assert_ne!(again, id);
    }
}
