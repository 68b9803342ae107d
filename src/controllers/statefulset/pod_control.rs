//! Making, mending and deleting the Pods of a StatefulSet, and telling of it. Mirrors `stateful_pod_control.go`.

use std::sync::Arc;
use std::time::Duration;

use client::{Error, EventType};
use object::{Accessor, Key, Kind, Pod};
use wire::DeleteOptions;

use super::identity::{claims, has_claims, identify, is_itself, mount_claims};
use super::{StatefulSets, Sync};

/// How long to wait after a write that was made from an old version, each time; then it has failed. Mirrors
/// `retry.DefaultBackoff`.
const CONFLICT_PAUSES: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(250)];

impl StatefulSets {
    /// Creates a Pod, and before it the claims that it misses.
    pub(super) async fn create_pod(&self, context: &Sync, ordinal: i32, pod: Pod) -> Result<(), Error> {
        let name = pod.metadata.name.clone().unwrap_or_default();
        if let Err(error) = self.create_claims(context, ordinal, &name).await {
            self.tell(context, "Create", &name, Some(&error));
            return Err(error);
        }
        let created = match self.client.create(pod.clone()).await {
            // The cache did not show it yet.
            Err(status) if status.is_already_exists() => return Err(status.into()),
            created => created.map_err(Error::from),
        };
        if let Ok(created) = &created {
            self.wrote(context, created);
        }
        // As far as the cache shows the claims already. The Pod has no uid here, even if it has been made.
        self.keep_claims_or_tell(context, ordinal, &pod).await?;
        self.tell(context, "Create", &name, created.as_ref().err());
        created.map(drop)
    }

    /// Makes the claims that a Pod misses which waits for them. Mirrors `createMissingPersistentVolumeClaims`.
    pub(super) async fn create_missing_claims(&self, context: &Sync, ordinal: i32, pod: &Pod) -> Result<(), Error> {
        self.create_claims(context, ordinal, pod.metadata.name()).await?;
        self.keep_claims_or_tell(context, ordinal, pod).await
    }

    async fn keep_claims_or_tell(&self, context: &Sync, ordinal: i32, pod: &Pod) -> Result<(), Error> {
        let kept = self.keep_claims_in_line(context, ordinal, pod).await;
        if let Err(error) = &kept {
            self.tell(context, "Update", pod.metadata.name(), Some(error));
        }
        kept
    }

    /// Deletes a Pod, gracefully. One that is gone has been deleted. Mirrors `DeleteStatefulPod`.
    pub(super) async fn delete_pod(&self, context: &Sync, pod: &Pod) -> Result<(), Error> {
        let name = pod.metadata.name();
        match self.client.delete::<Pod>(context.key.namespace(), name, DeleteOptions::default()).await {
            Err(status) if !status.is_not_found() => {
                let error = Error::from(status);
                self.tell(context, "Delete", name, Some(&error));
                Err(error)
            }
            _ => {
                self.tell(context, "Delete", name, None);
                Ok(())
            }
        }
    }

    /// Gives a Pod back the labels that a client removed, and its claims the owners that they should have. The Pod is written
    /// even where only the claims were out of line. One that was adopted without its claims cannot be helped: its volumes
    /// cannot change, and the API server says so. Mirrors `UpdateStatefulPod`.
    pub(super) async fn mend_pod(&self, context: &Sync, ordinal: i32, pod: &Arc<Pod>) -> Result<(), Error> {
        let key = Key::of_meta(&pod.metadata);
        let (mut newest, mut pauses) = (pod.clone(), CONFLICT_PAUSES.iter());
        let mut written = None;
        while let Some(mended) = self.mended(context, ordinal, &newest).await? {
            match self.client.update(mended).await {
                Err(status)
                    if status.is_conflict()
                        && let Some(pause) = pauses.next() =>
                {
                    self.client.sleep(*pause).await;
                    newest = self.pods.get(&key).unwrap_or(newest);
                    written = Some(Ok(()));
                }
                answer => {
                    let answer: Result<Arc<Pod>, Error> = answer.map_err(Error::from);
                    written = Some(answer.map(|updated| self.wrote(context, &updated)));
                    break;
                }
            }
        }
        let Some(written) = written else { return Ok(()) };
        self.tell(context, "Update", key.name(), written.as_ref().err());
        written
    }

    /// The Pod as it is to be; None if it is so.
    async fn mended(&self, context: &Sync, ordinal: i32, pod: &Arc<Pod>) -> Result<Option<Pod>, Error> {
        let mut mended = Pod::clone(pod);
        let mut right = is_itself(&context.set, pod, ordinal);
        identify(&mut mended, ordinal);
        if !has_claims(&context.set, &context.spec, pod, ordinal) {
            right = false;
            mount_claims(&mut mended, &claims(&context.set, &context.spec, ordinal));
            let name = pod.metadata.name();
            if let Err(error) = self.create_claims(context, ordinal, name).await {
                self.tell(context, "Update", name, Some(&error));
                return Err(error);
            }
        }
        if !self.claims_in_line(context, ordinal, pod) {
            right = false;
            self.keep_claims_or_tell(context, ordinal, pod).await?;
        }
        Ok((!right).then_some(mended))
    }

    fn wrote(&self, context: &Sync, pod: &Pod) {
        self.consistency.wrote(&context.key, Kind::Pod, pod.metadata.resource_version.as_deref());
    }

    /// `Create Pod db-0 in StatefulSet db successful`.
    fn tell(&self, context: &Sync, verb: &str, pod: &str, error: Option<&Error>) {
        let set = context.key.name();
        let (type_, reason, message) = match error {
            None => {
                let message = format!("{verb} Pod {pod} in StatefulSet {set} successful");
                (EventType::Normal, format!("Successful{verb}"), message)
            }
            Some(error) => {
                let message = format!("{verb} Pod {pod} in StatefulSet {set} failed error: {error}");
                (EventType::Warning, format!("Failed{verb}"), message)
            }
        };
        self.recorder.event(&*context.set, type_, &reason, message);
    }
}
