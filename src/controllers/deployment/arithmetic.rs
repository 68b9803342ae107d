//! The arithmetic of a rollout: how many Pods there may be in all, and how many in each ReplicaSet.
//!
//! Plain functions over plain numbers. Mirrors `pkg/controller/deployment/util/deployment_util.go`.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use object::share::scaled;

use super::revision;

/// How far a rolling update may leave the wanted size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fenceposts {
    /// So many Pods more than wanted.
    pub max_surge: i32,
    /// So many Pods fewer than wanted may be available.
    pub max_unavailable: i32,
}

/// The replicas that the Deployment asks for.
pub fn wanted(d: &Deployment) -> i32 {
    d.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// The replicas that the ReplicaSet asks for.
pub fn size(rs: &ReplicaSet) -> i32 {
    rs.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// The available replicas that the ReplicaSet's controller has seen.
pub fn available(rs: &ReplicaSet) -> i32 {
    rs.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0)
}

/// How many of the ReplicaSet's Pods are not available. None if more are than it asks for: then its status is older than
/// its size.
pub fn unavailable(rs: &ReplicaSet) -> Option<i32> {
    Some(size(rs) - available(rs)).filter(|count| *count >= 0)
}

/// Whether the strategy is RollingUpdate.
pub fn is_rolling_update(d: &Deployment) -> bool {
    strategy(d) == "RollingUpdate"
}

/// The strategy's name.
pub fn strategy(d: &Deployment) -> &str {
    let strategy = d.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    strategy.and_then(|strategy| strategy.type_.as_deref()).unwrap_or("RollingUpdate")
}

/// Surge rounds up and unavailability rounds down, so that a rollout can always move; if both come to zero, one Pod
/// may be unavailable. Mirrors `ResolveFenceposts`.
fn resolve_fenceposts(
    max_surge: Option<&IntOrString>,
    max_unavailable: Option<&IntOrString>,
    wanted: i32,
) -> Fenceposts {
    let max_surge = scaled(max_surge, wanted, true);
    let max_unavailable = scaled(max_unavailable, wanted, false);
    let stuck = max_surge == 0 && max_unavailable == 0;
    Fenceposts { max_surge, max_unavailable: if stuck { 1 } else { max_unavailable } }
}

/// The Deployment's fenceposts; both zero unless it rolls. Mirrors `MaxSurge` and `MaxUnavailable`.
pub fn fenceposts(d: &Deployment) -> Fenceposts {
    if !is_rolling_update(d) {
        return Fenceposts::default();
    }
    let strategy = d.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let wanted = wanted(d);
    let resolved = resolve_fenceposts(
        rolling.and_then(|rolling| rolling.max_surge.as_ref()),
        rolling.and_then(|rolling| rolling.max_unavailable.as_ref()),
        wanted,
    );
    // Of no Pods none can be unavailable.
    Fenceposts { max_unavailable: resolved.max_unavailable.min(wanted), ..resolved }
}

/// The most Pods there may be at once.
pub fn max_replicas(d: &Deployment) -> i32 {
    wanted(d).saturating_add(fenceposts(d).max_surge)
}

/// The fewest Pods that must be available.
pub fn min_available(d: &Deployment) -> i32 {
    wanted(d) - fenceposts(d).max_unavailable
}

/// The size that the new ReplicaSet may have now: as much of the surge as is free, but never more than wanted.
/// `total` is the size of all ReplicaSets together. Mirrors `NewRSNewReplicas`.
pub fn new_replicas(wanted: i32, max_replicas: i32, total: i32, new: i32) -> i32 {
    if total >= max_replicas {
        return new;
    }
    new + (max_replicas - total).min(wanted - new)
}

/// By how many Pods all old ReplicaSets together may shrink now. Pods of the new ReplicaSet that are not available
/// yet count as if they were missing, so that old Pods wait for them. Mirrors `reconcileOldReplicaSets`.
pub fn max_scaled_down(total: i32, min_available: i32, new: i32, new_available: i32) -> i32 {
    total - min_available - (new - new_available)
}

/// How much of a scaling falls to one of several active ReplicaSets, in proportion to its size: `to_add` is what all
/// together must gain (or lose), `added` what the ones before it took. Mirrors `GetReplicaSetProportion`.
pub fn proportion(rs: &ReplicaSet, d: &Deployment, to_add: i32, added: i32) -> i32 {
    if size(rs) == 0 || to_add == 0 || to_add == added {
        return 0;
    }
    let (fraction, allowed) = (fraction(rs, d), to_add - added);
    if to_add > 0 { fraction.min(allowed) } else { fraction.max(allowed) }
}

/// The gain that keeps the ReplicaSet's share of the Deployment. Mirrors `getReplicaSetFraction`.
fn fraction(rs: &ReplicaSet, d: &Deployment) -> i32 {
    let size = size(rs);
    if wanted(d) == 0 {
        return -size;
    }
    // Without the annotation, the share is measured by how many Pods there are.
    let actual = d.status.as_ref().and_then(|status| status.replicas).unwrap_or(0);
    let before = match revision::max_replicas(rs) {
        None | Some(0) => actual,
        Some(before) => before,
    };
    if before == 0 {
        return 0;
    }
    let exact = f64::from(size) * f64::from(max_replicas(d)) / f64::from(before);
    // To the nearest, halves away from zero, as `integer.RoundToInt32`.
    exact.round() as i32 - size
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn int_or_percent(text: &str) -> IntOrString {
        text.parse().map_or(IntOrString::String(text.into()), IntOrString::Int)
    }

    fn deployment(replicas: i32, strategy: Value) -> Deployment {
        let spec = json!({"replicas": replicas, "selector": {}, "template": {}, "strategy": strategy});
        serde_json::from_value(json!({"spec": spec})).unwrap()
    }

    fn rolling(replicas: i32, surge: &str, unavailable: &str) -> Deployment {
        let rolling = json!({"maxSurge": int_or_percent(surge), "maxUnavailable": int_or_percent(unavailable)});
        deployment(replicas, json!({"type": "RollingUpdate", "rollingUpdate": rolling}))
    }

    fn replica_set(size: i32, max_replicas: Option<i32>) -> ReplicaSet {
        let annotations = max_replicas.map(|max| json!({"deployment.kubernetes.io/max-replicas": max.to_string()}));
        let spec = json!({"replicas": size, "selector": {}});
        serde_json::from_value(json!({"metadata": {"annotations": annotations}, "spec": spec})).unwrap()
    }

    #[test]
    fn fenceposts_are_rounded_apart() {
        for (replicas, surge, unavailable, want) in [
            (4, "25%", "25%", (1, 1)),
            (2, "25%", "25%", (1, 0)),
            (10, "25%", "25%", (3, 2)),
            (1, "25%", "25%", (1, 0)),
            (3, "0", "0", (0, 1)),
            (3, "0", "10%", (0, 1)),
            (3, "100%", "0", (3, 0)),
            (2, "1", "5", (1, 2)),
            (0, "25%", "25%", (0, 0)),
        ] {
            let got = fenceposts(&rolling(replicas, surge, unavailable));
            assert_eq!((got.max_surge, got.max_unavailable), want, "{replicas} {surge} {unavailable}");
        }
        assert_eq!(fenceposts(&deployment(4, json!({"type": "Recreate"}))), Fenceposts::default());
    }

    #[test]
    fn more_available_than_asked_for_is_old_news() {
        for (size, available, want) in [(3, 1, Some(2)), (3, 3, Some(0)), (2, 3, None)] {
            let mut rs = replica_set(size, None);
            rs.status.get_or_insert_default().available_replicas = Some(available);
            assert_eq!(unavailable(&rs), want, "{available} of {size}");
        }
    }

    #[test]
    fn the_new_one_grows_into_the_surge() {
        // wanted, most, total, new -> new
        for (wanted, max, total, new, want) in
            [(4, 5, 4, 0, 1), (4, 5, 5, 1, 1), (4, 5, 4, 1, 2), (4, 5, 3, 2, 4), (4, 5, 0, 0, 4), (2, 3, 9, 1, 1)]
        {
            assert_eq!(new_replicas(wanted, max, total, new), want, "{wanted} {max} {total} {new}");
        }
    }

    #[test]
    fn the_old_ones_wait_for_the_new() {
        // total, fewest available, new, new available -> room
        for (total, min, new, ready, want) in
            [(5, 3, 1, 0, 1), (4, 3, 1, 0, 0), (5, 3, 2, 0, 0), (5, 3, 2, 1, 1), (8, 4, 4, 4, 4)]
        {
            assert_eq!(max_scaled_down(total, min, new, ready), want, "{total} {min} {new} {ready}");
        }
    }

    #[test]
    fn scaling_keeps_the_shares() {
        // size, most before, wanted now (surge 0), to add, added before -> gain
        for (size, before, wanted, to_add, added, want) in [
            (5, Some(10), 20, 10, 0, 5),
            (3, Some(10), 15, 5, 0, 2),
            (3, Some(10), 15, 5, 4, 1),
            (5, Some(10), 5, -5, 0, -2),
            (5, Some(10), 5, -5, -4, -1),
            (5, Some(10), 0, -10, 0, -5),
            (0, Some(10), 20, 10, 0, 0),
            (5, None, 20, 10, 0, 0),
            (50_000, Some(100_000), 120_000, 20_000, 0, 10_000),
        ] {
            let d = rolling(wanted, "0", "0");
            let got = proportion(&replica_set(size, before), &d, to_add, added);
            assert_eq!(got, want, "{size} of {before:?} to {wanted}, {added} of {to_add} taken");
        }
    }
}
