//! Probes: what counts as success, and after how many results anything follows from them.
//!
//! Mirrors one worker of `pkg/kubelet/prober/worker.go`, as plain data: [`Probe::before`] says whether to probe now,
//! [`Probe::after`] takes the result in. Who wakes it each period and makes the call is the kubelet actor.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Probe as Spec};

use crate::params::RESTART_GRACE;
use crate::status::containers::runtime_id;
use object::pod::status::ContainerStatus;
use object::time::Instant;

/// Which of a container's three probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Failing restarts the container.
    Liveness,
    /// Failing takes the pod out of service.
    Readiness,
    /// Until it succeeds, the other two wait; failing restarts the container.
    Startup,
}

impl Kind {
    /// All, in the order in which `AddPod` starts their workers.
    pub const ALL: [Kind; 3] = [Kind::Startup, Kind::Readiness, Kind::Liveness];

    /// As in Events: `Readiness probe failed: …`.
    pub fn title(self) -> &'static str {
        match self {
            Kind::Liveness => "Liveness",
            Kind::Readiness => "Readiness",
            Kind::Startup => "Startup",
        }
    }

    /// As in the Killing event: `failed liveness probe`.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Liveness => "liveness",
            Kind::Readiness => "readiness",
            Kind::Startup => "startup",
        }
    }

    /// The container's probe of this kind, if it has one.
    pub fn of(self, container: &Container) -> Option<&Spec> {
        match self {
            Kind::Liveness => container.liveness_probe.as_ref(),
            Kind::Readiness => container.readiness_probe.as_ref(),
            Kind::Startup => container.startup_probe.as_ref(),
        }
    }

    /// What is assumed of a container that has not been probed yet: alive, not ready, not started.
    fn initial(self) -> Option<bool> {
        match self {
            Kind::Liveness => Some(true),
            Kind::Readiness => Some(false),
            Kind::Startup => None,
        }
    }
}

/// One probe of one container.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    kind: Kind,
    initial_delay: Duration,
    /// How often it runs.
    pub period: Duration,
    success_threshold: u32,
    failure_threshold: u32,
    /// The container the results below are about, by runtime id.
    pub container_id: String,
    /// What the rest of the kubelet sees; None is "unknown".
    published: Option<bool>,
    /// Nothing is assumed of the container, which an earlier kubelet has started, and nothing has been found out yet: the rest
    /// of the kubelet sees nothing at all.
    is_open: bool,
    /// When this kubelet started.
    kubelet_began: Instant,
    last: Option<bool>,
    /// How often `last` came in a row.
    run: u32,
    /// The container is being restarted for this probe, or has started: wait for its successor.
    on_hold: bool,
}

/// What to do at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing this time.
    Wait,
    /// Nothing ever again.
    Stop,
    /// Make the call.
    Run,
}

/// What the rest of the kubelet has to hear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// Success or failure.
    pub success: bool,
}

impl Probe {
    /// A worker of a kubelet that started at `kubelet_began`, which has seen no container yet.
    pub fn new(kind: Kind, spec: &Spec, kubelet_began: Instant) -> Probe {
        let or = |value: Option<i32>, default: i32| value.filter(|v| *v > 0).unwrap_or(default) as u32;
        Probe {
            kind,
            initial_delay: Duration::from_secs(u64::from(or(spec.initial_delay_seconds, 0))),
            period: Duration::from_secs(u64::from(or(spec.period_seconds, 10))),
            success_threshold: or(spec.success_threshold, 1),
            failure_threshold: or(spec.failure_threshold, 3),
            container_id: String::new(),
            published: kind.initial(),
            is_open: false,
            kubelet_began,
            last: None,
            run: 0,
            on_hold: false,
        }
    }

    /// What is known of this container: that it is as it should be, or that it is not (yet). None: nothing is.
    pub fn result(&self, id: &str) -> Option<bool> {
        (self.container_id == id && !self.is_open).then_some(self.published == Some(true))
    }

    /// Whether it has given up on this container.
    pub fn has_failed(&self, id: &str) -> bool {
        self.container_id == id && !self.is_open && self.published == Some(false)
    }

    /// Looks at the container's status before a run. What is known changes with that already: of a new container what is
    /// assumed at first, of one that does not run that it is not well.
    pub fn before(
        &mut self,
        status: &ContainerStatus,
        restarts: bool,
        deleting: bool,
        now: Instant,
    ) -> (Step, Option<Published>) {
        let id = runtime_id(status).to_owned();
        if id.is_empty() {
            return (Step::Wait, None);
        }
        let renewed = id != self.container_id;
        if renewed {
            // What the last results were is not forgotten: they count together with those of the new container.
            self.container_id = id;
            self.published = self.kind.initial();
            self.is_open = is_adopted(status, self.kubelet_began);
            self.on_hold = false;
            if self.is_open && self.kind == Kind::Startup && status.started == Some(true) {
                self.publish(true);
            }
        }
        let known = (self.published, self.is_open);
        let step = self.step(status, restarts, deleting, now);
        let is_news = !self.is_open && (renewed || known != (self.published, self.is_open));
        (step, is_news.then(|| Published { success: self.published == Some(true) }))
    }

    fn step(&mut self, status: &ContainerStatus, restarts: bool, deleting: bool, now: Instant) -> Step {
        if self.on_hold {
            return Step::Wait;
        }
        let state = status.state.as_ref();
        let Some(running) = state.and_then(|s| s.running.as_ref()) else {
            self.publish(false);
            let ended = state.is_some_and(|s| s.terminated.is_some());
            return if ended && !restarts { Step::Stop } else { Step::Wait };
        };
        if deleting && self.kind != Kind::Readiness {
            self.publish(true);
            return Step::Stop;
        }
        let since = running.started_at.as_ref().map_or(Duration::ZERO, |t| now - Instant::from_time(t));
        let started = status.started == Some(true);
        let its_turn = started != (self.kind == Kind::Startup);
        if since < self.initial_delay || !its_turn { Step::Wait } else { Step::Run }
    }

    /// Takes one result in. Says so once a threshold is reached and the published result changes.
    pub fn after(&mut self, success: bool) -> Option<Published> {
        self.run = if self.last == Some(success) { self.run + 1 } else { 1 };
        self.last = Some(success);
        let threshold = if success { self.success_threshold } else { self.failure_threshold };
        if self.run < threshold {
            return None;
        }
        let changed = self.publish(success);
        if self.kind == Kind::Startup || self.kind == Kind::Liveness && !success {
            // It has started, or is about to be restarted and no further probe may count against it.
            self.on_hold = true;
            self.run = 0;
        }
        changed.then_some(Published { success })
    }

    /// Says whether that is news.
    fn publish(&mut self, success: bool) -> bool {
        let known = self.published.filter(|_| !self.is_open);
        (self.published, self.is_open) = (Some(success), false);
        known != Some(success)
    }
}

/// Whether an earlier kubelet has started the container, as far as its status tells.
pub fn is_adopted(status: &ContainerStatus, kubelet_began: Instant) -> bool {
    let running = status.state.as_ref().and_then(|state| state.running.as_ref());
    let since = running.and_then(|running| running.started_at.as_ref()).map(Instant::from_time);
    since.is_some_and(|since| since + RESTART_GRACE < kubelet_began)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::containers::RUNTIME_SCHEME;
    use object::pod::status::{ContainerState, ContainerStateRunning};

    fn spec(success: i32, failure: i32) -> Spec {
        Spec { success_threshold: Some(success), failure_threshold: Some(failure), ..Spec::default() }
    }

    fn status(id: &str, started: bool) -> ContainerStatus {
        let running = ContainerStateRunning { started_at: Some(Instant(0).time()) };
        ContainerStatus {
            container_id: Some(format!("{RUNTIME_SCHEME}{id}").into()),
            state: Some(ContainerState { running: Some(running), ..ContainerState::default() }),
            started: Some(started),
            ..ContainerStatus::default()
        }
    }

    #[test]
    fn results_count_in_a_row() {
        let mut probe = Probe::new(Kind::Readiness, &spec(2, 3), Instant(0));
        let published: Vec<Option<bool>> = [true, true, false, true, false, false, false]
            .map(|result| probe.after(result).map(|p| p.success))
            .to_vec();
        assert_eq!(published, [None, Some(true), None, None, None, None, Some(false)]);
    }

    #[test]
    fn a_failed_liveness_probe_waits_for_the_next_container() {
        let mut probe = Probe::new(Kind::Liveness, &spec(1, 1), Instant(0));
        let now = Instant(60_000_000_000);
        let alive = Some(Published { success: true });
        assert_eq!(probe.before(&status("a", true), true, false, now), (Step::Run, alive));
        assert_eq!(probe.after(false), Some(Published { success: false }));
        assert_eq!(probe.before(&status("a", true), true, false, now), (Step::Wait, None));
        assert_eq!(probe.before(&status("b", true), true, false, now), (Step::Run, alive));
        assert_eq!(probe.result("b"), Some(true), "a new container is alive until proven otherwise");
    }

    #[test]
    fn results_count_across_a_restart_for_another_reason() {
        let now = Instant(60_000_000_000);
        let mut probe = Probe::new(Kind::Liveness, &spec(1, 3), Instant(0));
        probe.before(&status("a", true), true, false, now);
        assert_eq!([false, false].map(|result| probe.after(result)), [None, None]);
        let alive = Some(Published { success: true });
        assert_eq!(probe.before(&status("b", true), true, false, now), (Step::Run, alive));
        assert_eq!(probe.after(false), Some(Published { success: false }), "the third in a row");
        assert_eq!(probe.before(&status("c", true), true, false, now), (Step::Run, alive));
        assert_eq!(
            [false, false].map(|result| probe.after(result)),
            [None, None],
            "after a restart for it they are anew"
        );
    }

    #[test]
    fn that_a_container_does_not_run_is_news_once() {
        let now = Instant(60_000_000_000);
        let ended = ContainerStatus { state: None, ..status("a", false) };
        for (kind, well) in [(Kind::Liveness, true), (Kind::Readiness, true), (Kind::Readiness, false)] {
            let mut probe = Probe::new(kind, &spec(1, 1), Instant(0));
            probe.before(&status("a", true), true, false, now);
            if well {
                probe.after(true);
            }
            let news = well.then_some(Published { success: false });
            assert_eq!(probe.before(&ended, true, false, now), (Step::Wait, news), "{kind:?} {well}");
            assert_eq!(probe.before(&ended, true, false, now), (Step::Wait, None), "{kind:?} {well}");
        }
    }

    #[test]
    fn of_an_earlier_kubelets_container_nothing_is_assumed() {
        let began = Instant(60_000_000_000);
        for (kind, started, expected) in [
            (Kind::Readiness, true, (Step::Run, None)),
            (Kind::Liveness, true, (Step::Run, None)),
            (Kind::Startup, true, (Step::Wait, Some(true))),
            (Kind::Startup, false, (Step::Run, None)),
        ] {
            let mut probe = Probe::new(kind, &spec(1, 1), began);
            let (step, news) = probe.before(&status("a", started), true, false, began);
            assert_eq!((step, probe.result("a")), expected, "{kind:?} {started}");
            assert_eq!(news.is_some(), expected.1.is_some(), "{kind:?}: a result that is none is no news");
            assert!(!probe.has_failed("a"), "{kind:?}");
            assert_eq!(probe.after(false), Some(Published { success: false }), "{kind:?}: the first result is");
        }
        let mut probe = Probe::new(Kind::Readiness, &spec(1, 1), Instant(9_000_000_000));
        probe.before(&status("a", true), true, false, began);
        assert_eq!(probe.result("a"), Some(false), "it may be its own, for all that clocks tell");
    }

    #[test]
    fn only_the_startup_probe_runs_before_the_container_has_started() {
        for (kind, started, step) in [
            (Kind::Startup, false, Step::Run),
            (Kind::Startup, true, Step::Wait),
            (Kind::Readiness, false, Step::Wait),
            (Kind::Readiness, true, Step::Run),
        ] {
            let mut probe = Probe::new(kind, &spec(1, 1), Instant(0));
            assert_eq!(probe.before(&status("a", started), true, false, Instant(0)).0, step, "{kind:?} {started}");
        }
    }
}
