//! The ControllerRevisions of a DaemonSet. Mirrors `constructHistory` and `cleanupHistory`.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, DaemonSet, DaemonSetSpec};
use serde_json::json;

use crate::claim::Claimer;
use crate::history::{REVISION_HASH, holds, next_number, revision_of, sort};
use crate::pods::{BY_CONTROLLER, orphans_of, owned_by};
use client::Error;
use object::selector::Selector;
use object::template;
use object::{Accessor, Key, Pod};
use wire::{DeleteOptions, Patch};

use super::{DaemonSets, Sync};

/// What the DaemonSet asked for, now and before.
pub(super) struct History {
    /// The hash of the present template.
    pub hash: String,
    /// All other revisions.
    pub old: Vec<Arc<ControllerRevision>>,
}

fn hash_of(revision: &ControllerRevision) -> &str {
    let labels = revision.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(REVISION_HASH)).map_or("", String::as_str)
}

fn has_hash(revision: &ControllerRevision) -> bool {
    revision.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(REVISION_HASH))
}

impl DaemonSets {
    /// The DaemonSet's revisions; the one of the present template is made if it is not there.
    pub(super) async fn history(&self, set: &Arc<DaemonSet>, spec: &DaemonSetSpec) -> Result<History, Error> {
        let key = Key::of_meta(&set.metadata);
        let Ok(selector) = Selector::of(&spec.selector) else {
            return Err(Error::Other(format!("the selector of {key} cannot be read")));
        };
        let mut candidates = self.revisions.by_index(BY_CONTROLLER, &owned_by(&**set));
        candidates.extend(self.revisions.by_index(BY_CONTROLLER, &orphans_of(key.namespace())));
        let (owner, patched) = (&**set, |_: Option<&str>| {});
        let claimer = Claimer { client: &self.client, owner, selector: &selector, finalizers: &[], patched: &patched };
        let mut all = claimer.claim(candidates).await?;
        for revision in &mut all {
            if !has_hash(revision) {
                *revision = self.label(revision).await?;
            }
        }
        let (mut present, old): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|revision| holds(revision, &spec.template));
        let number = next_number(&old);
        sort(&mut present);
        let current = match present.pop() {
            None => self.snapshot(set, spec, number).await?,
            Some(current) => {
                self.merge(set, &current, present).await?;
                self.renumber(current, number).await?
            }
        };
        Ok(History { hash: hash_of(&current).to_owned(), old })
    }

    /// Gives a revision that has lost its hash its own name for one: that is surely no other's.
    async fn label(&self, revision: &ControllerRevision) -> Result<Arc<ControllerRevision>, Error> {
        let mut labelled = revision.clone();
        let name = labelled.metadata.name.clone().unwrap_or_default();
        labelled.metadata.labels.get_or_insert_default().insert(REVISION_HASH.to_owned(), name);
        Ok(self.client.update(labelled).await?)
    }

    /// Writes the present template down.
    async fn snapshot(
        &self,
        set: &Arc<DaemonSet>,
        spec: &DaemonSetSpec,
        number: i64,
    ) -> Result<Arc<ControllerRevision>, Error> {
        let collisions = set.status.as_ref().and_then(|status| status.collision_count);
        let hash = template::hash(&spec.template, collisions);
        let revision = revision_of(&**set, &spec.template, number, (REVISION_HASH, &hash));
        let name = revision.metadata.name.clone().unwrap_or_default();
        let namespace = set.metadata.namespace();
        let refusal = match self.client.create(revision).await {
            Err(status) if status.is_already_exists() => status,
            made => return Ok(made?),
        };
        let there = self.client.get::<ControllerRevision>(namespace, &name).await?;
        if holds(&there, &spec.template) {
            return Ok(there);
        }
        // Another template has the same hash: the next one is made with a grain of salt.
        let set_name = set.metadata.name();
        let mut fresh = DaemonSet::clone(&*self.client.get::<DaemonSet>(namespace, set_name).await?);
        let status = fresh.status.get_or_insert_default();
        if status.collision_count != collisions {
            return Err(Error::Other(format!("found a stale collision count of {namespace}/{set_name}; trying again")));
        }
        status.collision_count = Some(collisions.unwrap_or(0).wrapping_add(1));
        self.client.update_status(fresh).await?;
        Err(refusal.into())
    }

    /// An older revision with the same data is not needed: its Pods get the hash of the one that stays. Mirrors
    /// `dedupCurHistories`.
    async fn merge(
        &self,
        set: &Arc<DaemonSet>,
        keep: &ControllerRevision,
        others: Vec<Arc<ControllerRevision>>,
    ) -> Result<(), Error> {
        if others.is_empty() {
            return Ok(());
        }
        for pod in self.pods.by_index(BY_CONTROLLER, &owned_by(&**set)) {
            let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get(REVISION_HASH));
            if label.is_none_or(|hash| hash != hash_of(keep)) {
                let key = Key::of_meta(&pod.metadata);
                let patch = json!({"metadata": {"labels": {REVISION_HASH: hash_of(keep)}}});
                self.client.patch::<Pod>(key.namespace(), key.name(), Patch::Merge(patch)).await?;
            }
        }
        for other in others {
            self.delete_revision(&other).await?;
        }
        Ok(())
    }

    async fn renumber(&self, revision: Arc<ControllerRevision>, number: i64) -> Result<Arc<ControllerRevision>, Error> {
        if revision.revision >= number {
            return Ok(revision);
        }
        Ok(self.client.update(ControllerRevision { revision: number, ..ControllerRevision::clone(&revision) }).await?)
    }

    async fn delete_revision(&self, revision: &ControllerRevision) -> Result<(), Error> {
        let key = Key::of_meta(&revision.metadata);
        let options = DeleteOptions::default();
        match self.client.delete::<ControllerRevision>(key.namespace(), key.name(), options).await {
            Err(status) if !status.is_not_found() => Err(status.into()),
            _ => Ok(()),
        }
    }

    /// Deletes the oldest revisions beyond the limit that no Pod is from.
    pub(super) async fn clean_up_history(&self, context: &Sync, history: &History) -> Result<(), Error> {
        let limit = context.spec.revision_history_limit.unwrap_or(10).max(0) as usize;
        let mut surplus = history.old.len().saturating_sub(limit);
        if surplus == 0 {
            return Ok(());
        }
        let pods = self.pods_by_node(context, true).await?;
        let label = |pod: &Arc<Pod>| pod.metadata.labels.as_ref()?.get(REVISION_HASH).cloned();
        let live: BTreeSet<String> = pods.values().flatten().filter_map(label).collect();
        let mut old = history.old.clone();
        sort(&mut old);
        for revision in old.iter().filter(|revision| !live.contains(hash_of(revision))) {
            if surplus == 0 {
                break;
            }
            self.delete_revision(revision).await?;
            surplus -= 1;
        }
        Ok(())
    }
}
