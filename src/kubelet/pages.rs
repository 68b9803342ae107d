//! What the kubelet's server says at paths of its own: `/healthz`, `/pods`, `/configz`.
//!
//! Mirrors `InstallAuthNotRequiredHandlers` and `InstallAuthRequiredHandlers` of `pkg/kubelet/server/server.go`.
//!
//! Left out: `/metrics`, `/stats/summary`, `/runningpods`, `/logs` and the handlers for debugging are not found. `/configz` has the
//! fields of KubeletConfiguration that this kubelet goes by.

use serde_json::{Value, json};

use engine::Message;
use object::time::go_duration;
use object::well_known::KUBELET_PORT;

use crate::params::{
    LEASE_DURATION_SECONDS, NODE_REPORT_PERIOD, NODE_STATUS_PERIOD, PRESSURE_TRANSITION_PERIOD, SYNC_PERIOD,
};
use crate::shared::Shared;

/// `GET PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Get {
    /// The path: `/healthz`.
    pub path: String,
}

impl Message for Get {
    fn method(&self) -> &'static str {
        "get"
    }

    fn json(&self) -> Value {
        json!({"path": self.path})
    }

    fn line(&self) -> String {
        format!("GET {}", self.path)
    }
}

/// What is answered to [`Get`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The HTTP status code.
    pub code: u16,
    /// The `Content-Type` header.
    pub content_type: &'static str,
    /// The body.
    pub body: String,
}

impl Message for Page {
    fn method(&self) -> &'static str {
        "get"
    }

    fn json(&self) -> Value {
        json!({"code": self.code})
    }

    fn line(&self) -> String {
        format!("answer {}", self.code)
    }
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

impl Shared {
    /// The page at a path.
    pub(super) fn page(&self, path: &str) -> Page {
        let ok = |content_type, body| Page { code: 200, content_type, body };
        match path.trim_end_matches('/') {
            "/healthz" | "/healthz/ping" | "/healthz/log" | "/healthz/syncloop" => ok(TEXT, "ok".to_owned()),
            "/pods" => ok(JSON, self.pod_list().to_string()),
            "/configz" => ok(JSON, json!({"kubeletconfig": self.configuration()}).to_string()),
            _ => Page { code: 404, content_type: TEXT, body: "404 page not found\n".to_owned() },
        }
    }

    /// The Pods that have a worker. Mirrors `getPods`.
    fn pod_list(&self) -> Value {
        let state = self.state.borrow();
        let mut pods: Vec<Value> = state.workers.values().map(|worker| json!(*worker.pod)).collect();
        for pod in pods.iter_mut().filter_map(Value::as_object_mut) {
            pod.remove("kind");
            pod.remove("apiVersion");
        }
        json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods})
    }

    /// The fields of KubeletConfiguration that it goes by.
    fn configuration(&self) -> Value {
        let dns = self.config.cluster_dns.as_ref();
        let pods = self.config.capacity.get("pods").and_then(|pods| pods.0.parse::<u32>().ok());
        json!({
            "kind": "KubeletConfiguration",
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "port": KUBELET_PORT,
            "syncFrequency": go_duration(SYNC_PERIOD),
            "nodeStatusUpdateFrequency": go_duration(NODE_STATUS_PERIOD),
            "nodeStatusReportFrequency": go_duration(NODE_REPORT_PERIOD),
            "nodeLeaseDurationSeconds": LEASE_DURATION_SECONDS,
            "evictionPressureTransitionPeriod": go_duration(PRESSURE_TRANSITION_PERIOD),
            "maxPods": pods,
            "clusterDomain": dns.map(|dns| dns.domain.clone()),
            "clusterDNS": dns.map(|dns| [dns.server.clone()]),
        })
    }
}
