//! `create secret tls` and `create secret docker-registry`. Mirrors `create_secret_tls.go` and `create_secret_docker.go` of
//! kubectl.
//!
//! Left out: whether a certificate and a key are whole, and belong together.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::config::{Of, entries};
use crate::args::Args;
use crate::failure::Failure;
use crate::kubectl::Kubectl;
use object::base64;
use object::text::go_json;

/// The registry that is meant where none is named.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// `kubectl create secret tls NAME --cert=PATH --key=PATH`.
pub(super) fn tls(name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    let paths = [args.value("cert"), args.value("key")];
    if paths.iter().any(|path| path.is_empty()) {
        return Err(Failure::text("key and cert must be specified"));
    }
    let [certificate, key] = paths.map(|path| cx.open_text(path));
    let (certificate, key) = (certificate?, key?);
    for (text, begins, what) in
        [(&certificate, "-----BEGIN CERTIFICATE-----", "certificate"), (&key, "-----BEGIN ", "key")]
    {
        if !text.contains(begins) {
            return Err(Failure::text(format!("tls: failed to find any PEM data in {what} input")));
        }
    }
    let data = json!({"tls.crt": ByteString(certificate.into_bytes()), "tls.key": ByteString(key.into_bytes())});
    Ok(secret(name, "kubernetes.io/tls", data))
}

/// `kubectl create secret docker-registry NAME --docker-username=USER --docker-password=PASSWORD`.
pub(super) fn docker_registry(name: &str, args: &Args, cx: &Kubectl) -> Result<Value, Failure> {
    const KEY: &str = ".dockerconfigjson";
    let [user, password, email] = ["username", "password", "email"].map(|part| args.value(&format!("docker-{part}")));
    if args.has("from-file") {
        let named = |source: &String| if source.contains('=') { source.clone() } else { format!("{KEY}={source}") };
        let files: Vec<String> = args.values("from-file").iter().map(named).collect();
        let data = entries(&files, &[], &[], cx, Of { kind: "Secret", name })?.coded();
        return Ok(secret(name, "kubernetes.io/dockerconfigjson", data));
    }
    if user.is_empty() || password.is_empty() {
        return Err(Failure::text(
            "either --from-file or the combination of --docker-username, --docker-password and --docker-server is required",
        ));
    }
    let server = Some(args.value("docker-server")).filter(|server| !server.is_empty()).unwrap_or(DOCKER_HUB);
    let auth = base64::padded(format!("{user}:{password}").as_bytes());
    let account = [("username", user), ("password", password), ("email", email), ("auth", &auth)];
    let account = account.iter().filter(|(_, value)| !value.is_empty());
    // In the order of Go's struct.
    let fields: Vec<String> = account.map(|(name, value)| format!("{}:{}", json!(name), json!(value))).collect();
    let config = go_json(&format!("{{\"auths\":{{{}:{{{}}}}}}}", json!(server), fields.join(",")));
    let data = json!({KEY: ByteString(config.into_bytes())});
    Ok(secret(name, "kubernetes.io/dockerconfigjson", data))
}

fn secret(name: &str, type_: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": type_, "data": data})
}
