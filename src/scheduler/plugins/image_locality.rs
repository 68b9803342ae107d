//! ImageLocality: better where the images are already, but less so for an image that only few nodes have, lest all
//! pods run to those. Mirrors `plugins/imagelocality/image_locality.go`.

use crate::framework::{MAX_NODE_SCORE, Plugin, Point, PreScore, Score};
use crate::node_info::{ImageId, NodeId, NodeInfo};
use crate::pod_info::PodInfo;
use crate::snapshot::Snapshot;
use object::pod::containers;

const MIB: i64 = 1024 * 1024;
/// Below this the images do not count at all.
const MIN_THRESHOLD: i64 = 23 * MIB;
/// At this, for each container, they count in full.
const MAX_CONTAINER_THRESHOLD: i64 = 1000 * MIB;

/// Nodes that have the images already come first.
pub struct ImageLocality;

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        "ImageLocality"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::Score]
    }

    /// If no node has any of the images every score would be 0, and asking each node is saved.
    fn pre_score<'a>(&'a self, pod: &'a PodInfo, snapshot: &'a Snapshot, _feasible: &[NodeId]) -> PreScore<'a> {
        let Some(spec) = pod.spec() else { return PreScore::Skip };
        let volumes = spec.volumes.iter().flatten().filter_map(|volume| volume.image.as_ref()?.reference.as_ref());
        let names = containers(spec).filter_map(|container| container.image.as_ref()).chain(volumes);
        let images = names.filter_map(|name| {
            let (image, nodes) = snapshot.image(&with_tag(name))?;
            (nodes > 0).then(|| (image, f64::from(nodes) / snapshot.node_count() as f64))
        });
        let images: Vec<(ImageId, f64)> = images.collect();
        if images.is_empty() {
            return PreScore::Skip;
        }
        PreScore::Ask(Box::new(BytesThere { images, containers: containers(spec).count() as i64 }))
    }
}

struct BytesThere {
    /// Each image and the share of nodes that have it.
    images: Vec<(ImageId, f64)>,
    containers: i64,
}

impl Score for BytesThere {
    fn score(&self, node: &NodeInfo) -> i64 {
        let there =
            |(image, share): &(ImageId, f64)| node.image_size(*image).map_or(0, |size| (size as f64 * share) as i64);
        let bytes: i64 = self.images.iter().map(there).sum();
        let max = MAX_CONTAINER_THRESHOLD * self.containers;
        MAX_NODE_SCORE * (bytes.clamp(MIN_THRESHOLD, max) - MIN_THRESHOLD) / (max - MIN_THRESHOLD)
    }
}

/// `nginx` means `nginx:latest`. Mirrors `normalizedImageName`.
fn with_tag(image: &str) -> String {
    if image.rfind(':') <= image.rfind('/') { format!("{image}:latest") } else { image.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::scores;
    use crate::testing::{node, pod, snapshot};

    #[test]
    fn images_that_are_there_count_by_size_and_spread() {
        let has =
            |name: &str, mib: i64| format!("{{status: {{images: [{{names: ['{name}'], sizeBytes: {}}}]}}}}", mib * MIB);
        let nodes = vec![
            node("a", &has("big:1", 1000)),
            node("b", &has("big:1", 1000)),
            node("c", &has("tiny:latest", 20)),
            node("d", ""),
        ];
        let snapshot = snapshot(nodes, vec![]);
        let cases = [
            // Half the nodes have it: 500 MiB of it count, (500-23)/(1000-23).
            ("big:1", vec![48, 48, 0, 0]),
            ("tiny", vec![0, 0, 0, 0]),
            ("unknown", vec![]),
        ];
        for (image, expected) in cases {
            let spec = format!("{{containers: [{{name: a, image: '{image}'}}]}}");
            assert_eq!(scores(&ImageLocality, pod("p", &spec), &snapshot), expected, "{image}");
        }
    }

    #[test]
    fn images_that_are_volumes_count_too() {
        let has = format!("{{status: {{images: [{{names: ['data:1'], sizeBytes: {}}}]}}}}", 1000 * MIB);
        let snapshot = snapshot(vec![node("a", &has), node("b", "")], vec![]);
        let spec = "{volumes: [{name: v, image: {reference: 'data:1'}}], containers: [{name: a, image: x}]}";
        assert_eq!(scores(&ImageLocality, pod("p", spec), &snapshot), [48, 0]);
    }

    #[test]
    fn a_port_of_a_registry_is_no_tag() {
        for (image, full) in
            [("nginx", "nginx:latest"), ("nginx:1", "nginx:1"), ("host:5000/nginx", "host:5000/nginx:latest")]
        {
            assert_eq!(with_tag(image), full);
        }
    }
}
