//! ResourceQuota: a namespace gets no more than it is allowed.
//!
//! The last check of all, and the only one that writes. An object is paid for before it is stored: the request goes on only
//! after the quota's `status.used` has been raised, by an update that a second request in the same moment would lose. So
//! two creates can never share what is left for one, and no controller has to be asked. Its price is that nothing is given
//! back: if the object is not stored after all, the quota stays charged until its controller counts again.
//!
//! A quota that its controller has not seen yet has no `status.hard`, and forbids nothing.
//!
//! Mirrors `k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go`.
//!
//! Left out: limited resources of the server's configuration, and the batches in which the real plugin works off
//! requests that wait: here they come one after the other.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ResourceQuota;

use object::quantity::Amount;
use object::quota::{self, hard, matching, shown, used};
use object::resources::{ResourceList, add, quantities};
use object::time::Instant;
use object::{Accessor, Object};
use wire::Subresource;

/// Whether the change can cost anything: a new object, one of the kinds that can grow, or a Pod that comes under other
/// quotas. Of the parts of an object it is a Pod's size, and the status of a claim, whose volume may be given more than it
/// asks for. Mirrors `Evaluator.Handles`.
pub fn is_charged(part: Option<Subresource>, old: Option<&Object>, new: &Object) -> bool {
    let costs_more = match (part, old, new) {
        (Some(Subresource::Resize), _, _) => true,
        (Some(part), _, new) => part == Subresource::Status && matches!(new, Object::PersistentVolumeClaim(_)),
        (None, None, _) | (None, _, Object::Service(_) | Object::PersistentVolumeClaim(_)) => true,
        (None, Some(Object::Pod(old)), Object::Pod(new)) => {
            quota::pod::is_terminating(old) != quota::pod::is_terminating(new)
        }
        _ => false,
    };
    quota::is_counted(new.kind()) && costs_more
}

/// The quotas that have to pay, charged; or why the object cannot be had. Mirrors `CheckRequest`.
pub fn charge(
    quotas: &[Arc<ResourceQuota>],
    old: Option<&Object>,
    new: &Object,
    now: Instant,
) -> Result<Vec<ResourceQuota>, String> {
    let mut concerned = Vec::new();
    for quota in quotas {
        let (name, hard) = (quota.metadata.name(), hard(quota));
        let measured = matching(new.kind(), &hard);
        if measured.is_empty() || !quota::is_about(quota, new) {
            continue;
        }
        if let Object::Pod(pod) = new
            && let Some(why) = quota::pod::left_unspecified(pod, &measured)
        {
            return Err(format!("failed quota: {name}: {why}"));
        }
        let used = used(quota);
        if measured.iter().any(|resource| !used.contains_key(*resource)) {
            return Err(format!("status unknown for quota: {name}, resources: {}", measured.join(",")));
        }
        concerned.push(quota);
    }
    let cost = quota::usage(new, now);
    let negative: Vec<&str> = cost.iter().filter(|(_, a)| a.is_negative()).map(|(name, _)| name.as_str()).collect();
    if !negative.is_empty() {
        return Err(format!("quota usage is negative for resource(s): {}", negative.join(",")));
    }
    let charged = concerned.into_iter().filter_map(|quota| {
        let before = old.filter(|old| quota::is_about(quota, old)).map(|old| quota::usage(old, now));
        charged(quota, &more_than(&cost, &before.unwrap_or_default())).transpose()
    });
    charged.collect()
}

/// The quota with `cost` added to what is used. None if it has nothing to pay.
fn charged(quota: &ResourceQuota, cost: &ResourceList) -> Result<Option<ResourceQuota>, String> {
    let (hard, used) = (hard(quota), used(quota));
    let only = |list: &ResourceList, keep: &dyn Fn(&str) -> bool| -> ResourceList {
        list.iter().filter(|(name, _)| keep(name)).map(|(name, amount)| (name.clone(), *amount)).collect()
    };
    let requested = only(cost, &|name| hard.contains_key(name));
    if requested.is_empty() {
        return Ok(None);
    }
    let mut after = used.clone();
    add(&mut after, &requested);
    let exceeded = |name: &str| requested.contains_key(name) && after.get(name) > hard.get(name);
    if requested.keys().any(|name| exceeded(name)) {
        let [requested, used, limited] = [&requested, &used, &hard].map(|list| shown(&only(list, &exceeded)));
        let name = quota.metadata.name();
        return Err(format!("exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"));
    }
    let mut charged = quota.clone();
    charged.status.get_or_insert_default().used = Some(quantities(&after));
    Ok(Some(charged))
}

/// What `cost` is above `before`, resource by resource; never less than nothing, and without the zeros.
fn more_than(cost: &ResourceList, before: &ResourceList) -> ResourceList {
    let more = |(name, amount): (&String, &Amount)| {
        let more = *amount - before.get(name).copied().unwrap_or_default();
        (more > Amount::ZERO).then(|| (name.clone(), more))
    };
    cost.iter().filter_map(more).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::object;
    use super::*;

    fn quota(spec: Value, hard: Value, used: Value) -> Arc<ResourceQuota> {
        let quota = json!({"metadata": {"name": "q", "namespace": "n"}, "spec": spec,
            "status": {"hard": hard, "used": used}});
        Arc::new(serde_json::from_value(quota).expect("a quota"))
    }

    fn pod(requests: Value, limits: Value) -> Object {
        object(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}, "spec": {
            "containers": [{"name": "a", "resources": {"requests": requests, "limits": limits}}, {"name": "b",
                "resources": {"requests": requests, "limits": limits}}]}}))
    }

    fn outcome(quota: Arc<ResourceQuota>, old: Option<&Object>, new: &Object) -> String {
        match charge(&[quota], old, new, Instant(0)) {
            Ok(charged) => charged.iter().map(|quota| shown(&used(quota))).collect::<Vec<_>>().join("; "),
            Err(why) => why,
        }
    }

    #[test]
    fn pods_pay_or_are_refused() {
        let small = || pod(json!({"cpu": "500m"}), json!({}));
        let scopes = |scope: &str| json!({"scopes": [scope]});
        for (spec, hard, used, new, expected) in [
            (json!({}), json!({"pods": "2"}), json!({"pods": "1"}), small(), "pods=2"),
            (
                json!({}),
                json!({"pods": "2"}),
                json!({"pods": "2"}),
                small(),
                "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2",
            ),
            // Only what is exceeded is named.
            (
                json!({}),
                json!({"requests.cpu": "2", "pods": "9"}),
                json!({"requests.cpu": "1500m", "pods": "1"}),
                small(),
                "exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=1500m, limited: requests.cpu=2",
            ),
            (
                json!({}),
                json!({"cpu": "2", "limits.cpu": "4", "limits.memory": "1Gi"}),
                json!({"cpu": "0", "limits.cpu": "0", "limits.memory": "0"}),
                small(),
                "failed quota: q: must specify limits.cpu for: a,b; limits.memory for: a,b",
            ),
            (
                json!({}),
                json!({"memory": "1Gi"}),
                json!({"memory": "0"}),
                pod(json!({"memory": "64Mi"}), json!({})),
                "memory=128Mi",
            ),
            // A new quota forbids nothing, one that was half counted everything.
            (json!({"hard": {"pods": "0"}}), json!({}), json!({}), small(), ""),
            (
                json!({}),
                json!({"pods": "2", "count/pods": "2"}),
                json!({"pods": "2"}),
                small(),
                "status unknown for quota: q, resources: count/pods,pods",
            ),
            (scopes("BestEffort"), json!({"pods": "0"}), json!({"pods": "0"}), small(), ""),
            (scopes("NotBestEffort"), json!({"pods": "1"}), json!({"pods": "0"}), small(), "pods=1"),
            (json!({}), json!({"services": "0"}), json!({"services": "0"}), small(), ""),
            (
                json!({}),
                json!({"requests.example.com/gpu": "3"}),
                json!({"requests.example.com/gpu": "1"}),
                pod(json!({"example.com/gpu": "1"}), json!({"example.com/gpu": "1"})),
                "requests.example.com/gpu=3",
            ),
        ] {
            let quota = quota(spec.clone(), hard.clone(), used);
            assert_eq!(outcome(quota, None, &new), expected, "{spec} {hard}");
        }
    }

    #[test]
    fn only_what_grows_is_paid_for_on_update() {
        let service = |type_: &str| {
            object(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"},
                "spec": {"type": type_, "ports": [{"port": 80}, {"port": 81}]}}))
        };
        let claim = |size: &str| {
            object(
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "n"},
                "spec": {"storageClassName": "gold", "resources": {"requests": {"storage": size}}}}),
            )
        };
        const GOLD: &str = "gold.storageclass.storage.k8s.io/requests.storage";
        for (old, new, hard, used, expected) in [
            (service("ClusterIP"), service("NodePort"), json!({"services": "1", "services.nodeports": "2"}),
             json!({"services": "1", "services.nodeports": "0"}), "services=1,services.nodeports=2".to_owned()),
            (service("NodePort"), service("ClusterIP"), json!({"services.nodeports": "2"}),
             json!({"services.nodeports": "2"}), String::new()),
            (service("ClusterIP"), service("NodePort"), json!({"services.nodeports": "1"}),
             json!({"services.nodeports": "0"}),
             "exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1".to_owned()),
            (claim("1Gi"), claim("3Gi"), json!({"requests.storage": "4Gi", (GOLD): "4Gi"}),
             json!({"requests.storage": "2Gi", (GOLD): "1Gi"}), format!("{GOLD}=3Gi,requests.storage=4Gi")),
        ] {
            assert_eq!(outcome(quota(json!({}), hard.clone(), used), Some(&old), &new), expected, "{hard}");
        }
    }
}
