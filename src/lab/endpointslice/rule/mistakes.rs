//! What learners do instead.

use super::*;
use crate::making::has_long_name;
use crate::mistake::mistaken_hosts;
use crate::reconcile::Mistaken;
use object::pod::phase;
use object::pod::status::PodCondition;

/// What learners really write, and how to say so.
pub(crate) const MISTAKES: &[Mistaken] = mistaken_hosts! {
    no_owner: "the slice has no owner reference to the Service"
        => { meta: |service| ObjectMeta { owner_references: None, ..meta(service) } };
    no_label: "the slice has no label that says whose it is"
        => {
            meta: |service| ObjectMeta {
                labels: Some([("service".to_owned(), service.metadata.name().to_owned())].into()),
                ..meta(service)
            }
        };
    ignores_readiness: "Pods that are not ready are called ready"
        => { conditions: |serves, goes| Some(EndpointConditions { ready: Some(!goes), ..conditions(serves, goes) }) };
    only_ready: "Pods that are not ready have no endpoint" => { has_endpoint: |pod| !has_ended(pod) && is_ready(pod) };
    going_is_ready: "Pods that are being deleted are called ready"
        => { conditions: |serves, goes| Some(EndpointConditions { ready: Some(serves), ..conditions(serves, goes) }) };
    leaves_going: "Pods that are being deleted have no endpoint, though they still answer"
        => { has_endpoint: |pod| !has_ended(pod) && pod.metadata.deletion_timestamp.is_none() };
    any_label: "one label of the selector is taken for all"
        => { selects: |selector, labels| selector.iter().any(|(key, value)| label(labels, key) == Some(value)) };
    keeps_ended: "Pods that have ended keep their endpoints" => { has_endpoint: |_| true };
    no_address: "Pods without an address get an endpoint"
        => { addresses: |pod| addresses(pod).or(Some(vec![String::new()])) };
    service_port: "the slice has the port of the Service; Pods listen at targetPort"
        => { ports: |service| ports_with(service, |declared, port| port.port = Some(declared.port)) };
    never_changes: "a slice that is there is not changed" => { is_left: |_, _| true };
    always_changes: "a slice is written again, though it is as it should be" => { is_left: |_, _| false };
    makes_anew: "the slice is deleted and made anew; meanwhile the Service has none" => { write: |_, _| Write::Anew };
    no_selector: "a Service without a selector gets all Pods"
        => { selector: |service| selector_of(service).or(Some(&NONE)) };
    ignores_deletion: "a Service that is being deleted gets its slice again" => { is_left_alone: |_| false };
    swallows: "it takes a failed call for done"
        => {
            made: |_| Ok(()),
            marked: |_| Ok(())
        };
    deletes_empty: "the slice of a Service without Pods is deleted" => { deletes_empty: true };
    in_default: "it works in the namespace default, wherever the Service is" => { namespace: |_| "default" };
    all_namespaces: "Pods of other namespaces get endpoints too" => { is_near: |_, _| true };
    keys_only: "the values of labels are not compared"
        => { selects: |selector, labels| all_labels(selector, labels, |_, _| true) };
    first_port: "the slice has the first port of the Service only"
        => { ports: |service| ports(service).into_iter().take(1).collect() };
    keeps_failed: "Pods that have failed keep their endpoints"
        => { has_endpoint: |pod| !has_ended(pod) || phase(pod) == "Failed" };
    going_serves_not: "Pods that are being deleted are said not to serve, though they still answer"
        => {
            conditions: |serves, goes| {
                Some(EndpointConditions { serving: Some(serves && !goes), ..conditions(serves, goes) })
            }
        };
    no_headless: "a Service that has no address of its own gets no slice"
        => { is_left_alone: |service| goes(service) || is_headless(service) };
    only_inside: "only a Service of type ClusterIP gets a slice"
        => {
            is_left_alone: |service| {
                let kind = service.spec.as_ref().and_then(|spec| spec.type_.as_deref());
                goes(service) || kind != Some("ClusterIP")
            }
        };
    no_ports: "a Service without ports gets no slice"
        => { is_left_alone: |service| goes(service) || declared(service).is_empty() };
    nameless: "a port without a name is written without one; the API server says \"\", so that it always differs"
        => { ports: |service| ports_with(service, |declared, port| port.name.clone_from(&declared.name)) };
    finds_by_label: "it takes any slice with the label of its Service for the one it makes"
        => {
            is_its: |there, its| {
                let label = there.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME));
                label == its.name.as_ref() && there.namespace == its.namespace
            }
        };
    finds_by_owner: "it takes any slice that its Service controls for the one it makes"
        => {
            is_its: |there, its| {
                let owner = controller_of(there).map(|owner| &owner.uid);
                owner == its.uid.as_ref() && there.namespace == its.namespace
            }
        };
    replaces: "it puts a new slice in the place of the one that is there: what others wrote into it is lost"
        => { write: |_, wanted| Write::Whole(Box::new(wanted.clone())) };
    makes_unseen_anew: "a slice that its cache does not show yet is deleted and made anew" => { deletes_unseen: true };
    ignores_protocol: "that only the protocol of a port has changed is not seen"
        => {
            is_left: |there, wanted| {
                let number = |port: &EndpointPort| (port.name.clone(), port.port);
                same_ports_by(there, wanted, number) && same_endpoints(there, wanted)
            }
        };
    no_app_protocol: "it leaves out the appProtocol of a port"
        => { ports: |service| ports_with(service, |_, port| port.app_protocol = None) };
    begins_like: "a label whose value only begins like that of the selector is enough"
        => { selects: |selector, labels| all_labels(selector, labels, |there, value| there.starts_with(value)) };
    all_addresses: "an endpoint has all addresses of its Pod, of IPv6 too"
        => {
            addresses: |pod| {
                let all = pod.status.iter().flat_map(|status| status.pod_ips.iter().flatten());
                addresses(pod).map(|_| all.map(|one| one.ip.to_string()).collect())
            }
        };
    drops_owner: "the slice loses its owner reference when it is changed"
        => { write: |_, wanted| with_owners(wanted, &json!([])) };
    empty_differs: "an empty slice is written again each time"
        => { is_left: |there, wanted| same_ports(there, wanted) && there.endpoints == wanted.endpoints };
    no_ports_differ: "a slice without ports is written again each time"
        => { is_left: |there, wanted| there.ports == wanted.ports && same_endpoints(there, wanted) };
    by_number: "the Pods are in the order of the numbers in their names: web-2 before web-10"
        => { order: |pods| pods.sort_by_key(|pod| pod.metadata.name.as_ref().map(|name| (name.len(), name.clone()))) };
    one_for_address: "Pods with the same address get one endpoint"
        => {
            kept: |endpoints| {
                let mut seen = Vec::new();
                endpoints.retain(|one| {
                    let is_new = !seen.contains(&one.addresses);
                    seen.push(one.addresses.clone());
                    is_new
                });
            }
        };
    no_host_network: "Pods in the network of their node get no endpoint"
        => {
            order: |pods| {
                by_name(pods);
                pods.retain(|pod| pod.spec.as_ref().and_then(|spec| spec.host_network) != Some(true));
            }
        };
    never_labels: "a slice that has lost its label does not get it again"
        => { is_marked: |slice, _| controller_of(&slice.metadata).is_some() };
    never_owns: "a slice that has lost its owner reference does not get it again" => { is_marked: has_label };
    ignores_app_protocol: "that only the appProtocol of a port has changed is not seen"
        => {
            is_left: |there, wanted| {
                let number = |port: &EndpointPort| (port.name.clone(), port.port, port.protocol.clone());
                same_ports_by(there, wanted, number) && same_endpoints(there, wanted)
            }
        };
    one_port_a_number: "two ports with one number are taken for one"
        => {
            ports: |service| {
                let mut ports = ports(service);
                ports.dedup_by_key(|port| port.port);
                ports
            }
        };
    follows_going: "the slice of a Service that is being deleted is still changed"
        => {
            is_left_alone: |_| false,
            makes: |service| !goes(service)
        };
    drops_owners: "a slice has one owner after it was changed, and its other owners are lost"
        => { write: |_, wanted| with_owners(wanted, &json!(wanted.metadata.owner_references)) };
    all_conditions: "a Pod is ready only if all its conditions are True"
        => {
            serves: |pod| !conditions_of(pod).is_empty() && conditions_of(pod).iter().all(|one| one.status == "True")
        };
    ignores_version: "it writes the slice as its cache shows it: what others wrote meanwhile is lost"
        => {
            write: |there, wanted| {
                let (endpoints, ports) = (wanted.endpoints.clone(), wanted.ports.clone());
                let mut whole = EndpointSlice { endpoints, ports, ..there.clone() };
                whole.metadata.resource_version = None;
                Write::Whole(Box::new(whole))
            }
        };
    headless_port: "a Service that has no address of its own gets its own port into the slice"
        => {
            ports: |service| match is_headless(service) {
                true => ports_with(service, |declared, port| port.port = Some(declared.port)),
                false => ports(service),
            }
        };
    any_case: "capitals in the value of a label are not looked at"
        => { selects: |selector, labels| all_labels(selector, labels, str::eq_ignore_ascii_case) };
    at_most_four: "it lists four Pods, and no more"
        => {
            order: |pods| {
                by_name(pods);
                pods.truncate(4);
            }
        };
    at_most_forty: "it lists forty Pods, and no more"
        => {
            order: |pods| {
                by_name(pods);
                pods.truncate(40);
            }
        };
    two_labels: "of the labels of the selector it looks at two only"
        => {
            selects: |selector, labels| {
                selector.iter().take(2).all(|(key, value)| label(labels, key) == Some(value))
            }
        };
    owns_alone: "it puts its own owner reference in the place of all that a slice has" => { mark: Patch::Merge };
    any_name: "a slice that is called another Service's does not get its label again"
        => {
            is_marked: |slice, _| {
                let label = label(slice.metadata.labels.as_ref(), SERVICE_NAME);
                label.is_some() && controller_of(&slice.metadata).is_some()
            }
        };
    ignores_name: "that only the name of a port has changed is not seen"
        => {
            is_left: |there, wanted| {
                let rest = |port: &EndpointPort| EndpointPort { name: None, ..port.clone() };
                same_ports_by(there, wanted, rest) && same_endpoints(there, wanted)
            }
        };
    ignores_conditions: "that only the conditions of an endpoint have changed is not seen"
        => {
            is_left: |there, wanted| {
                let addresses = |endpoint: &Endpoint| endpoint.addresses.clone();
                let [there_too, wanted_too] = [there, wanted].map(|one| one.endpoints.iter().flatten().map(addresses));
                same_ports(there, wanted) && there_too.eq(wanted_too)
            }
        };
    containers_ready: "it takes the condition ContainersReady for Ready"
        => {
            serves: |pod| conditions_of(pod).iter().any(|one| one.type_ == "ContainersReady" && one.status == "True")
        };
    unsorted: "the Pods are not in the order of their names"
        => { order: |_| {} }
        | { order: |pods| pods.sort_by_key(|pod| pod.metadata.creation_timestamp.clone()) }
        | { order: |pods| pods.sort_by_key(|pod| pod.status.as_ref().and_then(|status| status.pod_ip.clone())) };
    no_conditions: "an endpoint says nothing of how its Pod is" => { conditions: |_, _| None };
    any_namespace: "a slice of another namespace is taken for that of the Service"
        => { is_its: |there, its| there.name == its.name };
    no_other_labels: "a Pod that has other labels besides those of the selector gets no endpoint"
        => {
            selects: |selector, labels| {
                all_labels(selector, labels, |there, value| there == value)
                    && labels.map(BTreeMap::len) == Some(selector.len())
            }
        };
    lists_pods: "it lists the Pods from the API server, and does not read its cache" => { lists_pods: true };
    lists_slices: "it lists the slices from the API server, and does not read its cache" => { lists_slices: true };
    needs_running: "a Pod is taken for ready only if its phase is Running"
        => { serves: |pod| is_ready(pod) && phase(pod) == "Running" };
    unknown_is_ended: "a Pod whose state is not known (phase Unknown) gets no endpoint"
        => { has_endpoint: |pod| !has_ended(pod) && phase(pod) != "Unknown" };
    only_running: "only a Pod whose phase is Running gets an endpoint; any gets one that has not ended"
        => { has_endpoint: |pod| !has_ended(pod) && phase(pod) == "Running" };
    no_long_name: "it does nothing about a Service that has a long name"
        => { is_left_alone: |service| goes(service) || has_long_name(&service.metadata) };
    no_sctp: "a port of a protocol besides TCP and UDP is left out"
        => {
            ports: |service| {
                ports(service).into_iter().filter(|port| port.protocol.as_deref() != Some("SCTP")).collect()
            }
        };
    ready_containers: "a Pod is taken for ready if its containers are; other things may have to be ready too"
        => {
            serves: |pod| {
                let all = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
                all.map_or(is_ready(pod), |all| all.iter().all(|container| container.ready))
            }
        };
};

/// Labels that select all.
static NONE: Labels = Labels::new();

fn is_headless(service: &Service) -> bool {
    service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref()) == Some("None")
}

fn conditions_of(pod: &Pod) -> &[PodCondition] {
    pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default()
}

/// The ports with something changed in each.
fn ports_with(service: &Service, change: fn(&ServicePort, &mut EndpointPort)) -> Vec<EndpointPort> {
    let mut ports = ports(service);
    declared(service).iter().zip(&mut ports).for_each(|(declared, port)| change(declared, port));
    ports
}

/// The patch, with other owners of the slice.
fn with_owners(wanted: &EndpointSlice, owners: &Value) -> Write {
    let mut patch = patch(wanted);
    patch["metadata"] = json!({"ownerReferences": owners});
    Write::Patch(patch)
}

/// Whether two slices have the same ports, by this of each.
fn same_ports_by<T: PartialEq>(there: &EndpointSlice, wanted: &EndpointSlice, of: fn(&EndpointPort) -> T) -> bool {
    let [there, wanted] = [there, wanted].map(|one| one.ports.iter().flatten().map(of));
    there.eq(wanted)
}
