//! PodTopologyLabels: a Pod carries its node's zone and region as labels, so that the Pod itself can read them.
//! Mirrors `plugin/pkg/admission/podtopologylabels`.

use std::collections::BTreeMap;

use object::pod::assigned_node;
use object::well_known::{REGION, ZONE};
use object::{Kind, Object, Status};
use wire::Binding;

use super::Attributes;
use object::reader::Reader;

const COPIED: [&str; 2] = [ZONE, REGION];

/// The labels of the binding's node go with it; binding writes them onto the Pod.
pub fn admit_binding(binding: &mut Binding, reader: &dyn Reader) {
    binding.labels.extend(topology_of(&binding.node, reader));
}

/// A Pod that is created with a node gets the labels at once.
pub fn admit(attributes: &mut Attributes, object: &mut Object) -> Result<(), Status> {
    if !attributes.is_create() || attributes.request.subresource.is_some() {
        return Ok(());
    }
    let Object::Pod(pod) = object else { return Ok(()) };
    let labels = assigned_node(pod).map(|node| topology_of(node, attributes.reader)).unwrap_or_default();
    if !labels.is_empty() {
        object.meta_mut().labels.get_or_insert_default().extend(labels);
    }
    Ok(())
}

fn topology_of(node: &str, reader: &dyn Reader) -> BTreeMap<String, String> {
    let node = reader.get(Kind::Node, "", node);
    let labels = node.as_ref().and_then(|node| node.meta().labels.as_ref());
    let copied = |label: &&str| Some(((*label).to_owned(), labels?.get(*label)?.clone()));
    COPIED.iter().filter_map(copied).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{Objects, create};
    use super::*;

    #[test]
    fn zone_and_region_come_from_the_node() {
        let labels = json!({"topology.kubernetes.io/zone": "zone-a", "topology.kubernetes.io/region": "region-1",
            "disktype": "ssd"});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "labels": labels}});
        let objects = Objects::parse(&[node]);
        let mut binding = Binding { node: "node-1".into(), ..Binding::default() };
        admit_binding(&mut binding, &objects);
        let got: Vec<(&str, &str)> = binding.labels.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(got, [(COPIED[1], "region-1"), (COPIED[0], "zone-a")]);
        for (node, labels) in [
            ("node-1", json!({"topology.kubernetes.io/zone": "zone-a", "topology.kubernetes.io/region": "region-1"})),
            ("node-2", Value::Null),
            ("", Value::Null),
        ] {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
                "spec": {"containers": [], "nodeName": node}});
            let got = create(admit, &objects, pod).expect("admitted").to_json();
            assert_eq!(got["metadata"]["labels"], labels, "{node}");
        }
    }
}
