//! The ControllerRevisions of a StatefulSet. Mirrors `getStatefulSetRevisions` and `truncateHistory`.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ControllerRevision, StatefulSet, StatefulSetSpec};

use crate::claim::{Claimer, Verdict};
use crate::history::{data_hash, holds, next_number, patch, revision_of, sort, template_of};
use crate::pods::{BY_CONTROLLER, orphans_of, owned_by};
use client::Error;
use object::meta::controller_of;
use object::selector::Selector;
use object::{Accessor, Key};
use wire::DeleteOptions;

use super::{StatefulSets, Sync, identity};

const HASH: &str = "controller.kubernetes.io/hash";

/// Which revision is left, which is rolled out.
pub(super) struct History {
    pub current: Arc<ControllerRevision>,
    pub update: Arc<ControllerRevision>,
    /// How often a hash was taken.
    pub collisions: i32,
    /// All that there are, oldest first.
    all: Vec<Arc<ControllerRevision>>,
}

/// A revision's name.
pub(super) fn name_of(revision: &ControllerRevision) -> &str {
    revision.metadata.name()
}

impl History {
    /// The spec with the template of the revision that the Pod of this number is to have, and the revision's name. A
    /// number below the partition keeps what it has. Mirrors `newVersionedStatefulSetPod`.
    pub fn version_for(&self, context: &Sync, ordinal: i32) -> (StatefulSetSpec, String) {
        let spec = &context.spec;
        let strategy = spec.update_strategy.clone().unwrap_or_default();
        let kept = match strategy.rolling_update {
            None => context.set.status.as_ref().and_then(|status| status.current_replicas).unwrap_or(0),
            Some(rolling) => rolling.partition.unwrap_or(0),
        };
        let is_rolling = strategy.type_.as_deref() == Some("RollingUpdate");
        let is_kept = is_rolling && ordinal < identity::ordinals(spec).start.saturating_add(kept);
        let revision = if is_kept { &self.current } else { &self.update };
        let template = template_of(revision).unwrap_or_else(|| spec.template.clone());
        (StatefulSetSpec { template, ..spec.clone() }, name_of(revision).to_owned())
    }
}

impl StatefulSets {
    /// The StatefulSet's revisions, after adoption. None is released; and a StatefulSet that is being deleted wants those
    /// that the garbage collector has just made orphans, is told that it is too late, and does nothing more.
    /// Mirrors `adoptOrphanRevisions` and `ListControllerRevisions`.
    pub(super) async fn claim_revisions(
        &self,
        key: &Key,
        set: &Arc<StatefulSet>,
        selector: &Selector,
    ) -> Result<Vec<Arc<ControllerRevision>>, Error> {
        let mut candidates = self.revisions.by_index(BY_CONTROLLER, &owned_by(&**set));
        candidates.extend(self.revisions.by_index(BY_CONTROLLER, &orphans_of(key.namespace())));
        let (owner, patched) = (&**set, |_: Option<&str>| {});
        let claimer = Claimer { client: &self.client, owner, selector, finalizers: &[], patched: &patched };
        let verdict = |revision: &ControllerRevision| {
            let meta = &revision.metadata;
            match controller_of(meta) {
                _ if !selector.matches(meta.labels.as_ref()) => Verdict::Ignore,
                None => Verdict::Adopt,
                Some(owner) if Some(&owner.uid) == set.metadata.uid.as_ref() => Verdict::Keep,
                Some(_) => Verdict::Ignore,
            }
        };
        claimer.claim_by(candidates, verdict).await
    }

    /// The two revisions that count. That of the present template is made if it is not there; an older one with the same
    /// template gets a new number, for it is rolled back to.
    pub(super) async fn history(
        &self,
        context: &Sync,
        mut all: Vec<Arc<ControllerRevision>>,
    ) -> Result<History, Error> {
        sort(&mut all);
        let status = context.set.status.clone().unwrap_or_default();
        let mut collisions = status.collision_count.unwrap_or(0);
        let equal = all.iter().rposition(|revision| holds(revision, &context.spec.template));
        let update = match equal {
            Some(i) if i + 1 == all.len() => all[i].clone(),
            Some(i) => {
                let revision = ControllerRevision { revision: next_number(&all), ..ControllerRevision::clone(&all[i]) };
                self.client.update(revision).await?
            }
            None => self.snapshot(context, next_number(&all), &mut collisions).await?,
        };
        let left = status.current_revision.unwrap_or_default();
        let current = all.iter().find(|revision| name_of(revision) == left).unwrap_or(&update).clone();
        Ok(History { current, update, collisions, all })
    }

    /// Writes the present template down. If another has its hash, it is hashed anew with one collision more.
    async fn snapshot(
        &self,
        context: &Sync,
        number: i64,
        collisions: &mut i32,
    ) -> Result<Arc<ControllerRevision>, Error> {
        let template = &context.spec.template;
        loop {
            let hash = data_hash(&patch(template), *collisions);
            let revision = revision_of(&*context.set, template, number, (HASH, &hash));
            let name = name_of(&revision).to_owned();
            match self.client.create(revision).await {
                Err(status) if status.is_already_exists() => {}
                made => return Ok(made?),
            }
            let there = self.client.get::<ControllerRevision>(context.key.namespace(), &name).await?;
            if holds(&there, template) {
                return Ok(there);
            }
            *collisions = collisions.wrapping_add(1);
        }
    }

    /// Deletes the oldest revisions beyond the limit that are not in use.
    pub(super) async fn truncate_history(&self, context: &Sync, history: &History) -> Result<(), Error> {
        let mut live: BTreeSet<&str> = context.pods.values().map(|pod| identity::revision_of(pod)).collect();
        live.extend([name_of(&history.current), name_of(&history.update)]);
        let unused: Vec<_> = history.all.iter().filter(|revision| !live.contains(name_of(revision))).collect();
        // Below zero there is no limit.
        let Ok(limit) = usize::try_from(context.spec.revision_history_limit.unwrap_or(10)) else { return Ok(()) };
        for revision in unused.iter().take(unused.len().saturating_sub(limit)) {
            let options = DeleteOptions::default();
            let namespace = context.key.namespace();
            match self.client.delete::<ControllerRevision>(namespace, name_of(revision), options).await {
                Err(status) if !status.is_not_found() => return Err(status.into()),
                _ => {}
            }
        }
        Ok(())
    }
}
