//! Who is meant when caches or queues are asked for: a component, or one controller of a component.

use cluster::fault::whose::{listed, short_for};
use controllers::ControllerManager;
use object::Kind;

use super::Session;
use super::inspect::{informers, process};

/// One that has caches or queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The component.
    pub component: String,
    /// The controller of it that was named, or rather its queue.
    pub controller: Option<String>,
}

impl Holder {
    fn name(&self) -> &str {
        self.controller.as_deref().unwrap_or(&self.component)
    }
}

/// Finds it by its name, or by the beginning or end of one: `scheduler`, `replicaset`. The error says what there is.
pub fn find(session: &Session, word: &str) -> Result<Holder, String> {
    let all = all(session);
    let of = |names: &[&str]| all.iter().filter(|holder| names.contains(&holder.name())).collect::<Vec<_>>();
    let fitting = match of(&[word]) {
        none if none.is_empty() => of(&short_for(word, all.iter().map(Holder::name))),
        exact => exact,
    };
    match fitting.as_slice() {
        [one] => Ok((*one).clone()),
        _ if Kind::from_word(word).is_some() => Err(format!(
            "{word:?} is a kind; name a component that has them in a cache or queue, such as kube-scheduler"
        )),
        several @ [_, ..] => {
            let full = |holder: &&Holder| match several.iter().filter(|other| other.name() == holder.name()).count() {
                1 => holder.name().to_owned(),
                // One controller in each of several managers.
                _ => holder.component.clone(),
            };
            Err(format!("{word:?} may be one of several: {}", listed(several.iter().map(full))))
        }
        [] => {
            let components = all.iter().filter(|holder| holder.controller.is_none());
            let there = listed(components.map(|holder| holder.component.clone()));
            Err(format!("nothing called {word:?} has caches or queues; there are {there}, and the controllers in them"))
        }
    }
}

fn all(session: &Session) -> Vec<Holder> {
    let mut all = Vec::new();
    for (_, actor) in session.cluster.engine.actors() {
        let component = actor.name().to_owned();
        let manager = process::<ControllerManager>(session, &component);
        if manager.is_none() && informers(session, &component).is_empty() {
            continue;
        }
        all.push(Holder { component: component.clone(), controller: None });
        let queues = manager.into_iter().flat_map(ControllerManager::queues);
        // A manager of one controller is called as that is.
        let others = queues.filter(|queue| **queue.name() != *component);
        all.extend(
            others.map(|queue| Holder { component: component.clone(), controller: Some(queue.name().to_string()) }),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster::scenario::Scenario;

    #[test]
    fn a_holder_is_found_by_a_part_of_its_name() {
        let session = Session::of(Scenario::default());
        let found = |word| find(&session, word).map(|holder| (holder.component, holder.controller.unwrap_or_default()));
        let manager = |controller: &str| Ok(("kube-controller-manager".to_owned(), controller.to_owned()));
        assert_eq!(found("kube-controller-manager"), manager(""));
        assert_eq!(found("replicaset-controller"), manager("replicaset-controller"));
        assert_eq!(found("deployment"), manager("deployment-controller"));
        assert_eq!(found("job"), manager("job-controller"), "though another queue begins with it too");
        assert_eq!(found("ReplicaSetController"), manager("replicaset-controller"), "its name in Go");
        assert_eq!(found("scheduler"), Ok(("kube-scheduler".to_owned(), String::new())));
        let several = "\"kubelet\" may be one of several: kubelet/node-1, kubelet/node-2, kubelet/node-3";
        assert_eq!(found("kubelet"), Err(several.to_owned()));
        for nobody in ["user/kubectl", "", "-", "nosuch"] {
            let error = found(nobody).expect_err(nobody);
            assert!(
                error.starts_with(&format!("nothing called {nobody:?} has caches or queues; there are ")),
                "{error}"
            );
            assert!(!error.contains("kubectl,") && error.contains("kube-scheduler"), "{error}");
        }
    }
}
