//! What Pods and nodes use: the aggregated API `metrics.k8s.io/v1beta1`, and the loads that a scenario puts on Pods.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::Kind;
use super::quantity::Amount;
use super::selector::Selector;
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
    /// The amount of `cpu` or `memory`; none for anything else, which nobody measures.
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

    /// As the API prints it, for a Pod or a Node.
    pub fn to_json(&self, of: Kind) -> Value {
        let shown = |usage: Usage| {
            let [cpu, memory] = [Amount::millis(usage.cpu_millis), Amount::bytes(usage.memory_bytes)];
            json!({"cpu": cpu.to_string(), "memory": memory.to_string()})
        };
        let mut value = json!({
            "kind": format!("{of}Metrics"), "apiVersion": API_VERSION, "metadata": {"name": self.name},
            "timestamp": self.timestamp.time(), "window": format!("{}s", self.window.as_secs_f64()),
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

/// What a scenario has some Pods use from some moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Where the Pods are.
    pub namespace: String,
    /// Which: `app=web`.
    pub selector: String,
    /// Which of their containers; empty: the first.
    pub container: String,
    /// Thousandths of a core; none: as before.
    pub cpu_millis: Option<i64>,
    /// Bytes; none: as before.
    pub memory_bytes: Option<i64>,
    /// Whether that is for all of them together, and the ready ones share it evenly.
    pub shared: bool,
}

impl Load {
    /// Reads `app=web cpu=900m memory=200Mi container=nginx shared`.
    pub fn parse(words: &[&str], namespace: &str) -> Result<Load, String> {
        let Some((selector, rest)) = words.split_first() else { return Err("it is not said on which Pods".to_owned()) };
        Selector::parse(selector)?;
        let mut load = Load {
            namespace: namespace.to_owned(),
            selector: (*selector).to_owned(),
            container: String::new(),
            cpu_millis: None,
            memory_bytes: None,
            shared: false,
        };
        for word in rest {
            match word.split_once('=') {
                Some(("cpu", value)) => load.cpu_millis = Some(amount(value)?.milli_value()),
                Some(("memory", value)) => load.memory_bytes = Some(amount(value)?.value()),
                Some(("container", name)) => load.container = name.to_owned(),
                Some(("namespace", name)) => load.namespace = name.to_owned(),
                None if *word == "shared" => load.shared = true,
                _ => return Err(format!("{word:?} is not understood")),
            }
        }
        if load.cpu_millis.is_none() && load.memory_bytes.is_none() {
            return Err("neither cpu nor memory is given".to_owned());
        }
        Ok(load)
    }
}

fn amount(text: &str) -> Result<Amount, String> {
    let amount = Amount::parse(text).map_err(|why| format!("{text:?}: {why}"))?;
    if amount.is_negative() { Err(format!("{text:?} is less than nothing")) } else { Ok(amount) }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} namespace={}", self.selector, self.namespace)?;
        if !self.container.is_empty() {
            write!(f, " container={}", self.container)?;
        }
        if let Some(cpu) = self.cpu_millis {
            write!(f, " cpu={}", Amount::millis(cpu))?;
        }
        if let Some(memory) = self.memory_bytes {
            write!(f, " memory={}", Amount::bytes(memory))?;
        }
        f.write_str(if self.shared { " shared" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_they_are_written() {
        for (line, written) in [
            ("app=web cpu=900m", "app=web namespace=default cpu=900m"),
            ("app=web cpu=1.5 memory=200Mi shared", "app=web namespace=default cpu=1500m memory=200Mi shared"),
            ("app=web,tier!=db memory=1Gi container=c", "app=web,tier!=db namespace=default container=c memory=1Gi"),
            ("app=web namespace=shop cpu=0", "app=web namespace=shop cpu=0"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let load = Load::parse(&words, "default").unwrap();
            assert_eq!(load.to_string(), written, "{line}");
            let again: Vec<&str> = written.split(' ').collect();
            assert_eq!(Load::parse(&again, "elsewhere"), Ok(load), "{line}");
        }
        for wrong in ["", "app=web", "app=web cpu=much", "app=web cpu=-1", "app=web disk=1", "app in cpu=1"] {
            let words: Vec<&str> = wrong.split_whitespace().collect();
            assert!(Load::parse(&words, "default").is_err(), "{wrong}");
        }
    }

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
