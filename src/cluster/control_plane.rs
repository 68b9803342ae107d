//! The control plane's processes: one of each, or several with one leader.
//!
//! Left out: unless a scenario asks for it, the one controller manager and the one scheduler run as with
//! `--leader-elect=false`: three background events every two seconds are spared. The recordings' own leases are not in
//! their audit log, so nothing is to be compared.

use std::rc::Rc;

use apiserver::host::failing::{Failing, Failure};
use client::leader::{self, Candidate, Elected, UPDATES_UNTIL_LOST};
use controllers::ControllerManager;
use engine::Actor;
use object::reader::Reader;
use object::{Kind, Object};

use super::Cluster;
use super::fault::Fault;
use super::fault::processes::Process;

const MANAGER: &str = "kube-controller-manager";
const SCHEDULER: &str = "kube-scheduler";

impl Cluster {
    /// The names of its processes.
    pub(super) fn control_plane(&self) -> Vec<String> {
        let mut names = self.processes_of(MANAGER);
        names.extend(self.processes_of(SCHEDULER));
        names
    }

    /// The processes of one component: `kube-scheduler`, or `kube-scheduler/1` and `/2`.
    fn processes_of(&self, component: &str) -> Vec<String> {
        match self.candidates(component) {
            0 | 1 => vec![component.to_owned()],
            count => (1..=count).map(|number| format!("{component}/{number}")).collect(),
        }
    }

    /// How many stand for election; 0: there is none.
    fn candidates(&self, component: &str) -> u16 {
        if component == MANAGER { self.config.managers } else { self.config.schedulers }
    }

    /// The API server finds at their ports which components run: it asks only when a client asks it.
    pub(super) fn tell_api_server(&mut self) {
        for component in [MANAGER, SCHEDULER] {
            let runs = self.processes_of(component).iter().any(|name| self.engine.find(name).is_some());
            self.engine.server.api.neighbours.set(component, runs);
        }
    }

    /// Starts the process of this name, which is one of the control plane's.
    pub(super) fn start_control(&mut self, name: &str) {
        let (hub, id, limits) = (self.engine.hub().clone(), self.engine.next_actor(), self.config.client_limits);
        let component = if name.starts_with(MANAGER) { MANAGER } else { SCHEDULER };
        let worker: Rc<dyn Actor> = match component {
            MANAGER => {
                let (table, slow) = (self.config.parts.controllers, &self.config.slow);
                Rc::new(ControllerManager::new(hub.clone(), id, table, limits, slow))
            }
            _ => {
                let profiles = self.config.scheduler_profiles.profiles();
                (self.config.parts.scheduler)(hub.clone(), id, limits, profiles)
            }
        };
        if self.candidates(component) == 0 {
            self.engine.add(worker);
            return;
        }
        let (of_process, process) = (hub.clone(), name.to_owned());
        // It ends as on `klog.FlushAndExit`; the kubelet of its machine starts it anew.
        let end = Rc::new(move || of_process.fault(id, Rc::new(Fault::of(Process::crash(&process)))));
        let candidate = Candidate { component, process: name, host: &host_of(name) };
        self.engine.add(Rc::new(Elected::new(hub, id, &candidate, worker, end)));
    }

    /// Lets the renewals of the present leader get lost until it gives up, so that another takes over.
    pub fn change_leader(&mut self, component: &str) -> Result<String, String> {
        if ![MANAGER, SCHEDULER].contains(&component) {
            return Err(format!("{component:?} has no leader; {MANAGER} and {SCHEDULER} may have one"));
        }
        if self.candidates(component) == 0 {
            return Err(format!(
                "one {component} runs here, and it stands for no election; `managers: 2` or `schedulers: 2` in a \
                 scenario makes it two, as in the scenario leader-change"
            ));
        }
        let leader = self.leader_of(component).ok_or_else(|| format!("no {component} leads now"))?;
        let failing = |failure: &Failure| failure.component == leader && failure.kind == Some(Kind::Lease);
        if self.engine.server.failures.iter().any(failing) {
            return Err(format!("the renewals of {leader} are getting lost already"));
        }
        self.engine.server.fail(Failure {
            component: leader.clone(),
            verb: "update".to_owned(),
            kind: Some(Kind::Lease),
            how: Failing::Lost,
            times: UPDATES_UNTIL_LOST,
        });
        Ok(format!("the renewals of {leader} get lost: in ten seconds or so it gives up, and then another may lead"))
    }

    /// The process that runs and holds the Lease of a component.
    fn leader_of(&self, component: &str) -> Option<String> {
        let lease = Reader::get(&self.engine.server.api.store, Kind::Lease, leader::NAMESPACE, component)?;
        let Object::Lease(lease) = lease else { return None };
        let host = leader::holder(&lease).split('_').next()?.to_owned();
        self.processes_of(component).into_iter().find(|name| host_of(name) == host && self.engine.find(name).is_some())
    }
}

/// The machine on which a process of the control plane runs.
pub fn host_of(process: &str) -> String {
    format!("control-plane-{}", process.split_once('/').map_or("1", |(_, number)| number))
}
