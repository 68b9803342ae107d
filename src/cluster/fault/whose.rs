//! Whose fault it is to be: components as a user names them, by a part of their names too.

use client::Informer;
use controllers::{ControllerManager, apiextensions};
use kubelet::Kubelet;
use network::proxy::KubeProxy;
use object::glob::matches;
use object::nearest::nearest;
use object::{Key, Kind};
use scheduler::KubeScheduler;

use super::super::Cluster;

/// So many names are listed where none fits.
const LISTED: usize = 12;

/// The names that a word is short for: `scheduler`, `kubelet`, `node-1`; of a controller also its name in Go.
pub fn short_for<'n>(word: &str, names: impl IntoIterator<Item = &'n str> + Clone) -> Vec<&'n str> {
    let of = |fits: &dyn Fn(&str) -> bool| names.clone().into_iter().filter(|name| fits(name)).collect::<Vec<_>>();
    let controller = format!("{}-controller", word.to_ascii_lowercase());
    let tries =
        [of(&|name| name == controller), of(&|name| is_short_for(word, name)), of(&|name| is_in_go(word, name))];
    tries.into_iter().find(|fitting| !fitting.is_empty()).unwrap_or_default()
}

/// Whether a word is the first or last part of a name whose parts are set off by `-` or `/`.
fn is_short_for(word: &str, name: &str) -> bool {
    const MARKS: [char; 2] = ['-', '/'];
    let begins = name.strip_prefix(word).is_some_and(|rest| rest.starts_with(MARKS));
    let ends = name.strip_suffix(word).is_some_and(|rest| rest.ends_with(MARKS));
    !word.is_empty() && (begins || ends)
}

/// Whether `ReplicaSetController` is `replicaset-controller`.
fn is_in_go(word: &str, name: &str) -> bool {
    !word.is_empty() && name.replace('-', "") == word.replace('-', "").to_ascii_lowercase()
}

/// The name that was probably meant. Another number is no slip: `kubelet/node-9` is another node's.
pub fn slip<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let letters = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    nearest(word, names).filter(|name| letters(name) != letters(word))
}

/// That a word is short for more than one.
pub fn several(word: &str, names: &[&str]) -> String {
    let globs = [format!("{word}/*"), format!("*/{word}")];
    let all = globs.iter().find(|glob| names.iter().all(|name| matches(glob, name)));
    let all = all.map_or(String::new(), |glob| format!("; {glob} means them all"));
    format!("{word:?} may be one of several: {}{all}", listed(names.iter().map(|name| (*name).to_owned())))
}

/// Names in a row, of many only the first.
pub fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.len().checked_sub(LISTED) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..LISTED].join(", ")),
    }
}

impl Cluster {
    /// The full name of a component that a word is short for; else the word.
    pub(super) fn full_name(&self, word: &str) -> String {
        one(word, &self.component_names()).unwrap_or_else(|| word.to_owned())
    }

    /// The same of a process that can be stopped and started. A machine is none of the processes on it.
    pub(super) fn full_name_to_stop(&self, word: &str) -> String {
        let process = (!self.is_machine(word)).then(|| one(word, &self.that_stop())).flatten();
        process.unwrap_or_else(|| word.to_owned())
    }

    /// The processes that run, and the controllers in them by name and by account.
    pub fn component_names(&self) -> Vec<String> {
        let processes = self.engine.actors().map(|(_, actor)| actor.name().to_owned());
        let controllers = self.config.parts.controllers.iter().chain(apiextensions::TABLE);
        let controllers = controllers.flat_map(|row| [row.name, row.account.unwrap_or(row.name)]).map(str::to_owned);
        let servers = self.engine.servers().map(|(_, name)| name.to_owned());
        let mut names: Vec<String> = servers.chain(processes).collect();
        for name in controllers {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A process's informers; none if it is none whose informers are known.
    pub fn informers(&self, process: &str) -> Option<Vec<Informer>> {
        let any = self.engine.actor(self.engine.find(process)?)?.as_any();
        if let Some(kubelet) = any.downcast_ref::<Kubelet>() {
            return Some(kubelet.informers().into_iter().cloned().collect());
        }
        let of_proxy = || Some(any.downcast_ref::<KubeProxy>()?.informers().to_vec());
        let of_scheduler = || Some(any.downcast_ref::<KubeScheduler>()?.informers().to_vec());
        let of_manager = || Some(any.downcast_ref::<ControllerManager>()?.informers());
        of_manager().or_else(of_scheduler).or_else(of_proxy)
    }

    /// That a name is a component's, so that a slip does not hold nothing.
    pub(super) fn check_component(&self, glob: &str) -> Result<(), String> {
        let names = self.component_names();
        if names.iter().any(|name| matches(glob, name)) {
            return Ok(());
        }
        Err(self.no_component(glob))
    }

    /// That a node of this name is on.
    pub(super) fn check_node(&self, name: &str) -> Result<(), String> {
        let nodes: Vec<&str> = self.machines().collect();
        if nodes.contains(&name) {
            return Ok(());
        }
        Err(format!("there is no node {name:?} that is on; there are {}", nodes.join(", ")))
    }

    /// What a name is told that is no component's.
    pub fn no_component(&self, word: &str) -> String {
        let names = self.component_names();
        let known = || names.iter().map(String::as_str);
        match short_for(word, known()).as_slice() {
            _ if Kind::from_word(word).is_some() => {
                format!("{word:?} is a kind; write a component before it, as kube-scheduler {word}")
            }
            [] => match slip(word, known()) {
                Some(name) => format!("there is no component {word:?}; did you mean {name}?"),
                None => format!("there is no component {word:?}; there are {}", listed(names.iter().cloned())),
            },
            several_names => several(word, several_names),
        }
    }

    /// Where to turn instead with a name that is no process's; empty if that is unknown.
    pub(super) fn instead(&self, word: &str) -> String {
        let stopping = self.that_stop();
        let manager = stopping.iter().find(|name| name.starts_with("kube-controller-manager"));
        match manager {
            _ if self.is_machine(word) => format!("; it is a machine: node stop {word} cuts it off the power"),
            Some(manager) if one(word, &self.component_names()).is_some_and(|name| !self.is_process(&name)) => {
                format!("; it runs in {manager}, which can")
            }
            _ if word.contains('/') && Kind::from_word(word.split('/').next().unwrap_or_default()).is_some() => {
                "; an object is no process: kill ends one of a Pod".to_owned()
            }
            _ => match slip(word, stopping.iter().map(String::as_str)) {
                Some(name) => format!("; did you mean {name}?"),
                None => String::new(),
            },
        }
    }

    /// What is wrong with a Pod's name; empty if there is such a Pod.
    pub(super) fn no_pod(&self, pod: &Key) -> String {
        let prefix = kinds::registry::list_prefix(Kind::Pod, pod.namespace());
        let there: Vec<&str> =
            self.engine.server.api.store.prefix(&prefix).map(|(_, entry)| entry.value.name()).collect();
        let names = || listed(there.iter().map(|name| (*name).to_owned()));
        match there.as_slice() {
            names if names.contains(&pod.name()) => String::new(),
            _ if Kind::from_word(pod.name()) == Some(Kind::Pod) => "; a Pod is written as web or as pod/web".to_owned(),
            [] => format!("; there is no Pod in {} yet", pod.namespace()),
            _ => format!("; there is no such Pod, but {}", names()),
        }
    }

    /// The same for what needs a Pod that is on a node.
    pub(super) fn runs_nowhere(&self, pod: &Key) -> String {
        format!("{pod} runs nowhere{}", self.no_pod(pod))
    }

    /// The processes that can be stopped and started, whether they run or not.
    fn that_stop(&self) -> Vec<String> {
        let servers =
            self.engine.servers().filter(|(id, _)| self.engine.server.is_server(*id)).map(|(_, name)| name.to_owned());
        let kubelets = self.machines().map(|machine| format!("kubelet/{machine}"));
        let programs = self.config.parts.programs.iter().map(|program| program.name.to_owned());
        servers.chain(self.control_plane()).chain(programs).chain(kubelets).collect()
    }

    pub(super) fn is_machine(&self, name: &str) -> bool {
        self.runtime_on(name).is_some()
    }

    fn is_process(&self, name: &str) -> bool {
        self.engine.find(name).is_some()
    }
}

/// The one name that a word fits or is short for.
fn one(word: &str, names: &[String]) -> Option<String> {
    if names.iter().any(|name| matches(word, name)) {
        return names.iter().find(|name| *name == word).cloned();
    }
    match short_for(word, names.iter().map(String::as_str)).as_slice() {
        [name] => Some((*name).to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = [
        "kube-scheduler",
        "kubelet/node-1",
        "kubelet/node-2",
        "cni/node-1",
        "replicaset-controller",
        "job-orphan-pods",
    ];

    #[test]
    fn a_name_is_known_by_a_part() {
        for (word, names) in [
            ("scheduler", vec!["kube-scheduler"]),
            ("kubelet", vec!["kubelet/node-1", "kubelet/node-2"]),
            ("node-1", vec!["kubelet/node-1", "cni/node-1"]),
            ("ReplicaSet", vec!["replicaset-controller"]),
            ("ReplicaSetController", vec!["replicaset-controller"]),
            ("kube", vec!["kube-scheduler"]),
            ("sched", vec![]),
            ("", vec![]),
            ("-", vec![]),
        ] {
            assert_eq!(short_for(word, NAMES), names, "{word}");
        }
    }

    #[test]
    fn several_are_listed_and_one_word_for_all_is_given_where_there_is_one() {
        let kubelets = "\"kubelet\" may be one of several: kubelet/node-1, kubelet/node-2; kubelet/* means them all";
        assert_eq!(several("kubelet", &NAMES[1..3]), kubelets);
        assert_eq!(several("x", &NAMES[..2]), "\"x\" may be one of several: kube-scheduler, kubelet/node-1");
        let many = listed((1..=15).map(|n| n.to_string()));
        assert_eq!(many, "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 3 more");
    }

    #[test]
    fn another_number_is_no_slip() {
        assert_eq!(slip("kublet/node-1", NAMES), Some("kubelet/node-1"));
        assert_eq!(slip("kubelet/node-9", NAMES), None);
    }
}
