//! NamespaceLifecycle: nothing lives in a namespace that is not there, nothing is born in one that is going, and three
//! namespaces stay. Mirrors `k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle`.

use object::status::{Cause, Details, NAMESPACE_TERMINATING};
use object::{Kind, Object, Status};

use super::{Attributes, forbidden};

const IMMORTAL: &[&str] = &["default", "kube-system", "kube-public"];

/// Objects of an absent namespace are refused with 404, new objects of a terminating one with 403.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    let request = attributes.request;
    // What may be done in a namespace, one may ask before it is there.
    if !request.kind.info().namespaced || request.kind == Kind::LocalSubjectAccessReview {
        return Ok(());
    }
    let name = &request.namespace;
    // The real plugin waits 50 ms for its cache and then asks again, live; here the first look is live.
    let Some(namespace) = attributes.reader.get(Kind::Namespace, "", name) else {
        return Err(Status::not_found(Kind::Namespace, name));
    };
    if !attributes.is_create() || !is_terminating(&namespace) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let mut status = forbidden(request, Some(object), &why);
    let details: &mut Details = status.details.get_or_insert_default();
    // Controllers look for this cause, and give up without complaint.
    details.causes.push(Cause {
        reason: NAMESPACE_TERMINATING.into(),
        message: format!("namespace {name} is being terminated"),
        field: "metadata.namespace".into(),
    });
    Err(status)
}

/// The namespaces that the system needs may not be deleted.
pub fn admit_delete(attributes: &Attributes) -> Result<(), Status> {
    let request = attributes.request;
    if request.kind == Kind::Namespace && IMMORTAL.contains(&request.name.as_str()) {
        return Err(forbidden(request, attributes.old, "this namespace may not be deleted"));
    }
    Ok(())
}

fn is_terminating(namespace: &Object) -> bool {
    let Object::Namespace(namespace) = namespace else { return false };
    let phase = namespace.status.as_ref().and_then(|status| status.phase.as_deref());
    namespace.metadata.deletion_timestamp.is_some() || phase == Some("Terminating")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{Objects, create, object, request, with};
    use super::*;
    use wire::{User, Verb};

    #[test]
    fn the_namespace_must_be_there_and_alive() {
        let objects = Objects::parse(&[
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev"}}),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"},
                "status": {"phase": "Terminating"}}),
        ]);
        let pod = |namespace: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "generateName": "web-"}});
        assert!(create(admit, &objects, pod("dev")).is_ok());
        let missing = create(admit, &objects, pod("nowhere")).expect_err("there is no such namespace");
        assert_eq!((missing.code, missing.message.as_str()), (404, "namespaces \"nowhere\" not found"));
        let going = create(admit, &objects, pod("old")).expect_err("the namespace is going");
        assert_eq!(
            going.message,
            "pods \"web-\" is forbidden: unable to create new content in namespace old because it is being terminated"
        );
        assert!(going.is_namespace_terminating());
    }

    #[test]
    fn some_namespaces_stay() {
        for (name, message) in
            [("default", Some("namespaces \"default\" is forbidden: this namespace may not be deleted")), ("dev", None)]
        {
            let old = object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
            let request = request(User::admin(), Verb::Delete, None, &old);
            let objects = Objects::default();
            assert_eq!(
                with(&request, Some(&old), &objects, |attributes| admit_delete(attributes))
                    .err()
                    .map(|status| status.message)
                    .as_deref(),
                message
            );
        }
    }
}
