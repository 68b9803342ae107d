//! PersistentVolumeClaims, which cost storage, also of their class.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use crate::quantity::Amount;
use crate::resources::ResourceList;
use crate::volume::{allocated, class_of};

const CLAIMS: &str = "persistentvolumeclaims";
const STORAGE: &str = "requests.storage";
/// Between the name of a class and what is measured of it: `gold.storageclass.storage.k8s.io/requests.storage`.
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";
/// What is measured of all claims, of any class.
pub const RESOURCES: [&str; 2] = [CLAIMS, STORAGE];

/// Whether this resource of a quota is measured on claims.
pub fn uses(name: &str) -> bool {
    let of_class = |(_, what): (&str, &str)| RESOURCES.contains(&what);
    RESOURCES.contains(&name) || name.split_once(OF_CLASS).is_some_and(of_class)
}

/// What the claim costs beside its number. Mirrors `pvcEvaluator.Usage`.
pub fn usage(claim: &PersistentVolumeClaim) -> ResourceList {
    let mut usage = ResourceList::from([(CLAIMS.to_owned(), Amount::units(1))]);
    usage.extend(storage(claim).map(|amount| (STORAGE.to_owned(), amount)));
    let class = class_of(claim);
    if !class.is_empty() {
        let same = usage.iter().map(|(name, amount)| (format!("{class}{OF_CLASS}{name}"), *amount));
        let same: Vec<_> = same.collect();
        usage.extend(same);
    }
    usage
}

/// What is asked for or already being given, whichever is more, in whole bytes. Mirrors `getStorageUsage`.
fn storage(claim: &PersistentVolumeClaim) -> Option<Amount> {
    let requests = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
    let requested = requests.and_then(|list| list.get("storage")).map(Amount::of);
    requested.max(allocated(claim)).map(Amount::rounded_up)
}
