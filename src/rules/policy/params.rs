//! The parameters that a binding gives its policy: objects of any kind, by name or by label. Mirrors `CollectParams`.

use k8s_openapi::api::admissionregistration::v1::ParamRef;

use crate::question::Question;
use object::selector::selects;
use object::{Kind, Object};

use super::compiled::Head;

/// Each set of parameters that the policy is asked with; none, once, if it is asked without any.
pub fn of(head: &Head, wanted: Option<&ParamRef>, question: &Question) -> Result<Vec<Option<Object>>, String> {
    let (Some(kind), Some(wanted)) = (&head.param_kind, wanted) else { return Ok(vec![None]) };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (version, name) = (text(&kind.api_version), text(&kind.kind));
    let kind = Kind::from_manifest(&version, &name).or_else(|| question.definitions.named(&version, &name));
    let kind =
        kind.ok_or_else(|| format!("failed to find resource referenced by paramKind: '{version}, Kind={name}'"))?;
    let found = found(kind, &namespace(kind, wanted, question)?, wanted, question);
    if found.is_empty() && wanted.parameter_not_found_action.as_deref() == Some("Deny") {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    Ok(found.into_iter().map(Some).collect())
}

/// Where the parameters are: where the binding says, or with the object.
fn namespace(kind: Kind, wanted: &ParamRef, question: &Question) -> Result<String, String> {
    let named = wanted.namespace.as_deref().unwrap_or_default();
    match (kind.info().namespaced, named, question.request.namespace.as_str()) {
        (false, "", _) => Ok(String::new()),
        (false, ..) => Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned()),
        (true, "", "") => {
            Err("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources".to_owned())
        }
        (true, "", of_object) => Ok(of_object.to_owned()),
        (true, named, _) => Ok(named.to_owned()),
    }
}

fn found(kind: Kind, namespace: &str, wanted: &ParamRef, question: &Question) -> Vec<Object> {
    match (wanted.name.as_deref().unwrap_or_default(), &wanted.selector) {
        ("", Some(selector)) => {
            let mut all = question.reader.list(kind, namespace);
            all.retain(|object| selects(selector, object.meta().labels.as_ref()));
            all
        }
        (name, _) => question.reader.get(kind, namespace, name).into_iter().collect(),
    }
}
