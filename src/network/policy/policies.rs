//! What an agent knows: policies, Pods and Namespaces; which of its node's Pods a change touches; and what it has written.
//!
//! A Pod anywhere can be the peer of a policy, so every Pod's coming and going is looked at, but only by the policies of
//! its own Namespace and by those with a peer in others (`namespaceSelector`); and what is written anew are the chains of
//! the Pods of this node that such a policy selects.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyPeer};

use super::rules::{self, Direction};
use crate::netfilter::{self, Cidr, Netfilter, Rule, RulesetError, State, Table};
use crate::proxy::names::hash;
use client::informer::Change;
use object::pod::{address_of, assigned_node, has_ended};
use object::selector::selects;
use object::{Accessor, Key, Object, Pod};

/// The chain that all forwarded packets come through.
const MAIN: &str = "KUBE-NETPOL";
/// With what the chains of Pods begin.
const PREFIX: &str = "KUBE-NP-";
/// Characters of a hash in a chain's name.
const HASH_LEN: usize = 16;

/// What one agent knows.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    node: String,
    policies: BTreeMap<Key, Arc<NetworkPolicy>>,
    /// Policies with peers in other Namespaces.
    far: BTreeSet<Key>,
    pods: BTreeMap<Key, Arc<Pod>>,
    namespaces: BTreeMap<String, Arc<Namespace>>,
    /// Pods of this node whose rules may have to change.
    changed: BTreeSet<Key>,
    /// The isolated Pods of this node: their addresses, and in which directions.
    written: BTreeMap<Key, (Ipv4Addr, Vec<Direction>)>,
    /// What an earlier life of this process has left is gone.
    prepared: bool,
}

impl Policies {
    /// Nothing yet, on the node of this name.
    pub fn new(node: &str) -> Policies {
        Policies { node: node.to_owned(), ..Policies::default() }
    }

    /// Whether there is something to write.
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Takes notice of a change.
    pub fn note(&mut self, change: &Change) {
        let gone = matches!(change, Change::Deleted(_));
        match change.latest() {
            Object::NetworkPolicy(policy) => self.note_policy(policy, gone),
            Object::Pod(pod) => self.note_pod(pod, gone),
            Object::Namespace(namespace) => self.note_namespace(namespace, gone),
            _ => {}
        }
    }

    fn note_policy(&mut self, policy: &Arc<NetworkPolicy>, gone: bool) {
        let key = Key::of_meta(&policy.metadata);
        let new = (!gone).then(|| policy.clone());
        if new.as_ref().is_some_and(|policy| peers(policy).any(|peer| peer.namespace_selector.is_some())) {
            self.far.insert(key.clone());
        } else {
            self.far.remove(&key);
        }
        let old = match new.clone() {
            Some(new) => self.policies.insert(key, new),
            None => self.policies.remove(&key),
        };
        for policy in [old, new].into_iter().flatten() {
            self.touch(&policy);
        }
    }

    fn note_pod(&mut self, pod: &Arc<Pod>, gone: bool) {
        let key = Key::of_meta(&pod.metadata);
        let old = if gone { self.pods.remove(&key) } else { self.pods.insert(key.clone(), pod.clone()) };
        let new = (!gone).then_some(pod);
        if old.as_ref().map(facts) == new.map(facts) {
            return;
        }
        let near = in_namespace(&self.policies, key.namespace());
        let far = self.far.iter().filter(|far| far.namespace() != key.namespace());
        let concerned: Vec<_> =
            near.chain(far.filter_map(|far| self.policies.get(far))).filter(|p| has_peers(p)).cloned().collect();
        concerned.iter().for_each(|policy| self.touch(policy));
        if self.is_here(pod) {
            self.changed.insert(key);
        }
    }

    fn note_namespace(&mut self, namespace: &Arc<Namespace>, gone: bool) {
        let name = namespace.metadata.name.clone().unwrap_or_default();
        let old = if gone { self.namespaces.remove(&name) } else { self.namespaces.insert(name, namespace.clone()) };
        if !gone && old.is_some_and(|old| old.metadata.labels == namespace.metadata.labels) {
            return;
        }
        let far: Vec<_> = self.far.iter().filter_map(|far| self.policies.get(far).cloned()).collect();
        far.iter().for_each(|policy| self.touch(policy));
    }

    /// The rules of the Pods here that the policy selects are to be looked at.
    fn touch(&mut self, policy: &NetworkPolicy) {
        let namespace = policy.metadata.namespace();
        let here = in_namespace_keyed(&self.pods, namespace);
        let here = here.filter(|(_, pod)| self.is_here(pod) && selected(policy, pod)).map(|(key, _)| key.clone());
        let here: Vec<Key> = here.collect();
        self.changed.extend(here);
    }

    fn is_here(&self, pod: &Pod) -> bool {
        assigned_node(pod) == Some(self.node.as_str())
    }

    /// The policies that select a Pod and isolate it in a direction, in the order of their names.
    pub(super) fn isolating(&self, pod: &Pod, direction: Direction) -> impl Iterator<Item = &Arc<NetworkPolicy>> {
        let policies = in_namespace(&self.policies, pod.metadata.namespace());
        policies.filter(move |policy| isolates(policy, direction) && selected(policy, pod))
    }

    /// The Pods that a peer means, in a policy of this Namespace.
    pub(super) fn pods_of(&self, namespace: &str, peer: &NetworkPolicyPeer) -> Vec<&Arc<Pod>> {
        let namespaces: Vec<&str> = match &peer.namespace_selector {
            None => vec![namespace],
            Some(selector) => {
                let all = self.namespaces.iter();
                all.filter(|(_, there)| selects(selector, there.metadata.labels.as_ref()))
                    .map(|(n, _)| n.as_str())
                    .collect()
            }
        };
        let wanted = |pod: &&Arc<Pod>| {
            let labels = pod.metadata.labels.as_ref();
            peer.pod_selector.as_ref().is_none_or(|selector| selects(selector, labels))
        };
        namespaces.into_iter().flat_map(|namespace| in_namespace(&self.pods, namespace)).filter(wanted).collect()
    }

    /// From now on nothing counts as written.
    pub fn forget_written(&mut self) {
        let here = self.pods.iter().filter(|(_, pod)| self.is_here(pod)).map(|(key, _)| key.clone());
        let here: Vec<Key> = here.collect();
        self.changed.extend(here);
        self.changed.extend(std::mem::take(&mut self.written).into_keys());
        self.prepared = false;
    }

    /// Writes what has changed. Gives a line for each Pod that is isolated otherwise than before.
    pub fn sync(&mut self, netfilter: &mut Netfilter) -> Result<Vec<String>, RulesetError> {
        let mut lines = Vec::new();
        let mut change = netfilter::Change::default();
        if !self.prepared {
            let left = netfilter.rules.chains(Table::Mangle).map(|(name, _)| name);
            change.delete.extend(left.filter(|name| name.starts_with(PREFIX)).cloned());
            self.prepared = true;
        }
        for key in std::mem::take(&mut self.changed) {
            let before = self.written.remove(&key);
            let pod = self.pods.get(&key).filter(|pod| self.is_here(pod));
            let chains = pod.and_then(|pod| Some((network_address(pod)?, rules::of_pod(self, &key, pod))));
            let now = chains.map(|(address, chains)| {
                let directions = chains.iter().map(|(direction, _)| *direction).collect();
                let named = chains.into_iter().map(|(direction, rules)| (chain(&key, direction), rules));
                change.chains.extend(named);
                (address, directions)
            });
            let now = now.filter(|(_, directions): &(_, Vec<Direction>)| !directions.is_empty());
            let directions = |one: &Option<(Ipv4Addr, Vec<Direction>)>| one.clone().map_or(Vec::new(), |(_, all)| all);
            if directions(&before) != directions(&now) {
                let words: Vec<&str> = directions(&now).into_iter().map(Direction::as_str).collect();
                let words = if words.is_empty() { "nothing".to_owned() } else { words.join(" and ") };
                lines.push(format!("{key} is isolated for {words}"));
            }
            let gone = directions(&before).into_iter().filter(|direction| !directions(&now).contains(direction));
            change.delete.extend(gone.map(|direction| chain(&key, direction)));
            self.written.extend(now.map(|now| (key, now)));
        }
        if self.written.is_empty() && netfilter.rules.chain(Table::Mangle, MAIN).is_none() {
            return Ok(lines);
        }
        change.delete.retain(|chain| !change.chains.contains_key(chain));
        change.chains.insert(MAIN.to_owned(), self.main_chain());
        netfilter.rules.restore(Table::Mangle, change)?;
        netfilter.rules.insert(Table::Mangle, "FORWARD", Rule::jump(MAIN).comment("network policies"))?;
        Ok(lines)
    }

    fn main_chain(&self) -> Vec<Rule> {
        if self.written.is_empty() {
            return Vec::new();
        }
        let open = Rule::new(netfilter::Target::Accept).state(&[State::Related, State::Established]);
        let mut all = vec![open.comment("what belongs to an open connection passes")];
        for direction in [Direction::Egress, Direction::Ingress] {
            let isolated = self.written.iter().filter(|(_, (_, directions))| directions.contains(&direction));
            all.extend(isolated.map(|(key, (address, _))| {
                let rule = Rule::jump(chain(key, direction)).comment(format!("{} of {key}", direction.as_str()));
                direction.of_pod(rule, Cidr::host(*address))
            }));
        }
        all
    }
}

/// The chain of a Pod for a direction.
fn chain(pod: &Key, direction: Direction) -> String {
    let name = match direction {
        Direction::Ingress => "IN",
        Direction::Egress => "OUT",
    };
    format!("{PREFIX}{name}-{}", hash(&pod.to_string(), HASH_LEN))
}

/// A Pod's address in a network of its own, if it has one. A Pod in its node's network is beyond policies.
pub(super) fn network_address(pod: &Pod) -> Option<Ipv4Addr> {
    let on_host = pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
    if on_host || has_ended(pod) {
        return None;
    }
    address_of(pod)?.parse().ok()
}

/// What of a Pod matters to policies.
fn facts(pod: &Arc<Pod>) -> (Option<Ipv4Addr>, Option<&std::collections::BTreeMap<String, String>>) {
    (network_address(pod), pod.metadata.labels.as_ref())
}

fn selected(policy: &NetworkPolicy, pod: &Pod) -> bool {
    let selector = policy.spec.as_ref().and_then(|spec| spec.pod_selector.as_ref());
    selector.is_none_or(|selector| selects(selector, pod.metadata.labels.as_ref()))
}

fn isolates(policy: &NetworkPolicy, direction: Direction) -> bool {
    let types = policy.spec.as_ref().and_then(|spec| spec.policy_types.as_ref());
    types.into_iter().flatten().any(|there| there == direction.policy_type())
}

fn peers(policy: &NetworkPolicy) -> impl Iterator<Item = &NetworkPolicyPeer> {
    let ingress = policy.spec.iter().flat_map(|spec| spec.ingress.iter().flatten()).flat_map(|rule| &rule.from);
    let egress = policy.spec.iter().flat_map(|spec| spec.egress.iter().flatten()).flat_map(|rule| &rule.to);
    ingress.chain(egress).flatten()
}

fn has_peers(policy: &NetworkPolicy) -> bool {
    peers(policy).next().is_some()
}

fn in_namespace<'a, T>(all: &'a BTreeMap<Key, T>, namespace: &str) -> impl Iterator<Item = &'a T> {
    in_namespace_keyed(all, namespace).map(|(_, there)| there)
}

fn in_namespace_keyed<'a, T>(
    all: &'a BTreeMap<Key, T>,
    namespace: &str,
) -> impl Iterator<Item = (&'a Key, &'a T)> + use<'a, T> {
    let namespace = namespace.to_owned();
    all.range(Key::new(&namespace, "")..).take_while(move |(key, _)| key.namespace() == namespace)
}
