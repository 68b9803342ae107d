//! How little may be free, and what is said when less is. Mirrors the default `evictionHard` and `evictionMessage`.
//!
//! A node here has one disk, which holds both the kubelet's files (nodefs) and the images (imagefs): so of its two limits,
//! a tenth and 15 percent, the second is met first.

use std::collections::BTreeMap;
use std::fmt::Write;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::usage::{DiskUse, of_the_run};
use object::Pod;
use object::quantity::Amount;

/// The reason of status and Event.
pub const REASON: &str = "Evicted";
/// What is asked for of the node's disk.
pub const STORAGE: &str = "ephemeral-storage";
/// `nodefs.available` and `imagefs.available`. Single precision, as Kubernetes has them: what comes of that is to be seen in
/// messages.
const DISK_SHARES: [f32; 2] = [0.1, 0.15];
/// What is left of a disk that something else has filled is one part in so many.
const FULL_PART: i64 = 20;

/// A threshold that is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// What is wanted back: `memory`, `ephemeral-storage`.
    pub resource: &'static str,
    /// How much must be free.
    quantity: String,
    /// How much is.
    available: String,
}

/// What a node without memory says that it has left, and what that is below.
pub fn memory() -> Threshold {
    Threshold { resource: "memory", quantity: "100Mi".into(), available: "64Mi".into() }
}

/// Whether too little of the disk is free. Pods take `used` of it, and other writers most of the rest if it `is_full`.
pub fn disk(capacity: &BTreeMap<String, Quantity>, used: u64, is_full: bool) -> Option<Threshold> {
    let capacity = Amount::of(capacity.get(STORAGE)?).value();
    let left = capacity.saturating_sub(i64::try_from(used).unwrap_or(i64::MAX)).max(0);
    let available = if is_full { left.min(capacity / FULL_PART) } else { left };
    let mut least = DISK_SHARES.into_iter().map(|share| (capacity as f64 * f64::from(share)) as i64);
    let met = least.find(|least| available < *least)?;
    let text = |bytes: i64| Amount::bytes(bytes).to_string();
    Some(Threshold { resource: STORAGE, quantity: text(met), available: text(available) })
}

impl Threshold {
    /// Whether it is the disk that is short.
    pub fn is_of_disk(&self) -> bool {
        self.resource == STORAGE
    }

    /// What the victim is told: what was short, and which of its containers took more than they asked for. The annotations
    /// say the same to programs.
    pub fn message(&self, pod: &Pod, use_of_disk: &DiskUse) -> (String, BTreeMap<String, String>) {
        let Threshold { resource, quantity, available } = self;
        let mut message = format!(
            "The node was low on resource: {resource}. Threshold quantity: {quantity}, available: {available}. "
        );
        let (mut names, mut amounts) = (Vec::new(), Vec::new());
        for container in of_the_run(pod).filter(|_| self.is_of_disk()) {
            let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
            let asked = requests.and_then(|requests| requests.get(STORAGE)).map_or(Amount::ZERO, Amount::of);
            let used = Amount::bytes(use_of_disk.of_container(&container.name));
            if used > asked {
                let name = &container.name;
                let more = "has larger consumption of";
                let _ = write!(message, "Container {name} was using {used}, request is {asked}, {more} {resource}. ");
                names.push(name.as_str());
                amounts.push(used.to_string());
            }
        }
        let annotations = [
            ("offending_containers", names.join(",")),
            ("offending_containers_usage", amounts.join(",")),
            ("starved_resource", (*resource).to_owned()),
        ];
        (message, annotations.map(|(name, value)| (name.to_owned(), value)).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecars_are_blamed_as_well() {
        let asks = serde_json::json!({"requests": {STORAGE: "1Gi"}});
        let pod: Pod = serde_json::from_value(serde_json::json!({"metadata": {"name": "web"}, "spec": {
            "initContainers": [{"name": "setup"}, {"name": "logger", "restartPolicy": "Always"}],
            "containers": [{"name": "app"}, {"name": "modest", "resources": asks}],
        }}))
        .unwrap();
        let taken = DiskUse::for_test(&[("app", 1 << 30), ("modest", 4096), ("logger", 36 << 10)], &[]);
        let (message, annotations) = Threshold { resource: STORAGE, ..memory() }.message(&pod, &taken);
        let expected = "The node was low on resource: ephemeral-storage. Threshold quantity: 100Mi, available: 64Mi. \
                        Container app was using 1Gi, request is 0, has larger consumption of ephemeral-storage. \
                        Container logger was using 36Ki, request is 0, has larger consumption of ephemeral-storage. ";
        assert_eq!(message, expected);
        assert_eq!(annotations["offending_containers"], "app,logger");
        assert_eq!(annotations["offending_containers_usage"], "1Gi,36Ki");
    }

    #[test]
    fn what_is_too_little() {
        const GIB: u64 = 1 << 30;
        let capacity = |size: &str| BTreeMap::from([(STORAGE.to_owned(), Quantity(size.to_owned()))]);
        let said = |threshold: Threshold| (threshold.quantity, threshold.available);
        let table = [
            ("100Gi", 0, false, None),
            ("100Gi", 84 * GIB, false, None),
            // The images' limit is the first.
            ("100Gi", 86 * GIB, false, Some(("16106128000", "14Gi"))),
            ("100Gi", 91 * GIB, false, Some(("10737418400", "9Gi"))),
            ("100Gi", 101 * GIB, false, Some(("10737418400", "0"))),
            ("100Gi", 0, true, Some(("10737418400", "5Gi"))),
            ("100Gi", 97 * GIB, true, Some(("10737418400", "3Gi"))),
            ("0", 0, false, None),
        ];
        for (size, used, is_full, expected) in table {
            let expected = expected.map(|(quantity, available)| (quantity.to_owned(), available.to_owned()));
            let met = disk(&capacity(size), used, is_full).map(said);
            assert_eq!(met, expected, "{used} of {size}, full: {is_full}");
        }
        assert_eq!(disk(&BTreeMap::new(), GIB, true), None, "a node that does not say how large its disk is");
    }
}
