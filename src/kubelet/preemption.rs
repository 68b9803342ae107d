//! Room for a critical pod: the kubelet ends others, rather than refuse what the node cannot do without.
//!
//! The scheduler preempts as well, but before it binds. Who comes past it (a static pod, or one bound by hand) finds the node
//! as it is. If all that is missing is resources, and the pod is critical, then pods go until there is enough:
//!
//! 1. Only such as are not critical, or of a lower priority.
//! 2. No Guaranteed pod while others are enough, and no Burstable one while pods that ask for nothing are.
//! 3. Of a class those first that fill most of what is missing, and of two that do as well the one that asks for less.
//!
//! They go one after the other, each with its own grace period, and until the last is gone the kubelet handles no other change
//! of a pod. No PodDisruptionBudget is checked.
//!
//! Mirrors `pkg/kubelet/preemption/preemption.go`.
//!
//! Left out: a critical pod that is to be larger waits for room like any other. Of pods that are alike in all of that a real
//! kubelet takes any, and this one goes by name.

use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::memory::Killing;
use crate::ending::Ending;
use crate::params::{GRACE_SECONDS, GRACE_SECONDS_MIN, KILL_TIMEOUT_MIN};
use crate::pod_types::is_critical;
use crate::rejection::{Rejection, Shortfall};
use crate::shared::Shared;
use crate::timers::Timer;
use crate::worker::Stage;
use client::recorder::EventType;
use object::pod::qos_class;
use object::quantity::Amount;
use object::resources::pod_requests;
use object::{Key, Pod};

/// The reason of status and Event.
const REASON: &str = "Preempting";

/// How much of a resource is missing, as admission counts it.
type Need = (String, i64);

/// The pods that have to end before the critical `pod` fits, in this order. The error says that all of them were not enough.
/// Mirrors `getPodsToPreempt`.
pub fn victims<'a>(
    pod: &Pod,
    others: impl Iterator<Item = &'a Arc<Pod>>,
    missing: &[Shortfall],
) -> Result<Vec<&'a Arc<Pod>>, Rejection> {
    let needs: Vec<Need> = missing.iter().map(|short| (short.resource.clone(), short.amount())).collect();
    let others: Vec<_> = others.filter(|other| may_preempt(pod, other)).collect();
    let of_class = |class: &str| others.iter().copied().filter(|other| qos_class(other) == class).collect::<Vec<_>>();
    let [free, burstable, guaranteed] = ["BestEffort", "Burstable", "Guaranteed"].map(of_class);
    let unmet = left(&needs, &[&free, &burstable, &guaranteed]);
    if !unmet.is_empty() {
        return Err(not_enough(&unmet));
    }
    // Each class has to give what all of the lesser ones and the chosen of the better ones do not.
    let best = nearest(&guaranteed, left(&needs, &[&free, &burstable]));
    let middle = nearest(&burstable, left(&needs, &[&free, &best]));
    let least = nearest(&free, left(&needs, &[&middle, &best]));
    Ok([least, middle, best].concat())
}

/// Mirrors `Preemptable`.
fn may_preempt(pod: &Pod, other: &Pod) -> bool {
    let priority = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.priority);
    !is_critical(other) || priority(pod).zip(priority(other)).is_some_and(|(mine, other)| mine > other)
}

/// Takes from `pods`, which are enough, those that come nearest to what is needed (`getPodsToPreemptByDistance`).
fn nearest<'a>(pods: &[&'a Arc<Pod>], mut needs: Vec<Need>) -> Vec<&'a Arc<Pod>> {
    let mut pods = pods.to_vec();
    let mut taken = Vec::new();
    while !needs.is_empty() {
        let order = |pod: &Pod| (asked(pod, "memory"), asked(pod, "cpu"), Key::of_meta(&pod.metadata));
        let of = |pod: &Pod| (distance(&needs, pod), order(pod));
        let places = pods.iter().map(|pod| of(pod)).enumerate();
        let nearest = places.min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        let Some((best, _)) = nearest else { break };
        let pod = pods.remove(best);
        needs = left(&needs, &[&[pod]]);
        taken.push(pod);
    }
    taken
}

/// How far a pod is from giving all that is needed: each resource counts alike.
fn distance(needs: &[Need], pod: &Pod) -> f64 {
    let share = |(resource, amount): &Need| (amount - asked(pod, resource)).max(0) as f64 / *amount as f64;
    needs.iter().map(|need| share(need).powi(2)).sum()
}

/// What is still needed when these pods are gone.
fn left(needs: &[Need], gone: &[&[&Arc<Pod>]]) -> Vec<Need> {
    let given = |resource: &str| gone.iter().copied().flatten().map(|pod| asked(pod, resource)).sum::<i64>();
    let still = needs.iter().map(|(resource, amount)| (resource.clone(), amount - given(resource)));
    still.filter(|(_, amount)| *amount > 0).collect()
}

/// Mirrors `GetResourceRequest`.
fn asked(pod: &Pod, resource: &str) -> i64 {
    let amount = || pod_requests(pod).get(resource).copied().unwrap_or(Amount::ZERO);
    match resource {
        "pods" => 1,
        "cpu" => amount().milli_value(),
        _ => amount().value(),
    }
}

fn not_enough(unmet: &[Need]) -> Rejection {
    let mut list = String::new();
    unmet.iter().for_each(|(resource, amount)| _ = write!(list, "(res: {resource}, q: {amount}), "));
    let message = format!(
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to \
         preempt: no set of running pods found to reclaim resources: [{list}]"
    );
    Rejection { reason: "UnexpectedAdmissionError".into(), message }
}

impl Shared {
    /// Ends these pods, one after the other (`evictPodsToFreeRequests`).
    pub(super) async fn preempt(self: &Rc<Self>, victims: Vec<Arc<Pod>>) {
        const MESSAGE: &str = "Preempted in order to admit critical pod";
        const CONDITION: &str = "Pod was preempted by Kubelet to accommodate a critical pod.";
        for pod in victims {
            self.recorder.event(&*pod, EventType::Warning, REASON, MESSAGE);
            let ending = Ending { reason: REASON, message: MESSAGE.into(), disruption: Some(CONDITION.into()) };
            self.kill_pod_now(&pod, ending).await;
        }
    }

    /// Ends a pod in its own time, and waits until nothing of it runs; not for ever. Mirrors `killPodNow`.
    async fn kill_pod_now(self: &Rc<Self>, pod: &Pod, ending: Ending) {
        let own = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(GRACE_SECONDS);
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        self.end_pod(pod, ending, own.max(GRACE_SECONDS_MIN));
        if !self.runs(&uid) {
            return;
        }
        let park = self.hub.park("a pod to end");
        self.state.borrow_mut().agent.killing = Some(Killing { uid: uid.clone(), call: park.call() });
        let timeout = Duration::from_secs((own + own / 2).unsigned_abs()).max(KILL_TIMEOUT_MIN);
        self.wake_background(Timer::Preemption { uid: &uid }, timeout);
        park.await;
        if self.runs(&uid) {
            let message = "Container runtime did not kill the pod within specified grace period.";
            self.recorder.event(pod, EventType::Warning, "ExceededGracePeriod", message);
        }
    }

    /// Whether something of the pod may still run.
    fn runs(&self, uid: &str) -> bool {
        self.state.borrow().workers.get(uid).is_some_and(|worker| worker.stage < Stage::Terminated)
    }

    /// The pod's containers have ended, or have not although it is time: a preemption that waits for it goes on.
    pub(super) fn preemption_goes_on(&self, uid: &str) {
        let killing = &mut self.state.borrow_mut().agent.killing;
        if let Some(Killing { call, .. }) = killing.take_if(|killing| killing.uid == uid) {
            self.hub.come_forward();
            self.hub.unpark(self.actor, call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, class: &str, cpu: &str, memory: &str, priority: i32) -> Arc<Pod> {
        let requests = match class {
            "BestEffort" => json!({}),
            "Burstable" => json!({"requests": {"cpu": cpu, "memory": memory}}),
            _ => json!({"limits": {"cpu": cpu, "memory": memory}, "requests": {"cpu": cpu, "memory": memory}}),
        };
        let spec = json!({"priority": priority, "containers": [{"name": "c", "resources": requests}]});
        Arc::new(serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap())
    }

    #[test]
    fn who_makes_room() {
        const CRITICAL: i32 = 2_000_000_000;
        let others = [
            pod("free", "BestEffort", "", "", 0),
            pod("small", "Burstable", "500m", "100Mi", 0),
            pod("middle", "Burstable", "1", "50Mi", 1000),
            pod("large", "Burstable", "2", "1Gi", 0),
            pod("sure", "Guaranteed", "1", "100Mi", 0),
            pod("dns", "BestEffort", "", "", CRITICAL),
            pod("proxy", "Burstable", "4", "4Gi", CRITICAL + 1000),
        ];
        let short =
            |resource: &str, requested: i64| Shortfall { resource: resource.into(), requested, used: 10, capacity: 10 };
        let mib = |mib: i64| mib << 20;
        let critical = pod("critical", "Burstable", "1", "1Mi", CRITICAL);
        let asked_of = |missing: &[Shortfall]| match victims(&critical, others.iter(), missing) {
            Ok(victims) => victims.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect::<Vec<_>>().join(" "),
            Err(rejection) => rejection.message.rsplit_once(": [").unwrap().1.to_owned(),
        };
        for (missing, expected) in [
            // Two fill it: the one that asks for less memory goes, at any priority.
            (vec![short("cpu", 1000)], "middle"),
            (vec![short("cpu", 400)], "middle"),
            (vec![short("memory", mib(60))], "small"),
            // As few as can be.
            (vec![short("cpu", 2000)], "large"),
            (vec![short("cpu", 2600)], "large middle"),
            // A Guaranteed pod only if all others are not enough; then it need not be all of the others.
            (vec![short("cpu", 3600)], "large middle sure"),
            (vec![short("cpu", 1000), short("memory", mib(1000))], "large"),
            // One pod less is enough, and what asks for nothing goes first.
            (vec![short("pods", 1)], "free"),
            (vec![short("pods", 1), short("cpu", 500)], "middle"),
            (vec![short("cpu", 5000), short("pods", 1)], "(res: cpu, q: 500), ]"),
            (vec![short("memory", mib(4096)), short("cpu", 4501)], "(res: memory, q: 2959081472), (res: cpu, q: 1), ]"),
        ] {
            assert_eq!(asked_of(&missing), expected, "{missing:?}");
        }
        let highest = pod("highest", "BestEffort", "", "", CRITICAL + 1001);
        let taken = victims(&highest, others.iter(), &[short("cpu", 8500)]).unwrap();
        assert_eq!(taken.len(), 5, "even a critical pod gives way to one of a higher priority: {taken:?}");
    }
}
