//! Whether people have agreed on a definition in a group that is Kubernetes' own. Mirrors `validateAPIApproval` of
//! apiextensions-apiserver.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use object::validation::field::{Path, Problems};

/// What stands in for the approval of a definition in a group that is Kubernetes' own.
const APPROVED: &str = "api-approved.kubernetes.io";

/// Whether a group is Kubernetes' own, so that people are to agree on what is in it. Mirrors `IsProtectedCommunityGroup`.
fn is_protected(group: &str) -> bool {
    let within = |domain: &str| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    within("k8s.io") || within("kubernetes.io")
}

/// Whether the definition needs no approval, or says where it was approved or that it is not; else why not, and what it says.
/// Mirrors `GetAPIApprovalState`.
fn approval(definition: &CustomResourceDefinition) -> Result<(), (&'static str, &str)> {
    const MISSING: &str = "";
    const WRONG: &str = " with either a URL or a reason starting with \"unapproved\"";
    let text = definition.metadata.annotations.as_ref().and_then(|all| all.get(APPROVED)).map_or("", String::as_str);
    let host = text.split_once("://").filter(|(scheme, _)| !scheme.is_empty());
    match text {
        _ if !is_protected(&definition.spec.group) => Ok(()),
        "" => Err((MISSING, text)),
        text if text.starts_with("unapproved") => Ok(()),
        _ if host.is_some_and(|(_, rest)| !rest.is_empty() && !rest.starts_with('/')) => Ok(()),
        _ => Err((WRONG, text)),
    }
}

/// What was wrong before may stay so. Mirrors `validateAPIApproval`.
pub fn validate(problems: &mut Problems, new: &CustomResourceDefinition, old: Option<&CustomResourceDefinition>) {
    let Err((why, text)) = approval(new) else { return };
    let before = old.map(approval);
    if !matches!(before, Some(Err((same, _))) if same == why) {
        refuse(problems, why, text);
    }
}

fn refuse(problems: &mut Problems, why: &str, text: &str) {
    let why = format!(
        "protected groups must have approval annotation {APPROVED:?}{why}, see \
         https://github.com/kubernetes/enhancements/pull/1111"
    );
    let metadata = Path::new("metadata");
    let path = metadata.child("annotations");
    match text {
        "" => problems.required(&path.key(APPROVED), &why),
        text => problems.invalid(&path.key(APPROVED), text, &why),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(group: &str, approved: Option<&str>) -> CustomResourceDefinition {
        let mut metadata = json!({"name": format!("jobs.{group}")});
        approved.into_iter().for_each(|text| metadata["annotations"] = json!({APPROVED: text}));
        let names = json!({"plural": "jobs", "kind": "Job"});
        let spec = json!({"group": group, "scope": "Cluster", "names": names, "versions": []});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    fn told(problems: Problems) -> Vec<String> {
        problems.0.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
    }

    #[test]
    fn groups_of_kubernetes_are_agreed_upon() {
        const AT: &str = "metadata.annotations[api-approved.kubernetes.io]";
        const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
        const NEEDED: &str = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
        let missing = format!("{AT}: Required value: {NEEDED}, {SEE}");
        let wrong = format!(
            "{AT}: Invalid value: \"yes\": {NEEDED} with either a URL or a reason starting with \"unapproved\", {SEE}"
        );
        for (group, approved, want) in [
            ("example.com", None, vec![]),
            ("myk8s.io", None, vec![]),
            ("x.k8s.io", None, vec![missing.clone()]),
            ("kubernetes.io", None, vec![missing]),
            ("x.k8s.io", Some("yes"), vec![wrong]),
            ("x.k8s.io", Some("unapproved, to try it"), vec![]),
            ("x.k8s.io", Some("https://github.com/kubernetes/enhancements/pull/1"), vec![]),
        ] {
            let mut problems = Problems::default();
            validate(&mut problems, &definition(group, approved), None);
            assert_eq!(told(problems), want, "{group} {approved:?}");
        }
        let without = definition("x.k8s.io", None);
        let mut problems = Problems::default();
        validate(&mut problems, &without, Some(&without));
        assert_eq!(told(problems), Vec::<String>::new(), "what is missing may go on missing");
    }
}
