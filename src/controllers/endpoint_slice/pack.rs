//! Which slice an endpoint goes into. Mirrors `reconcileByPortMapping` and `finalize` of `k8s.io/endpointslice`.
//!
//! Every slice that changes is sent to every node, so the aim is to change few of them rather than to fill them all:
//! endpoints stay where they are; new ones go first into slices that change anyway, then into one that has room, and
//! only then into new ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::MANAGED_BY;
use crate::service_pods::HEADLESS;
use object::well_known::SERVICE_NAME;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// The labels that a slice has for what it is, and not from its Service. Mirrors `isReservedLabelKey`.
pub const RESERVED: [&str; 3] = [HEADLESS, SERVICE_NAME, MANAGED_BY];

/// What is to be written. Creations come first, so that no endpoint is missing in between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// New slices.
    pub create: Vec<EndpointSlice>,
    /// Slices as they are to be.
    pub update: Vec<EndpointSlice>,
    /// Slices that are not needed any more.
    pub delete: Vec<Arc<EndpointSlice>>,
}

/// How slices are to look, apart from their endpoints.
pub struct Shape<'a> {
    /// How many endpoints one takes.
    pub max: usize,
    /// The labels that an existing slice is to have.
    pub labels: &'a dyn Fn(&EndpointSlice) -> Labels,
    /// A new slice, still empty.
    pub new: &'a dyn Fn() -> EndpointSlice,
    /// Whether an endpoint that is there is as it is to be.
    pub same: &'a dyn Fn(&Endpoint, &Endpoint) -> bool,
}

impl Plan {
    /// Brings the slices of one set of ports to hold exactly the desired endpoints.
    pub fn pack(&mut self, existing: &[Arc<EndpointSlice>], desired: Vec<Endpoint>, shape: &Shape<'_>) {
        let mut waiting: BTreeMap<String, Endpoint> = BTreeMap::new();
        let mut order = Vec::new();
        for endpoint in desired {
            let id = identity(&endpoint);
            if waiting.insert(id.clone(), endpoint).is_none() {
                order.push(id);
            }
        }
        let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
        for slice in existing {
            let there = slice.endpoints.as_deref().unwrap_or_default();
            let kept: Vec<Endpoint> = there.iter().filter_map(|old| waiting.remove(&identity(old))).collect();
            let labels = (shape.labels)(slice);
            let same = kept.len() == there.len() && there.iter().zip(&kept).all(|(old, new)| (shape.same)(old, new));
            match (same, kept.is_empty()) {
                (false, true) => self.delete.push(slice.clone()),
                (true, _) if same_but_reserved(slice.metadata.labels.as_ref(), &labels) => {
                    unchanged.push(slice.clone());
                }
                _ => {
                    let mut slice = EndpointSlice::clone(slice);
                    slice.endpoints = Some(kept);
                    slice.metadata.labels = Some(labels);
                    changed.push(slice);
                }
            }
        }
        let mut left = order.into_iter().filter_map(|id| waiting.remove(&id)).collect::<Vec<_>>().into_iter();
        // The fullest first.
        changed.sort_by_key(|slice| std::cmp::Reverse(len(slice)));
        changed.iter_mut().for_each(|slice| fill(slice, &mut left, shape.max));
        while left.len() > 0 {
            match best_fit(&unchanged, left.len(), shape.max) {
                Some(index) => {
                    let mut slice = EndpointSlice::clone(&unchanged.remove(index));
                    fill(&mut slice, &mut left, shape.max);
                    changed.push(slice);
                }
                None => {
                    let mut slice = (shape.new)();
                    fill(&mut slice, &mut left, shape.max);
                    self.create.push(slice);
                }
            }
        }
        self.update.append(&mut changed);
    }

    /// Turns a creation and a deletion into an update of the slice that would have gone, if `may_reuse` allows it.
    pub fn recycle(&mut self, may_reuse: impl Fn(&EndpointSlice) -> bool) {
        let mut kept = Vec::new();
        for old in std::mem::take(&mut self.delete) {
            let fits = |new: &EndpointSlice| old.address_type == new.address_type && may_reuse(&old);
            match self.create.last().is_some_and(fits).then(|| self.create.pop()).flatten() {
                Some(mut new) => {
                    new.metadata.name.clone_from(&old.metadata.name);
                    self.update.push(new);
                }
                None => kept.push(old),
            }
        }
        self.delete = kept;
    }
}

/// What identifies an endpoint, even when its other fields change: address, host name and Pod.
pub fn identity(endpoint: &Endpoint) -> String {
    let mut addresses = endpoint.addresses.clone();
    addresses.sort_unstable();
    let target = endpoint.target_ref.as_ref();
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    [
        addresses.join(","),
        text(endpoint.hostname.as_ref()),
        text(target.and_then(|target| target.namespace.as_ref())),
        text(target.and_then(|target| target.name.as_ref())),
    ]
    .join(" ")
}

/// A label that says whose slice it is, or that the Service has no address, is put right with the next change of the
/// slice, and is no reason for one. Mirrors what `setEndpointSliceLabels` calls updated.
fn same_but_reserved(there: Option<&Labels>, wanted: &Labels) -> bool {
    let others = |labels: &Labels| labels.iter().filter(|(key, _)| !RESERVED.contains(&key.as_str())).count();
    let there = there.unwrap_or(const { &Labels::new() });
    let has = |(key, value): (&String, &String)| RESERVED.contains(&key.as_str()) || there.get(key) == Some(value);
    others(there) == others(wanted) && wanted.iter().all(has)
}

fn len(slice: &EndpointSlice) -> usize {
    slice.endpoints.as_ref().map_or(0, Vec::len)
}

fn fill(slice: &mut EndpointSlice, from: &mut impl Iterator<Item = Endpoint>, max: usize) {
    let room = max.saturating_sub(len(slice));
    slice.endpoints.get_or_insert_default().extend(from.take(room));
}

/// The slice that is closest to full once it holds `count` more. Mirrors `GetSliceToFill`.
fn best_fit(slices: &[Arc<EndpointSlice>], count: usize, max: usize) -> Option<usize> {
    let fits = |(index, slice): (usize, &Arc<EndpointSlice>)| {
        let free = max.checked_sub(count + len(slice))?;
        (count < max).then_some((free, index))
    };
    slices.iter().enumerate().filter_map(fits).min().map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(n: usize, ready: bool) -> Endpoint {
        let conditions =
            k8s_openapi::api::discovery::v1::EndpointConditions { ready: Some(ready), ..Default::default() };
        Endpoint { addresses: vec![format!("10.0.0.{n}")], conditions: Some(conditions), ..Endpoint::default() }
    }

    fn slice(name: &str, endpoints: &[usize]) -> Arc<EndpointSlice> {
        let mut slice = EndpointSlice { address_type: "IPv4".into(), ..EndpointSlice::default() };
        slice.metadata.name = Some(name.to_owned());
        slice.metadata.labels = Some(Labels::new());
        slice.endpoints = Some(endpoints.iter().map(|n| endpoint(*n, true)).collect());
        Arc::new(slice)
    }

    /// `a:1,2` for an update, `+:1` for a creation, `-a` for a deletion.
    fn plan(existing: &[Arc<EndpointSlice>], desired: Vec<Endpoint>) -> String {
        let new = || EndpointSlice { address_type: "IPv4".into(), ..EndpointSlice::default() };
        let mut plan = Plan::default();
        plan.pack(existing, desired, &Shape { max: 3, labels: &|_| Labels::new(), new: &new, same: &|a, b| a == b });
        plan.recycle(|_| true);
        let endpoints = |slice: &EndpointSlice| {
            let last = |e: &Endpoint| e.addresses[0].rsplit('.').next().unwrap_or_default().to_owned();
            slice.endpoints.iter().flatten().map(last).collect::<Vec<_>>().join(",")
        };
        let name = |slice: &EndpointSlice| slice.metadata.name.clone().unwrap_or_else(|| "+".into());
        let write = |slice: &EndpointSlice| format!("{}:{}", name(slice), endpoints(slice));
        let writes = plan.create.iter().chain(&plan.update).map(write);
        writes.chain(plan.delete.iter().map(|slice| format!("-{}", name(slice)))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn labels_that_say_whose_slice_it_is_are_no_reason_to_write() {
        let labels = |all: &[(&str, &str)]| -> Labels {
            all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let same = |there, wanted| same_but_reserved(Some(&labels(there)), &labels(wanted));
        assert!(same(&[("app", "web")], &[("app", "web"), (HEADLESS, "")]));
        assert!(same(&[("app", "web"), (MANAGED_BY, "me")], &[("app", "web"), (MANAGED_BY, "you")]));
        assert!(!same(&[("app", "web")], &[("app", "shop")]));
        assert!(!same(&[("app", "web"), ("tier", "front")], &[("app", "web")]));
        assert!(!same(&[], &[("app", "web")]));
    }

    #[test]
    fn few_slices_change() {
        let all = |numbers: &[usize]| numbers.iter().map(|n| endpoint(*n, true)).collect::<Vec<_>>();
        let (a, b) = (slice("a", &[1, 2]), slice("b", &[3]));
        #[rustfmt::skip]
        let cases = [
            (vec![], vec![1, 2, 3, 4], "+:1,2,3 +:4"),
            (vec![a.clone()], vec![1, 2], ""),
            (vec![a.clone(), b.clone()], vec![1, 2, 3, 4], "a:1,2,4"),
            (vec![a.clone(), b.clone()], vec![1, 2, 3, 4, 5], "b:3,4,5"),
            (vec![a.clone(), b.clone()], vec![1, 3, 4, 5], "a:1,4,5"),
            (vec![a.clone(), b.clone()], vec![1, 2], "-b"),
            (vec![a.clone()], vec![7, 8], "a:7,8"),
            (vec![a.clone(), b.clone()], vec![1, 2, 3, 4, 5, 6, 7], "+:4,5,6 a:1,2,7"),
        ];
        for (existing, desired, want) in cases {
            assert_eq!(plan(&existing, all(&desired)), want, "{desired:?}");
        }
        assert_eq!(plan(&[a], vec![endpoint(1, true), endpoint(2, false)]), "a:1,2", "a condition changed");
    }
}
