//! `create ingress`. Mirrors `create_ingress.go` of kubectl.

use serde_json::{Map, Value, json};

use crate::args::Args;
use crate::failure::Failure;

/// `kubectl create ingress NAME --rule=HOST/PATH=SERVICE:PORT[,tls[=SECRET]]`.
pub(super) fn ingress(name: &str, args: &Args) -> Result<Value, Failure> {
    let (class, backend) = (args.value("class"), args.value("default-backend"));
    let rules: Vec<Rule> = args.values("rule").iter().map(|text| Rule::parse(text)).collect::<Result<_, _>>()?;
    if backend.is_empty() && rules.is_empty() {
        return Err(Failure::text(
            "not enough information provided: every ingress has to either specify a default-backend (which catches all \
             traffic) or a list of rules (which catch specific paths)",
        ));
    }
    let mut spec = json!({});
    if !class.is_empty() {
        spec["ingressClassName"] = json!(class);
    }
    if !backend.is_empty() {
        let wrong = || Failure::text("default-backend should be in format servicename:serviceport");
        let (service, port) = backend.split_once(':').filter(|(_, port)| !port.contains(':')).ok_or_else(wrong)?;
        spec["defaultBackend"] = to_service(service, port);
    }
    for (field, list) in [("rules", by_host(&rules)), ("tls", by_secret(&rules))] {
        if !list.is_empty() {
            spec[field] = Value::Array(list);
        }
    }
    let mut metadata = json!({"name": name});
    let annotations = args.values("annotation").iter().map(|text| annotation(text));
    let annotations = annotations.collect::<Result<Map<String, Value>, Failure>>()?;
    if !annotations.is_empty() {
        metadata["annotations"] = Value::Object(annotations);
    }
    Ok(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec,
    }))
}

fn annotation(text: &str) -> Result<(String, Value), Failure> {
    let wrong = || Failure::text(format!("annotation {text} is invalid and should be in format key=[value]"));
    text.split_once('=').map(|(key, value)| (key.to_owned(), json!(value))).ok_or_else(wrong)
}

/// What one `--rule` says.
struct Rule<'a> {
    host: &'a str,
    path: Value,
    /// The Secret of a rule that asks for TLS; empty: the controller's own certificate.
    secret: Option<&'a str>,
}

impl Rule<'_> {
    fn parse(text: &str) -> Result<Rule<'_>, Failure> {
        let wrong =
            || format!("rule {text} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]");
        Rule::read(text).ok_or_else(|| Failure::text(wrong()))
    }

    fn read(text: &str) -> Option<Rule<'_>> {
        let (target, tls) = text.split_once(',').map_or((text, None), |(target, tls)| (target, Some(tls)));
        let (place, service) = target.split_once('=')?;
        let (host, path) = place.split_once('/')?;
        let (service, port) = service.split_once(':')?;
        let is_word = |text: &str, also: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c));
        let names = [service, port].iter().all(|name| !name.is_empty() && is_word(name, "_-"));
        if !names || !is_word(host, "_*-.") {
            return None;
        }
        // A star at the end stands for all that begins so.
        let (path, path_type) = path.strip_suffix('*').map_or((path, "Exact"), |path| (path, "Prefix"));
        let path = json!({"path": format!("/{path}"), "pathType": path_type, "backend": to_service(service, port)});
        let secret = tls.map(|tls| tls.split_once('=').map_or("", |(_, secret)| secret));
        Some(Rule { host, path, secret })
    }
}

fn to_service(name: &str, port: &str) -> Value {
    let port = port.parse::<i32>().map_or_else(|_| json!({"name": port}), |number| json!({"number": number}));
    json!({"service": {"name": name, "port": port}})
}

/// Rules of one host are one, with several paths.
fn by_host(rules: &[Rule]) -> Vec<Value> {
    let mut hosts: Vec<(&str, Vec<Value>)> = Vec::new();
    for rule in rules {
        match hosts.iter_mut().find(|(host, _)| *host == rule.host) {
            Some((_, paths)) => paths.push(rule.path.clone()),
            None => hosts.push((rule.host, vec![rule.path.clone()])),
        }
    }
    let one = |(host, paths): (&str, Vec<Value>)| match host {
        "" => json!({"http": {"paths": paths}}),
        host => json!({"host": host, "http": {"paths": paths}}),
    };
    hosts.into_iter().map(one).collect()
}

/// The hosts of each Secret; a host counts where it stands first.
fn by_secret(rules: &[Rule]) -> Vec<Value> {
    let mut secrets: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut seen = Vec::new();
    for (host, secret) in rules.iter().filter_map(|rule| Some((rule.host, rule.secret?))) {
        if seen.contains(&host) {
            continue;
        }
        seen.push(host);
        match secrets.iter_mut().find(|(there, _)| *there == secret) {
            Some((_, hosts)) => hosts.push(host),
            None if host.is_empty() && secret.is_empty() => {}
            None => secrets.push((secret, Some(host).filter(|host| !host.is_empty()).into_iter().collect())),
        }
    }
    let one = |(secret, hosts): (&str, Vec<&str>)| {
        let mut tls = json!({});
        if !hosts.is_empty() {
            tls["hosts"] = json!(hosts);
        }
        if !secret.is_empty() {
            tls["secretName"] = json!(secret);
        }
        tls
    };
    secrets.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let texts = ["a.com/x*=web:80,tls=s", "a.com/=api:http,tls", "b.com/y=web:80,tls=s", "/=web:80"];
        let rules: Vec<Rule> = texts.iter().map(|text| Rule::read(text).expect(text)).collect();
        let paths: Vec<String> = by_host(&rules)
            .iter()
            .map(|rule| format!("{} {}", rule["host"], rule["http"]["paths"].as_array().map_or(0, Vec::len)))
            .collect();
        assert_eq!(paths, ["\"a.com\" 2", "\"b.com\" 1", "null 1"]);
        let first = json!({"path": "/x", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}});
        assert_eq!(rules[0].path, first);
        assert_eq!(rules[1].path["backend"]["service"]["port"], json!({"name": "http"}));
        assert_eq!(by_secret(&rules), [json!({"hosts": ["a.com", "b.com"], "secretName": "s"})]);
        for wrong in ["a.com=web:80", "a.com/=web", "a.com/x,web:80", "a b/=web:80", "a.com/=:80"] {
            assert!(Rule::read(wrong).is_none(), "{wrong}");
        }
    }
}
