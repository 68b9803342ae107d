//! What the runtime's handlers and its tasks share.

use std::rc::Rc;

use super::networks::Networks;
use super::state::State;
use crate::cri::{self, ContainerConfig};
use engine::{ActorId, Hub, Memory, Note, RpcError};
use object::text::Text;

/// The runtime of one node, shared by all that it does.
pub(super) struct Containerd {
    pub(super) name: String,
    pub(super) hub: Hub,
    pub(super) actor: ActorId,
    pub(super) networks: Networks,
    pub(super) kubelet: Memory<Option<ActorId>>,
    /// The machine's kernel, through which commands in containers reach the network.
    pub(super) kernel: Memory<Option<ActorId>>,
    pub(super) state: Memory<State>,
    /// Who is told of each process that starts or ends.
    pub(super) follower: Memory<Option<Follower>>,
}

/// Told of a container whose process has started (true), or ended.
pub type Follower = Rc<dyn Fn(&ContainerConfig, bool)>;

impl Containerd {
    /// 64 hex digits.
    pub(super) fn new_id(&self) -> Text {
        let [a, b, c, d] = self.hub.random(|random| [(); 4].map(|()| random.next_u64()));
        format!("{a:016x}{b:016x}{c:016x}{d:016x}").into()
    }

    /// Tells who follows processes.
    pub(super) fn tell_follower(&self, id: &str, runs: bool) {
        let Some(follower) = self.follower.get() else { return };
        let config = self.state.borrow().containers.get(id).map(|container| container.config.clone());
        config.into_iter().for_each(|config| follower(&config, runs));
    }

    /// Notes something in the step that runs.
    pub(super) fn text(&self, text: impl FnOnce() -> String) {
        self.hub.note(|| Note::Text { topic: "runtime", text: text() });
    }
}

/// What is said of a container that is not there.
pub(super) fn no_container(id: &str) -> RpcError {
    cri::error("NotFound", format!("an error occurred when try to find container \"{id}\": not found"))
}
