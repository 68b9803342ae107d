//! What is in a Namespace, and how it is deleted: for each kind one DELETE of the whole collection, and one LIST to see
//! what is left of it. Mirrors `deletion/namespaced_resources_deleter.go`.
//!
//! Which kinds there are it reads from the definitions of custom ones, where the real controller asks for discovery
//! documents.
//!
//! The real controller takes the kinds after the Pods in the order of a Go map, which is another one each time; here it is
//! the order of discovery.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;

use object::discovery::group_rank;
use object::pod::has_ended;
use object::time::Instant;
use object::{Discovery, Kind, Pod, Status};
use wire::{self, Body, DeleteOptions, Propagation, Verb};

use super::conditions::Conditions;
use super::{NamespaceController, name_of};

/// How long a kubelet may take to say that a Pod whose grace is over has ended.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How long finalizers are expected to take, in seconds.
const FINALIZER_ESTIMATE: u64 = 15;

/// What one attempt to empty a Namespace came to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// In how many seconds what is left should be gone; 0: nothing is left.
    pub estimate: u64,
    /// What went wrong.
    pub errors: Vec<String>,
    /// Whether the conditions say something that they did not say before.
    pub is_news: bool,
    /// Whether Pods are left that will end by themselves: their grace is running, or has just run out.
    pub pods_end: bool,
}

impl Outcome {
    /// Whether the next attempt may achieve more than this one without help from another client.
    pub(super) fn goes_on(&self) -> bool {
        self.is_news || self.pods_end
    }
}

/// What is left of one kind.
#[derive(Debug, Default)]
struct Left {
    estimate: u64,
    count: usize,
    finalizers: BTreeMap<String, usize>,
    /// When the last of them has had its grace.
    ends_by: Option<Instant>,
}

/// What is left of all kinds, for the conditions.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Objects by kind.
    pub kinds: BTreeMap<Kind, usize>,
    /// Objects by the finalizer that holds them.
    pub finalizers: BTreeMap<String, usize>,
}

impl Totals {
    fn add(&mut self, kind: Kind, left: Left) {
        if left.count > 0 {
            self.kinds.insert(kind, left.count);
        }
        for (finalizer, count) in left.finalizers {
            *self.finalizers.entry(finalizer).or_default() += count;
        }
    }
}

/// The kinds that may have objects in a namespace, in the order of discovery: by group, and within it by name.
fn namespaced_kinds(discovery: &Discovery) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = discovery.kinds().filter(|kind| kind.info().namespaced && kind.is_kept()).collect();
    kinds.sort_by_key(|kind| (group_rank(kind.info().group), kind.info().group, kind.info().plural));
    kinds
}

impl NamespaceController {
    /// Deletes what can be deleted now, and writes into the status what is left. Mirrors `deleteAllContent`.
    pub(super) async fn delete_all_content(&self, namespace: &mut Namespace) -> Outcome {
        let name = name_of(namespace).to_owned();
        let deleted_at = namespace.metadata.deletion_timestamp.as_ref().map(Instant::from_time).unwrap_or_default();
        let (mut outcome, mut conditions) = (Outcome::default(), Conditions::default());
        let discovery = match self.client.collection(Verb::List, Kind::CustomResourceDefinition, "", Body::None).await {
            Ok(definitions) => Discovery::of(&definitions),
            // What it does not know of it will find the next time.
            Err(status) => {
                outcome.errors.push(status.to_string());
                Discovery::default()
            }
        };
        let mut totals = Totals::default();
        let (left, error) = self.delete_all_of(Kind::Pod, &name, deleted_at).await;
        outcome.estimate = left.estimate;
        if let Some(error) = error {
            outcome.errors.push(format!("failed to delete pods for namespace: {name}, err: {error}"));
            conditions.deletion_failed(error);
        }
        if left.count > 0 {
            outcome.pods_end = left.ends_by.is_some_and(|end| end + LAST_WORDS > self.client.now());
            // Nothing of what is left is told to the conditions: Kubernetes 1.36 says that all content is removed while
            // it waits for Pods (issue 138208 of kubernetes/kubernetes).
            outcome.is_news = self.write_conditions(conditions, namespace).await;
            return outcome;
        }
        for kind in namespaced_kinds(&discovery).into_iter().filter(|kind| *kind != Kind::Pod) {
            let (left, error) = self.delete_all_of(kind, &name, deleted_at).await;
            if let Some(error) = error {
                outcome.errors.push(error.clone());
                conditions.deletion_failed(error);
            }
            outcome.estimate = outcome.estimate.max(left.estimate);
            totals.add(kind, left);
        }
        conditions.remaining(&totals);
        outcome.is_news = self.write_conditions(conditions, namespace).await;
        outcome
    }

    /// Writes the conditions if they say anything new. A refused write is only logged by the real controller.
    async fn write_conditions(&self, conditions: Conditions, namespace: &mut Namespace) -> bool {
        let is_news = conditions.update(namespace.status.get_or_insert_default(), self.client.now());
        if is_news {
            let _ = self.client.update_status(namespace.clone()).await;
        }
        is_news
    }

    /// Deletes all of one kind, and says what is left, or went wrong.
    async fn delete_all_of(&self, kind: Kind, namespace: &str, deleted_at: Instant) -> (Left, Option<String>) {
        let mut left = Left::default();
        let error = self.delete_and_count(kind, namespace, deleted_at, &mut left).await;
        (left, error.err().map(|error| error.to_string()))
    }

    /// Mirrors `deleteAllContentForGroupVersionResource`.
    async fn delete_and_count(
        &self,
        kind: Kind,
        namespace: &str,
        deleted_at: Instant,
        left: &mut Left,
    ) -> Result<(), wire::Error> {
        if kind == Kind::Pod {
            left.estimate = self.grace_of_pods(namespace, deleted_at).await?;
        }
        let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        self.client.collection(Verb::DeleteCollection, kind, namespace, Body::Delete(options)).await?;
        let items = self.client.collection(Verb::List, kind, namespace, Body::None).await?;
        if items.is_empty() {
            left.estimate = 0;
            return Ok(());
        }
        left.count = items.len();
        left.ends_by =
            items.iter().filter_map(|object| object.meta().deletion_timestamp.as_ref()).map(Instant::from_time).max();
        for finalizer in items.iter().flat_map(|object| object.meta().finalizers.iter().flatten()) {
            *left.finalizers.entry(finalizer.clone()).or_default() += 1;
        }
        match (left.estimate, left.finalizers.is_empty()) {
            (0, false) => left.estimate = FINALIZER_ESTIMATE,
            (0, true) => return Err(unexpected(kind, namespace).into()),
            _ => {}
        }
        Ok(())
    }

    /// The longest grace of a Pod that still runs, unless the Namespace has been going for longer than that. Mirrors
    /// `estimateGracefulTermination`.
    async fn grace_of_pods(&self, namespace: &str, deleted_at: Instant) -> Result<u64, wire::Error> {
        let pods = self.client.list::<Pod>(namespace, "").await?.items;
        let grace = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
        let longest = pods.iter().filter(|pod| !has_ended(pod)).filter_map(|pod| grace(pod)).max().unwrap_or(0);
        let longest = u64::try_from(longest).unwrap_or(0);
        let elapsed = self.client.now() - deleted_at;
        Ok(if elapsed >= Duration::from_secs(longest) { 0 } else { longest })
    }
}

/// Nothing holds the objects, and yet they are there.
fn unexpected(kind: Kind, namespace: &str) -> Status {
    let info = kind.info();
    let which = format!("{}/{}, Resource={}", info.group, info.version, info.plural);
    let message = format!("unexpected items still remain in namespace: {namespace} for gvr: {which}");
    Status::new(object::status::Reason::Unknown, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_as_discovery_lists_them() {
        let kinds = namespaced_kinds(&Discovery::default());
        let place = |kind: Kind| kinds.iter().position(|there| *there == kind).unwrap_or_else(|| panic!("{kind}"));
        let order = [
            Kind::ConfigMap,
            Kind::Endpoints,
            Kind::PersistentVolumeClaim,
            Kind::Service,
            Kind::Deployment,
            Kind::ReplicaSet,
            Kind::RoleBinding,
            Kind::Role,
            Kind::Lease,
            Kind::EndpointSlice,
        ];
        assert!(order.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{kinds:?}");
        assert!(!kinds.contains(&Kind::Node));
        assert!(!kinds.contains(&Kind::LocalSubjectAccessReview), "there is none to be deleted");
    }
}
