//! Exercise 03 in the cluster: kube-apiserver with a learner's function in the place of three plugins' choices.

use std::path::Path;
use std::rc::Rc;

use k8s_openapi::api::core::v1::{Pod, PodSpec};

use super::admission::Admission;
use super::oracle::Oracle;
use apiserver::admission::elsewhere::{PodPlugin, Refused};
use cluster::Parts;
use exercise::admission::{Admitted, Case, Cluster};
use object::reader::Reader;
use object::{Kind, Object, Pod as SharedPod};

/// A cluster whose API server asks `admit` about each new Pod.
pub(super) fn with_admission(program: &Path) -> Parts {
    let program = program.to_owned();
    let plugin = Box::leak(Box::new(move || -> Rc<PodPlugin> {
        let oracle = Oracle::new(&program);
        Rc::new(move |came: &SharedPod, pod: &mut SharedPod, reader: &dyn Reader| {
            let mut asked = Pod::from(came.clone());
            // A name that is still to be made is called by what it begins with.
            let meta = &mut asked.metadata;
            meta.name = meta.name.take().filter(|name| !name.is_empty()).or_else(|| meta.generate_name.take());
            let case = Case { pod: asked, cluster: cluster(reader) };
            let said = oracle.try_ask::<Admission>(&case).map_err(Refused::Broken)?;
            apply(&said.map_err(Refused::Forbidden)?, pod);
            Ok(())
        })
    }));
    Parts { pod_plugin: Some(plugin), ..Parts::default() }
}

/// What the exercise knows of the cluster.
fn cluster(reader: &dyn Reader) -> Cluster {
    let mut cluster = Cluster::default();
    for object in [Kind::ServiceAccount, Kind::PriorityClass].into_iter().flat_map(|kind| reader.list(kind, "")) {
        match object {
            Object::ServiceAccount(account) => cluster.accounts.push((*account).clone()),
            Object::PriorityClass(class) => cluster.classes.push((*class).clone()),
            _ => {}
        }
    }
    cluster
}

/// Writes into a Pod what was said of it. A pull policy that was not is the default.
fn apply(said: &Admitted, pod: &mut SharedPod) {
    let spec: &mut PodSpec = pod.spec.get_or_insert_default();
    let containers = spec.init_containers.iter_mut().flatten().chain(&mut spec.containers);
    for (container, policy) in containers.zip(&said.pull_policies).filter(|(_, policy)| policy.is_some()) {
        container.image_pull_policy.clone_from(policy);
    }
    spec.service_account_name.clone_from(&said.account);
    spec.priority_class_name.clone_from(&said.class);
    spec.priority = said.priority;
    spec.tolerations = Some(said.tolerations.clone()).filter(|all| !all.is_empty());
}
