//! Pages that programs beside the clients read: numbers for a Prometheus, who issues tokens, how requests are shared out.
//!
//! Mirrors `k8s.io/component-base/metrics`, `pkg/serviceaccount/openidmetadata.go` and the `/debug` pages of
//! `k8s.io/apiserver/pkg/util/flowcontrol`, in outline.
//!
//! Left out: all metrics but how many objects there are and which other servers fail; keys, since tokens are signed here with a
//! secret ([`object::token`]); requests that wait, since none has to.

use std::collections::BTreeMap;
use std::fmt::Write;

use object::token::ISSUER;
use object::well_known::API_SERVER_ADDRESS;
use object::{Accessor, Kind, Object};
use rest::TEXT;
use serde_json::json;
use wire::Response;

use super::{ApiServer, health, registry};

/// What a Prometheus reads.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// The columns of the page on priority levels, and how wide each is but the first.
const COLUMNS: [(&str, usize); 10] = [
    ("PriorityLevelName", 0),
    ("ActiveQueues", 14),
    ("IsIdle", 8),
    ("IsQuiescing", 13),
    ("WaitingRequests", 17),
    ("ExecutingRequests", 19),
    ("DispatchedRequests", 20),
    ("RejectedRequests", 18),
    ("TimedoutRequests", 18),
    ("CancelledRequests", 0),
];

impl ApiServer {
    /// What stands at one of these paths; none if the path is another one.
    pub(super) fn side_page(&self, segments: &[&str]) -> Option<Response> {
        let (content_type, body) = match segments {
            ["metrics"] => (METRICS, self.metrics_page()),
            ["metrics", "slis"] => (METRICS, health::metrics()),
            [".well-known", "openid-configuration"] => ("application/json", issuer()),
            ["openid", "v1", "jwks"] => ("application/jwk-set+json", json!({"keys": []}).to_string()),
            ["debug", "api_priority_and_fairness", "dump_priority_levels"] => (TEXT, self.priority_levels()),
            _ => return None,
        };
        Some(Response::Page { content_type, body })
    }

    fn metrics_page(&self) -> String {
        let mut page = String::new();
        let head = |name: &str, about: &str, kind: &str| format!("# HELP {name} {about}\n# TYPE {name} {kind}\n");
        page += &head(
            "aggregator_unavailable_apiservice",
            "[ALPHA] Gauge of APIServices which are marked as unavailable broken down by APIService name.",
            "gauge",
        );
        for (_, entry) in self.store.prefix(registry::prefix(Kind::APIService)) {
            let Object::APIService(service) = &entry.value else { continue };
            let conditions = service.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let fails =
                conditions.into_iter().any(|condition| condition.type_ == "Available" && condition.status != "True");
            let name = service.metadata.name();
            let _ = writeln!(page, "aggregator_unavailable_apiservice{{name={name:?}}} {}", u8::from(fails));
        }
        page += &head(
            "apiserver_resource_objects",
            "[ALPHA] Number of stored objects at the time of last check split by kind.",
            "gauge",
        );
        let mut counts = BTreeMap::<(&str, &str), usize>::new();
        for (_, entry) in self.store.prefix("/registry/") {
            let info = entry.value.kind().info();
            *counts.entry((info.group, info.plural)).or_default() += 1;
        }
        for ((group, plural), count) in counts {
            let _ = writeln!(page, "apiserver_resource_objects{{group={group:?},resource={plural:?}}} {count}");
        }
        page += &head(
            "kubernetes_build_info",
            "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build \
             date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
            "gauge",
        );
        let build = rest::discovery::build();
        let text = |field: &str| build[field].as_str().unwrap_or_default().to_owned();
        let (major, minor, version) = (text("major"), text("minor"), text("gitVersion"));
        let _ = writeln!(page, "kubernetes_build_info{{git_version={version:?},major={major:?},minor={minor:?}}} 1");
        page
    }

    /// A row for each priority level. No request waits here.
    fn priority_levels(&self) -> String {
        let row = |cells: [&str; 10]| {
            let cell = |(cell, (_, width)): (&str, (&str, usize))| (cell.to_owned(), width);
            let cells: Vec<(String, usize)> = cells.into_iter().zip(COLUMNS).map(cell).collect();
            let last = cells.len() - 1;
            let padded = cells.into_iter().enumerate().map(|(i, (cell, width))| match i == last {
                true => cell,
                false => format!("{:<width$} ", format!("{cell},"), width = width),
            });
            padded.collect::<String>().trim_end().to_owned() + "\n"
        };
        let levels = self.store.prefix(registry::prefix(Kind::PriorityLevelConfiguration));
        let rows = levels.map(|(_, entry)| {
            let idle = if entry.value.name() == "exempt" { "false" } else { "true" };
            row([entry.value.name(), "0", idle, "false", "0", "0", "0", "0", "0", "0"])
        });
        let head = COLUMNS.map(|(name, _)| name).join(", ") + "\n";
        head + &rows.collect::<String>()
    }
}

/// Who issues tokens, as other systems ask before they believe one.
fn issuer() -> String {
    let keys = format!("https://{API_SERVER_ADDRESS}/openid/v1/jwks");
    json!({"issuer": ISSUER, "jwks_uri": keys, "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["HS256"]})
    .to_string()
}
