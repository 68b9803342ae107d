use serde_json::{Value, json};

use super::*;
use apiserver::admission::testing::{Objects, create};
use apiserver::admission::{Mutate, default_toleration_seconds, priority, service_account};
use kinds::defaults;
use object::Object;

#[test]
fn the_rule_passes_and_every_known_mistake_is_named() {
    crate::function::check::<Admission>("admission");
}

#[test]
fn the_rule_is_that_of_our_api_server() {
    for case in Admission::questions() {
        let manifest = |version: &str, kind: &str, mut value: Value| {
            value["apiVersion"] = json!(version);
            value["kind"] = json!(kind);
            value
        };
        let accounts = case.cluster.accounts.iter().map(|one| manifest("v1", "ServiceAccount", json!(one)));
        let classes =
            case.cluster.classes.iter().map(|one| manifest("scheduling.k8s.io/v1", "PriorityClass", json!(one)));
        let objects = Objects::parse(&accounts.chain(classes).collect::<Vec<_>>());
        let set_defaults: Mutate = |_, object| {
            defaults::set_defaults(object);
            Ok(())
        };
        let plugins: [Mutate; 4] =
            [set_defaults, service_account::admit, priority::admit, default_toleration_seconds::admit];
        let mut pod = manifest("v1", "Pod", json!(case.pod));
        let admitted = plugins.into_iter().try_for_each(|plugin| {
            pod = create(plugin, &objects, pod.clone()).map_err(|status| status.message)?.to_json();
            Ok(())
        });
        let ours = admitted.map(|()| {
            let Object::Pod(pod) = apiserver::admission::testing::object(pod.clone()) else { unreachable!() };
            let pod = Pod::from((*pod).clone());
            // It sets more than the exercise asks for.
            super::admitted(&pod, &pod)
        });
        assert_eq!(ours, Admission::right(&case), "{}", Admission::show(&case));
    }
}
