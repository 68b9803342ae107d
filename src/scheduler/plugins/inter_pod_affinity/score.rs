//! The preferred terms, of the pod and of those already there. Mirrors `interpodaffinity/scoring.go`.

use crate::classes::PodClass;
use crate::framework::{MAX_NODE_SCORE, Score};
use crate::node_info::NodeInfo;
use crate::pod_info::{AffinityTerm, PodInfo};
use crate::snapshot::Snapshot;

/// For each place, the weights of all terms that speak for it, minus those that speak against it.
pub struct Company {
    by_pair: Vec<i64>,
    hard_weight: i64,
}

impl Company {
    /// None if no term speaks for or against any place. `hard_weight` is what a required affinity counts.
    pub fn new(pod: &PodInfo, snapshot: &Snapshot, hard_weight: i64) -> Option<Company> {
        let mut company = Company { by_pair: Vec::new(), hard_weight };
        if pod.terms.any_preferred() {
            for class in snapshot.classes.all() {
                company.wishes_of_pod(pod, class, snapshot);
            }
        }
        for class in snapshot.classes.with_terms() {
            company.wishes_of_class(pod, class, snapshot);
        }
        (!company.by_pair.is_empty()).then_some(company)
    }

    /// What the pod thinks of those there.
    fn wishes_of_pod(&mut self, pod: &PodInfo, class: &PodClass, snapshot: &Snapshot) {
        let namespace_labels = snapshot.namespace_labels(&class.namespace);
        let about = |term: &&AffinityTerm| term.matches(&class.namespace, namespace_labels, &class.labels);
        for term in pod.terms.preferred_affinity.iter().filter(about) {
            self.add(class, term, term.weight, snapshot);
        }
        for term in pod.terms.preferred_anti_affinity.iter().filter(about) {
            self.add(class, term, -term.weight, snapshot);
        }
    }

    /// What those there think of the pod. Their required affinity has been met already, where they are; it counts
    /// a little for having the pod there too.
    fn wishes_of_class(&mut self, pod: &PodInfo, class: &PodClass, snapshot: &Snapshot) {
        let namespace_labels = snapshot.namespace_labels(pod.namespace());
        let about = |term: &&AffinityTerm| term.matches(pod.namespace(), namespace_labels, pod.labels());
        for term in class.terms.required_affinity.iter().filter(about) {
            self.add(class, term, self.hard_weight, snapshot);
        }
        for term in class.terms.preferred_affinity.iter().filter(about) {
            self.add(class, term, term.weight, snapshot);
        }
        for term in class.terms.preferred_anti_affinity.iter().filter(about) {
            self.add(class, term, -term.weight, snapshot);
        }
    }

    fn add(&mut self, class: &PodClass, term: &AffinityTerm, weight: i64, snapshot: &Snapshot) {
        let Some(key) = snapshot.label_key(&term.topology_key) else { return };
        for (node, pods) in &class.nodes {
            if let Some(place) = snapshot.place_of(*node, key) {
                self.by_pair.resize(snapshot.pair_slots(), 0);
                self.by_pair[place.0 as usize] += weight * i64::from(*pods);
            }
        }
    }
}

impl Score for Company {
    fn score(&self, node: &NodeInfo) -> i64 {
        node.label_pairs.iter().map(|(_, pair)| self.by_pair[pair.0 as usize]).sum()
    }

    /// The best company becomes 100, the worst 0.
    fn normalise(&self, raw: &mut [i64]) {
        let max = raw.iter().copied().max().unwrap_or(0);
        let min = raw.iter().copied().min().unwrap_or(0);
        for score in raw {
            let share = if max > min { (*score - min) as f64 / (max - min) as f64 } else { 0.0 };
            *score = (MAX_NODE_SCORE as f64 * share) as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plugins::inter_pod_affinity::InterPodAffinity;
    use crate::plugins::testing::scores;
    use crate::testing::{labelled, node, snapshot};

    fn preferred(kind: &str, app: &str, weight: u32) -> String {
        format!(
            "{{affinity: {{{kind}: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: {weight}, podAffinityTerm: {{labelSelector: {{matchLabels: {{app: {app}}}}}, topologyKey: zone}}}}]}}}}}}"
        )
    }

    #[test]
    fn preferences_of_both_sides_count() {
        let zone = |zone: &str| format!("{{metadata: {{labels: {{zone: {zone}}}}}}}");
        let nodes = || vec![node("a", &zone("a")), node("b", &zone("b")), node("c", &zone("c"))];
        let cache = || labelled("cache", "app=cache", "");
        let requires = "{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: {app: web}}, topologyKey: zone}]}}}";
        let cases = [
            ("nobody cares", labelled("p", "app=web", ""), vec![(cache(), "a")], vec![]),
            (
                "near",
                labelled("p", "app=web", &preferred("podAffinity", "cache", 10)),
                vec![(cache(), "a")],
                vec![100, 0, 0],
            ),
            (
                "far",
                labelled("p", "app=web", &preferred("podAntiAffinity", "cache", 10)),
                vec![(cache(), "a")],
                vec![0, 100, 100],
            ),
            (
                "liked",
                labelled("p", "app=web", ""),
                vec![(labelled("q", "", &preferred("podAffinity", "web", 5)), "b")],
                vec![0, 100, 0],
            ),
            (
                "disliked",
                labelled("p", "app=web", ""),
                vec![(labelled("q", "", &preferred("podAntiAffinity", "web", 5)), "b")],
                vec![100, 0, 100],
            ),
            (
                "required by another",
                labelled("p", "app=web", ""),
                vec![(labelled("q", "", requires), "c")],
                vec![0, 0, 100],
            ),
            (
                "both",
                labelled("p", "app=web", &preferred("podAffinity", "cache", 4)),
                vec![(cache(), "a"), (labelled("q", "", &preferred("podAffinity", "web", 1)), "b")],
                vec![100, 25, 0],
            ),
        ];
        let indifferent = InterPodAffinity { ignore_preferred_terms_of_existing_pods: true, ..Default::default() };
        let liking = vec![(labelled("q", "", &preferred("podAffinity", "web", 5)), "b")];
        assert!(scores(&indifferent, labelled("p", "app=web", ""), &snapshot(nodes(), liking)).is_empty());
        for (name, pod, pods, expected) in cases {
            assert_eq!(scores(&InterPodAffinity::default(), pod, &snapshot(nodes(), pods)), expected, "{name}");
        }
    }
}
