//! VolumeBinding: a pod goes where its volumes are, or can be.
//!
//! Claims that are bound tie the pod to the nodes that can reach their volumes. Claims of a class that waits for its
//! first consumer are decided with the pod: a volume that is there already, the smallest that fits and that the node
//! can reach; or one that is yet to be made. What was decided is written before the pod is bound, by
//! [`volume_writes`](crate::scheduler::volume_writes). Mirrors `plugins/volumebinding`.
//!
//! Left out: capacity that drivers publish, and scores by it.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, TopologySelectorLabelRequirement};
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};

use crate::object::selector::nodes::any_term_matches;
use crate::object::selector::selects;
use crate::object::volume::{
    NO_PROVISIONER, claims_behind, class_of, fits, is_bound, is_promised_to, made_for, requested, volume_name,
};
use crate::object::{Key, Object};
use crate::scheduler::events::{ClusterEvent, EventKind};
use crate::scheduler::framework::{Filter, Hint, Plugin, PreFilter, Reason, Rejection, Verdict};
use crate::scheduler::node_info::NodeInfo;
use crate::scheduler::pod_info::PodInfo;
use crate::scheduler::snapshot::Snapshot;
use crate::scheduler::storage::{Plan, Storage, claims_of, not_found};

const AFFINITY: &str = "node(s) didn't match PersistentVolume's node affinity";
const NONE_TO_BIND: &str = "node(s) didn't find available persistent volumes to bind";
const NON_EXISTENT: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
const IMMEDIATE: &str = "pod has unbound immediate PersistentVolumeClaims";

/// The annotation of a CSINode that says which built-in plugins its drivers stand in for.
const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// The plugin.
pub struct VolumeBinding;

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        "VolumeBinding"
    }

    fn interests(&self) -> &'static [EventKind] {
        &[
            EventKind::ClassAdd,
            EventKind::ClassUpdate,
            EventKind::ClaimAdd,
            EventKind::ClaimUpdate,
            EventKind::VolumeAdd,
            EventKind::VolumeUpdate,
            EventKind::DriversAdd,
            EventKind::DriversUpdate,
            EventKind::NodeAdd,
            EventKind::NodeUpdateLabel,
        ]
    }

    /// Of claims only its own are worth a try, and of what changed only where volumes may be made, and which drivers
    /// took over from those that are built in.
    fn hint(&self, pod: &PodInfo, event: &ClusterEvent, _snapshot: &Snapshot) -> Hint {
        match (&event.old, &event.new) {
            (_, Some(claim @ Object::PersistentVolumeClaim(_))) => {
                Hint::queue_if(claims_of(pod).contains(&Key::of(claim)))
            }
            (Some(Object::StorageClass(old)), Some(Object::StorageClass(new))) => {
                Hint::queue_if(old.allowed_topologies != new.allowed_topologies)
            }
            (Some(Object::CSINode(old)), Some(Object::CSINode(new))) => {
                let migrated = |node: &CSINode| node.metadata.annotations.as_ref()?.get(MIGRATED_PLUGINS).cloned();
                Hint::queue_if(migrated(old) != migrated(new))
            }
            _ => Hint::Queue,
        }
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot) -> PreFilter<'a> {
        if claims_behind(&pod.pod).next().is_none() {
            return PreFilter::Skip;
        }
        match Wanted::of(pod, &snapshot.storage) {
            Ok(wanted) => PreFilter::Ask(Box::new(wanted)),
            Err(reason) => PreFilter::Reject(Rejection::unresolvable(reason)),
        }
    }
}

/// A pod's claims, sorted by what has to be done about them.
struct Wanted<'a> {
    storage: &'a Storage,
    bound: Vec<&'a PersistentVolumeClaim>,
    waiting: Vec<(Key, &'a PersistentVolumeClaim)>,
}

impl<'a> Wanted<'a> {
    fn of(pod: &PodInfo, storage: &'a Storage) -> Result<Wanted<'a>, String> {
        let mut wanted = Wanted { storage, bound: Vec::new(), waiting: Vec::new() };
        let mut immediate = false;
        for used in claims_behind(&pod.pod) {
            let key = Key::new(pod.namespace(), &used.name);
            let name = key.name();
            let Some(claim) = storage.claim(&key) else {
                return Err(if used.ephemeral { not_made_yet(&key) } else { not_found(&key) });
            };
            if claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Lost") {
                let volume = volume_name(claim);
                return Err(format!(
                    "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
                ));
            }
            if claim.metadata.deletion_timestamp.is_some() {
                return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
            }
            if used.ephemeral {
                made_for(&pod.pod.metadata, claim)?;
            }
            let class = storage.class_of(claim).and_then(|class| class.volume_binding_mode.as_deref());
            match (is_bound(claim), class) {
                (true, _) => wanted.bound.push(claim),
                (false, Some("WaitForFirstConsumer")) if volume_name(claim).is_empty() => {
                    wanted.waiting.push((key, claim));
                }
                (false, _) => immediate = true,
            }
        }
        // Only of claims that are there, and stay, is it asked which of them are bound.
        if immediate {
            return Err(IMMEDIATE.to_owned());
        }
        // Small claims have the first choice, so that none takes a volume that a larger one needs.
        wanted.waiting.sort_by_key(|(_, claim)| requested(claim));
        Ok(wanted)
    }

    /// What has to be written if the pod goes to this node, or why it cannot.
    fn plan(&self, node: &NodeInfo) -> Result<Plan, Vec<&'static str>> {
        let mut reasons = Vec::new();
        if let Some(reason) = self.bound.iter().find_map(|claim| self.out_of_reach(claim, node)) {
            reasons.push(reason);
        }
        let mut plan = Plan::default();
        let mut taken = BTreeSet::new();
        for (key, claim) in &self.waiting {
            let selected = self.storage.selected_node(key, claim);
            // Decided before: the volume is being made there, and nowhere else.
            if selected.is_some_and(|selected| selected != &*node.name) {
                reasons.push(NONE_TO_BIND);
            } else if selected.is_none()
                && let Some(volume) = self.match_for(key, claim, node, &taken)
            {
                taken.insert(volume.clone());
                plan.promise.push((key.clone(), volume));
            } else if self.storage.class_of(claim).is_some_and(|class| can_provision(class, node)) {
                plan.provision.push(key.clone());
            } else {
                reasons.push(NONE_TO_BIND);
            }
        }
        reasons.dedup();
        if reasons.is_empty() { Ok(plan) } else { Err(reasons) }
    }

    fn out_of_reach(&self, claim: &PersistentVolumeClaim, node: &NodeInfo) -> Option<&'static str> {
        match self.storage.volume(volume_name(claim)) {
            None => Some(NON_EXISTENT),
            Some(volume) => (!reaches(volume, node)).then_some(AFFINITY),
        }
    }

    /// The volume that was promised to the claim, if there is one, whether or not it is of use here; else the smallest that
    /// suits. Mirrors `FindMatchingVolume`.
    fn match_for(
        &self,
        key: &Key,
        claim: &PersistentVolumeClaim,
        node: &NodeInfo,
        taken: &BTreeSet<String>,
    ) -> Option<String> {
        let name_of = |volume: &PersistentVolume| volume.metadata.name.clone().unwrap_or_default();
        let fitting = || {
            let volumes = self.storage.free(class_of(claim), key);
            volumes.filter(|volume| {
                let stays = volume.metadata.deletion_timestamp.is_none();
                stays && fits(volume, claim) && !taken.contains(&name_of(volume))
            })
        };
        if let Some(own) = fitting().find(|volume| is_promised_to(volume, claim)) {
            return reaches(own, node).then(|| name_of(own));
        }
        let selector = claim.spec.as_ref().and_then(|spec| spec.selector.as_ref());
        let suits = |volume: &&Arc<PersistentVolume>| {
            let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
            volume.spec.as_ref().is_none_or(|spec| spec.claim_ref.is_none())
                && phase == Some("Available")
                && reaches(volume, node)
                && selector.is_none_or(|selector| selects(selector, volume.metadata.labels.as_ref()))
        };
        fitting().find(suits).map(|volume| name_of(volume))
    }
}

impl Filter for Wanted<'_> {
    fn filter(&self, node: &NodeInfo) -> Verdict {
        self.plan(node).map(|_| ()).map_err(|reasons| {
            let mut rejection = Rejection::unresolvable("");
            rejection.reasons = reasons.into_iter().map(Reason::from).collect();
            rejection
        })
    }
}

/// What has to be written before the pod can go to the node; nothing if it has no claims that wait.
pub fn plan(pod: &PodInfo, node: &NodeInfo, storage: &Storage) -> Plan {
    if claims_behind(&pod.pod).next().is_none() {
        return Plan::default();
    }
    Wanted::of(pod, storage).ok().and_then(|wanted| wanted.plan(node).ok()).unwrap_or_default()
}

/// A claim that is made for a pod comes a moment after the pod.
fn not_made_yet(claim: &Key) -> String {
    format!("waiting for ephemeral volume controller to create the persistentvolumeclaim {:?}", claim.name())
}

/// Whether a volume can be used on a node.
fn reaches(volume: &PersistentVolume, node: &NodeInfo) -> bool {
    let required = volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
    required.is_none_or(|required| any_term_matches(&required.node_selector_terms, &node.name, node.labels()))
}

/// Whether somebody makes volumes of this class that the node can use.
fn can_provision(class: &StorageClass, node: &NodeInfo) -> bool {
    let terms = class.allowed_topologies.as_deref().unwrap_or_default();
    let allowed = terms.is_empty()
        // A term that asks for nothing is met nowhere.
        || terms.iter().filter_map(|term| term.match_label_expressions.as_ref()).any(|expressions| {
            let met = |e: &TopologySelectorLabelRequirement| {
                node.labels().get(&e.key).is_some_and(|value| e.values.contains(value))
            };
            !expressions.is_empty() && expressions.iter().all(met)
        });
    class.provisioner != NO_PROVISIONER && !class.provisioner.is_empty() && allowed
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::object::Kind;
    use crate::scheduler::plugins::testing::filter_reasons;
    use crate::scheduler::testing::{info, node, pod, snapshot};

    const POD: &str = "{volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}";

    fn set(snapshot: &mut Snapshot, kind: Kind, name: &str, mut manifest: Value) {
        let namespace = if kind.info().namespaced { json!("default") } else { Value::Null };
        let annotations = manifest["annotations"].take();
        manifest["metadata"] = json!({"name": name, "namespace": namespace, "annotations": annotations});
        snapshot.storage.set(&kind.decode(manifest).expect("the manifest decodes"), false);
    }

    /// Two nodes, and claim `data` as given; class `lazy` waits and makes volumes in zone a, class `static` waits and makes
    /// none. Volume `pv` of 5Gi is on node a.
    fn world(claim: Value) -> Snapshot {
        let zone = |zone: &str| format!("{{metadata: {{labels: {{zone: {zone}}}}}}}");
        let mut world = snapshot(vec![node("a", &zone("a")), node("b", &zone("b"))], vec![]);
        let in_a = json!([{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]);
        let waits = "WaitForFirstConsumer";
        let lazy = json!({"provisioner": "x", "volumeBindingMode": waits, "allowedTopologies": in_a});
        set(&mut world, Kind::StorageClass, "lazy", lazy);
        let nowhere = json!({"provisioner": "x", "volumeBindingMode": waits, "allowedTopologies": [{}]});
        set(&mut world, Kind::StorageClass, "nowhere", nowhere);
        let none = json!({"provisioner": NO_PROVISIONER, "volumeBindingMode": waits});
        set(&mut world, Kind::StorageClass, "static", none);
        set(&mut world, Kind::StorageClass, "eager", json!({"provisioner": "x", "volumeBindingMode": "Immediate"}));
        let affinity = json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]);
        let volume = json!({
            "spec": {
                "storageClassName": "static", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
                "nodeAffinity": {"required": {"nodeSelectorTerms": affinity}},
            },
            "status": {"phase": "Available"},
        });
        set(&mut world, Kind::PersistentVolume, "pv", volume);
        if !claim.is_null() {
            set(&mut world, Kind::PersistentVolumeClaim, "data", claim);
        }
        world
    }

    fn claim(class: &str, size: &str) -> Value {
        let requests = json!({"requests": {"storage": size}});
        json!({"spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": requests}})
    }

    fn bound(volume: &str) -> Value {
        json!({
            "spec": {"volumeName": volume}, "status": {"phase": "Bound"},
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        })
    }

    #[test]
    fn the_pod_goes_where_its_volume_is_or_can_be() {
        let mut selected = claim("lazy", "1Gi");
        selected["annotations"] = json!({"volume.kubernetes.io/selected-node": "b"});
        let mut shut_out = selected.clone();
        shut_out["annotations"] = json!({"volume.kubernetes.io/selected-node": "a"});
        shut_out["spec"]["storageClassName"] = json!("static");
        let lost = json!({"spec": {"volumeName": "pv"}, "status": {"phase": "Lost"}});
        for (claim, on_a, on_b) in [
            (Value::Null, "persistentvolumeclaim \"data\" not found", "persistentvolumeclaim \"data\" not found"),
            (lost, "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"pv\"", "same"),
            (claim("eager", "1Gi"), IMMEDIATE, "same"),
            (claim("unknown", "1Gi"), IMMEDIATE, "same"),
            (bound("pv"), "", AFFINITY),
            (bound("gone"), NON_EXISTENT, "same"),
            (claim("lazy", "1Gi"), "", NONE_TO_BIND),
            (claim("nowhere", "1Gi"), NONE_TO_BIND, "same"),
            (claim("static", "1Gi"), "", NONE_TO_BIND),
            (claim("static", "9Gi"), NONE_TO_BIND, "same"),
            (selected, NONE_TO_BIND, NONE_TO_BIND),
            (shut_out, NONE_TO_BIND, "same"),
        ] {
            let world = world(claim.clone());
            for (name, expected) in [("a", on_a), ("b", if on_b == "same" { on_a } else { on_b })] {
                assert_eq!(filter_reasons(&VolumeBinding, pod("p", POD), &world, name), expected, "{claim} on {name}");
            }
        }
    }

    #[test]
    fn hints() {
        let pod = info(pod("p", POD));
        let object = |kind: Kind, manifest: Value| kind.decode(manifest).expect("the manifest decodes");
        let class = |zones: Value| {
            let topologies = json!([{"matchLabelExpressions": [{"key": "zone", "values": zones}]}]);
            let manifest = json!({"metadata": {"name": "c"}, "provisioner": "x", "allowedTopologies": topologies});
            object(Kind::StorageClass, manifest)
        };
        let drivers = |migrated: &str| {
            let annotations = json!({MIGRATED_PLUGINS: migrated});
            let manifest = json!({"metadata": {"name": "n", "annotations": annotations}, "spec": {"drivers": []}});
            object(Kind::CSINode, manifest)
        };
        for (kind, old, new, expected) in [
            (EventKind::ClassAdd, None, class(json!(["a"])), Hint::Queue),
            (EventKind::ClassUpdate, Some(class(json!(["a"]))), class(json!(["b"])), Hint::Queue),
            (EventKind::ClassUpdate, Some(class(json!(["a"]))), class(json!(["a"])), Hint::QueueSkip),
            (EventKind::DriversAdd, None, drivers(""), Hint::Queue),
            (EventKind::DriversUpdate, Some(drivers("a")), drivers("a"), Hint::QueueSkip),
            (EventKind::DriversUpdate, Some(drivers("a")), drivers("a,b"), Hint::Queue),
        ] {
            let event = ClusterEvent { kind, old, new: Some(new) };
            assert_eq!(VolumeBinding.hint(&pod, &event, &Snapshot::default()), expected, "{event:?}");
        }
    }

    #[test]
    fn a_claim_that_goes_is_told_of_before_one_that_waits_for_its_volume() {
        let mut world = world(claim("eager", "1Gi"));
        set(
            &mut world,
            Kind::PersistentVolumeClaim,
            "lost",
            json!({"spec": {"volumeName": "pv"}, "status": {"phase": "Lost"}}),
        );
        let both = POD.replace("}}]", "}}, {name: w, persistentVolumeClaim: {claimName: lost}}]");
        let reason = "persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"pv\"";
        assert_eq!(filter_reasons(&VolumeBinding, pod("p", &both), &world, "a"), reason);
    }

    #[test]
    fn small_claims_choose_first() {
        let mut world = world(claim("static", "4Gi"));
        set(&mut world, Kind::PersistentVolumeClaim, "small", claim("static", "1Gi"));
        let spec =
            json!({"storageClassName": "static", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "9Gi"}});
        let large = json!({"spec": spec, "status": {"phase": "Available"}});
        set(&mut world, Kind::PersistentVolume, "large", large);
        let both = POD.replace("[{", "[{name: w, persistentVolumeClaim: {claimName: data}}, {").replacen(
            "claimName: data}}]",
            "claimName: small}}]",
            1,
        );
        let place = world.node_named("a").expect("there").clone();
        let plan = plan(&info(pod("p", &both)), &place, &world.storage);
        let promise = |claim: &str, volume: &str| (Key::new("default", claim), volume.to_owned());
        assert_eq!(plan.promise, [promise("small", "pv"), promise("data", "large")]);
    }

    #[test]
    fn a_volume_that_names_the_claim_is_the_one() {
        let mut world = world(claim("static", "1Gi"));
        let in_b = json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]);
        let spec = json!({
            "storageClassName": "static", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "9Gi"},
            "claimRef": {"namespace": "default", "name": "data"}, "nodeAffinity": {"required": {"nodeSelectorTerms": in_b}},
        });
        set(&mut world, Kind::PersistentVolume, "own", json!({"spec": spec}));
        let reasons = |name: &str| filter_reasons(&VolumeBinding, pod("p", POD), &world, name);
        assert_eq!((reasons("a").as_str(), reasons("b").as_str()), (NONE_TO_BIND, ""), "pv would do on a");
        let place = world.node_named("b").expect("there");
        let promise = plan(&info(pod("p", POD)), place, &world.storage).promise;
        assert_eq!(promise, [(Key::new("default", "data"), "own".to_owned())]);
    }

    #[test]
    fn what_is_promised_in_memory_is_taken() {
        let mut world = world(claim("static", "1Gi"));
        set(&mut world, Kind::PersistentVolumeClaim, "other", claim("static", "1Gi"));
        let place = world.node_named("a").expect("there").clone();
        let first = plan(&info(pod("p", POD)), &place, &world.storage);
        assert_eq!(first.promise, [(Key::new("default", "data"), "pv".to_owned())]);
        world.storage.assume(&first, "a");
        let second = pod("q", &POD.replace("data", "other"));
        assert_eq!(filter_reasons(&VolumeBinding, second.clone(), &world, "a"), NONE_TO_BIND);
        world.storage.forget(&first);
        assert_eq!(filter_reasons(&VolumeBinding, second, &world, "a"), "");
    }
}
