//! Pods of one owner are mostly stored alike, and then keep one copy of their spec.

use std::sync::Arc;

use object::Object;
use object::meta::controller_of;
use object::pod::Spec;

use super::recent::Recent;

/// The spec of the last new Pod of each owner, as it was stored.
#[derive(Clone, Default)]
pub struct Siblings(Recent<String, Spec>);

impl Siblings {
    /// Lets a new Pod share its spec with the one that its owner made before.
    pub fn share(&mut self, object: &mut Object) {
        let Object::Pod(pod) = object else { return };
        let Some(owner) = controller_of(&pod.metadata).map(|owner| owner.uid.clone()) else { return };
        let Some(spec) = &mut Arc::make_mut(pod).spec else { return };
        if self.0.get(&owner).is_some_and(|sibling| spec.share_with(sibling)) {
            return;
        }
        self.0.insert(owner, spec.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use object::Kind;

    fn pod(owner: &str, image: &str, node: &str) -> Object {
        let owner =
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner, "controller": true});
        let metadata = json!({"name": "web", "ownerReferences": [owner]});
        let spec = json!({"containers": [{"name": "web", "image": image}], "nodeName": node});
        Kind::Pod.decode(json!({"metadata": metadata, "spec": spec})).expect("a Pod")
    }

    fn shared(siblings: &mut Siblings, mut object: Object) -> Spec {
        siblings.share(&mut object);
        let Object::Pod(pod) = object else { unreachable!("a Pod") };
        pod.spec.clone().expect("a spec")
    }

    #[test]
    fn pods_of_one_owner_keep_one_spec_as_long_as_they_are_alike() {
        let mut siblings = Siblings::default();
        let first = shared(&mut siblings, pod("a", "nginx:1", "node-1"));
        let same = |spec: &Spec| std::ptr::eq::<k8s_openapi::api::core::v1::PodSpec>(&**spec, &*first);
        let second = shared(&mut siblings, pod("a", "nginx:1", "node-2"));
        assert!(same(&second));
        assert_eq!(second.node_name.as_deref(), Some("node-2"));
        assert!(!same(&shared(&mut siblings, pod("b", "nginx:1", "node-1"))), "of another owner");
        assert!(!same(&shared(&mut siblings, pod("a", "nginx:2", "node-1"))), "with another image");
    }
}
