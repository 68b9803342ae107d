//! Rollback by annotation: the way of the API before apps/v1. `kubectl rollout undo` patches the template itself.
//! Mirrors `pkg/controller/deployment/rollback.go`.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use client::{Error, EventType};

use super::Deployments;
use super::revision::{self, ROLLBACK_TO, equal_ignoring_hash, last_revision, template_of};

impl Deployments {
    /// Takes over the template of the ReplicaSet with this revision (0: of the one before the newest), and in any
    /// case takes the annotation away. Mirrors `rollback`.
    pub(super) async fn roll_back(
        &self,
        d: &mut Deployment,
        owned: &[Arc<ReplicaSet>],
        asked: i64,
    ) -> Result<(), Error> {
        let sets = self.sets(d, owned, true).await?;
        let target = if asked == 0 { last_revision(sets.all().map(|rs| &**rs)) } else { asked };
        if target == 0 {
            let message = "Unable to find last revision.";
            self.recorder.event(d, EventType::Warning, "DeploymentRollbackRevisionNotFound", message);
            return self.clear_rollback(d).await;
        }
        let Some(rs) = sets.all().find(|rs| revision::revision(&rs.metadata) == Some(target)) else {
            let message = "Unable to find the revision to rollback to.";
            self.recorder.event(d, EventType::Warning, "DeploymentRollbackRevisionNotFound", message);
            return self.clear_rollback(d).await;
        };
        let name = d.metadata.name.clone().unwrap_or_default();
        let own = d.spec.as_ref().map(|spec| &spec.template);
        if own.zip(template_of(rs)).is_some_and(|(a, b)| equal_ignoring_hash(a, b)) {
            let message = format!("The rollback revision contains the same template as current deployment \"{name}\"");
            self.recorder.event(d, EventType::Warning, "DeploymentRollbackTemplateUnchanged", message);
            return self.clear_rollback(d).await;
        }
        revision::roll_back(d, rs);
        self.clear_rollback(d).await?;
        let message = format!("Rolled back deployment \"{name}\" to revision {target}");
        self.recorder.event(d, EventType::Normal, "DeploymentRollback", message);
        Ok(())
    }

    /// Mirrors `updateDeploymentAndClearRollbackTo`.
    async fn clear_rollback(&self, d: &mut Deployment) -> Result<(), Error> {
        if let Some(annotations) = &mut d.metadata.annotations {
            annotations.remove(ROLLBACK_TO);
        }
        self.client.update(d.clone()).await?;
        Ok(())
    }
}
