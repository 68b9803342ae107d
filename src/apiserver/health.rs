//! `/healthz`, `/livez` and `/readyz`: whether the server is well, is to be left running, and is to be asked anything.
//!
//! Each is a row of checks. `?verbose` tells them one by one, `?exclude=NAME` leaves one out, and each stands at a path of its
//! own: `/readyz/ping`. A load balancer asks for `/readyz`, and a kubelet that runs the server as a Pod for `/livez`.
//!
//! Mirrors `k8s.io/apiserver/pkg/server/healthz`; the names of the checks are those of kube-apiserver 1.36.
//!
//! Left out: what would fail. A server that runs here is ready, and so is its store.

use wire::Response;

use rest::options::Query;

use rest::TEXT;

/// Checks that all three begin with, and what each has of its own.
const FIRST: &[&str] = &["ping", "log"];
const OF_LIFE: &[&str] = &["loopback-serving-certificate", "etcd"];
const OF_READINESS: &[&str] = &["etcd", "etcd-readiness", "informer-sync"];

/// What the server does once it has started: until it is done, it is not ready.
const HOOKS: &[&str] = &[
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-wait-for-first-sync",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];

/// What stands at one of these paths; none if the path is another one.
pub(super) fn page(path: &str, query: &str) -> Option<(u16, Response)> {
    let path = path.strip_prefix('/')?;
    let (name, check) = path.split_once('/').map_or((path, None), |(name, check)| (name, Some(check)));
    let checks = checks_of(name)?;
    let query = Query::parse(query);
    let body = match check {
        Some(check) => checks.contains(&check).then(|| "ok".to_owned())?,
        None if query.get("verbose").is_none() => "ok".to_owned(),
        None => told(name, &checks, &query.all("exclude")),
    };
    Some((200, Response::Page { content_type: TEXT, body }))
}

fn checks_of(name: &str) -> Option<Vec<&'static str>> {
    match name {
        "healthz" | "livez" => Some([FIRST, OF_LIFE, HOOKS].concat()),
        "readyz" => Some([FIRST, OF_READINESS, HOOKS, &["shutdown"]].concat()),
        _ => None,
    }
}

/// Where it all stands.
pub(super) fn paths() -> Vec<String> {
    let of = |name: &str| {
        let checks = checks_of(name).unwrap_or_default();
        let each = checks.iter().map(|check| format!("/{name}/{check}")).collect::<Vec<_>>();
        [vec![format!("/{name}")], each].concat()
    };
    ["healthz", "livez", "readyz"].map(of).concat()
}

/// The checks as a Prometheus reads them. Mirrors `k8s.io/component-base/metrics/prometheus/slis`.
pub(super) fn metrics() -> String {
    const NAME: &str = "kubernetes_healthcheck";
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for name in ["healthz", "livez", "readyz"] {
        rows.extend(checks_of(name).unwrap_or_default().into_iter().map(|check| (check, name)));
    }
    rows.sort_unstable();
    let row = |(check, name)| format!("{NAME}{{name=\"{check}\",type=\"{name}\"}} 1\n");
    let rows: String = rows.into_iter().map(row).collect();
    format!("# HELP {NAME} [STABLE] This metric records the result of all healthchecks.\n# TYPE {NAME} gauge\n{rows}")
}

/// One line for each check. What is to be left out and is not there is said.
fn told(name: &str, checks: &[&str], excluded: &[String]) -> String {
    let is_excluded = |check: &str| excluded.iter().any(|other| other == check);
    let line = |check: &&str| format!("[+]{check} {}ok\n", if is_excluded(check) { "excluded: " } else { "" });
    let mut unknown: Vec<String> =
        excluded.iter().filter(|name| !checks.contains(&name.as_str())).map(|name| format!("{name:?}")).collect();
    unknown.sort();
    unknown.dedup();
    let warning = match unknown.is_empty() {
        true => String::new(),
        false => {
            format!("warn: some health checks cannot be excluded: no matches for {}\n", unknown.join(","))
        }
    };
    format!("{}{warning}{name} check passed\n", checks.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(path: &str, query: &str) -> Option<String> {
        match page(path, query)?.1 {
            Response::Page { body, .. } => Some(body),
            _ => None,
        }
    }

    #[test]
    fn checks_are_told_one_by_one() {
        for path in ["/healthz", "/livez", "/readyz", "/readyz/ping", "/readyz/poststarthook/rbac/bootstrap-roles"] {
            assert_eq!(body(path, ""), Some("ok".to_owned()), "{path}");
        }
        for path in ["/readyz/nothing", "/livez/shutdown", "/health", "/readyz/"] {
            assert_eq!(body(path, ""), None, "{path}");
        }
        let ready = body("/readyz", "verbose").unwrap();
        assert!(ready.starts_with("[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n"));
        assert!(ready.ends_with("[+]shutdown ok\nreadyz check passed\n"));
        let alive = body("/livez", "verbose&exclude=log&exclude=logs").unwrap();
        assert!(alive.starts_with("[+]ping ok\n[+]log excluded: ok\n[+]loopback-serving-certificate ok\n[+]etcd ok\n"));
        let end = "warn: some health checks cannot be excluded: no matches for \"logs\"\nlivez check passed\n";
        assert!(alive.ends_with(end), "{alive}");
    }
}
