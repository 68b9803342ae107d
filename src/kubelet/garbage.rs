//! Garbage: what the runtime keeps of pods and is of no use any more.
//!
//! A pod's newest sandbox stays as long as the pod does, and so does one in which the last end of a container is. The others
//! go, and with a pod that is gone all of them. Mirrors `pkg/kubelet/kuberuntime/kuberuntime_gc.go`.
//!
//! Simplified: a real kubelet looks every minute; this one does when there may be something to find.

use std::rc::Rc;
use std::time::Duration;

use crate::params::GARBAGE_PERIOD;
use crate::runtime_pod::{RunState, RuntimePod};
use crate::shared::Shared;
use crate::timers::Timer;
use object::text::Text;

impl Shared {
    /// Removes what the runtime still keeps of a pod that is gone. A real kubelet does so within a minute
    /// (`pkg/kubelet/kuberuntime/kuberuntime_gc.go`).
    pub(super) async fn collect_garbage(&self, runtime: &RuntimePod) {
        for container in &runtime.containers {
            self.remove_container(&container.id).await;
        }
        for sandbox in &runtime.sandboxes {
            // It has been stopped; but who removes does not rely on that.
            let _ = self.stop_sandbox(&sandbox.id).await;
            self.remove_sandbox(&sandbox.id).await;
        }
    }

    /// Of a pod that was evicted nothing is kept, not even its containers' last words, once all know that it was
    /// (`HandlePodReconcile`). The picture keeps them: the status is made from it.
    pub(super) fn forget_containers(self: &Rc<Self>, uid: &str) {
        let Some(runtime) = self.runtime_of(uid) else { return };
        let record = self.state.borrow().pleg.record(uid);
        let ended = runtime.containers.iter().filter(|container| container.state == RunState::Exited);
        let ended: Vec<Text> = ended.map(|one| one.id.clone()).filter(|id| record.contains_key(id)).collect();
        if ended.is_empty() {
            return;
        }
        let (me, uid) = (self.clone(), uid.to_owned());
        let label = format!("kubelet {} container deletor", self.config.name);
        self.hub.spawn_background(self.actor, label, async move { me.remove_ended(&uid, &ended).await });
    }

    /// Removes containers. That they are gone is no news.
    pub(super) async fn remove_ended(&self, uid: &str, containers: &[Text]) {
        for id in containers {
            self.remove_container(id).await;
            self.state.borrow_mut().pleg.forget_container(uid, id);
        }
    }

    /// A pod has more than one sandbox: the next look will find it.
    pub(super) fn arm_garbage(&self, uid: &str) {
        let mut state = self.state.borrow_mut();
        let is_armed = !state.garbage.is_empty();
        state.garbage.insert(uid.to_owned());
        if !is_armed {
            let period = GARBAGE_PERIOD.as_nanos() as u64;
            let since = (self.hub.now() - self.started.get()).as_nanos() as u64;
            self.wake_background(Timer::Garbage, Duration::from_nanos(period - since % period));
        }
    }

    /// The look: `evictSandboxes`.
    pub(super) fn collect_sandboxes(self: &Rc<Self>) {
        let pods = std::mem::take(&mut self.state.borrow_mut().garbage);
        let me = self.clone();
        let label = format!("kubelet {} garbage collection", self.config.name);
        self.hub.spawn_background(self.actor, label, async move {
            for uid in pods {
                let Some(runtime) = me.runtime_of(&uid) else { continue };
                let record = me.state.borrow().pleg.record(&uid);
                for id in runtime.old_sandboxes(|container| record.contains_key(container)) {
                    if me.stop_sandbox(&id).await.is_err() {
                        me.arm_garbage(&uid);
                        continue;
                    }
                    me.remove_sandbox(&id).await;
                    let state = &mut *me.state.borrow_mut();
                    state.pleg.forget_container(&uid, &id);
                    if let Some(worker) = state.workers.get_mut(&uid) {
                        Rc::make_mut(&mut worker.runtime).sandboxes.retain(|sandbox| sandbox.id != id);
                    }
                }
            }
        });
    }
}
