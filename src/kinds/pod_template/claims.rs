//! The resource claims of a Pod. Mirrors `validatePodResourceClaims` of `pkg/apis/core/validation`.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PodSpec;

use object::selector::names::check_subdomain;
use object::validation::field::{Path, Problems};
use object::validation::internal::Internal;
use object::validation::names::check_dns_label;

/// The names by which containers know them.
pub fn names(spec: &PodSpec) -> BTreeSet<&str> {
    let names = spec.resource_claims.iter().flatten().map(|claim| claim.name.as_str());
    names.filter(|name| !name.is_empty()).collect()
}

/// Each has a name of its own, and is there already or is made from a template. `pod` is the Pod's name; a template of Pods has
/// none.
pub fn of_pod(problems: &mut Problems, list: &Path, spec: &PodSpec, pod: Option<&str>) {
    let mut seen = BTreeSet::new();
    for (i, claim) in spec.resource_claims.iter().flatten().enumerate() {
        let path = list.index(i);
        let (at, name) = (path.child("name"), claim.name.as_str());
        let wrong = check_dns_label(name);
        if name.is_empty() {
            problems.required(&at, "");
        } else if !seen.insert(name) {
            problems.duplicate(&at, name);
        } else if !wrong.is_empty() {
            problems.all_invalid(&at, name, wrong);
        } else if let Some(pod) = pod.filter(|_| claim.resource_claim_template_name.is_some()) {
            let made = format!("{pod}-{name}");
            problems.all_invalid(&at, &made, check_subdomain(&made));
        }
        let (there, template) = (&claim.resource_claim_name, &claim.resource_claim_template_name);
        let shown = || Internal("PodResourceClaim", claim);
        match (there, template) {
            (Some(_), Some(_)) => {
                const WHY: &str = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                problems.invalid(&path, shown(), WHY);
            }
            (None, None) => {
                const WHY: &str = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                problems.invalid(&path, shown(), WHY);
            }
            _ => {}
        }
        for (field, name) in [("resourceClaimName", there), ("resourceClaimTemplateName", template)] {
            if let Some(name) = name {
                problems.all_invalid(&path.child(field), name, check_subdomain(name));
            }
        }
    }
}
