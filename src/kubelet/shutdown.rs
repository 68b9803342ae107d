//! Graceful node shutdown: a machine that is to be switched off waits until its kubelet has ended its pods.
//!
//! The machine (systemd, and what holds it up is called an inhibitor lock) tells the kubelet that it is to go down, and waits
//! for `shutdownGracePeriod` at most. From then on:
//!
//! 1. The node is not Ready: `node is shutting down`. No pod is taken any more.
//! 2. Ordinary pods end. Each has its own grace period, but no more than the whole time without
//!    `shutdownGracePeriodCriticalPods`.
//! 3. Critical pods end, in the time that was kept for them: what the others needed until the end, such as DNS, is among
//!    them.
//! 4. The kubelet lets go, and the power goes off.
//!
//! The pods are Failed and stay, so their controllers see at once that they need others. Without all this a node just falls
//! silent, and no component knows its state for minutes.
//!
//! Mirrors `pkg/kubelet/nodeshutdown`. The periods are the kubelet's configuration; here they come with the shutdown.
//!
//! Left out: `shutdownGracePeriodByPodPriority`; a shutdown that is called off. A pod that is being deleted already keeps the
//! grace period that it has.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::memory::Waiting;
use crate::ending::Ending;
use crate::params::{GRACE_SECONDS, GRACE_SECONDS_MIN, POWER_OFF_DELAY};
use crate::pod_types::is_critical;
use crate::rejection::Rejection;
use crate::shared::Shared;
use crate::timers::Timer;
use crate::worker::{Stage, Worker};
use engine::Message;
use object::Pod;

/// How many seconds a machine waits for its kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GracePeriods {
    /// `shutdownGracePeriod`: for all.
    pub all: u32,
    /// `shutdownGracePeriodCriticalPods`: those of them that are kept for critical pods.
    pub critical: u32,
}

impl Default for GracePeriods {
    /// What the documentation of Kubernetes takes as its example. Unless it is configured, a kubelet has none.
    fn default() -> GracePeriods {
        GracePeriods { all: 30, critical: 10 }
    }
}

/// While a node goes down it takes no pod. Mirrors `Admit` of the shutdown manager.
pub fn refuse(is_shutting_down: bool) -> Result<(), Rejection> {
    if !is_shutting_down {
        return Ok(());
    }
    let message = "Pod was rejected as the node is shutting down.".into();
    Err(Rejection { reason: "NodeShutdown".into(), message })
}

/// The grace of a pod that may have so many seconds.
fn grace(pod: &Pod, at_most: u32) -> i64 {
    let own = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(GRACE_SECONDS);
    own.min(i64::from(at_most)).max(GRACE_SECONDS_MIN)
}

impl Shared {
    /// The machine is to be switched off. `power_off` is what switches it off when the kubelet lets go. The error says that
    /// it knows already.
    pub(super) fn shut_down(self: &Rc<Self>, periods: GracePeriods, power_off: Rc<dyn Message>) -> Result<(), String> {
        if std::mem::replace(&mut self.state.borrow_mut().agent.health.is_shutting_down, true) {
            return Err(format!("{} is shutting down already", self.config.name));
        }
        self.tell_node("Shutdown", "Shutdown manager detected shutdown event");
        let name = &self.config.name;
        let me = self.clone();
        self.hub.spawn(self.actor, format!("kubelet {name} node status"), async move { me.report_status().await });
        let me = self.clone();
        self.hub.spawn(self.actor, format!("kubelet {name} shutdown"), async move {
            me.end_group(false, periods.all.saturating_sub(periods.critical)).await;
            me.end_group(true, periods.critical).await;
            me.hub.sleep(POWER_OFF_DELAY).await;
            me.hub.fault(me.actor, power_off);
        });
        Ok(())
    }

    /// Ends the pods that are critical, or those that are not, and waits until nothing of them runs; for so many seconds at
    /// most (`processShutdownEvent`).
    async fn end_group(self: &Rc<Self>, critical: bool, seconds: u32) {
        const MESSAGE: &str = "Pod was terminated in response to imminent node shutdown.";
        for pod in self.group(critical, |worker| worker.stage == Stage::Sync) {
            let ending = Ending { reason: "Terminated", message: MESSAGE.into(), disruption: Some(MESSAGE.into()) };
            self.end_pod(&pod, ending, grace(&pod, seconds));
        }
        if self.group(critical, runs).is_empty() {
            return;
        }
        let park = self.hub.park("pods to end");
        self.state.borrow_mut().agent.shutdown = Some(Waiting { critical, call: park.call() });
        self.wake(Timer::Shutdown { critical }, Duration::from_secs(u64::from(seconds)));
        park.await;
    }

    /// A pod's containers have ended: perhaps it was the last that was waited for.
    pub(super) fn shutdown_goes_on(&self) {
        let Some(waiting) = self.state.borrow().agent.shutdown else { return };
        if self.group(waiting.critical, runs).is_empty() {
            self.wait_no_longer(waiting);
        }
    }

    /// The time of a group is over.
    pub(super) fn shutdown_overdue(&self, critical: bool) {
        let waiting = self.state.borrow().agent.shutdown;
        waiting.filter(|waiting| waiting.critical == critical).into_iter().for_each(|w| self.wait_no_longer(w));
    }

    fn wait_no_longer(&self, waiting: Waiting) {
        self.state.borrow_mut().agent.shutdown = None;
        self.hub.unpark(self.actor, waiting.call);
    }

    fn group(&self, critical: bool, wanted: impl Fn(&Worker) -> bool) -> Vec<Arc<Pod>> {
        let state = self.state.borrow();
        let pods = state.workers.values().filter(|worker| wanted(worker)).map(|worker| &worker.pod);
        pods.filter(|pod| is_critical(pod) == critical).cloned().collect()
    }
}

/// Whether something of the pod may still run.
fn runs(worker: &Worker) -> bool {
    worker.stage < Stage::Terminated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_its_own_grace_and_no_more_than_there_is() {
        for (own, at_most, seconds) in
            [(None, 20, 20), (None, 60, 30), (Some(5), 20, 5), (Some(90), 20, 20), (None, 0, 1)]
        {
            let mut pod = crate::testing::pod(&["web"]);
            pod.spec.as_mut().unwrap().termination_grace_period_seconds = own;
            assert_eq!(grace(&pod, at_most), seconds, "{own:?} of {at_most}");
        }
    }
}
