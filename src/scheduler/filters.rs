//! All filters of one attempt, asked together. Mirrors `RunPreFilterPlugins` and
//! `RunFilterPluginsWithNominatedPods` of `pkg/scheduler/framework/runtime/framework.go`.

use std::collections::BTreeSet;

use super::framework::{Filter, Point, PreFilter, Rejection};
use super::node_info::NodeInfo;
use super::nominator::Nominator;
use super::pod_info::PodInfo;
use super::profile::Profile;
use super::snapshot::Snapshot;

/// The filters that have something to say about this pod, in profile order.
pub struct Filters<'a> {
    pod: &'a PodInfo,
    nominator: &'a Nominator,
    asked: Vec<(usize, Box<dyn Filter + 'a>)>,
    /// The nodes a plugin narrowed the choice to, and the numbers of the plugins that did.
    pub only: Option<BTreeSet<String>>,
    /// The numbers of the plugins that narrowed it.
    pub narrowed_by: Vec<usize>,
}

impl<'a> Filters<'a> {
    /// Asks every plugin what it will want to know of nodes; or the plugin that rejects the pod out of hand.
    pub fn new(
        profile: &'a Profile,
        pod: &'a PodInfo,
        snapshot: &'a Snapshot,
        nominator: &'a Nominator,
    ) -> Result<Filters<'a>, (usize, Rejection)> {
        let mut filters = Filters { pod, nominator, asked: Vec::new(), only: None, narrowed_by: Vec::new() };
        for (number, entry) in profile.at(Point::Filter) {
            match entry.plugin.pre_filter(pod, snapshot) {
                PreFilter::Skip => {}
                PreFilter::Ask(filter) => filters.asked.push((number, filter)),
                PreFilter::AskAbout(nodes, filter) => {
                    filters.asked.push((number, filter));
                    filters.narrow(number, nodes);
                }
                PreFilter::Reject(rejection) => return Err((number, rejection)),
            }
            if filters.only.as_ref().is_some_and(BTreeSet::is_empty) {
                let reason = filters.nothing_left(profile);
                return Err((number, Rejection::unresolvable(reason)));
            }
        }
        Ok(filters)
    }

    /// May the pod run on this node? Pods nominated to it, of our priority or above, are supposed to be there
    /// already; but as they may never come, the pod must fit without them too.
    pub fn check(&mut self, node: &NodeInfo) -> Result<(), (usize, Rejection)> {
        if !self.nominator.is_empty() {
            let first: Vec<_> = self.nominated_before_us(node).cloned().collect();
            if !first.is_empty() {
                let mut with_them = node.clone();
                for other in &first {
                    self.add_pod(other, &with_them);
                    with_them.add_pod(other.clone());
                }
                let verdict = self.run(&with_them);
                for other in &first {
                    self.remove_pod(other, node);
                }
                verdict?;
            }
        }
        self.run(node)
    }

    /// Suppose that `pod` were on `node` too.
    pub fn add_pod(&mut self, pod: &PodInfo, node: &NodeInfo) {
        self.asked.iter_mut().for_each(|(_, filter)| filter.add_pod(pod, node));
    }

    /// Suppose that `pod` were gone from `node`.
    pub fn remove_pod(&mut self, pod: &PodInfo, node: &NodeInfo) {
        self.asked.iter_mut().for_each(|(_, filter)| filter.remove_pod(pod, node));
    }

    /// The first no decides.
    fn run(&self, node: &NodeInfo) -> Result<(), (usize, Rejection)> {
        for (number, filter) in &self.asked {
            filter.filter(node).map_err(|rejection| (*number, rejection))?;
        }
        Ok(())
    }

    fn nominated_before_us(&self, node: &NodeInfo) -> impl Iterator<Item = &'a std::sync::Arc<PodInfo>> {
        let (pod, nominator) = (self.pod, self.nominator);
        nominator.on(&node.name).iter().filter(move |other| other.priority >= pod.priority && other.uid != pod.uid)
    }

    fn narrow(&mut self, plugin: usize, nodes: Vec<String>) {
        let nodes: BTreeSet<String> = nodes.into_iter().collect();
        self.only = Some(match self.only.take() {
            None => nodes,
            Some(before) => before.intersection(&nodes).cloned().collect(),
        });
        self.narrowed_by.push(plugin);
    }

    fn nothing_left(&self, profile: &Profile) -> String {
        let names = self.names_of_narrowing(profile);
        match names.as_slice() {
            [name] => format!("node(s) didn't satisfy plugin {name}"),
            _ => format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", names.join(" ")),
        }
    }

    /// What holds for the nodes outside of the narrowed choice.
    pub fn absent(&self, profile: &Profile) -> Option<Rejection> {
        self.only.as_ref()?;
        let names = self.names_of_narrowing(profile).join(" ");
        Some(Rejection::unresolvable(format!("node(s) didn't satisfy plugin(s) [{names}]")))
    }

    fn names_of_narrowing(&self, profile: &Profile) -> Vec<&'static str> {
        let mut names: Vec<_> = self.narrowed_by.iter().map(|number| profile.name_of(*number)).collect();
        names.sort();
        names
    }
}
