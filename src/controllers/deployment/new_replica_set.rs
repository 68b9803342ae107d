//! The new ReplicaSet: finding it, bringing its annotations up to date, making it.
//! Mirrors `getAllReplicaSetsAndSyncRevision` and `getNewReplicaSet` of `pkg/controller/deployment/sync.go`.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use client::{Error, EventType};
use object::meta::{controller_of, controller_ref};
use object::template::{self, TEMPLATE_HASH};
use object::{Accessor, Key, Kind, Status};

use super::arithmetic::{is_rolling_update, max_replicas, new_replicas, wanted};
use super::revision::{
    REVISION, equal_ignoring_hash, max_revision, set_deployment_revision, set_new_replica_set, template_of,
};
use super::status::{self, PROGRESSING, progress_deadline, reason};
use super::{Deployments, Sets};

/// The longest name an object may have.
const NAME_LEN_MAX: usize = 253;

impl Deployments {
    /// The Deployment's ReplicaSets, told apart; the new one is made if `create` says so and it is missing. Writes
    /// what is out of date about revisions on the way.
    pub(super) async fn sets(
        &self,
        d: &mut Deployment,
        owned: &[Arc<ReplicaSet>],
        create: bool,
    ) -> Result<Sets, Error> {
        let mut sets = tell_apart(d, owned);
        let revision = max_revision(sets.old.iter().map(|rs| &**rs)).wrapping_add(1);
        sets.new = match &sets.new {
            Some(existing) => Some(self.update_existing(d, existing, revision).await?),
            None if create => Some(self.create_new(d, &sets, revision).await?),
            None => None,
        };
        Ok(sets)
    }

    /// One write at most: the ReplicaSet's annotations, or else the Deployment's revision.
    async fn update_existing(
        &self,
        d: &mut Deployment,
        existing: &Arc<ReplicaSet>,
        new_revision: i64,
    ) -> Result<Arc<ReplicaSet>, Error> {
        let mut rs = (**existing).clone();
        let annotated = set_new_replica_set(d, &mut rs.metadata, new_revision, true);
        let min_ready = |seconds: Option<i32>| seconds.unwrap_or(0);
        let wanted_min_ready = d.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
        let spec = rs.spec.get_or_insert_default();
        if annotated || min_ready(spec.min_ready_seconds) != min_ready(wanted_min_ready) {
            spec.min_ready_seconds = wanted_min_ready;
            return Ok(self.client.update(rs).await?);
        }

        let revision = rs.metadata.annotations.as_ref().and_then(|annotations| annotations.get(REVISION));
        let mut changed = set_deployment_revision(d, revision.map_or("", String::as_str));
        if progress_deadline(d).is_some() && status::find(d.status.as_ref(), PROGRESSING).is_none() {
            let message = format!("Found new replica set \"{}\"", rs.metadata.name());
            self.set_progressing(d, "True", reason::FOUND, message);
            changed = true;
        }
        if changed {
            self.put_status(d).await?;
        }
        Ok(existing.clone())
    }

    async fn create_new(&self, d: &mut Deployment, sets: &Sets, revision: i64) -> Result<Arc<ReplicaSet>, Error> {
        let new = new_replica_set(d, sets, revision);
        let name = new.metadata.name.clone().unwrap_or_default();
        let size = new.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(0);
        let created = match self.client.create(new).await {
            Ok(created) => {
                if size > 0 {
                    let message = format!("Scaled up replica set {name} from 0 to {size}");
                    self.recorder.event(d, EventType::Normal, "ScalingReplicaSet", message);
                }
                Some(created)
            }
            Err(status) if status.is_already_exists() => None,
            Err(status) => return Err(self.creation_failed(d, &name, status).await),
        };
        let (rs, is_new) = match created {
            Some(created) => (created, true),
            None => (self.existing_or_collision(d, &name).await?, false),
        };

        let mut changed = set_deployment_revision(d, &revision.to_string());
        if is_new && progress_deadline(d).is_some() {
            self.set_progressing(d, "True", reason::CREATED, format!("Created new replica set \"{name}\""));
            changed = true;
        }
        if changed {
            self.put_status(d).await?;
        }
        Ok(rs)
    }

    /// The name is taken. By this Deployment, for this very template: then the cache was old, and all is well. Else
    /// two templates have the same hash, and the next attempt will hash with a higher collision count.
    async fn existing_or_collision(&self, d: &mut Deployment, name: &str) -> Result<Arc<ReplicaSet>, Error> {
        let namespace = d.metadata.namespace.clone().unwrap_or_default();
        let cached = self.replica_sets.get(&Key::new(&namespace, name));
        let rs = cached.ok_or_else(|| Status::not_found(Kind::ReplicaSet, name))?;
        let ours = controller_of(&rs.metadata).map(|owner| &owner.uid) == d.metadata.uid.as_ref();
        let template = d.spec.as_ref().map(|spec| &spec.template);
        let same = template.zip(template_of(&rs)).is_some_and(|(a, b)| equal_ignoring_hash(a, b));
        if ours && same {
            return Ok(rs);
        }
        let status = d.status.get_or_insert_default();
        status.collision_count = Some(status.collision_count.unwrap_or(0).wrapping_add(1));
        // Whether it was written or not, this attempt has failed.
        let _ = self.put_status(d).await;
        Err(Status::already_exists(Kind::ReplicaSet, name).into())
    }

    /// Tells people, unless the namespace is going away. Gives the error back.
    async fn creation_failed(&self, d: &mut Deployment, name: &str, error: wire::Error) -> Error {
        if !error.is_namespace_terminating() {
            let message = format!("Failed to create new replica set \"{name}\": {error}");
            if progress_deadline(d).is_some() {
                self.set_progressing(d, "False", reason::CREATE_ERROR, message.clone());
                // There is a greater trouble to report.
                let _ = self.put_status(d).await;
            }
            self.recorder.event(d, EventType::Warning, reason::CREATE_ERROR, message);
        }
        error.into()
    }

    fn set_progressing(&self, d: &mut Deployment, state: &str, reason: &str, message: String) {
        let condition = status::condition(PROGRESSING, state, reason, message, self.client.now());
        status::set(d.status.get_or_insert_default(), condition);
    }
}

/// The new one is the oldest with the Deployment's template: should there be two, all controllers choose the same.
/// Mirrors `FindNewReplicaSet` and `FindOldReplicaSets`; `owned` is sorted by age.
fn tell_apart(d: &Deployment, owned: &[Arc<ReplicaSet>]) -> Sets {
    let Some(spec) = &d.spec else { return Sets::default() };
    let is_new =
        |rs: &ReplicaSet| template_of(rs).is_some_and(|template| equal_ignoring_hash(template, &spec.template));
    let new = owned.iter().position(|rs| is_new(rs));
    let old = owned.iter().enumerate().filter(|(i, _)| Some(*i) != new).map(|(_, rs)| rs.clone()).collect();
    Sets { new: new.map(|i| owned[i].clone()), old }
}

/// The ReplicaSet to create for the Deployment's template, with its first replicas already in it.
fn new_replica_set(d: &Deployment, sets: &Sets, revision: i64) -> ReplicaSet {
    let spec = d.spec.clone().unwrap_or_default();
    let collisions = d.status.as_ref().and_then(|status| status.collision_count);
    let hash = template::hash(&spec.template, collisions);
    let replicas =
        if is_rolling_update(d) { new_replicas(wanted(d), max_replicas(d), sets.total_size(), 0) } else { wanted(d) };
    let spec = with_hash(spec, &hash, replicas);
    let labels = spec.template.as_ref().and_then(|template| template.metadata.as_ref()?.labels.clone());
    let mut metadata = ObjectMeta {
        name: Some(name(d.metadata.name(), &hash)),
        namespace: d.metadata.namespace.clone(),
        labels,
        owner_references: Some(vec![controller_ref(d)]),
        ..ObjectMeta::default()
    };
    set_new_replica_set(d, &mut metadata, revision, false);
    ReplicaSet { metadata, spec: Some(spec), status: None }
}

/// Template and selector of the Deployment, with the hash as one more label.
fn with_hash(spec: DeploymentSpec, hash: &str, replicas: i32) -> ReplicaSetSpec {
    let (mut template, mut selector) = (spec.template, spec.selector);
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.insert(TEMPLATE_HASH.into(), hash.into());
    selector.match_labels.get_or_insert_default().insert(TEMPLATE_HASH.into(), hash.into());
    let min_ready_seconds = spec.min_ready_seconds;
    ReplicaSetSpec { replicas: Some(replicas), min_ready_seconds, selector, template: Some(template) }
}

/// `web-cc544bdcc`; a long name of the Deployment is cut. Mirrors `generateReplicaSetName`.
fn name(deployment: &str, hash: &str) -> String {
    let room = NAME_LEN_MAX.saturating_sub(hash.len() + 1);
    format!("{}-{hash}", deployment.get(..room).unwrap_or(deployment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn template(image: &str) -> Value {
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
    }

    fn deployment() -> Deployment {
        let spec = json!({"replicas": 4, "minReadySeconds": 5, "template": template("nginx"),
            "selector": {"matchLabels": {"app": "web"}}, "strategy": {"rollingUpdate": {"maxSurge": 1}}});
        serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "n", "uid": "u"}, "spec": spec}))
            .unwrap()
    }

    fn owned(name: &str, image: &str, replicas: i32) -> Arc<ReplicaSet> {
        let mut template = template(image);
        template["metadata"]["labels"][TEMPLATE_HASH] = json!("x");
        let spec = json!({"replicas": replicas, "selector": {}, "template": template});
        Arc::new(serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap())
    }

    #[test]
    fn the_oldest_equal_one_is_the_new_one() {
        let owned = [owned("a", "nginx:1", 0), owned("b", "nginx", 1), owned("c", "nginx", 1)];
        let sets = tell_apart(&deployment(), &owned);
        assert_eq!(sets.new.unwrap().metadata.name.as_deref(), Some("b"));
        let old: Vec<_> = sets.old.iter().map(|rs| rs.metadata.name.as_deref()).collect();
        assert_eq!(old, [Some("a"), Some("c")]);
    }

    #[test]
    fn the_first_replicas_are_in_it() {
        let sets = Sets { new: None, old: vec![owned("old", "nginx:1", 4)] };
        let rs = serde_json::to_value(new_replica_set(&deployment(), &sets, 2)).unwrap();
        let hash = template::hash(&deployment().spec.unwrap().template, None);
        assert_eq!(rs["metadata"]["name"], json!(format!("web-{hash}")));
        assert_eq!(rs["metadata"]["annotations"][REVISION], json!("2"));
        assert_eq!(rs["metadata"]["labels"], json!({"app": "web", TEMPLATE_HASH: hash}));
        assert_eq!(rs["spec"]["selector"]["matchLabels"], json!({"app": "web", TEMPLATE_HASH: hash}));
        assert_eq!((&rs["spec"]["replicas"], &rs["spec"]["minReadySeconds"]), (&json!(1), &json!(5)));
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(name("web", "abc"), "web-abc");
        assert_eq!(name(&"x".repeat(253), "abc").len(), 253);
    }
}
