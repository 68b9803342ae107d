//! What Pods and nodes were found to use: the aggregated API `metrics.k8s.io/v1beta1`.

use std::time::Duration;

use serde_json::{Value, json};

use super::Kind;
use super::quantity::Amount;
use super::time::Instant;

/// The API group.
pub const GROUP: &str = "metrics.k8s.io";
/// Its version.
pub const VERSION: &str = "v1beta1";
/// Both, as objects carry them.
pub const API_VERSION: &str = "metrics.k8s.io/v1beta1";

/// CPU and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Thousandths of a core.
    pub cpu_millis: i64,
    /// Bytes.
    pub memory_bytes: i64,
}

impl Usage {
    /// The amount of `cpu` or `memory`; none for anything else, which is not measured.
    pub fn of(self, resource: &str) -> Option<Amount> {
        match resource {
            "cpu" => Some(Amount::millis(self.cpu_millis)),
            "memory" => Some(Amount::bytes(self.memory_bytes)),
            _ => None,
        }
    }
}

impl std::iter::Sum for Usage {
    fn sum<I: Iterator<Item = Usage>>(all: I) -> Usage {
        all.fold(Usage::default(), |a, b| Usage {
            cpu_millis: a.cpu_millis.saturating_add(b.cpu_millis),
            memory_bytes: a.memory_bytes.saturating_add(b.memory_bytes),
        })
    }
}

/// `PodMetrics` or `NodeMetrics`: what was used, and when that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// The Pod's namespace; empty for a node.
    pub namespace: String,
    /// The Pod's or node's name.
    pub name: String,
    /// When the measurement ended.
    pub timestamp: Instant,
    /// How long it took.
    pub window: Duration,
    /// By container; for a node, one without a name.
    pub containers: Vec<(String, Usage)>,
}

impl Metrics {
    /// All containers together.
    pub fn total(&self) -> Usage {
        self.containers.iter().map(|(_, usage)| *usage).sum()
    }

    /// How long the measurement took, as Go prints it: `15s`.
    pub fn window(&self) -> String {
        format!("{}s", self.window.as_secs_f64())
    }

    /// As the API prints it, for a Pod or a Node.
    pub fn to_json(&self, of: Kind) -> Value {
        let shown = |usage: Usage| {
            let [cpu, memory] = [Amount::millis(usage.cpu_millis), Amount::bytes(usage.memory_bytes)];
            json!({"cpu": cpu.to_string(), "memory": memory.to_string()})
        };
        let mut value = json!({
            "kind": format!("{of}Metrics"), "apiVersion": API_VERSION, "metadata": {"name": self.name},
            "timestamp": self.timestamp.time(), "window": self.window(),
        });
        if of == Kind::Node {
            value["usage"] = shown(self.total());
            return value;
        }
        value["metadata"]["namespace"] = json!(self.namespace);
        let container = |(name, usage): &(String, Usage)| json!({"name": name, "usage": shown(*usage)});
        value["containers"] = self.containers.iter().map(container).collect();
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_print_as_the_api_prints_them() {
        let usage = Usage { cpu_millis: 250, memory_bytes: 64 << 20 };
        let metrics = Metrics {
            namespace: "default".into(),
            name: "web-1".into(),
            timestamp: Instant(30_000_000_000),
            window: Duration::from_secs(15),
            containers: vec![("nginx".into(), usage)],
        };
        let want = json!({
            "kind": "PodMetrics", "apiVersion": "metrics.k8s.io/v1beta1",
            "metadata": {"name": "web-1", "namespace": "default"},
            "timestamp": "2026-01-01T00:00:30Z", "window": "15s",
            "containers": [{"name": "nginx", "usage": {"cpu": "250m", "memory": "64Mi"}}],
        });
        assert_eq!(metrics.to_json(Kind::Pod), want);
    }
}
